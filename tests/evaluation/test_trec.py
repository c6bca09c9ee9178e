"""TREC files: what is written is read back, by us and by ir_measures, in the same order."""

from __future__ import annotations

from pathlib import Path

import ir_measures
import pytest

from rag_platform.errors import InvalidDataset
from rag_platform.evaluation.ranking import Ranked
from rag_platform.evaluation.trec import read_qrels, read_run, write_qrels, write_run

RUN = {
    "प्र-१": [Ranked("दफा-२", 0.9), Ranked("दफा-१", 0.5), Ranked("दफा-३", 0.5), Ranked("कर सूचना.pdf#p1", 0.5)],
    "q2": [Ranked("a", -1.0), Ranked("b", -1.0)],
}
QRELS = {"प्र-१": {"दफा-१": 2, "कर सूचना.pdf#p1": 1}, "q2": {"b": 1, "c": -1}}


def test_a_run_keeps_its_order_even_where_scores_are_equal(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    write_run(path, RUN, tag="hybrid")
    back = read_run(path)
    assert {query: [one.unit for one in units] for query, units in back.items()} == {
        "प्र-१": ["दफा-२", "दफा-१", "दफा-३", "कर%20सूचना.pdf#p1"],
        "q2": ["a", "b"],
    }
    assert back["प्र-१"][0].score == pytest.approx(0.9)
    assert path.read_text(encoding="utf-8").splitlines()[0].split()[:4] == ["प्र-१", "Q0", "दफा-२", "1"]


def test_ir_measures_reads_both_files_as_they_are_meant(tmp_path: Path) -> None:
    write_run(tmp_path / "run", RUN, tag="hybrid")
    write_qrels(tmp_path / "qrels", QRELS)
    measured = ir_measures.calc_aggregate(
        [ir_measures.RR @ 10],
        ir_measures.read_trec_qrels(str(tmp_path / "qrels")),
        ir_measures.read_trec_run(str(tmp_path / "run")),
    )
    assert measured[ir_measures.RR @ 10] == pytest.approx((1 / 2 + 1 / 2) / 2)


def test_judgements_come_back(tmp_path: Path) -> None:
    write_qrels(tmp_path / "qrels", QRELS)
    assert read_qrels(tmp_path / "qrels") == {
        "प्र-१": {"दफा-१": 2, "कर%20सूचना.pdf#p1": 1},
        "q2": {"b": 1, "c": -1},
    }


@pytest.mark.parametrize(
    "text", ["query-id\tcorpus-id\tscore\nq1\tकर सूचना\t1\n", "q1\tकर सूचना\t1\n", "q1\t0\tकर सूचना\t1\n"]
)
def test_the_columns_of_beir_are_read_with_and_without_a_header(tmp_path: Path, text: str) -> None:
    (tmp_path / "qrels.tsv").write_text(text, encoding="utf-8")
    assert read_qrels(tmp_path / "qrels.tsv") == {"q1": {"कर सूचना": 1}}


def test_equal_scores_of_a_foreign_run_are_ordered_as_trec_eval_does(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q Q0 a 1 1.0 x\nq Q0 c 2 1.0 x\nq Q0 b 3 2.0 x\n", encoding="utf-8")
    assert [one.unit for one in read_run(tmp_path / "run")["q"]] == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q a 1 1.0 x", "5 columns"),
        ("q Q0 a 1 high x", "'high'"),
        ("q Q0 a 1 nan x", "finite"),
        ("q Q0 ok 1 1.0 x", "twice"),
    ],
)
def test_a_wrong_line_of_a_run_is_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "run").write_text(f"q Q0 ok 1 1.0 x\n{line}\n", encoding="utf-8")
    with pytest.raises(InvalidDataset, match=f"run, line 2: .*{message}"):
        read_run(tmp_path / "run")


@pytest.mark.parametrize(
    ("line", "message"), [("q1 a", "2 columns"), ("q1 0 a 1.5", "whole number"), ("q1 0 ok 1", "twice")]
)
def test_a_wrong_judgement_is_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "qrels").write_text(f"q1 0 ok 1\n{line}\n", encoding="utf-8")
    with pytest.raises(InvalidDataset, match=f"qrels, line 2: .*{message}"):
        read_qrels(tmp_path / "qrels")
