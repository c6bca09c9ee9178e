"""Measuring on labelled sets: datasets, ranking measures, statistics, retrieval over a throw-away collection.

Nothing here serves or publishes for users, and nothing knows settings.
"""
