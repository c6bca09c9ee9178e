"""What a run is exported to is read back as the run was, in every form."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from runs import RERANKED, SMALL, Values, write_run

from rag_platform.errors import CallerError, DamagedFile, UnknownName
from rag_platform.evaluation.compare import compare
from rag_platform.evaluation.exports import Form, write_export
from rag_platform.evaluation.gate import gate, load_measured, measured
from rag_platform.evaluation.leaderboard import leaderboard
from rag_platform.evaluation.results import Cell, Run

THIRDS: list[float | str] = [1 / 3, 2 / 3, 1.0, "failed", "skipped"]
QUESTIONS = ['उसले "कर" भन्यो,\nअनि?', "NA", "null", "कति, कहाँ; के?", "  "]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    cells: dict[Cell, Values] = {
        SMALL: {"nDCG@10": THIRDS, "F1": THIRDS},
        RERANKED: {"nDCG@10": [0.1, 0.2, 0.3, 0.4, "skipped"]},
    }
    return write_run(tmp_path, cells, questions=QUESTIONS, note='पहिलो, "राम्रो"\nटिपोट')


@pytest.mark.parametrize("form", list(Form))
def test_every_table_comes_back(run: Run, tmp_path: Path, form: Form) -> None:
    names = write_export(run, tmp_path / "out", form)
    assert names == ["run.json", *(f"{name}.{form}" for name in ("scores", "answers", "cells"))]
    found = Run.load(tmp_path / "another home", str(tmp_path / "out"))
    assert found.about == run.about
    for ours, theirs in (
        (found.scores(), run.scores()),
        (found.answers(), run.answers()),
        (found.cells(), run.cells()),
    ):
        pd.testing.assert_frame_equal(ours, theirs, check_exact=True)
    assert found.answers()["query"].tolist()[:5] == QUESTIONS
    assert found.states() == run.states()
    assert found.is_complete
    assert len(found.repeats()) == 0
    assert leaderboard(found).value()["rows"] == leaderboard(run).value()["rows"]
    assert compare(run, found).differences[0].paired.mean == 0


@pytest.mark.parametrize("form", list(Form))
def test_the_gate_reads_exports_as_result_and_as_baseline(tmp_path: Path, form: Form) -> None:
    good, lower = [1.0, 0.75] * 10, [1.0, 0.5] * 10  # 0.125 lower on average
    write_export(write_run(tmp_path, {SMALL: {"m": good}}, run_id="before"), tmp_path / "base", form)
    write_export(write_run(tmp_path, {SMALL: {"m": lower}}, run_id="after"), tmp_path / "result", form)
    base, result = (load_measured(tmp_path / "nowhere", str(tmp_path / name)) for name in ("base", "result"))
    assert base == measured(Run.load(tmp_path, "before"))
    verdict = gate(result, baseline=base, max_drop=0.1)
    check = verdict.checks[0]
    assert (verdict.passed, check.value, check.n) == (False, 0.125, 20)
    assert 0.05 < check.low < 0.125 < check.high < 0.2
    assert gate(result, baseline=base, max_drop=0.125).passed
    assert load_measured(tmp_path, str(tmp_path / "base" / "run.json")) == base


def test_what_was_not_exported_is_told(run: Run, tmp_path: Path) -> None:
    write_export(run, tmp_path / "out")
    scores = tmp_path / "out" / "scores.csv"
    scores.write_text("query_id,value\nq0,many\n", encoding="utf-8")
    with pytest.raises(DamagedFile, match=r"scores\.csv is not what `rag runs export` writes"):
        load_measured(tmp_path, str(tmp_path / "out"))
    scores.unlink()
    with pytest.raises(CallerError, match="no scores"):
        load_measured(tmp_path, str(tmp_path / "out"))
    (tmp_path / "empty").mkdir()
    for wrong in (str(tmp_path / "empty"), "x" * 400):
        with pytest.raises(UnknownName, match="unknown run"):
            load_measured(tmp_path, wrong)


def test_the_repeats_of_a_judge_come_along(run: Run, tmp_path: Path) -> None:
    repeats = [
        {
            "query_id": "q0",
            "measure": "Faithfulness",
            "repeat": at,
            "value": 0.5 + at / 10,
            "status": "ok",
            "reason": "",
        }
        for at in range(3)
    ]
    run.write_cell(SMALL, scores=[], answers=[], repeats=repeats)
    assert "repeats.jsonl" in write_export(run, tmp_path / "out", Form.jsonl)
    pd.testing.assert_frame_equal(Run.read(tmp_path / "out").repeats(), run.repeats())
