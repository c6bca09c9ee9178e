"""``rag serve`` is told to stop while it answers: the answer ends whole, nobody new is let in, code 0."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from http_service import events_of, ingested, wait

ROOT = Path(__file__).parents[2]
ASKED = {"question": "सम्पत्ति कर कहिलेसम्म तिर्ने?", "stream": True}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shutdown")
    ingested(folder)
    return folder


@contextlib.contextmanager
def serving(home: Path, seconds: float, **more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command with so long a pause after each event of an answer; yield its process and address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "RAG_HOME": str(home),
        "EMBEDDING_MODEL": "hashing",
        **more,
    }
    script = Path(__file__).with_name("slow_service.py")
    command = [sys.executable, str(script), str(seconds), "serve", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, cwd=home, stderr=subprocess.PIPE, text=True)
    try:
        address = f"http://127.0.0.1:{port}"
        wait(lambda: process.poll() is not None or is_ready(address), limit_s=30)
        assert process.poll() is None, process.communicate()[1]
        yield process, address
    finally:
        process.kill()
        process.communicate()


def is_ready(address: str) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"{address}/readyz", trust_env=False).status_code == 200
    return False


def stopped_while_answering(
    process: subprocess.Popen[str], address: str, name: signal.Signals
) -> tuple[str, float]:
    """Ask, send a signal after the first event, and return what came and how long the process lived on."""
    with (
        httpx.Client(base_url=address, trust_env=False, timeout=30) as client,
        client.stream("POST", "/v1/ask", json=ASKED) as answer,
    ):
        lines = answer.iter_lines()
        found = next(lines) + "\n"
        process.send_signal(name)
        began = time.monotonic()
        wait(lambda: is_refused(address))
        found += "\n".join(lines)
    process.wait(timeout=30)
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    return found, time.monotonic() - began


def is_refused(address: str) -> bool:
    try:
        httpx.get(f"{address}/healthz", trust_env=False, timeout=5)
    except httpx.ConnectError:
        return True
    except httpx.TransportError:
        return False
    return False


@pytest.mark.slow
def test_an_answer_under_way_ends_whole(home: Path) -> None:
    with serving(home, 0.4) as (process, address):
        found, lived_s = stopped_while_answering(process, address, signal.SIGTERM)
        assert process.returncode == 0
    assert 0.4 < lived_s < 10
    events = events_of(found)
    assert events[0][0] == "sources"
    last, answer = events[-1]
    assert last == "answer"
    assert "असार मसान्तभित्र" in answer["answer"]


@pytest.mark.slow
def test_an_answer_that_does_not_end_is_cut_and_says_so(home: Path) -> None:
    with serving(home, 60, RAG_SHUTDOWN_S="1") as (process, address):
        found, lived_s = stopped_while_answering(process, address, signal.SIGINT)
        assert process.returncode == 0
    assert lived_s < 10
    last, error = events_of(found)[-1]
    assert (last, error["code"]) == ("error", "overloaded")
