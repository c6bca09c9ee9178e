"""From passages to an answer: generators, prompts, and what an answer rests on.

No search and no scores here: hits come in as passages, measures stand in ``evaluation``.
"""
