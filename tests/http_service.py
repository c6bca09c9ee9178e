"""The HTTP service for tests: a real server on a free port, asked through httpx."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from support import TEXTS, drop, ingest

from rag_platform.settings import Settings
from rag_platform.system import System
from serving.server import config

__all__ = ["events_of", "ingested", "served", "wait", "wire"]


def wire(home: Path, **overrides: object) -> System:
    """Return a system on a home of its own, with the encoder that needs no weights."""
    given = {"RAG_HOME": home, "EMBEDDING_MODEL": "hashing", "RAG_WORKERS": 1, **overrides}
    return System.from_settings(Settings.load(None, **given))


def ingested(home: Path, **overrides: object) -> System:
    """Return such a system with texts of our own, ready to be searched."""
    system = wire(home, **overrides)
    drop(system, TEXTS)
    ingest(system)
    return system


@contextlib.contextmanager
def served(app: Starlette, settings: Settings | None = None) -> Iterator[httpx.Client]:
    """Run ``app`` on a free port in a thread of this process, as ``rag serve`` does."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        known = config(app, settings or Settings.load(None), log_level="error", lifespan="on")
        server = uvicorn.Server(known)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False) as client:
            wait(lambda: server.started)
            yield client
        server.should_exit = True
        thread.join(timeout=10)
        assert not thread.is_alive()


def wait(condition: Callable[[], bool], limit_s: float = 10) -> None:
    """Wait until it holds."""
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def events_of(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the server-sent events of an answer: names with their JSON."""
    found = []
    for block in text.strip().split("\n\n"):
        name, written = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(written.removeprefix("data: "))))
    return found
