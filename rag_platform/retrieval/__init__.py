"""Search over published collections: fusion of rankings and the searcher that follows generations.

Indexes are opened here, never written.
"""
