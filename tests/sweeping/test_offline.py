"""The offline sweep, small: untrained encoders and a reranker under the real command.

They fail the sanity gate: first it refuses them and the others go on, then they run on record.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed (extra models)")

from sweeping_set import write_set

from rag_platform.evaluation.results import Run

ROOT = Path(__file__).parents[2]
TINY = ("tiny/jina-embeddings-v3", "tiny/bge-m3")
RERANKER = "tiny/bge-reranker-v2-gemma"


@pytest.mark.slow
def test_what_fails_the_gate_is_refused_then_measured_on_record(tmp_path: Path) -> None:
    write_set(tmp_path / "set")
    command = [sys.executable, str(ROOT / "benchmarks" / "offline_sweep.py"), str(tmp_path / "out")]
    grid = ["--dataset", str(tmp_path / "set"), "--embedders", ",".join(("hashing", *TINY))]
    grid += ["--rerankers", f"none,{RERANKER}"]
    done = subprocess.run(
        [*command, *grid],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    refused, recorded = (Run.load(tmp_path / "out" / "home", name).cells() for name in ("refuse", "record"))
    assert len(refused) == len(recorded) == (1 + len(TINY)) * 2
    plain = {"embedding_model": "hashing", "reranker": "none"}
    for row in refused.to_dict("records"):
        if row.items() >= plain.items():
            assert (row["status"], row["gate_passed"]) == ("complete", True)
        else:
            untrained = row["embedding_model"] if row["embedding_model"] in TINY else RERANKER
            assert row["status"] == "gate_failed"
            assert f"{untrained} ranks " in row["reason"]
            assert "of 5 plain Nepali questions right" in row["reason"]
    assert set(recorded["status"]) == {"complete"}
    assert recorded["gate_passed"].sum() == 1
    assert recorded.query("gate_passed")[[*plain]].to_dict("records") == [plain]
    assert "complete, sanity gate failed" in done.stdout
    assert (tmp_path / "out" / "record.html").read_text(encoding="utf-8").startswith("<!doctype html>")
