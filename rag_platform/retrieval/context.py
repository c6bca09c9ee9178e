"""What comes with a hit: the chunks before and after it, its page, its section."""

from __future__ import annotations

from rag_platform.protocols import CollectionReader
from rag_platform.retrieval.options import SearchOptions
from rag_platform.types import Chunk, Condition

__all__ = ["context"]


def context(reader: CollectionReader, chunk: Chunk, options: SearchOptions) -> tuple[Chunk, ...]:
    """Return the chunks around one, in order."""
    around: dict[int, Chunk] = {}
    if n := options.neighbours:
        first = max(0, chunk.ordinal - n)
        near = reader.of_document(chunk.document_id, first=first, last=chunk.ordinal + n)
        around.update((one.ordinal, one) for one in near)
    if options.around == "page":
        on_page = (
            Condition("page_first", "<=", (chunk.page_last,)),
            Condition("page_last", ">=", (chunk.page_first,)),
        )
        around.update((one.ordinal, one) for one in reader.of_document(chunk.document_id, where=on_page))
    if options.around == "section" and chunk.path:
        below = (Condition("path", "=", (chunk.path,)),)
        around.update((one.ordinal, one) for one in reader.of_document(chunk.document_id, where=below))
    around.pop(chunk.ordinal, None)
    return tuple(around[ordinal] for ordinal in sorted(around))
