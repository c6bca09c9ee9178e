"""``rag leaderboard``, ``report``, ``compare`` and ``gate`` as people and programs run them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from runs import RERANKED, SMALL, write_run

from rag_platform.cli import main

GOOD, BAD = [1.0, 0.75] * 10, [0.25, 0.0] * 10
Ran = tuple[int, str, str]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RAG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path, {SMALL: {"nDCG@10": GOOD, "hit@1": GOOD}}, run_id="old")
    cells = {SMALL: {"nDCG@10": BAD, "hit@1": BAD}, RERANKED: {"nDCG@10": [*GOOD[:-1], 0.5], "hit@1": GOOD}}
    write_run(tmp_path, cells, run_id="new", recipe="chunks 128")
    return tmp_path


def rag(capsys: pytest.CaptureFixture[str], *arguments: str) -> Ran:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    out, err = capsys.readouterr()
    return int(end.value.code or 0), out, err


@pytest.mark.usefixtures("home")
def test_the_board_of_the_last_run_in_four_formats(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = rag(capsys, "leaderboard")
    assert code == 0
    assert "0.863 [" in out
    assert (
        "best in hit@1: intfloat/multilingual-e5-small|BAAI/bge-reranker-v2-m3, 0 others tied with it" in err
    )
    value = json.loads(
        rag(capsys, "leaderboard", "--run", "old", "--measure", "hit@1", "--format", "json")[1]
    )
    assert value["rows"][0]["measures"].keys() == {"hit@1"}
    assert value["rows"][0]["measures"]["hit@1"]["value"] == 0.875
    assert rag(capsys, "leaderboard", "--format", "markdown")[1].startswith("|  | embedding model |")
    assert rag(capsys, "leaderboard", "--format", "latex")[1].startswith("\\begin{table}")


@pytest.mark.usefixtures("home")
def test_the_published_table_comes_along(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = rag(capsys, "leaderboard", "--published", "--format", "json")
    assert code == 0
    value = json.loads(out)["published"]
    assert len(value["rows"]) == 30
    assert value["rows"][0]["measures"]["Retrieval Avg"] == 0.756
    assert "nepali-rag 0.1" in value["source"]
    assert "published" in rag(capsys, "leaderboard", "--published")[1]


@pytest.mark.usefixtures("home")
def test_names_that_are_not_there_are_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ("leaderboard", "--run", "nwe"),
        ("leaderboard", "--measure", "nDCG@1"),
        ("compare", "a", "b"),
    ):
        code, out, err = rag(capsys, *arguments)
        assert (code, out) == (1, "")
        assert err.startswith("error: unknown ")
        assert err.count("\n") == 1
    assert rag(capsys, "gate", "new", "--max-drop", "0.1")[0] == 2
    assert rag(capsys, "report")[0] == 2


def test_without_any_run_it_says_how_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "empty"))
    code, _, err = rag(capsys, "leaderboard")
    assert code == 1
    assert "rag sweep nepali_starter" in err
    assert not (tmp_path / "empty").exists()


@pytest.mark.usefixtures("home")
def test_runs_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = rag(capsys, "compare", "old", "new", "--format", "json")
    assert code == 0
    value = json.loads(out)
    assert value["b"]["reranker"] == RERANKED.reranker
    assert value["differs"]["recipe"] == {"a": "chunks 256", "b": "chunks 128"}
    assert [change["query_id"] for change in value["lost"]] == ["q19"]
    assert value["differences"][0]["mean"] == pytest.approx(-0.0125)
    code, out, err = rag(capsys, "compare", "old", "new", "--cell", f"{SMALL.embedding_model}|none")
    assert "-0.750 [" in out
    assert "differs: recipe: chunks 256 -> chunks 128" in err
    assert "20 questions lost in nDCG@10, the first:" in err
    assert "विद्यालय कहिले खुल्छ?" in err


@pytest.mark.usefixtures("home")
def test_the_gate_ends_with_1_on_a_regression(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = rag(
        capsys, "gate", "new", "--min", "nDCG@10=0.8", "--baseline", "old", "--max-drop", "0.02"
    )
    assert (code, out.count("yes")) == (0, 2)
    cell = f"{SMALL.embedding_model}|none"
    arguments = ("gate", "new", "--cell", cell, "--baseline", "old", "--format", "json")
    code, out, err = rag(capsys, *arguments)
    value = json.loads(out)
    assert (code, value["passed"], value["checks"][0]["value"]) == (1, False, 0.75)
    assert err.strip() == "failed: nDCG@10 dropped by 0.750 [0.750, 0.750], at most 0.02 passes"


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_the_gate_reads_what_was_exported(
    form: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("old", "new"):
        assert rag(capsys, "runs", "export", name, "--to", f"out/{name}", "--as", form)[0] == 0
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "another"))  # as on a machine that never swept
    cell = ("--cell", f"{SMALL.embedding_model}|none")
    code, out, err = rag(capsys, "gate", "out/new", *cell, "--baseline", "out/old", "--max-drop", "0.02")
    assert code == 1
    assert "0.750 [0.750, 0.750]" in out
    assert "failed: nDCG@10 dropped by 0.750 [0.750, 0.750], at most 0.02 passes" in err
    assert rag(capsys, "gate", "out/old", "--baseline", "out/new", "--min", "hit@1=0.8")[0] == 0
    code, out, _ = rag(capsys, "compare", "out/old", "out/new", "--format", "json")
    assert (code, json.loads(out)["b"]["run_id"]) == (0, "new")


def test_a_report_is_written_whole(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = rag(
        capsys, "report", "new", "--html", "नतिजा/report.html", "--plots", "plots", "--against", "old"
    )
    assert code == 0
    page = (home / "नतिजा" / "report.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "1 questions lost in nDCG@10" in page
    names = {path.name for path in (home / "plots").iterdir()}
    assert {"intervals.png", "heat_map.png", "time.png", "cost.png", "kinds.png", "questions.png"} == names
    assert set(out.split()) == {"नतिजा/report.html", *(f"plots/{name}" for name in names)}
