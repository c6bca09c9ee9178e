"""Two runs compared by question, and what differs in their making."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs import HASHING, RERANKED, SMALL, write_run

from rag_platform.errors import CallerError, UnknownName
from rag_platform.evaluation.compare import compare
from rag_platform.evaluation.standing import cell_name, parse_cell

LOOKUP, DATE = "lookup", "date"


def test_differences_are_by_question_and_say_gained_and_lost(tmp_path: Path) -> None:
    a = write_run(tmp_path, {SMALL: {"m": [1.0, 0.0, 0.5, 0.5]}}, run_id="a")
    b = write_run(tmp_path, {SMALL: {"m": [0.0, 1.0, 0.75, 0.5]}}, run_id="b", recipe="chunks 128")
    found = compare(a, b)
    overall = found.differences[0]
    assert (overall.measure, overall.kind) == ("m", "")
    p = overall.paired
    assert (p.mean, p.n, p.wins, p.ties, p.losses) == (pytest.approx(0.0625), 4, 2, 1, 1)
    assert [change.query_id for change in found.gained] == ["q1", "q2"]
    assert [(change.query_id, change.gain) for change in found.lost] == [("q0", -1.0)]
    lost = found.lost[0]
    assert lost.query == "नागरिकताका लागि कुन कागजात चाहिन्छ?"
    assert lost.a.contexts == ("खण्ड 0 & none",)
    assert lost.b.places == ("सूचना.pdf, page 3",)
    assert found.differs == {"recipe": ("chunks 256", "chunks 128")}


def test_kinds_are_compared_apart_and_all_p_values_corrected_together(tmp_path: Path) -> None:
    a = write_run(tmp_path, {SMALL: {"m": [0.0] * 40, "n": [0.5] * 40}}, run_id="a")
    b = write_run(tmp_path, {SMALL: {"m": [1.0, 0.0, 1.0, 0.0] * 10, "n": [0.5] * 40}}, run_id="b")
    found = {(one.measure, one.kind): one for one in compare(a, b).differences}
    assert [kind for measure, kind in found if measure == "m"] == ["", "date", "lookup", "thematic"]
    assert found["m", LOOKUP].paired.mean == 1.0
    assert (found["m", DATE].paired.mean, found["m", DATE].paired.n) == (0.0, 10)
    assert found["m", LOOKUP].is_significant
    assert not found["n", ""].is_significant
    smallest = min(one.paired.p_value for one in found.values())
    assert min(one.p_holm for one in found.values()) == pytest.approx(4 * smallest)  # all and three kinds


def test_runs_without_a_cell_in_common_are_compared_by_their_best(tmp_path: Path) -> None:
    a = write_run(tmp_path, {SMALL: {"m": [0.5, 0.5]}, HASHING: {"m": [0.0, 0.5]}}, run_id="a")
    b = write_run(tmp_path, {RERANKED: {"m": [1.0, 1.0]}}, run_id="b", corpus_fingerprint="c2")
    found = compare(a, b)
    assert (found.cell_a, found.cell_b) == (SMALL, RERANKED)
    assert {"corpus_fingerprint", "embedding_models", "rerankers"} == found.differs.keys()
    assert compare(a, b, cell_a=HASHING).cell_a == HASHING
    with pytest.raises(UnknownName, match="cell of b"):
        compare(a, b, cell_b=HASHING)


def test_failed_questions_of_either_run_are_left_out_and_counted(tmp_path: Path) -> None:
    a = write_run(tmp_path, {SMALL: {"m": [1.0, "failed", 1.0, 0.0]}}, run_id="a")
    b = write_run(tmp_path, {SMALL: {"m": [1.0, 1.0, 1.0, "failed"]}}, run_id="b")
    one = compare(a, b).differences[0]
    assert (one.paired.n, one.n_failed, one.paired.mean) == (2, 2, 0.0)


def test_a_question_that_was_reworded_is_another_question(tmp_path: Path) -> None:
    a = write_run(
        tmp_path, {SMALL: {"m": [1.0, 0.0]}}, run_id="a", questions=["कर कति हो?", "विद्यालय कहाँ छ?"]
    )
    b = write_run(
        tmp_path, {SMALL: {"m": [0.0, 0.0]}}, run_id="b", questions=["शुल्क कति हो?", "विद्यालय कहाँ छ?"]
    )
    found = compare(a, b)
    assert (found.n_reworded, found.differences[0].paired.n, found.changes) == (1, 1, ())


def test_what_cannot_be_compared_is_told(tmp_path: Path) -> None:
    a = write_run(tmp_path, {SMALL: {"m": [1.0]}}, run_id="a")
    with pytest.raises(CallerError, match="no measure in common"):
        compare(a, write_run(tmp_path, {SMALL: {"n": [1.0]}}, run_id="b"))
    with pytest.raises(CallerError, match="no scored question in common"):
        compare(a, write_run(tmp_path, {SMALL: {"m": ["skipped", 1.0]}}, run_id="c"))
    with pytest.raises(UnknownName, match="measure of both runs"):
        compare(a, a, measure="n")


def test_a_cell_is_written_and_read_the_same_way() -> None:
    assert parse_cell(cell_name(RERANKED)) == RERANKED
    assert parse_cell("hashing|none|nofold").variant == "nofold"
    with pytest.raises(CallerError, match=r"MODEL\|RERANKER"):
        parse_cell("hashing")
