"""How sure a mean is, and whether two runs differ: bootstrap intervals and paired randomisation tests.

Values per query come in; how they were measured is not known here. All random numbers have a fixed seed, so
that a repetition gives the same figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_platform.errors import CallerError

__all__ = ["RESAMPLES", "SEED", "Interval", "PairedDifference", "mean_interval", "paired_difference"]

RESAMPLES = 2_000
"""Resamples of an interval; the two ends then vary by about a twentieth of its width with the seed."""
_PAIRED_RESAMPLES = 5_000
SEED = 20_260_101
_AT_ONCE = 4_000_000
"""Drawn numbers in memory at once."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % interval over ``n`` queries; all 0 without any query."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """How a run A differs from a run B on the queries that both have.

    Attributes:
        mean: Of A minus B.
        low: Lower end of its 95 % interval; ``high`` the upper.
        p_value: Of the two-sided randomisation test, at least ``1 / (resamples + 1)``.
        n: Queries that both have.
        wins: Queries where A is better; ``ties`` and ``losses`` the others.
    """

    mean: float
    low: float
    high: float
    p_value: float
    n: int
    wins: int
    ties: int
    losses: int


def mean_interval(
    values: Sequence[float], *, confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = SEED
) -> Interval:
    """Return the mean and its percentile bootstrap interval over queries.

    Queries are drawn with replacement ``resamples`` times; the interval holds the middle ``confidence`` of
    the means. Efron, Bootstrap Methods: Another Look at the Jackknife, 1979.

    >>> mean_interval([1.0, 1.0, 1.0])
    Interval(mean=1.0, low=1.0, high=1.0, n=3)
    """
    array = np.asarray(values, dtype=np.float64)
    if not array.size:
        return Interval(0.0, 0.0, 0.0, 0)
    means = _bootstrap_means(array, resamples, seed)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(float(array.mean()), float(low), float(high), array.size)


def paired_difference(
    a: Mapping[str, float],
    b: Mapping[str, float],
    *,
    resamples: int = _PAIRED_RESAMPLES,
    seed: int = SEED,
) -> PairedDifference:
    """Compare two runs query by query, on the queries that both have.

    The p-value is of a randomisation test: under the hypothesis that the runs are alike each difference may
    as well have the other sign; ``p = (b + 1) / (B + 1)`` with b of B sign changes as far from 0 as what was
    seen. Smucker, Allan and Carterette, A Comparison of Statistical Significance Tests for IR, CIKM 2007.

    Raises:
        CallerError: The runs have no query in common.
    """
    common = sorted(a.keys() & b.keys())
    if not common:
        raise CallerError("the two runs have no query in common; compare runs on the same set")
    differences = np.array([a[query] - b[query] for query in common])
    interval = mean_interval(differences.tolist(), resamples=resamples, seed=seed)
    extreme = np.abs(_flipped_means(differences, resamples, seed)) >= abs(interval.mean) - 1e-12
    signs = np.sign(np.where(np.abs(differences) < 1e-12, 0.0, differences))
    return PairedDifference(
        mean=interval.mean,
        low=interval.low,
        high=interval.high,
        p_value=float((extreme.sum() + 1) / (resamples + 1)),
        n=interval.n,
        wins=int((signs > 0).sum()),
        ties=int((signs == 0).sum()),
        losses=int((signs < 0).sum()),
    )


def _bootstrap_means(values: NDArray[np.float64], resamples: int, seed: int) -> NDArray[np.float64]:
    """Return ``(resamples,)`` means of draws with replacement."""
    random = np.random.default_rng(seed)
    draws = [
        values[random.integers(0, values.size, (rows, values.size))].mean(axis=1)
        for rows in _rows(resamples, values.size)
    ]
    return np.concatenate(draws)


def _flipped_means(values: NDArray[np.float64], resamples: int, seed: int) -> NDArray[np.float64]:
    """Return ``(resamples,)`` means with random signs."""
    random = np.random.default_rng(seed)
    draws = [
        random.choice(np.array([-1.0, 1.0]), (rows, values.size)) @ values / values.size
        for rows in _rows(resamples, values.size)
    ]
    return np.concatenate(draws)


def _rows(resamples: int, n: int) -> list[int]:
    """Cut the resamples so that a block of ``rows x n`` numbers stays small."""
    size = max(1, _AT_ONCE // n)
    return [min(size, resamples - start) for start in range(0, resamples, size)]
