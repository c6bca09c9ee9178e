"""Run by test_kill: a sweep by the library alone; its judge notes every call on disk before it answers.

Arguments: the home, the set, the file for the notes.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from rag_platform.evaluation.judge.cases import JudgeCase, Scored
from rag_platform.evaluation.sweep import grid
from rag_platform.settings import Settings
from rag_platform.sweeping.request import SweepRequest
from rag_platform.sweeping.wiring import Bench, open_sweep
from rag_platform.system import System
from rag_platform.types import fingerprint

VARIANTS = {"lexical": {"mode": "lexical"}, "few": {"k": "2"}, "nofold": {"analyzer.fold": "false", "k": "1"}}


class NotingJudge:
    """Gives marks by the words of the case, and takes its time."""

    name = "test/noting"
    recipe = "noting"

    def __init__(self, notes: Path) -> None:
        self.notes = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def score(self, case: JudgeCase, metric: str, *, repeat: int = 0) -> Scored:
        key = fingerprint(case, metric, repeat)
        os.write(self.notes, f"{key}\n".encode())
        time.sleep(0.01)
        return Scored("ok", int(key[:4], 16) / 0xFFFF, "marked", tokens=7, cost=0.001, calls=1)


def main(home: Path, folder: Path, notes: Path) -> None:
    settings = Settings.load(None, RAG_HOME=home, EMBEDDING_MODEL="hashing", RAG_WORKERS=1)
    bench = Bench(System.from_settings(settings), SweepRequest(str(folder), variants=VARIANTS))
    bench.answering.judge = NotingJudge(notes)
    cells = grid(["hashing", "BAAI/bge-m3"], ["none"], bench.request.variant_names)
    open_sweep(bench, cells).over(cells)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
