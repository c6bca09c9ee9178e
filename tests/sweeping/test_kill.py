"""``kill -9`` of a sweep at random moments: nothing is lost, at most one call of the judge is repeated."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from sweeping_set import CASES, write_set

from rag_platform.evaluation.results import Run, runs

ROUNDS = int(os.environ.get("SWEEP_KILL_ROUNDS", "2"))
SCRIPT = Path(__file__).with_name("kill_sweep.py")
ROOT = Path(__file__).parents[2]


def start(home: Path, folder: Path, notes: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(home), str(folder), str(notes)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(home: Path, folder: Path, notes: Path) -> Run:
    process = start(home, folder, notes)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors.decode()
    (run,) = runs(home)
    return run


def lines(notes: Path) -> list[str]:
    return notes.read_text().split() if notes.exists() else []


def without_times(frame: pd.DataFrame) -> pd.DataFrame:
    timed = [name for name in frame.columns if name.startswith("seconds")]
    by = ("embedding_model", "reranker", "variant", "query_id", "measure")
    keys = [name for name in by if name in frame]
    return frame.drop(columns=timed).sort_values(keys).reset_index(drop=True)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_random_moments(tmp_path: Path) -> None:
    """Moments are told by the judge's calls, most of the work; one in four by the clock, before them."""
    seed = int(os.environ.get("KILL_SEED", time.time_ns() % 100_000))
    moments = random.Random(seed)
    more = [{**CASES[0], "id": f"ताल-{n}", "query": f"{CASES[0]['query']} ({n})"} for n in range(3, 10)]
    folder = write_set(tmp_path / "set", cases=[*CASES, *more])
    whole = finish(tmp_path / "undisturbed", folder, tmp_path / "undisturbed.txt")
    n_calls = len(lines(tmp_path / "undisturbed.txt"))
    assert n_calls == len(set(lines(tmp_path / "undisturbed.txt"))) > 60

    home, notes = tmp_path / "home", tmp_path / "notes.txt"
    killed = 0
    for round_no in range(ROUNDS):
        process = start(home, folder, notes)
        if round_no % 4 == 3:
            time.sleep(moments.uniform(0.3, 2.0))
        else:
            wanted = len(lines(notes)) + moments.randint(1, max(2, n_calls // (ROUNDS + 1)))
            while len(lines(notes)) < wanted and process.poll() is None:
                time.sleep(0.002)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            killed += 1
        process.communicate()
    assert killed
    run = finish(home, folder, notes)
    asked = lines(notes)
    assert len(asked) - len(set(asked)) <= killed, f"seed {seed}"
    assert set(asked) == set(lines(tmp_path / "undisturbed.txt")), f"seed {seed}"
    assert run.run_id == whole.run_id
    for ours, theirs in (
        (run.scores(), whole.scores()),
        (run.answers(), whole.answers()),
        (run.cells(), whole.cells()),
    ):
        pd.testing.assert_frame_equal(without_times(ours), without_times(theirs))
