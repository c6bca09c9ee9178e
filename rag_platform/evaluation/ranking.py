"""Ranking measures by one notation (``nDCG@10``), a query at a time, then averaged over judged queries.

Pure functions over runs and judgements; where these come from is not known here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rag_platform.errors import CallerError, UnknownName

__all__ = [
    "MEASURES",
    "Measure",
    "Qrels",
    "Ranked",
    "Run",
    "mean",
    "parse_measure",
    "scores",
]


class Ranked(NamedTuple):
    """One place of a ranking: what was found and its score; the order of the list is the rank."""

    unit: str
    score: float


Run = Mapping[str, Sequence[Ranked]]
"""Query id -> ranking, best first, each unit once."""
Qrels = Mapping[str, Mapping[str, int]]
"""Query id -> judged unit -> grade; 0 and below is judged and not relevant."""

_Formula = Callable[[Sequence[int], Sequence[int], int], float]


def _dcg(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def _ndcg(found: Sequence[int], relevant: Sequence[int], k: int) -> float:
    ideal = _dcg(relevant[:k])
    return _dcg(found[:k]) / ideal if ideal else 0.0


def _recall(found: Sequence[int], relevant: Sequence[int], k: int) -> float:
    return _n_relevant(found[:k]) / len(relevant) if relevant else 0.0


def _precision(found: Sequence[int], _: Sequence[int], k: int) -> float:
    return _n_relevant(found[:k]) / k


def _hit(found: Sequence[int], _: Sequence[int], k: int) -> float:
    return float(any(found[:k]))


def _reciprocal_rank(found: Sequence[int], _: Sequence[int], k: int) -> float:
    return next((1 / rank for rank, grade in enumerate(found[:k], start=1) if grade), 0.0)


def _average_precision(found: Sequence[int], relevant: Sequence[int], k: int) -> float:
    at = [rank for rank, grade in enumerate(found[:k], start=1) if grade]
    return sum(n / rank for n, rank in enumerate(at, start=1)) / len(relevant) if relevant else 0.0


def _n_relevant(grades: Sequence[int]) -> int:
    return sum(grade > 0 for grade in grades)


MEASURES: dict[str, _Formula] = {
    "nDCG": _ndcg,
    "R": _recall,
    "P": _precision,
    "hit": _hit,
    "MRR": _reciprocal_rank,
    "MAP": _average_precision,
}
"""Each from 0 to 1, 0 for a query without an answer; grades of 0 and below count as not relevant.

``nDCG``: ``sum of grade / log2(rank + 1)`` over the first k, divided by that of the ideal order (linear gain;
Jarvelin and Kekalainen, Cumulated Gain-based Evaluation of IR Techniques, TOIS 2002). ``R``: share of the
relevant units found. ``P``: share of the k places that are relevant, k also where fewer were found. ``hit``:
1 when any is found. ``MRR``: 1 / rank of the first one (Voorhees, TREC-8 Question Answering Track, 1999).
``MAP``: mean over the relevant units of the precision at their rank. As trec_eval computes them.
"""

_NOTATION = re.compile(r"([A-Za-z]+)@([1-9][0-9]{0,3})")


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure with its cut-off, written as ``str(measure)``; read by ``parse_measure``."""

    name: str
    k: int

    def __str__(self) -> str:
        return f"{self.name}@{self.k}"

    def of(self, ranking: Sequence[Ranked], grades: Mapping[str, int]) -> float:
        """Return the measure of one query.

        Args:
            ranking: What was found, best first.
            grades: The query's judgements.
        """
        found = [max(0, grades.get(one.unit, 0)) for one in ranking[: self.k]]
        relevant = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
        return MEASURES[self.name](found, relevant, self.k)


def parse_measure(notation: str) -> Measure:
    """Return the measure of a notation, its name in any case.

    >>> str(parse_measure("ndcg@10"))
    'nDCG@10'

    Raises:
        CallerError: There is no cut-off.
        UnknownName: No measure has this name.
    """
    match = _NOTATION.fullmatch(notation.strip())
    if match is None:
        raise CallerError(f"{notation!r} is no measure; write name@k, for instance nDCG@10 or hit@1")
    names = {name.lower(): name for name in MEASURES}
    if match[1].lower() not in names:
        raise UnknownName("measure", match[1], MEASURES)
    return Measure(names[match[1].lower()], int(match[2]))


def scores(run: Run, qrels: Qrels, measure: Measure) -> dict[str, float]:
    """Return the measure of every judged query, 0 for one that the run lacks.

    >>> run = {"q1": [Ranked("a", 2.0), Ranked("b", 1.0)]}
    >>> scores(run, {"q1": {"b": 1}, "q2": {"c": 1}}, parse_measure("MRR@10"))
    {'q1': 0.5, 'q2': 0.0}
    """
    return {query: measure.of(run.get(query, ()), grades) for query, grades in qrels.items()}


def mean(values: Mapping[str, float]) -> float:
    """Return the mean over queries; 0 without any."""
    return math.fsum(values.values()) / len(values) if values else 0.0
