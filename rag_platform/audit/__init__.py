"""Audits: of files before they are ingested, of pages after, of a collection as search finds it.

They read and report, and change nothing. How files are read, and what is published, is the business of the
stages; what a command prints is that of ``cli``.
"""
