"""How sure a mean is, and whether two runs, or which of many, differ: intervals and randomisation tests.

Values per query come in; how they were measured is not known here. All random numbers have a fixed seed, so
that a repetition gives the same figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from rag_platform.errors import CallerError

__all__ = [
    "ALPHA",
    "POWER",
    "RESAMPLES",
    "SEED",
    "Interval",
    "PairedDifference",
    "all_pairs",
    "holm",
    "mean_interval",
    "mean_intervals",
    "minimum_detectable_difference",
    "paired_difference",
]

ALPHA = 0.05
"""Chance of calling runs different that are alike, over all comparisons that are made at once."""
POWER = 0.8
"""Chance of finding a difference that a set is said to be large enough for."""

RESAMPLES = 2_000
"""Resamples of an interval; the two ends then vary by about a twentieth of its width with the seed."""
_PAIRED_RESAMPLES = 5_000
_RESAMPLES_A_PAIR = 100
"""Sign changes for each pair that is compared: after Holm's correction p is at least pairs / (B + 1), so that
5,000 of them could never tell 30 cells (435 pairs) apart."""
_MOST_RESAMPLES = 200_000
_TINY = 1e-12
"""Differences below are rounding."""
SEED = 20_260_101
_AT_ONCE = 4_000_000
"""Drawn numbers in memory at once."""
_IN_CACHE = 20
"""Times fewer where each draw is compared many times."""


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
    extreme = np.abs(_flipped_means(differences, resamples, seed)) >= abs(interval.mean) - _TINY
    signs = np.sign(np.where(np.abs(differences) < _TINY, 0.0, differences))
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


def mean_intervals(
    values: NDArray[np.float64], *, confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = SEED
) -> list[Interval]:
    """Return what ``mean_interval`` gives for each row, all of the same queries, many rows in one go.

    Args:
        values: ``(n_runs, n_queries)``.
        confidence: Share of the resampled means inside.
        resamples: Draws of the queries.
        seed: Of the draws.
    """
    n_runs, n = values.shape
    if not n:
        return [Interval(0.0, 0.0, 0.0, 0)] * n_runs
    random, means = np.random.default_rng(seed), []
    for rows in _rows(resamples, n):
        drawn = random.integers(0, n, (rows, n)) + np.arange(rows)[:, None] * n
        counts = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
        means.append(counts @ values.T / n)
    tail = (1 - confidence) / 2
    ends = np.quantile(np.concatenate(means), [tail, 1 - tail], axis=0)
    return [
        Interval(float(mean), float(low), float(high), n)
        for mean, low, high in zip(values.mean(axis=1), *ends, strict=True)
    ]


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for being many: the chance of one false finding among all stays below alpha.

    The smallest is multiplied by their number m, the next by m - 1, and so on, none smaller than the one
    before. Holm, A Simple Sequentially Rejective Multiple Test Procedure, 1979.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    corrected, highest = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[at]))
        corrected[at] = highest
    return corrected


def all_pairs(
    values: NDArray[np.float64], *, resamples: int | None = None, seed: int = SEED
) -> NDArray[np.float64]:
    """Return the p-value of every pair of runs, after Holm's correction over all pairs.

    The test is that of ``paired_difference``. All pairs are corrected for, also where only those with the
    best are of interest: which one is the best was found on the same queries, and a correction for the
    comparisons with it alone calls one of 30 equal runs worse in 28 of 100 cases (measured, 80 queries).

    Args:
        values: ``(n_runs, n_queries)``, every run on the same queries.
        resamples: Sign changes; None: enough for the number of pairs.
        seed: Of the sign changes.

    Returns:
        ``(n_runs, n_runs)``, symmetric, 1 on the diagonal and without any query.
    """
    n_runs, n = values.shape
    corrected = np.ones((n_runs, n_runs))
    first, second = np.triu_indices(n_runs, 1)
    if not n or not first.size:
        return corrected
    wanted = min(max(_PAIRED_RESAMPLES, _RESAMPLES_A_PAIR * first.size), _MOST_RESAMPLES)
    flips = resamples or wanted
    seen = np.abs(np.subtract.outer(means := values.mean(axis=1), means)) - _TINY
    extreme = np.zeros((n_runs, n_runs))
    random = np.random.default_rng(seed)
    for rows in _rows(flips, n * _IN_CACHE):
        signs = random.integers(0, 2, (rows, n), dtype=np.int8) * 2.0 - 1.0
        flipped = values @ signs.T / n
        for one in range(n_runs - 1):
            distances = np.abs(flipped[one] - flipped[one + 1 :])
            extreme[one, one + 1 :] += (distances >= seen[one, one + 1 :, None]).sum(axis=1)
    corrected[first, second] = holm(((extreme[first, second] + 1) / (flips + 1)).tolist())
    corrected[second, first] = corrected[first, second]
    return corrected


def minimum_detectable_difference(
    a: Sequence[float], b: Sequence[float], *, alpha: float = ALPHA, power: float = POWER
) -> float:
    """Return how far two runs like these must differ so that their set shows it with chance ``power``.

    ``(z(1 - alpha / 2) + z(power)) * s / sqrt(n)`` with s the standard deviation of the differences of each
    query; without correction for other comparisons. Sakai, Statistical Reform in Information Retrieval?,
    SIGIR Forum 2014. Infinite for fewer than two queries.

    >>> round(minimum_detectable_difference([1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]), 4)
    0.8087
    """
    differences = np.subtract(a, b)
    if differences.size < 2:
        return float("inf")
    normal = NormalDist()
    distance = normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
    return float(distance * differences.std(ddof=1) / np.sqrt(differences.size))


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
