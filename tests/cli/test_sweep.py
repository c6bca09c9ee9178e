"""``rag sweep`` and ``rag runs`` as people and programs run them, with real tiny rerankers of each kind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sweeping_set import write_hub, write_questions, write_set

ROOT = Path(__file__).parents[2]
RERANKERS = ("BAAI/bge-reranker-v2-m3", "Qwen/Qwen3-Reranker-0.6B", "BAAI/bge-reranker-v2-gemma")


def rag(
    folder: Path, *arguments: str, expect: int = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "rag_platform.cli", *arguments],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "EMBEDDING_MODEL": "hashing",
            "RAG_WORKERS": "1",
            "HF_HOME": str(folder / "hf"),
            "HF_HUB_OFFLINE": "1",
            **environment,
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )
    assert done.returncode == expect, done.stderr
    return done


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    write_set(folder / "set")
    write_questions(folder)
    write_hub(folder / "hf")
    return folder


def test_a_plan_is_printed_and_nothing_done(home: Path) -> None:
    done = rag(
        home, "sweep", "set", "--plan", "--format", "json", "--variants", "ablations", "--rerankers", "none"
    )
    plan: dict[str, Any] = json.loads(done.stdout)["plan"]
    assert (plan["cells"], plan["documents"], plan["finished"]) == (10 * 21, 4, 0)
    assert len(plan["unavailable"]) == 9, "of the grid's ten, the bundled model runs without a download"
    assert "hf download BAAI/bge-m3" in done.stderr
    assert not list((home / ".rag").glob("evaluations/*/run.json"))


@pytest.mark.slow
def test_a_sweep_with_rerankers_of_each_kind(home: Path) -> None:
    """Untrained rerankers fail the gate; with RAG_SANITY_GATE=record they run, and that is on record."""
    grid = ("--embedders", "hashing,bge-m3", "--rerankers", f"none,{','.join(RERANKERS)}", "--name", "पहिलो")
    best = ("--variant", "best:reranker=bge-reranker-v2-m3")
    done = rag(home, "sweep", "set", *grid, *best, "--format", "json", RAG_SANITY_GATE="record")
    value: dict[str, Any] = json.loads(done.stdout)
    rows = value["rows"]
    placed = {(row["embedding_model"], row["reranker"]) for row in rows if row["variant"] == "best"}
    assert placed == {("hashing", RERANKERS[0]), ("BAAI/bge-m3", RERANKERS[0])}
    states = {(row["embedding_model"], row["reranker"]): row["status"] for row in rows}
    assert {states["hashing", name] for name in ("none", *RERANKERS)} == {"complete"}
    assert {states["BAAI/bge-m3", name] for name in ("none", *RERANKERS)} == {"unavailable"}
    assert value["work"]["searches"] == 4
    assert value["work"]["rerank calls"] == 3 * 4, "one a reranker and question"
    assert value["work"]["rerank pairs"] == 3 * 4 * 4, "with every candidate: the set has four chunks"
    assert "no judge is set" in done.stderr

    listed = json.loads(rag(home, "runs", "list", "--format", "json").stdout)["runs"]
    first = next(run for run in listed if run["name"] == "पहिलो")
    assert (first["cells"], first["complete"], first["dataset"]) == (10, 5, "set")
    shown = json.loads(rag(home, "runs", "show", "पहिलो", "--format", "json").stdout)
    cells = {(cell["embedding_model"], cell["reranker"]): cell for cell in shown["cells"]}
    assert cells["hashing", "none"]["gate_passed"] is True
    assert cells["hashing", RERANKERS[0]]["gate_passed"] is False
    assert cells["hashing", RERANKERS[1]]["seconds_rerank"] > 0

    rag(home, "runs", "export", first["run_id"], "--to", "out", "--as", "csv")
    scores = pd.read_csv(home / "out" / "scores.csv")
    assert set(scores["reranker"]) == {"none", *RERANKERS}
    answers = pd.read_csv(home / "out" / "answers.csv")
    assert json.loads(answers["sources"][0])[0].startswith(("ताल/", "हिमाल/"))


def test_own_questions_and_what_is_wrong_in_a_command(home: Path) -> None:
    own = ("sweep", "प्रश्न.csv", "--documents", "कागजात", "--embedders", "hashing", "--rerankers", "none")
    variants = ("--variant", "lexical:mode=lexical", "--variant", "nofold:analyzer.fold=false")
    done = rag(home, *own, *variants)
    assert "lexical" in done.stdout
    assert "nofold" in done.stdout
    assert done.stdout.count("complete") == 3
    failed = rag(home, "sweep", "set", "--embedders", "bge-m4", expect=1)
    assert "Did you mean 'BAAI/bge-m3'?" in failed.stderr
    assert failed.stderr.count("\n") == 1
    nothing = rag(home, "sweep", "set", "--embedders", "bge-m3", "--rerankers", "none", expect=1)
    assert "unavailable" in nothing.stdout
