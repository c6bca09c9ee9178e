"""How far a judge can be trusted: its agreement with people, and with itself.

Formulas over labels and scores; who gave them is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from rag_platform.errors import CallerError

__all__ = ["kappa", "repeat_deviation"]


def kappa(judged: Sequence[Hashable], labelled: Sequence[Hashable]) -> float:
    """Return Cohen's kappa of a judge's labels and a person's, case by case.

    ``(observed - expected) / (1 - expected)``, ``expected`` being the agreement of two raters who give their
    labels by chance as often as these do. 1 is full agreement, 0 is chance; NaN where both give one and the
    same label throughout. Scores are labels after a threshold. Cohen, Educational and Psychological
    Measurement, 1960.

    >>> kappa(["yes", "yes", "no", "no"], ["yes", "no", "no", "no"])
    0.5

    Raises:
        CallerError: There are no labels, or not as many of one as of the other.
    """
    if len(judged) != len(labelled) or not judged:
        raise CallerError(
            f"{len(judged)} judgements and {len(labelled)} labels: one label is needed for each judgement"
        )
    n = len(judged)
    observed = sum(a == b for a, b in zip(judged, labelled, strict=True)) / n
    names = set(judged) | set(labelled)
    expected = sum(list(judged).count(one) * list(labelled).count(one) for one in names) / n**2
    return (observed - expected) / (1 - expected) if expected < 1 else math.nan


def repeat_deviation(repeats: Sequence[Sequence[float]]) -> float:
    """Return the judge's own standard deviation: how far a score moves when the same is judged again.

    The root of the mean variance within cases, each of two repeats or more that are ok (NaN is left out);
    0 where no case has two.

    >>> repeat_deviation([[0.5, 1.0], [1.0, 1.0]])
    0.25
    """
    kept = [[value for value in case if not math.isnan(value)] for case in repeats]
    variances = [float(np.var(case, ddof=1)) for case in kept if len(case) > 1]
    return math.sqrt(sum(variances) / len(variances)) if variances else 0.0
