"""The gate lets pass what is good enough and no worse, and shows the interval of what is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from runs import HASHING, SMALL, write_run

from rag_platform.errors import CallerError, UnknownName
from rag_platform.evaluation.gate import gate, load_measured, measured, parse_minimum, since_last
from rag_platform.evaluation.statistics import mean_interval

GOOD = [1.0, 0.75, 1.0, 0.75] * 5  # mean 0.875


def test_a_minimum_is_a_mean(tmp_path: Path) -> None:
    result = measured(write_run(tmp_path, {SMALL: {"nDCG@10": GOOD}}))
    assert gate(result, minimums={"nDCG@10": 0.875}).passed
    verdict = gate(result, minimums={"nDCG@10": 0.9})
    assert not verdict.passed
    check, interval = verdict.checks[0], mean_interval(GOOD)
    assert (check.value, check.n, check.limit) == (0.875, 20, 0.9)
    assert (check.low, check.high) == pytest.approx((interval.low, interval.high), abs=0.01)
    assert verdict.reason.startswith("nDCG@10 is 0.875 [0.8")


def test_a_failed_score_counts_as_0(tmp_path: Path) -> None:
    failing = ["failed" if at == 0 else value for at, value in enumerate(GOOD)]
    check = gate(measured(write_run(tmp_path, {SMALL: {"m": failing}})), minimums={"m": 0.85}).checks[0]
    assert (check.value, check.n, check.n_failed, check.passed) == (pytest.approx(16.5 / 20), 20, 1, False)
    assert check.note == "1 failed scores count as 0"


def test_a_drop_is_judged_by_its_mean_with_the_paired_interval(tmp_path: Path) -> None:
    before = measured(write_run(tmp_path, {SMALL: {"m": GOOD}}, run_id="before"))
    lower = [value - 0.25 if at % 5 == 0 else value for at, value in enumerate(GOOD)]  # 0.05 on average
    after = measured(write_run(tmp_path, {SMALL: {"m": lower}}, run_id="after"))
    assert gate(after, baseline=before, max_drop=0.05).passed
    verdict = gate(after, baseline=before, max_drop=0.02)
    check = verdict.checks[0]
    assert (verdict.passed, check.rule, check.value) == (False, "max-drop", pytest.approx(0.05))
    assert check.low < 0.05 < check.high < 0.12  # far narrower than that of the means
    assert check.note == "may be chance"  # four questions
    assert gate(before, baseline=after).passed


def test_failures_of_the_baseline_make_no_gate_easier(tmp_path: Path) -> None:
    before = measured(write_run(tmp_path, {SMALL: {"m": ["failed", 1.0, 1.0, 1.0]}}, run_id="before"))
    after = measured(write_run(tmp_path, {SMALL: {"m": [1.0, 1.0, 1.0, 0.5]}}, run_id="after"))
    check = gate(after, baseline=before).checks[0]
    assert (check.n, check.value, check.passed) == (3, pytest.approx(0.5 / 3), False)


def test_the_best_cell_is_judged_unless_one_is_named(tmp_path: Path) -> None:
    run = write_run(tmp_path, {SMALL: {"m": GOOD}, HASHING: {"m": [0.5] * 20}})
    assert measured(run).means["m"] == 0.875
    assert measured(run, HASHING).means["m"] == 0.5
    with pytest.raises(UnknownName, match="measure of run-1"):
        measured(run, measure="nDCG@10")


def test_results_come_by_id_by_folder_and_by_json(tmp_path: Path) -> None:
    run = write_run(tmp_path, {SMALL: {"nDCG@10": GOOD}})
    by_id = load_measured(tmp_path, "run-1")
    elsewhere = run.folder.rename(tmp_path / "artefact")
    assert load_measured(tmp_path / "nowhere", str(elsewhere)) == by_id
    written = tmp_path / "result.json"
    written.write_text(
        json.dumps({"measures": {"nDCG@10": 0.9}, "intervals": {"nDCG@10": [0.8, 0.97]}}), "utf-8"
    )
    verdict = gate(by_id, baseline=load_measured(tmp_path, str(written)), max_drop=0.01)
    check = verdict.checks[0]
    assert (check.value, check.n, check.passed) == (pytest.approx(0.025), 0, False)
    assert check.low < 0.025 - 0.1 < 0.025 + 0.07 < check.high
    assert "not paired" in check.note
    written.write_text("[1]", "utf-8")
    with pytest.raises(CallerError, match="is not what `rag evaluate retrieval --format json` writes"):
        load_measured(tmp_path, str(written))


def test_wrong_questions_to_the_gate_are_told(tmp_path: Path) -> None:
    result = measured(write_run(tmp_path, {SMALL: {"nDCG@10": GOOD}}))
    with pytest.raises(CallerError, match="nothing to check"):
        gate(result)
    with pytest.raises(UnknownName, match="Did you mean 'nDCG@10'"):
        gate(result, minimums={"nDCG@5": 0.5})
    for wrong in ("nDCG@10", "=0.5", "nDCG@10=high", "nDCG@10=nan"):
        with pytest.raises(CallerError, match="write MEASURE=NUMBER"):
            parse_minimum(wrong)


def test_a_run_is_judged_against_the_last_one_of_its_set(tmp_path: Path) -> None:
    early, late = (f"2026-11-0{day}T00:00:00+00:00" for day in (1, 2))
    old = write_run(tmp_path, {SMALL: {"m": GOOD}}, run_id="old", created_at=early)
    write_run(tmp_path, {SMALL: {"m": [1.0] * 20}}, run_id="other", dataset_fingerprint="d2")
    new = write_run(tmp_path, {HASHING: {"m": [0.5] * 20}}, run_id="new", created_at=late)
    assert since_last(tmp_path, old) is None
    verdict = since_last(tmp_path, new)
    assert verdict is not None
    assert (verdict.passed, verdict.baseline) == (False, f"old ({SMALL.embedding_model}|none)")
    assert verdict.checks[0].value == pytest.approx(0.375)
    only = since_last(tmp_path, old, minimums={"m": 0.8})
    assert only is not None
    assert only.passed
