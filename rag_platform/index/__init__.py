"""Published collections: one contract, three engines (embedded, server, exact), generations, lexical weights.

Nothing here parses, chunks or encodes; vectors and chunks come in through ``PointLoader``.
"""
