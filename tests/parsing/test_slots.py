from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rag_platform.errors import EnvironmentProblem
from rag_platform.parsing import slots

HOLD = "from rag_platform.parsing.slots import slot\nwith slot(1):\n print('held', flush=True); input()"


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "_folder", lambda: tmp_path)


def test_never_more_than_the_workers_hold_a_slot() -> None:
    now, most, lock = 0, 0, threading.Lock()

    def work() -> None:
        nonlocal now, most
        with slots.slot(2):
            with lock:
                now += 1
                most = max(most, now)
            time.sleep(0.05)
            with lock:
                now -= 1

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == 2


def test_a_killed_process_frees_its_slot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdin is not None
    assert holder.stdout.readline() == "held\n"
    monkeypatch.setattr(slots, "_folder", lambda: tmp_path / f"rag-ocr-{os.getuid()}")
    taken = threading.Event()

    def take() -> None:
        with slots.slot(1):
            taken.set()

    thread = threading.Thread(target=take)
    thread.start()
    assert not taken.wait(0.2)
    holder.kill()
    holder.wait()
    holder.stdin.close()
    holder.stdout.close()
    assert taken.wait(10)
    thread.join()


def test_an_error_frees_the_slot() -> None:
    with pytest.raises(ZeroDivisionError), slots.slot(1):
        raise ZeroDivisionError
    with slots.slot(1):
        pass


def test_anothers_folder_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(slots.tempfile, "gettempdir", lambda: str(tmp_path))
    (tmp_path / "rag-ocr-12345").mkdir()
    monkeypatch.setattr(slots.os, "getuid", lambda: 12345)
    slots._folder.cache_clear()
    try:
        with pytest.raises(EnvironmentProblem, match="rag-ocr-12345 belongs to another user"):
            slots._folder()
    finally:
        slots._folder.cache_clear()
