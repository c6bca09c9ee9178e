"""The platform over HTTP, with the methods, values and errors of the facades.

What is asked stands in ``calls``, how answers are read in ``reading`` and ``failures``, when to ask again
in ``persistence``: none of them sends anything. Only ``clients`` does.
"""

from rag_platform.client.clients import AsyncRagClient, RagClient

__all__ = ["AsyncRagClient", "RagClient"]
