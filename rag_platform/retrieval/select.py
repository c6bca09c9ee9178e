"""Which of the ranked passages are shown: diverse ones, one of several alike. Ranks and scores are given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from rag_platform.retrieval.options import SearchOptions
from rag_platform.text.analyze import analyze
from rag_platform.types import Chunk, Scored

__all__ = ["ALIKE", "Shown", "select"]

ALIKE = 0.9
"""From this share of common terms on (of all terms of both), two passages are alike."""


@dataclass(slots=True)
class Shown:
    """A passage to show, its score, and those it stands for."""

    chunk: Chunk
    score: float
    duplicates: list[Chunk] = field(default_factory=list)


def select(ranked: Iterable[Scored], chunks: Mapping[str, Chunk], options: SearchOptions) -> list[Shown]:
    """Return at most ``k`` passages in their order.

    A passage that is like an earlier one is named there and takes no place; nor does one beyond the number
    allowed of its document or page.

    Args:
        ranked: Candidates, best first.
        chunks: Their passages by id; one without is left out.
        options: The limits.
    """
    shown: list[Shown] = []
    terms: list[frozenset[str]] = []
    counts: Counter[tuple[str, int]] = Counter()
    for one, chunk in _present(ranked, chunks):
        if options.threshold is not None and one.score < options.threshold:
            break
        if options.distinct:
            own = frozenset(analyze(chunk.text))
            if (twin := _twin(own, terms)) is not None:
                shown[twin].duplicates.append(chunk)
                continue
        document, page = (chunk.document_id, -1), (chunk.document_id, chunk.page_first)
        if len(shown) == options.k:
            if options.distinct:
                continue
            break
        if 0 < options.per_document <= counts[document] or 0 < options.per_page <= counts[page]:
            continue
        counts.update((document, page))
        shown.append(Shown(chunk, one.score))
        if options.distinct:
            terms.append(own)
    return shown


def _present(ranked: Iterable[Scored], chunks: Mapping[str, Chunk]) -> Iterator[tuple[Scored, Chunk]]:
    return ((one, chunks[one.chunk_id]) for one in ranked if one.chunk_id in chunks)


def _twin(own: frozenset[str], others: list[frozenset[str]]) -> int | None:
    """Return the place of the first set with nearly the same members."""
    for i, other in enumerate(others):
        if own and len(own & other) >= ALIKE * len(own | other):
            return i
    return None
