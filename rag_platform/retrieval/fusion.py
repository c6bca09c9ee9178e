"""Fusion of several rankings into one. No index and no encoder is touched here."""

from __future__ import annotations

from collections.abc import Sequence

from rag_platform.errors import CallerError
from rag_platform.types import Scored

__all__ = ["COVERAGE_POWER", "RRF_K", "calibrated", "mean_scores", "weighted_rrf", "weighted_scores"]

RRF_K = 60
"""Damping of the first ranks, from the paper; Qdrant's own default is 2."""

COVERAGE_POWER = 1.5
"""A passage with half of a question's words is worth a third of one with all: the words that a thematic
question shares with any passage should not outweigh its meaning (docs/retrieval.md)."""


def calibrated(
    dense: Sequence[Scored], coverage: Sequence[Scored], weights: tuple[float, float], *, match: float
) -> list[Scored]:
    """Add to the cosine what the shared words are worth, best first.

    ``score(d) = (w_dense * cosine(d) + w_lexical * match * coverage(d) ** COVERAGE_POWER) / (w_dense +
    w_lexical)``. Unlike ranks, scores can say that a part knows nothing: where no passage has the words of
    the question, the order is that of the cosines. A passage that the dense part did not bring has at most
    the cosine of its last, which is what it gets; one that the lexical part did not bring gets no share.

    Args:
        dense: Cosines, best first.
        coverage: BM25 divided by the question's ideal, 0 to 1, best first.
        weights: Of the dense and the lexical part.
        match: What a full lexical match is worth as a difference of cosines (``Calibration.match``).
    """
    cosines, shares = _votes(dense), _votes(coverage)
    lowest = min(cosines.values(), default=0.0)
    w_dense, w_lexical = (weight / sum(weights) for weight in weights)
    fused = {
        key: w_dense * cosines.get(key, lowest) + w_lexical * match * shares.get(key, 0.0) ** COVERAGE_POWER
        for key in (*cosines, *shares)
    }
    return _ranked(fused)


def mean_scores(rankings: Sequence[Sequence[Scored]]) -> list[Scored]:
    """Join rankings of scores on one scale by their mean, best first: several wordings of one question.

    A ranking that lacks a chunk gives it the score of its last, which it can have at most.

    >>> mean_scores([[Scored("a", 0.5), Scored("b", 0.25)], [Scored("b", 0.75)]])
    [Scored(chunk_id='a', score=0.625), Scored(chunk_id='b', score=0.5)]
    """
    votes = [_votes(ranking) for ranking in rankings]
    lowest = [min(scores.values(), default=0.0) for scores in votes]
    keys = dict.fromkeys(key for scores in votes for key in scores)
    return _ranked(
        {
            key: sum(scores.get(key, low) for scores, low in zip(votes, lowest, strict=True)) / len(votes)
            for key in keys
        }
    )


def weighted_scores(rankings: Sequence[Sequence[Scored]], weights: Sequence[float]) -> list[Scored]:
    """Fuse by the weighted sum of scores, each ranking's scaled to 0 (its last) to 1 (its first), best first.

    A ranking that lacks a chunk adds nothing.

    Raises:
        CallerError: The weights do not match the rankings, or one is negative.
    """
    _check(rankings, weights)
    sums: dict[str, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        votes = _votes(ranking)
        low, high = min(votes.values(), default=0.0), max(votes.values(), default=0.0)
        for chunk_id, score in votes.items() if weight else ():
            scaled = (score - low) / (high - low) if high > low else 1.0
            sums[chunk_id] = sums.get(chunk_id, 0.0) + weight * scaled
    return _ranked(sums)


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
    _check(rankings, weights)
    sums: dict[str, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        votes = dict.fromkeys(one.chunk_id for one in ranking if one.score > 0)
        for rank, chunk_id in enumerate(votes if weight else (), start=1):
            sums[chunk_id] = sums.get(chunk_id, 0.0) + weight / (k + rank)
    return _ranked(sums)


def _votes(ranking: Sequence[Scored]) -> dict[str, float]:
    """Return the best score of each chunk."""
    votes: dict[str, float] = {}
    for one in ranking:
        votes[one.chunk_id] = max(votes.get(one.chunk_id, one.score), one.score)
    return votes


def _ranked(scores: dict[str, float]) -> list[Scored]:
    fused = [Scored(chunk_id, score) for chunk_id, score in scores.items()]
    return sorted(fused, key=lambda one: (-one.score, one.chunk_id))


def _check(rankings: Sequence[Sequence[Scored]], weights: Sequence[float]) -> None:
    if len(rankings) != len(weights) or any(not weight >= 0 for weight in weights):
        raise CallerError(f"{len(rankings)} rankings need as many weights of 0 or more, got {list(weights)}")
