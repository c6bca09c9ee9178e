"""``rag evaluate retrieval`` as people and programs run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ir_measures
import pytest

ROOT = Path(__file__).parents[2]
MEASURES = ["nDCG@10", "R@10", "MRR@10", "hit@1", "hit@3", "hit@5"]
TEXTS = {
    "ताल-१": "रारा ताल मुगु जिल्लामा छ। यो नेपालको सबैभन्दा ठूलो ताल हो।",
    "ताल-२": "फेवा ताल पोखरामा छ। बिचमा तालबाराही मन्दिर छ।",
    "हिमाल-१": "सगरमाथा संसारको सर्वोच्च शिखर हो।",
}
QUERIES: list[dict[str, object]] = [
    {"_id": "q1", "text": "रारा ताल कुन जिल्लामा छ?", "kind": "lookup"},
    {"_id": "q2", "text": "फेवा तालको बिचमा कुन मन्दिर छ?", "kind": "lookup"},
    {"_id": "q3", "text": "सगरमाथा सर्वोच्च शिखर", "kind": "keyword"},
    {"_id": "q4", "text": "तिलिचो ताल कहाँ छ?", "kind": "unanswerable"},
]


def write_set(folder: Path) -> Path:
    folder.mkdir()
    corpus = [{"_id": name, "text": text} for name, text in TEXTS.items()]
    for name, values in (("corpus", corpus), ("queries", QUERIES)):
        lines = "\n".join(json.dumps(value, ensure_ascii=False) for value in values)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    (folder / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\tताल-१\t1\nq2\tताल-२\t1\nq3\tहिमाल-१\t1\n", encoding="utf-8"
    )
    return folder


def rag(folder: Path, *arguments: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": str(ROOT),
        "EMBEDDING_MODEL": "hashing",
        "TMPDIR": str(folder / "temporary"),
    }
    (folder / "temporary").mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "rag_platform.cli", "evaluate", "retrieval", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == expect, done.stderr
    return done


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    write_set(folder / "तालहरू")
    return folder


def test_measures_come_as_json_and_the_run_as_a_trec_file(home: Path) -> None:
    files = ("--run-file", "run.txt", "--qrels-file", "qrels.txt")
    done = rag(home, "तालहरू", "--format", "json", *files)
    value: dict[str, Any] = json.loads(done.stdout)
    assert (value["dataset"], value["n_queries"], value["n_chunks"]) == ("तालहरू", 3, 3)
    assert (value["encoder"], value["reranker"], value["mode"]) == ("hashing", "none", "hybrid")
    assert list(value["measures"]) == MEASURES
    assert value["measures"]["nDCG@10"] == 1.0
    assert value["intervals"]["nDCG@10"] == [1.0, 1.0]
    assert {kind: (one["n_queries"], one["hit@1"]) for kind, one in value["by_kind"].items()} == {
        "lookup": (2, 1.0),
        "keyword": (1, 1.0),
    }
    assert value["unanswerable"]["n_queries"] == 1
    assert set(value["unanswerable"]["top_score"]) == {"min", "p25", "median", "p75", "max"}
    assert "1 unanswerable" in done.stderr
    measured = ir_measures.calc_aggregate(
        [ir_measures.nDCG @ 10, ir_measures.R @ 10],
        ir_measures.read_trec_qrels(str(home / "qrels.txt")),
        ir_measures.read_trec_run(str(home / "run.txt")),
    )
    assert set(measured.values()) == {1.0}
    assert list((home / "temporary").glob("rag-evaluate-*")) == []


def test_measures_come_as_a_table_with_intervals(home: Path) -> None:
    done = rag(home, "तालहरू", "--mode", "lexical", "--measures", "ndcg@5,P@1")
    header, *rows = done.stdout.splitlines()
    assert header.split() == ["kind", "n", "nDCG@5", "P@1"]
    assert [row.split()[:2] for row in rows] == [["lookup", "2"], ["keyword", "1"], ["all", "3"]]
    assert "1.000 [1.000, 1.000]" in rows[-1]


def test_an_unknown_reranker_is_one_clear_line_before_anything_is_read(home: Path) -> None:
    done = rag(home, "तालहरू", "--reranker", "bge-reranker-v2-m4", expect=1)
    assert done.stdout == ""
    assert done.stderr.startswith("error: unknown reranker 'bge-reranker-v2-m4'. Did you mean")
    assert len(done.stderr.splitlines()) == 1


def test_a_wrong_line_of_a_set_is_named(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set")
    with (folder / "qrels.tsv").open("a", encoding="utf-8") as file:
        file.write("q1\tताल-९\t1\n")
    done = rag(tmp_path, "set", expect=1)
    assert "qrels.tsv, line 5: the label of question 'q1' names 'ताल-९'" in done.stderr
    assert not (tmp_path / ".rag").exists()
