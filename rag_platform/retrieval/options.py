"""What a caller can ask of a search, with its limits. Nothing is searched here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from rag_platform.errors import CallerError, UnknownName
from rag_platform.types import ALL_KINDS, Around, Condition, Fusion, Kind, Mode

__all__ = ["MOST", "SearchOptions"]

MOST_WORDINGS = 8
MOST = 1_000
"""Upper limit of results and candidates: more is a scan, not a search."""

_NAMES: dict[str, tuple[str, ...]] = {
    "mode": get_args(Mode),
    "fusion": get_args(Fusion),
    "around": get_args(Around),
}


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How one question is searched.

    Attributes:
        k: Number of hits at most.
        candidates: Hits that each part brings to the fusion and that a reranker reads; at least ``k``.
        mode: ``hybrid`` (both parts, fused), ``dense`` or ``lexical``.
        fusion: ``calibrated`` (the cosine, and the share of the question's words that a passage has),
            ``weighted`` (both scores scaled to 0 to 1) or ``rrf`` (reciprocal ranks).
        weights: Of dense and lexical in the fusion.
        kinds: Only passages of these kinds (``text``, ``table``, ``image``); None: of all.
        where: Only passages for which all of these hold; applied before ranking.
        reranker: Catalogue name of what reads question and candidates together; ``none``: nothing does.
        threshold: Hits with a lower score are left out; None: none is.
        per_document: Hits of one document at most; 0: any number.
        per_page: Hits that begin on one page at most; 0: any number.
        distinct: Passages with nearly the same words are one hit, which names the others.
        neighbours: Chunks before and after a hit that come with it.
        around: Comes with a hit, too: all of its ``page`` or of its ``section``.
        keywords: Of each hit so many of its most telling words.
        wordings: The question in other words: each is searched, too, and the rankings are joined, by the mean
            of calibrated scores, else by rank, before a reranker reads them.
    """

    k: int = 5
    candidates: int = 20
    mode: Mode = "hybrid"
    fusion: Fusion = "calibrated"
    weights: tuple[float, float] = (0.7, 0.3)
    kinds: Sequence[Kind] | None = None
    where: Sequence[Condition] = ()
    reranker: str = "none"
    threshold: float | None = None
    per_document: int = 0
    per_page: int = 0
    distinct: bool = False
    neighbours: int = 0
    around: Around = "nothing"
    keywords: int = 0
    wordings: Sequence[str] = ()

    @property
    def depth(self) -> int:
        """Candidates of each part."""
        return max(self.k, self.candidates)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What must hold for a passage to be searched at all."""
        kinds = () if self.kinds is None else (Condition("kind", "=", tuple(self.kinds)),)
        return (*self.where, *kinds)

    @property
    def picky(self) -> bool:
        """Whether candidates are left out after ranking, so that all of them have to be read."""
        return bool(self.per_document or self.per_page or self.distinct)

    def check(self) -> None:
        """Refuse options out of range.

        Raises:
            CallerError: One is; ``UnknownName`` when it is no name of its kind.
        """
        for name, low in (
            ("k", 1),
            ("candidates", 1),
            ("per_document", 0),
            ("per_page", 0),
            ("neighbours", 0),
            ("keywords", 0),
        ):
            if not low <= getattr(self, name) <= MOST:
                raise CallerError(f"{name} is {getattr(self, name)}, allowed are {low} to {MOST}")
        for name, known in _NAMES.items():
            if getattr(self, name) not in known:
                raise UnknownName(name, getattr(self, name), known)
        if len(self.wordings) > MOST_WORDINGS or not all(one.strip() for one in self.wordings):
            raise CallerError(
                f"{len(self.wordings)} other wordings are given; allowed are {MOST_WORDINGS}, none blank"
            )
        if self.kinds is not None and not self.kinds:
            raise CallerError(f"kinds are empty, so nothing would be searched; name some of {ALL_KINDS}")
        for kind in self.kinds or ():
            if kind not in ALL_KINDS:
                raise UnknownName("kind", kind, ALL_KINDS)
        if (
            len(self.weights) != 2
            or not all(0 <= w < math.inf for w in self.weights)
            or not any(self.weights)
        ):
            raise CallerError(
                f"weights are {self.weights!r}, allowed are two numbers of 0 or more, not both 0"
            )
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise CallerError(f"the threshold is {self.threshold}, allowed is any finite number")
