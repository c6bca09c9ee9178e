"""Bodies of requests and answers. Strict: an unknown field or a wrong type is refused, never guessed.

No behaviour here beyond validation and the way from the library's values to JSON.
"""
