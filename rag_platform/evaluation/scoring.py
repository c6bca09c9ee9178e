"""From what a cell found and answered to rows of its tables: one score a (question, measure).

Pure apart from the judge, whose calls are kept by the judge itself. Ranking measures stand in ``ranking``,
measures of answers in ``answer_measures``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rag_platform.evaluation.collection import Collections
from rag_platform.evaluation.contexts import ContextKind
from rag_platform.evaluation.datasets import Case
from rag_platform.evaluation.labels import Unit, ranked_units
from rag_platform.evaluation.ranking import Measure
from rag_platform.evaluation.steps import Answered, Ranking
from rag_platform.types import Hit, fingerprint

__all__ = ["CODE", "Found", "answer_row", "failed_rows", "ranking_rows", "score_row"]

CODE = "scores/1"
"""Raised by hand when a measure gives another value than before; part of every score's fingerprint."""

Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Found:
    """What a cell found for one question.

    Attributes:
        case: The question.
        units: Its judged places.
        ranking: What was found, and what it took.
        hits: The passages shown, best first; the first ``n_contexts`` are read by a generator.
        n_contexts: How many.
        reads: ``hits``, or the kind of context that is read instead: then nothing was searched.
    """

    case: Case
    units: tuple[Unit, ...]
    ranking: Ranking
    hits: tuple[Hit, ...]
    n_contexts: int
    reads: Literal["hits"] | ContextKind = "hits"

    @property
    def contexts(self) -> tuple[Hit, ...]:
        """What a generator reads."""
        return self.hits[: self.n_contexts]

    @property
    def is_alone(self) -> bool:
        """Whether a generator answers without any passage, on purpose."""
        return self.reads == "none"


def ranking_rows(found: Found, documents: Collections, measures: Sequence[Measure]) -> list[Row]:
    """Return the ranking measures of one question; of one that nobody judged they are skipped."""
    case, units = found.case, found.units
    if found.reads != "hits" or not case.answerable or not units:
        reason = "unanswerable on purpose" if not case.answerable else "not judged"
        reason = reason if found.reads == "hits" else "nothing is searched"
        return [score_row(case, str(measure), status="skipped", reason=reason) for measure in measures]
    ranked = ranked_units(found.hits, units, documents[case.collection])
    grades = {unit.unit_id: unit.grade for unit in units}
    made = fingerprint(CODE, [one.unit for one in ranked], grades)
    seconds = found.ranking.seconds_retrieve + found.ranking.seconds_rerank
    return [
        score_row(
            case,
            str(measure),
            measure.of(ranked, grades),
            seconds=seconds,
            made=fingerprint(made, str(measure)),
        )
        for measure in measures
    ]


def failed_rows(case: Case, measures: Sequence[str], reason: str, *, status: str = "failed") -> list[Row]:
    """Return a row a measure of a question for which none could be computed."""
    return [score_row(case, measure, status=status, reason=reason) for measure in measures]


def score_row(
    case: Case,
    measure: str,
    value: float = math.nan,
    *,
    status: str = "ok",
    reason: str = "",
    seconds: float = 0.0,
    tokens: int = 0,
    cost: float = 0.0,
    made: str = "",
) -> Row:
    """Return one row of the scores, without its cell."""
    return {
        "query_id": case.case_id,
        "kind": case.kind,
        "language": case.language,
        "document": case.labels[0].source if case.labels else "",
        "measure": measure,
        "value": value if status == "ok" else math.nan,
        "status": status,
        "reason": reason,
        "seconds": seconds,
        "tokens": tokens,
        "cost": cost,
        "fingerprint": made,
    }


def answer_row(case: Case, contexts: Sequence[Hit], answered: Answered | None) -> Row:
    """Return one row of the answers, without its cell."""
    answer = answered.answer if answered else None
    return {
        "query_id": case.case_id,
        "query": case.query,
        "answer": answer.text if answer else "",
        "refused": bool(answer and answer.refused),
        "contexts": [hit.chunk.indexed_text for hit in contexts],
        "sources": [hit.chunk.source for hit in contexts],
        "pages": [hit.chunk.page_first for hit in contexts],
        "reference_answer": case.reference_answer,
        "seconds": answered.seconds if answered else 0.0,
        "tokens": answer.usage.tokens if answer else 0,
        "cost": answer.usage.cost if answer else 0.0,
        "fingerprint": answered.fingerprint
        if answered
        else fingerprint([h.chunk.chunk_id for h in contexts]),
    }
