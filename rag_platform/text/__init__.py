"""What is known about writing itself: normal forms, scripts, sentences, search terms.

Pure functions from text to values. No files, no models, nothing about documents or chunks.
"""
