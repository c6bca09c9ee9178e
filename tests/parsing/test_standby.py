"""A process that stays up between single tasks."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from parsing.tasks import crash, pid, refuse, sleep

from rag_platform.errors import ParseError
from rag_platform.parsing import pool
from rag_platform.parsing.pool import Job, Limits, Standby
from rag_platform.parsing.reading import ParseOptions

JOB, OPTIONS = Job("x", Path("x.pdf"), "सूचना.pdf", "c"), ParseOptions()


@pytest.fixture
def standby() -> Iterator[Standby]:
    made = Standby(Limits(timeout_s=1.0, memory_mb=1_024))
    yield made
    made.close()


def test_tasks_share_a_process_and_an_error_is_the_tasks(standby: Standby) -> None:
    first = standby.do(pid, JOB, OPTIONS)
    assert first != os.getpid()
    with pytest.raises(ParseError, match=r"'सूचना.pdf' is refused"):
        standby.do(refuse, JOB, OPTIONS)
    assert standby.do(pid, JOB, OPTIONS) == first


def test_a_crash_and_a_hang_are_errors_of_their_file_and_the_next_goes_on(standby: Standby) -> None:
    with pytest.raises(ParseError, match="SIGSEGV"):
        standby.do(crash, JOB, OPTIONS)
    began = time.monotonic()
    with pytest.raises(ParseError, match="longer than 1 s"):
        standby.do(sleep, JOB, OPTIONS)
    assert time.monotonic() - began < 30
    assert standby.do(pid, JOB, OPTIONS) > 0


def test_a_process_that_was_ended_while_it_waited_is_replaced(standby: Standby) -> None:
    first = standby.do(pid, JOB, OPTIONS)
    os.kill(first, signal.SIGKILL)
    time.sleep(0.2)
    assert standby.do(pid, JOB, OPTIONS) != first


def test_an_idle_process_ends(standby: Standby, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_IDLE_S", 0.1)
    first = standby.do(pid, JOB, OPTIONS)
    deadline = time.monotonic() + 10
    while psutil.pid_exists(first) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not psutil.pid_exists(first)
