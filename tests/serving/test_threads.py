"""Threads that work off what they are given, so many at once, and hold nothing up at the end."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from contextvars import ContextVar

import pytest
from http_service import wait

from serving.threads import Threads

WORD: ContextVar[str] = ContextVar("word", default="")


def test_results_and_errors_come_back() -> None:
    threads = Threads(2, "परीक्षण")
    ends = [threads.begin(lambda n=n: n * n) for n in range(20)]  # type: ignore[misc]
    assert [end.result(5) for end in ends] == [n * n for n in range(20)]
    with pytest.raises(ZeroDivisionError):
        threads.begin(lambda: 1 / 0).result(5)
    assert threads.begin(lambda: "अझै").result(5) == "अझै"
    threads.close()


def test_no_more_than_so_many_work_at_once() -> None:
    threads, lock = Threads(3, "few"), threading.Lock()
    now, most = 0, 0

    def work() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02)
        with lock:
            now -= 1

    for end in [threads.begin(work) for _ in range(12)]:
        end.result(5)
    assert most == 3
    threads.close()


def test_what_goes_on_does_not_wait_behind_what_has_not_begun() -> None:
    threads, go_on = Threads(1, "turns"), threading.Event()
    done: list[str] = []
    running = threads.begin(lambda: go_on.wait(5))
    wait(running.running)
    last = threads.begin(lambda: done.append("नयाँ"))
    threads.begin(lambda: done.append("अघिल्लोको बाँकी"), goes_on=True)
    threads.begin(lambda: done.append("त्यसपछिको"), goes_on=True)
    go_on.set()
    last.result(5)
    assert done == ["अघिल्लोको बाँकी", "त्यसपछिको", "नयाँ"]
    threads.close()


def test_work_is_done_in_the_context_of_its_caller() -> None:
    threads = Threads(1, "context")
    WORD.set("नमस्ते")
    assert threads.begin(WORD.get).result(5) == "नमस्ते"
    threads.begin(lambda: WORD.set("अर्को")).result(5)
    assert threads.begin(WORD.get).result(5) == "नमस्ते"
    threads.close()


def test_what_waits_is_cancelled_and_what_runs_ends() -> None:
    threads, go_on = Threads(1, "end"), threading.Event()
    running, waiting = threads.begin(lambda: go_on.wait(5)), threads.begin(lambda: "कहिल्यै होइन")
    wait(running.running)
    threads.close()
    with pytest.raises(CancelledError):
        waiting.result(5)
    with pytest.raises(CancelledError):
        threads.begin(lambda: "ढिलो").result(5)
    go_on.set()
    assert running.result(5) is True


def test_threads_end_with_who_held_them() -> None:
    threads = Threads(2, "held by nobody")
    threads.begin(lambda: None).result(5)
    assert any(thread.name == "held by nobody" for thread in threading.enumerate())
    del threads
    wait(lambda: not any(thread.name == "held by nobody" for thread in threading.enumerate()))


def test_the_end_of_a_process_does_not_wait_for_them() -> None:
    program = (
        "import time; from serving.threads import Threads; threads = Threads(1, 'slow');"
        "end = threads.begin(lambda: time.sleep(60)); time.sleep(0.1); print(end.running())"
    )
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=50
    )
    assert done.stdout == "True\n"
    assert time.monotonic() - began < 30
