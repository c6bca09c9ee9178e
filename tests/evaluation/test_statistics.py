"""Intervals and tests: scipy as the second opinion, and what must hold whatever the values are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rag_platform.errors import CallerError
from rag_platform.evaluation.statistics import RESAMPLES, mean_interval, paired_difference

VALUES = np.random.default_rng(3).beta(2, 1, 60)


def random(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def by_query(values: np.ndarray) -> dict[str, float]:
    return {f"q{n}": float(value) for n, value in enumerate(values)}


def test_the_interval_is_scipys_within_the_noise_of_resampling() -> None:
    ours = mean_interval(VALUES.tolist())
    theirs = stats.bootstrap((VALUES,), np.mean, method="percentile", n_resamples=9_999, rng=1)
    width = ours.high - ours.low
    assert ours.mean == pytest.approx(VALUES.mean(), abs=1e-12)
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.1 * width)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.1 * width)
    assert ours.n == 60


def test_the_interval_holds_the_true_mean_about_95_times_of_100() -> None:
    samples = random(4).random((200, 40))
    held = sum(one.low <= 0.5 <= one.high for one in (mean_interval(s.tolist()) for s in samples))
    assert held >= 180


def test_an_interval_is_the_same_each_time_and_of_nothing_is_nothing() -> None:
    assert mean_interval(VALUES.tolist()) == mean_interval(VALUES.tolist())
    assert mean_interval([]).n == 0
    assert mean_interval([0.25]) == mean_interval([0.25], seed=9)


def test_many_values_are_resampled_in_blocks() -> None:
    many = random(5).random(9_000)
    assert many.size * RESAMPLES > 4_000_000
    one = mean_interval(many.tolist())
    assert one.high - one.low == pytest.approx(2 * 1.96 * many.std() / np.sqrt(many.size), rel=0.1)


def test_the_p_value_is_scipys() -> None:
    a = VALUES[:14]
    b = np.clip(a - random(6).normal(0.05, 0.1, 14), 0, 1)
    ours = paired_difference(by_query(a), by_query(b))
    theirs = stats.permutation_test(
        (a - b,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert ours.mean == pytest.approx((a - b).mean())
    assert ours.p_value == pytest.approx(theirs.pvalue, abs=0.02)
    assert ours.low < ours.mean < ours.high


def test_a_p_value_is_never_0() -> None:
    better = paired_difference(by_query(np.ones(50)), by_query(np.zeros(50)))
    assert better.p_value == 1 / 5_001
    assert (better.wins, better.ties, better.losses) == (50, 0, 0)


def test_equal_runs_do_not_differ() -> None:
    same = paired_difference(by_query(VALUES), by_query(VALUES))
    assert (same.mean, same.low, same.high, same.p_value) == (0.0, 0.0, 0.0, 1.0)
    assert (same.wins, same.ties, same.losses) == (0, 60, 0)


def test_runs_alike_are_told_apart_in_about_5_of_100() -> None:
    flagged = 0
    for a, b in random(7).random((100, 2, 30)):
        flagged += paired_difference(by_query(a), by_query(b), resamples=499).p_value <= 0.05
    assert flagged <= 11  # of 100 with a chance of 0.05 each, 11 and more happen once in a hundred times


def test_only_common_queries_are_compared() -> None:
    some = paired_difference({"q1": 1.0, "q2": 0.5, "only-a": 1.0}, {"q1": 0.0, "q2": 0.5, "only-b": 0.0})
    assert (some.n, some.mean, some.wins, some.ties, some.losses) == (2, 0.5, 1, 1, 0)
    with pytest.raises(CallerError, match="no query in common"):
        paired_difference({"q1": 1.0}, {"q2": 1.0})
