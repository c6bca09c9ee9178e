"""On which page a position of a document lies: chunks know only the first and the last page they touch."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

from rag_platform.catalog import Catalog
from rag_platform.errors import UnknownName
from rag_platform.storage import TableStore
from rag_platform.types import Chunk

__all__ = ["PageFinder"]

_KEPT = 256
"""Documents whose page starts stay in memory."""


class PageFinder:
    """Finds pages in the tables of the documents' text; safe to share between threads.

    Args:
        catalog: Knows where a document's rows are.
        tables: Hold them.
    """

    def __init__(self, catalog: Catalog, tables: TableStore) -> None:
        self._catalog, self._tables = catalog, tables
        self._pages = lru_cache(maxsize=_KEPT)(self._read)

    def __call__(self, chunk: Chunk, position: int) -> int:
        """Return the page of a position, the chunk's first where this version's pages are not here any more.

        Args:
            chunk: In which the position lies.
            position: Code points from the beginning of the document.
        """
        if chunk.page_first == chunk.page_last:
            return chunk.page_first
        pages = self._pages(chunk.document_id, chunk.content_sha256)
        at = bisect_right(pages, (position, 1 << 60)) - 1
        return pages[at][1] if at >= 0 else chunk.page_first

    def _read(self, document_id: str, content_sha256: str) -> tuple[tuple[int, int], ...]:
        """Return start and number of each page, nothing where the tables hold another version."""
        try:
            entry = self._catalog.known(document_id)
        except UnknownName:
            return ()
        rows = self._tables.read("pages", entry.partition, [document_id])
        if rows is None or set(rows["content_sha256"].to_pylist()) != {content_sha256}:
            return ()
        return tuple(sorted(zip(rows["start"].to_pylist(), rows["page_no"].to_pylist(), strict=True)))
