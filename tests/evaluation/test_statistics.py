"""Intervals and tests: scipy as the second opinion, and what must hold whatever the values are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rag_platform.errors import CallerError
from rag_platform.evaluation.statistics import (
    RESAMPLES,
    all_pairs,
    holm,
    mean_interval,
    mean_intervals,
    minimum_detectable_difference,
    paired_difference,
)

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


def test_many_intervals_at_once_are_those_of_each() -> None:
    values = random(8).random((4, 50))
    for one, row in zip(mean_intervals(values), values, strict=True):
        alone = mean_interval(row.tolist())
        assert (one.mean, one.n) == (pytest.approx(alone.mean), 50)
        assert (one.low, one.high) == (pytest.approx(alone.low), pytest.approx(alone.high))
    assert mean_intervals(np.empty((2, 0))) == [mean_interval([])] * 2


def test_holm_is_the_textbook_s() -> None:
    # sorted 0.01 0.02 0.03 0.04 times 4 3 2 1 is 0.04 0.06 0.06 0.04, none below the one before
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_all_pairs_are_scipy_s_permutation_tests_after_holm() -> None:
    values = random(9).random((3, 12)) + np.array([[0.0], [0.1], [0.45]])
    pairs = [(0, 1), (0, 2), (1, 2)]
    theirs = [
        stats.permutation_test(
            (values[a] - values[b],), np.mean, permutation_type="samples", n_resamples=np.inf
        ).pvalue
        for a, b in pairs
    ]
    ours = all_pairs(values)
    assert [ours[pair] for pair in pairs] == pytest.approx(holm(theirs), abs=0.03)
    assert (ours == ours.T).all()
    assert ours.diagonal().tolist() == [1.0, 1.0, 1.0]


def test_a_pair_s_p_value_is_that_of_the_paired_comparison() -> None:
    values = random(10).random((2, 40)) + np.array([[0.0], [0.12]])
    pair = paired_difference(by_query(values[0]), by_query(values[1]))
    assert all_pairs(values)[0, 1] == pytest.approx(pair.p_value, abs=0.02)


def test_thirty_cells_that_differ_are_told_apart_despite_435_comparisons() -> None:
    values = np.linspace(0, 1, 30)[:, None] + random(11).normal(0, 0.01, (30, 40))
    p = all_pairs(values)
    assert p[0, 29] <= 0.05
    assert p.min() >= 1 / 200_001  # never 0, whatever is multiplied
    assert all_pairs(values, resamples=99)[0, 29] == 1.0  # 435 / 100: too few to tell anything apart


def test_boards_of_equal_cells_call_one_worse_in_at_most_5_of_100() -> None:
    boards = random(12).beta(2, 1, (120, 10, 30))
    flagged = sum((all_pairs(board, resamples=2_000, seed=n) <= 0.05).any() for n, board in enumerate(boards))
    assert flagged <= 12  # of 120 with a chance of 0.05 each, 13 and more happen once in a hundred times


def test_the_detectable_difference_is_found_in_four_of_five_sets() -> None:
    shift = minimum_detectable_difference(*random(13).normal(0, 1, (2, 4_000))) * np.sqrt(4_000 / 50)
    sets = random(14).normal(0, 1, (300, 2, 50)) + np.array([[shift], [0.0]])
    p_values = stats.ttest_rel(sets[:, 0], sets[:, 1], axis=1).pvalue
    assert 0.72 <= (p_values <= 0.05).mean() <= 0.88
    assert minimum_detectable_difference([0.5], [0.1]) == np.inf


def test_the_detectable_difference_is_the_formula_with_scipy_s_quantiles() -> None:
    a, b = random(15).random((2, 30))
    expected = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * stats.sem(a - b)
    assert minimum_detectable_difference(a.tolist(), b.tolist()) == pytest.approx(expected, rel=1e-9)
