"""``kill -9`` of ``rag ingest`` at random moments: the old generation serves, the rerun loses nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import TEXTS, point_set

from rag_platform.settings import Settings
from rag_platform.system import System

ROUNDS = int(os.environ.get("KILL_ROUNDS", "10"))
MODEL, COLLECTION = "hashing", "nepali_docs"


def start(home: Path, folder: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "RAG_HOME": str(home), "EMBEDDING_MODEL": MODEL, "RAG_WORKERS": "1"}
    command = [sys.executable, "-m", "rag_platform.cli", "ingest", str(folder), "--format", "json"]
    return subprocess.Popen(
        command, env=environment, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def finish(home: Path, folder: Path) -> float:
    began = time.perf_counter()
    process = start(home, folder)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors.decode()
    return time.perf_counter() - began


def system_at(home: Path) -> System:
    return System.from_settings(Settings.load(None, RAG_HOME=home, EMBEDDING_MODEL=MODEL))


def points(home: Path) -> list[tuple[object, ...]]:
    return point_set(system_at(home).index.open(COLLECTION, MODEL))


def edit(folder: Path, round_no: int) -> None:
    """Change two documents, add one, and rename one."""
    (folder / "कर सूचना.txt").write_text(f"कर सूचना, संस्करण {round_no}। असारभित्र तिर्नुहोला।", encoding="utf-8")
    (folder / "health.txt").write_text(f"Edition {round_no}. Wash your hands.", encoding="utf-8")
    (folder / f"नयाँ {round_no}.txt").write_text(f"नयाँ सूचना नम्बर {round_no}।", encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_at_random_moments(tmp_path: Path) -> None:
    seed = int(os.environ.get("KILL_SEED", time.time_ns() % 100_000))
    moments = random.Random(seed)
    home, folder = tmp_path / "home", tmp_path / "documents"
    for source, text in TEXTS.items():
        path = folder / source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    seconds = finish(home, folder)
    served = points(home)
    for round_no in range(ROUNDS):
        edit(folder, round_no)
        process = start(home, folder)
        time.sleep(moments.uniform(0.2, 1.0) * seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        after = points(home)
        if after != served:  # it got as far as the switch: then everything is there
            assert len(after) == len(TEXTS) + round_no + 1, f"seed {seed}, round {round_no}"
            served = after
        result = system_at(home).searcher.search("कर सूचना", collection=COLLECTION, model=MODEL)
        assert result.hits, f"seed {seed}, round {round_no}"
    finish(home, folder)
    finish(tmp_path / "undisturbed", folder)
    assert points(home) == points(tmp_path / "undisturbed"), f"seed {seed}"
