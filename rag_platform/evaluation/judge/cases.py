"""What a judge is asked and what comes of it: cases, scores with their status, and their means.

Values only; no model is asked here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "DEEPEVAL_METRICS",
    "METRICS",
    "OWN_METRICS",
    "RETRIEVAL_AVG",
    "RETRIEVAL_METRICS",
    "JudgeCase",
    "Scored",
    "Summary",
    "retrieval_average",
    "summary",
]

RETRIEVAL_METRICS = ("Contextual Recall", "Contextual Precision", "Contextual Relevancy")
DEEPEVAL_METRICS = ("Answer Relevancy", "Faithfulness", *RETRIEVAL_METRICS)
OWN_METRICS = ("Natural Nepali", "Supported Claims")
METRICS = (*DEEPEVAL_METRICS, *OWN_METRICS)
RETRIEVAL_AVG = "Retrieval Avg"
"""The mean of ``RETRIEVAL_METRICS``; computed, never asked."""

Status = Literal["ok", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class JudgeCase:
    """One answered question.

    Attributes:
        contexts: Texts of the passages that the answer was made from, best first.
        reference_answer: A right answer; empty where none is known.
        refused: The answer is a refusal.
    """

    question: str
    answer: str
    contexts: tuple[str, ...]
    reference_answer: str = ""
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Scored:
    """What became of one metric of one case.

    Attributes:
        value: From 0 to 1; NaN unless ``ok``.
        reason: Why the judge scored so, or why it failed or was skipped.
        tokens: Of all calls behind this score, those of earlier runs included; so ``cost``, in US dollars.
        seconds: That these calls took.
        calls: Calls that were made now: those that an earlier run made are not made again.
        details: Of ``Supported Claims`` the claims that are not supported.
    """

    status: Status
    value: float
    reason: str = ""
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    calls: int = 0
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """A mean with what it leaves out.

    Attributes:
        mean: Over the ``n`` scores that are ok; NaN without any.
        floor: With each failure as 0: what the mean is at least; a run with failures is compared by this.
        n_failed: Judgements that failed; ``n_skipped`` those with nothing to judge.
    """

    mean: float
    floor: float
    n: int
    n_failed: int
    n_skipped: int


def summary(scores: Iterable[Scored]) -> Summary:
    """Return the mean of one metric over the cases of a run.

    >>> found = summary([Scored("ok", 1.0), Scored("failed", float("nan"), "no JSON")])
    >>> found.mean, found.floor, found.n, found.n_failed
    (1.0, 0.5, 1, 1)
    """
    found = list(scores)
    values = [one.value for one in found if one.status == "ok"]
    n_failed = sum(one.status == "failed" for one in found)
    return Summary(
        mean=sum(values) / len(values) if values else math.nan,
        floor=sum(values) / (len(values) + n_failed) if values or n_failed else math.nan,
        n=len(values),
        n_failed=n_failed,
        n_skipped=len(found) - len(values) - n_failed,
    )


def retrieval_average(scores: Mapping[str, Scored]) -> Scored:
    """Return the mean of the three contextual metrics of one case; as long as one is not ok, it is not."""
    parts = [
        (name, scores.get(name, Scored("skipped", math.nan, "not judged"))) for name in RETRIEVAL_METRICS
    ]
    for status in ("failed", "skipped"):
        for name, one in parts:
            if one.status == status:
                return Scored(one.status, math.nan, f"{name}: {one.reason}")
    return Scored("ok", sum(one.value for _, one in parts) / len(parts))
