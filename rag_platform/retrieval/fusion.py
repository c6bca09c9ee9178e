"""Fusion of several rankings into one. No index and no encoder is touched here."""

from __future__ import annotations

from collections.abc import Sequence

from rag_platform.errors import CallerError
from rag_platform.types import Scored

__all__ = ["RRF_K", "weighted_rrf"]

RRF_K = 60
"""Damping of the first ranks, from the paper; Qdrant's own default is 2."""


def weighted_rrf(
    rankings: Sequence[Sequence[Scored]], weights: Sequence[float], *, k: int = RRF_K
) -> list[Scored]:
    """Fuse rankings by weighted reciprocal rank, best first.

    ``score(d) = sum over rankings r of weight_r / (k + rank_r(d))``, ranks from 1; a ranking that lacks
    ``d`` adds nothing. Range: above 0, at most ``sum(weights) / (k + 1)``. Empty on empty input.
    Each ranking gives one vote an id (its best place), a hit with a score of 0 or less gives none, and
    equal sums are ordered by chunk id.
    Cormack, Clarke and Buettcher, Reciprocal Rank Fusion outperforms Condorcet ..., SIGIR 2009.

    >>> fused = weighted_rrf([[Scored("a", 0.9), Scored("b", 0.8)], [Scored("b", 7.0)]], [0.7, 0.3])
    >>> [one.chunk_id for one in fused]
    ['b', 'a']

    Raises:
        CallerError: The weights do not match the rankings, or one is negative.
    """
    if len(rankings) != len(weights) or any(not weight >= 0 for weight in weights):
        raise CallerError(f"{len(rankings)} rankings need as many weights of 0 or more, got {list(weights)}")
    sums: dict[str, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        votes = dict.fromkeys(one.chunk_id for one in ranking if one.score > 0)
        for rank, chunk_id in enumerate(votes if weight else (), start=1):
            sums[chunk_id] = sums.get(chunk_id, 0.0) + weight / (k + rank)
    fused = [Scored(chunk_id, score) for chunk_id, score in sums.items()]
    return sorted(fused, key=lambda one: (-one.score, one.chunk_id))
