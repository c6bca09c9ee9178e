"""Retrieval measured: every question of a set searched, its hits judged, the measures with their intervals.

The search is a function that comes in, so whatever is served can be measured; collections are published in
``collection``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.embed import embed_texts
from rag_platform.errors import InvalidDataset
from rag_platform.evaluation.collection import Collections, Progress, collection_name
from rag_platform.evaluation.datasets import Case, Dataset
from rag_platform.evaluation.labels import Unit, ranked_units, units_of
from rag_platform.evaluation.ranking import Measure, Ranked, parse_measure, scores
from rag_platform.evaluation.statistics import Interval, mean_interval
from rag_platform.protocols import Encoder
from rag_platform.text.normalize import stored_text
from rag_platform.types import Hit

__all__ = [
    "Evaluation",
    "Outcome",
    "Search",
    "TopScores",
    "default_measures",
    "embed_queries",
    "evaluate_retrieval",
    "searchable",
]

Search = Callable[[str, str], Sequence[Hit]]
"""Returns the hits of a question in a collection, best first."""
_QUANTILES = {"min": 0.0, "p25": 0.25, "median": 0.5, "p75": 0.75, "max": 1.0}


def default_measures(k: int = 10) -> tuple[Measure, ...]:
    """Return what is measured unless something else is asked for, to a depth of ``k``.

    >>> " ".join(map(str, default_measures()))
    'nDCG@10 R@10 MRR@10 hit@1 hit@3 hit@5'
    """
    names = (f"nDCG@{k}", f"R@{k}", f"MRR@{k}", "hit@1", "hit@3", "hit@5")
    return tuple(map(parse_measure, names))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one question brought.

    Attributes:
        case: The question.
        units: Its judged places.
        ranking: Places in the order in which they were found.
        top_score: Of the first hit; None without any.
        seconds: That the search took.
    """

    case: Case
    units: tuple[Unit, ...]
    ranking: Sequence[Ranked]
    top_score: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class TopScores:
    """Scores of first hits; ``n_without`` counts the questions without any hit."""

    n: int
    n_without: int
    quantiles: Mapping[str, float]

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> TopScores:
        """Return the distribution over questions."""
        top = [outcome.top_score for outcome in outcomes if outcome.top_score is not None]
        quantiles = {name: float(np.quantile(top, q)) for name, q in _QUANTILES.items()} if top else {}
        return cls(len(outcomes), len(outcomes) - len(top), quantiles)


@dataclass(frozen=True)
class Evaluation:
    """The measures of one run over a set, and what they were computed from."""

    dataset: Dataset
    outcomes: tuple[Outcome, ...]
    measures: tuple[Measure, ...] = field(default_factory=default_measures)

    @property
    def judged(self) -> tuple[Outcome, ...]:
        """The questions that ranking measures are about: answerable ones with a judgement."""
        return tuple(one for one in self.outcomes if one.case.answerable and one.units)

    @property
    def unanswerable(self) -> tuple[Outcome, ...]:
        """The questions that no document answers."""
        return tuple(one for one in self.outcomes if not one.case.answerable)

    @property
    def n_unjudged(self) -> int:
        """Questions that nobody judged: they say nothing and are left out."""
        return len(self.outcomes) - len(self.judged) - len(self.unanswerable)

    @property
    def qrels(self) -> dict[str, dict[str, int]]:
        """The judgements of the judged questions, for TREC files."""
        return {one.case.case_id: {u.unit_id: u.grade for u in one.units} for one in self.judged}

    @property
    def run(self) -> dict[str, Sequence[Ranked]]:
        """The rankings of all questions, for TREC files."""
        return {one.case.case_id: one.ranking for one in self.outcomes}

    def per_query(self, measure: Measure) -> dict[str, float]:
        """Return a measure of every judged question."""
        return scores(self.run, self.qrels, measure)

    def intervals(self) -> dict[str, Interval]:
        """Return every measure over all judged questions."""
        return self._intervals(self.judged)

    def by_kind(self) -> dict[str, dict[str, Interval]]:
        """Return every measure for each kind of question, in the order of the set; without a kind, none."""
        return self._by(lambda case: case.kind)

    def by_language(self) -> dict[str, dict[str, Interval]]:
        """Return every measure for each language that the set tells."""
        return self._by(lambda case: case.language)

    def _by(self, key: Callable[[Case], str]) -> dict[str, dict[str, Interval]]:
        groups: dict[str, list[Outcome]] = {}
        for outcome in self.judged:
            if name := key(outcome.case):
                groups.setdefault(name, []).append(outcome)
        return {name: self._intervals(group) for name, group in groups.items()}

    def _intervals(self, outcomes: Sequence[Outcome]) -> dict[str, Interval]:
        grades = [({u.unit_id: u.grade for u in one.units}, one.ranking) for one in outcomes]
        return {
            str(measure): mean_interval([measure.of(ranking, some) for some, ranking in grades])
            for measure in self.measures
        }


def searchable(dataset: Dataset, documents: Collections) -> dict[str, tuple[Unit, ...]]:
    """Return the judged places by question, found before anything costly is done.

    Raises:
        InvalidDataset: A label names a page or words that no document has, or no question is judged.
    """
    if not dataset.judged:
        raise InvalidDataset(f"no question of {dataset.name!r} is judged, so nothing can be measured")
    return {case.case_id: units_of(case, documents[case.collection]) for case in dataset.cases}


def embed_queries(
    dataset: Dataset, encoder: Encoder, cache: EmbeddingCache, progress: Progress | None = None
) -> None:
    """Embed all questions in batches, so that searching them one by one finds their vectors in the cache."""
    texts = [stored_text(case.query).strip() for case in dataset.cases]
    done = (lambda n, of: progress("embedding questions", n, of)) if progress else None
    embed_texts(encoder, cache, texts, "query", progress=done)


def evaluate_retrieval(
    dataset: Dataset,
    documents: Collections,
    search: Search,
    *,
    measures: Sequence[Measure] | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Search every question of a set and judge what is found.

    Args:
        dataset: The set.
        documents: Its documents as they were read.
        search: What is measured; it finds the set's collections by ``collection_name``.
        measures: What is measured; the defaults when None.
        progress: Told after every question.

    Raises:
        InvalidDataset: A label names a page or words that no document has, or no question is judged.
    """
    places = searchable(dataset, documents)
    outcomes = []
    for done, case in enumerate(dataset.cases, start=1):
        begin = time.perf_counter()
        hits = search(case.query, collection_name(dataset, case.collection))
        seconds = time.perf_counter() - begin
        units = places[case.case_id]
        ranking = ranked_units(hits, units, documents[case.collection])
        outcomes.append(Outcome(case, units, ranking, hits[0].score if hits else None, seconds))
        if progress:
            progress("searching", done, len(dataset.cases))
    return Evaluation(dataset, tuple(outcomes), tuple(measures) if measures else default_measures())
