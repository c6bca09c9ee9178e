import math

import pytest

from rag_platform.errors import CallerError
from rag_platform.evaluation.judge import Scored, kappa, repeat_deviation, summary

NAN = float("nan")


def test_kappa_of_the_textbook() -> None:
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: observed 0.7, expected 0.5 * 0.6 + 0.5 * 0.4
    judged = ["yes"] * 25 + ["no"] * 25
    labelled = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert kappa(judged, labelled) == pytest.approx((0.7 - 0.5) / (1 - 0.5))
    assert kappa(judged, judged) == 1.0
    assert math.isnan(kappa(["yes", "yes"], ["yes", "yes"]))
    with pytest.raises(CallerError, match="2 judgements and 1 labels"):
        kappa([1, 2], [1])


def test_kappa_agrees_with_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    judged, labelled = [1, 2, 3, 1, 2, 3, 1, 1], [1, 2, 2, 1, 3, 3, 2, 1]
    assert kappa(judged, labelled) == pytest.approx(metrics.cohen_kappa_score(judged, labelled), abs=1e-12)


def test_the_judges_own_deviation() -> None:
    # variances 0.02 and 0, of which the mean is 0.01
    assert repeat_deviation([[0.4, 0.6], [1.0, 1.0], [0.3]]) == pytest.approx(math.sqrt(0.01))
    assert repeat_deviation([[0.5, NAN]]) == 0.0


def test_failures_and_skips_are_counted_beside_the_mean() -> None:
    found = summary([Scored("ok", 1.0), Scored("ok", 0.5), Scored("failed", NAN), Scored("skipped", NAN)])
    assert (found.mean, found.n, found.n_failed, found.n_skipped) == (0.75, 2, 1, 1)
    assert found.floor == pytest.approx(1.5 / 3)
    assert math.isnan(summary([]).mean)
