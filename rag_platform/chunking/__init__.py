"""Cutting documents into passages, and counting their tokens.

Chunks are shared by all embedding models; nothing here knows a vector or an index.
"""
