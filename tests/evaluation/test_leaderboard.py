"""A board tells what is better, what is tied, and never lets a failure look good."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from runs import HASHING, RERANKED, SMALL, write_run

from rag_platform.errors import CallerError, UnknownName
from rag_platform.evaluation.leaderboard import breakdown, leaderboard
from rag_platform.evaluation.results import Cell
from rag_platform.evaluation.statistics import mean_interval

GOOD = [1.0, 0.75, 0.5, 1.0] * 10
CLOSE = [0.5, 0.75, 1.0, 1.0] * 10
BAD = [0.25, 0.0, 0.25, 0.5] * 10


def test_the_best_its_ties_and_what_they_beat(tmp_path: Path) -> None:
    run = write_run(
        tmp_path, {HASHING: {"nDCG@10": BAD}, SMALL: {"nDCG@10": GOOD}, RERANKED: {"nDCG@10": CLOSE}}
    )
    board = leaderboard(run)
    assert [row.cell for row in board.rows] == [RERANKED, SMALL, HASHING]  # both 0.8125: by name
    assert [row.letter for row in board.rows] == ["a", "b", "c"]
    assert [row.tied_with_best for row in board.rows] == [True, True, False]
    assert [row.measures["nDCG@10"].beats for row in board.rows] == [("c",), ("c",), ()]
    interval = mean_interval(BAD)
    entry = board.rows[2].measures["nDCG@10"]
    assert entry.value == 0.25
    assert (entry.ci_low, entry.ci_high) == pytest.approx((interval.low, interval.high), abs=0.01)
    assert (entry.n_queries, entry.n_failed, entry.worst) == (40, 0, 0.25)
    assert board.summaries["nDCG@10"].best == RERANKED
    assert board.summaries["nDCG@10"].n_tied == 2


def test_a_cell_with_failures_never_looks_better(tmp_path: Path) -> None:
    """On 36 of 40 questions it did as well; where it failed, the other cell was right or wrong."""
    hard = [1.0, 0.75, 0.5, 0.0] * 10
    lucky = ["failed" if at in (3, 7, 11, 15) else value for at, value in enumerate(hard)]
    board = leaderboard(
        write_run(tmp_path, {SMALL: {"Faithfulness": lucky}, HASHING: {"Faithfulness": hard}})
    )
    first, second = board.rows
    assert board.summaries["Faithfulness"].best == first.cell == HASHING
    ours, theirs = first.measures["Faithfulness"], second.measures["Faithfulness"]
    assert ours.value == pytest.approx(theirs.value) == pytest.approx(22.5 / 36)
    assert (ours.n_queries, theirs.n_queries, ours.n_failed, theirs.n_failed) == (36, 36, 0, 4)
    assert (ours.worst, theirs.worst) == (pytest.approx(22.5 / 40), pytest.approx(22.5 / 40))


def test_more_failures_never_raise_a_cell(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    for trial in range(10):
        ours, theirs = random.random((2, 20)).round(2).tolist()
        fails = random.random(20) < 0.3
        some = [("failed" if fail else value) for value, fail in zip(ours, fails, strict=True)]
        before = leaderboard(
            write_run(tmp_path, {SMALL: {"m": ours}, HASHING: {"m": theirs}}, run_id=f"a{trial}")
        )
        after = leaderboard(
            write_run(tmp_path, {SMALL: {"m": some}, HASHING: {"m": theirs}}, run_id=f"b{trial}")
        )
        if before.summaries["m"].best == HASHING:
            assert after.summaries["m"].best == HASHING


def test_a_cell_that_failed_nearly_always_takes_no_questions_from_others(tmp_path: Path) -> None:
    broken = ["failed"] * 38 + [1.0, 1.0]
    board = leaderboard(write_run(tmp_path, {SMALL: {"m": GOOD}, HASHING: {"m": broken}}))
    first, second = (row.measures["m"] for row in board.rows)
    assert (first.n_queries, second.n_queries, second.n_failed) == (40, 2, 38)
    assert (second.value, second.worst, second.tied_with_best) == (1.0, 0.05, False)
    assert board.summaries["m"].best == SMALL


def test_cells_that_could_not_run_stand_last_with_their_reason(tmp_path: Path) -> None:
    gone = {"status": "unavailable", "reason": "BAAI/bge-m3 is not on this machine", "n_questions": 0}
    half = {"status": "partial", "reason": "stopped by the budget"}
    cells = {Cell("BAAI/bge-m3", "none"): {}, HASHING: {"m": [1.0] * 5}, SMALL: {"m": GOOD}}
    run = write_run(tmp_path, cells, states={Cell("BAAI/bge-m3", "none"): gone, HASHING: half})
    board = leaderboard(run)
    assert [row.status for row in board.rows] == ["complete", "partial", "unavailable"]
    assert board.rows[1].measures["m"].value == 1.0
    assert not board.rows[1].tied_with_best
    assert board.rows[2].measures == {}
    assert math.isnan(board.rows[2].seconds)
    assert board.rows[0].seconds == 0.5


def test_skipped_questions_are_no_failures(tmp_path: Path) -> None:
    some = ["skipped", 1.0, "skipped", 0.5]
    board = leaderboard(write_run(tmp_path, {SMALL: {"m": some, "n": ["skipped"] * 4}}))
    entry = board.rows[0].measures["m"]
    assert (entry.value, entry.n_queries, entry.n_failed, entry.n_skipped, entry.worst) == (
        0.75,
        2,
        0,
        2,
        0.75,
    )
    assert board.measures == ("m",)
    assert math.isnan(board.summaries["m"].detectable)


def test_the_json_is_the_one_agreed_and_has_no_nan(tmp_path: Path) -> None:
    failed = ["failed"] * 4
    run = write_run(
        tmp_path,
        {SMALL: {"nDCG@10": [1, 0, 1, 1], "Faithfulness": failed}, HASHING: {"nDCG@10": [0, 0, 1, 0]}},
    )
    value = json.loads(json.dumps(leaderboard(run).value(), allow_nan=False))
    row = value["rows"][0]
    assert {"embedding_model", "reranker", "variant", "measures", "tied_with_best", "status"} <= row.keys()
    assert {"value", "ci_low", "ci_high", "n_queries", "n_failed"} <= row["measures"]["nDCG@10"].keys()
    assert row["measures"]["nDCG@10"]["value"] == 0.75
    assert row["measures"]["Faithfulness"]["value"] is None
    assert row["measures"]["Faithfulness"]["n_failed"] == 4
    assert value["best"]["nDCG@10"]["cell"]["embedding_model"] == SMALL.embedding_model
    assert value["best"]["Faithfulness"]["cell"] is None
    assert value["run"]["dataset"] == "नमुना"


def test_measures_are_chosen_and_a_wrong_one_is_told(tmp_path: Path) -> None:
    run = write_run(tmp_path, {SMALL: {"nDCG@10": [1.0, 0.0], "hit@1": [0.0, 0.0]}})
    assert leaderboard(run).measures == ("nDCG@10", "hit@1")
    assert leaderboard(run, measure="hit@1").measures == ("hit@1", "nDCG@10")
    assert leaderboard(run, measures=["hit@1"]).main == "hit@1"
    with pytest.raises(UnknownName, match="Did you mean 'nDCG@10'"):
        leaderboard(run, measure="nDCG@1")


def test_a_run_without_scores_says_so(tmp_path: Path) -> None:
    with pytest.raises(CallerError, match="has no scores yet"):
        leaderboard(write_run(tmp_path, {SMALL: {}}))


def test_scores_of_a_cell_that_a_killed_sweep_left_without_a_state_do_not_count(tmp_path: Path) -> None:
    run = write_run(tmp_path, {SMALL: {"m": GOOD}})
    scores = run.scores().assign(embedding_model="hashing").to_dict("records")
    run.write_cell(HASHING, scores=scores[:3], answers=[])
    assert [row.cell for row in leaderboard(run).rows] == [SMALL]
    assert leaderboard(run).rows[0].measures["m"].n_queries == 40


def test_the_frame_and_the_breakdown(tmp_path: Path) -> None:
    run = write_run(tmp_path, {SMALL: {"m": [1.0, 0.5, "failed", 0.0]}, HASHING: {"m": [0.0, 0.5, 1.0, 1.0]}})
    frame = leaderboard(run).frame()
    assert frame[["embedding_model", "measure", "n_queries", "n_failed"]].to_numpy().tolist() == [
        ["hashing", "m", 3, 0],
        [SMALL.embedding_model, "m", 3, 1],
    ]
    kinds = breakdown(run, "m").set_index(["embedding_model", "group"])
    assert list(kinds.loc["hashing"].index) == ["date", "lookup", "thematic"]
    assert kinds.loc[("hashing", "lookup"), ["value", "n_queries", "n_failed"]].tolist() == [0.0, 1, 0]
    assert kinds.loc[(SMALL.embedding_model, "lookup"), ["value", "n_queries", "n_failed"]].tolist() == [
        1.0,
        1,
        1,
    ]
    assert set(breakdown(run, "m", "document")["group"]) == {"सूचना-0.pdf", "सूचना-1.pdf"}
    ranked = [1.0, 1.0, 1.0, "skipped"]  # the last question, a thematic one, has no ranking
    some = write_run(tmp_path, {SMALL: {"m": ranked}, HASHING: {"m": ranked}}, run_id="some")
    assert set(breakdown(some, "m")["group"]) == {"date", "lookup"}
    with pytest.raises(UnknownName, match="group of questions"):
        breakdown(run, "m", "weekday")
