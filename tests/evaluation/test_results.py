"""Runs as files: what is written is read back, parts are whole, cells have names of their own."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rag_platform.errors import DamagedFile, NotPublished, SchemaMismatch, UnknownName
from rag_platform.evaluation.results import ANSWERS, CELLS, SCORES, Cell, Run, last_used, latest, runs

BGE = Cell("BAAI/bge-m3", "none")


def run_at(home: Path, run_id: str = "set-0123456789", **changes: Any) -> Run:
    values: dict[str, Any] = {
        "name": "",
        "note": "",
        "created_at": "2026-11-30T10:00:00+00:00",
        "dataset": "set",
        "dataset_fingerprint": "d",
        "corpus_fingerprint": "c",
        "recipe": "r",
        "generator": "none",
        "judge": "",
        "code_version": "1",
        "embedding_models": ("BAAI/bge-m3",),
        "rerankers": ("none",),
        "variants": {"lexical": {"mode": "lexical"}},
        "measures": ("nDCG@10",),
    }
    return Run(home / "evaluations" / run_id, run_id, **{**values, **changes})


def score(query: str, value: float, status: str = "ok") -> dict[str, object]:
    return {
        "query_id": query,
        "kind": "lookup",
        "language": "ne",
        "document": "ऐन.pdf",
        "measure": "nDCG@10",
        "value": value,
        "status": status,
        "reason": "",
        "seconds": 0.1,
        "tokens": 0,
        "cost": 0.0,
        "fingerprint": query,
    }


def answer(query: str) -> dict[str, object]:
    return {
        "query_id": query,
        "query": "कर कति हो?",
        "answer": "दश प्रतिशत।",
        "refused": False,
        "contexts": ["कर दश प्रतिशत हुन्छ।"],
        "sources": ["ऐन.pdf"],
        "pages": [3],
        "reference_answer": "",
        "seconds": 0.1,
        "tokens": 0,
        "cost": 0.0,
        "fingerprint": query,
    }


def state(status: str = "complete") -> dict[str, object]:
    seconds = dict.fromkeys(
        (f"seconds_{n}" for n in ("encode", "retrieve", "rerank", "generate", "judge")), 0.5
    )
    about = {"status": status, "reason": "", "n_questions": 2, "gate_passed": True, "fingerprint": "f"}
    return {**about, **seconds}


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    run = run_at(tmp_path).save()
    run.write_cell(BGE, scores=[score("q1", 1.0), score("q2", math.nan, "failed")], answers=[answer("q1")])
    run.write_states({BGE: state()})
    read = Run.load(tmp_path, "set-01")
    assert read == run
    scores = read.scores()
    assert list(scores.columns) == SCORES.names
    assert scores["value"].tolist()[0] == 1.0
    assert math.isnan(scores["value"][1])
    assert set(scores["embedding_model"]) == {"BAAI/bge-m3"}
    assert list(read.answers().columns) == ANSWERS.names
    assert list(read.answers()["contexts"][0]) == ["कर दश प्रतिशत हुन्छ।"]
    assert list(read.cells().columns) == CELLS.names
    assert (read.is_complete, read.n_failed(BGE), read.has_parts(BGE)) == (True, 1, True)
    assert not read.has_parts(Cell("BAAI/bge-m3", "none", "lexical"))
    assert all(field.metadata[b"description"] for schema in (SCORES, ANSWERS, CELLS) for field in schema)
    path = run.folder / "scores" / f"{BGE.slug}.parquet"
    assert pq.read_schema(path).names == SCORES.names


def test_a_cell_is_replaced_and_the_others_stay(tmp_path: Path) -> None:
    run = run_at(tmp_path).save()
    other = Cell("hashing", "none")
    for cell in (BGE, other):
        run.write_cell(cell, scores=[score("q1", 0.5)], answers=[])
        run.write_states({cell: state()})
    run.write_cell(BGE, scores=[score("q1", 0.75)], answers=[])
    run.write_states({BGE: state("partial")})
    assert sorted(run.scores()["value"]) == [0.5, 0.75]
    assert run.cells().set_index("embedding_model")["status"].to_dict() == {
        "BAAI/bge-m3": "partial",
        "hashing": "complete",
    }
    assert not run.is_complete
    with pytest.raises(SchemaMismatch, match="nulls"):
        run.write_cell(BGE, scores=[{**score("q1", 1.0), "kind": None}], answers=[])
    assert sorted(run.scores()["value"]) == [0.5, 0.75], "what is not whole is not written"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Cell("a/b-c", "none"), Cell("a-b/c", "none")),
        (Cell("a", "b", "c"), Cell("a", "b~c")),
        (Cell("ollama/x:7b", "none"), Cell("ollama/x", "7b/none")),
    ],
)
def test_cells_never_share_a_file(one: Cell, other: Cell) -> None:
    assert one.slug != other.slug
    assert "/" not in one.slug + other.slug


def test_a_run_that_goes_on_keeps_its_date_and_gains_models(tmp_path: Path) -> None:
    run_at(tmp_path, note="पहिलो").save()
    again = run_at(tmp_path, created_at="2027-01-01T00:00:00+00:00", embedding_models=("hashing",)).save()
    assert again.created_at == "2026-11-30T10:00:00+00:00"
    assert again.embedding_models == ("BAAI/bge-m3", "hashing")
    assert again.note == "पहिलो"
    assert Run.load(tmp_path, again.run_id) == again


def test_runs_are_found_by_date_name_and_state(tmp_path: Path) -> None:
    with pytest.raises(NotPublished, match="rag sweep"):
        latest(tmp_path)
    with pytest.raises(NotPublished, match="rag sweep"):
        last_used(tmp_path)
    old = run_at(tmp_path, "set-aaa", name="आधार").save()
    new = run_at(tmp_path, "set-bbb", created_at="2026-12-01T00:00:00+00:00").save()
    old.write_states({BGE: state()})
    new.write_states({BGE: state("partial")})
    assert [run.run_id for run in runs(tmp_path)] == ["set-bbb", "set-aaa"]
    assert latest(tmp_path) == old, "the newest that is complete"
    assert last_used(tmp_path) == new
    old.save()
    assert last_used(tmp_path) == old
    assert Run.load(tmp_path, "आधार") == old
    for name in ("set-", "", "तेस्रो"):
        with pytest.raises(UnknownName, match="run"):
            Run.load(tmp_path, name)


def test_a_damaged_file_says_what_to_do(tmp_path: Path) -> None:
    run = run_at(tmp_path).save()
    run.write_states({BGE: state()})
    (run.folder / "cells.parquet").write_bytes(b"PAR1 broken")
    with pytest.raises(DamagedFile, match="remove it"):
        run.cells()
    (run.folder / "run.json").write_text("{}")
    with pytest.raises(DamagedFile, match="sweep again"):
        Run.load(tmp_path, run.run_id)
