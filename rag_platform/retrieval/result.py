"""What a search comes back as. Nouns only."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rag_platform.retrieval.explain import Explanation
from rag_platform.types import Hit, Mode

__all__ = ["SearchResult"]

_OVERHEAD = 1_500
"""Bytes of a chunk, its hit, its ids and its scores, beside its texts."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits of one query, all of a collection from one generation.

    A hit's ``score`` is what it was ranked by: the reranker's, else the fused one in mode hybrid, the cosine
    in dense, BM25 in lexical (of several collections, its share of the best score there could be). Its
    ``scores`` hold ``dense`` and ``lexical`` with ``dense_rank`` and ``lexical_rank`` (from 1) where that
    part found it, and ``fused`` where a reranker came after.

    Attributes:
        generations: The generation that was searched of each collection.
        explanation: Why these hits.
    """

    query: str
    hits: tuple[Hit, ...]
    generations: Mapping[str, int]
    model: str
    mode: Mode
    explanation: Explanation

    @property
    def collection(self) -> str:
        """The searched collection, or all of them separated by commas."""
        return ", ".join(self.generations)

    @property
    def generation(self) -> int:
        """The generation of the first collection."""
        return next(iter(self.generations.values()))

    @property
    def n_bytes(self) -> int:
        """About what it takes in memory."""
        chunks = [one for hit in self.hits for one in (hit.chunk, *hit.context, *hit.duplicates)]
        texts = sum(sys.getsizeof(one.text) + sys.getsizeof(one.header) for one in chunks)
        return texts + _OVERHEAD * (len(chunks) + 2) + 2 * sys.getsizeof(self.query)

    def recalled(self, milliseconds: float) -> SearchResult:
        """Return it as found in memory: the only step that took time."""
        took = {"memory": round(milliseconds, 3)}
        return replace(self, explanation=replace(self.explanation, milliseconds=took))
