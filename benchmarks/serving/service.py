"""Real processes: ``rag serve`` over a home of its own, and a publisher of new generations beside it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import corpus
import psutil

from rag_platform.ingestion import ingest
from rag_platform.platform import RagPlatform
from rag_platform.settings import Settings

EVERY_S = 5.0


@dataclass
class Service:
    """A process that answers."""

    port: int
    process: psutil.Process

    def cpu_s(self) -> float:
        """Return the processor time that it took so far."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def rss_mb(self) -> float:
        """Return the memory that it holds."""
        return float(self.process.memory_info().rss) / (1 << 20)


@contextlib.contextmanager
def serving(home: Path, model: str, *, command: tuple[str, ...] = ()) -> Iterator[Service]:
    """Run ``rag serve``, or another command that listens on ``PORT``, until it is ready; end it at last."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = os.environ | settings_of(home, model) | {"PORT": str(port)}
    run = command or ("-m", "rag_platform.cli", "serve", "--port", str(port))
    process = subprocess.Popen([sys.executable, *run], env=environment, stderr=subprocess.DEVNULL)
    try:
        _wait_for(f"http://127.0.0.1:{port}/readyz", process)
        yield Service(port, psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait(timeout=30)


def settings_of(home: Path, model: str) -> dict[str, str]:
    """Return the settings of all processes: nobody is limited but by what the machine can do."""
    return {
        "RAG_HOME": str(home),
        "EMBEDDING_MODEL": model,
        "RAG_WORKERS": "1",
        "RAG_REQUESTS_PER_MINUTE": "0",
        "RAG_SLOW_QUERY_MS": "0",
    }


def platform_of(home: Path, model: str) -> RagPlatform:
    """Return the library over the same home, without HTTP."""
    return RagPlatform(Settings.load(None, **settings_of(home, model)))


def publish(platform: RagPlatform, generation: int, documents: list[int]) -> None:
    """Change documents and publish them as this generation."""
    for one in documents:
        platform.put_text(corpus.text(one, generation), name=f"{one}.txt")
    collection = platform.system.settings.collection_name
    done = ingest(platform.system, [(collection, f"{one}.txt") for one in documents])
    became = {(one.status, one.generation) for one in done}
    if became != {("ok", generation)}:
        raise SystemExit(f"generation {generation} was to be published, and became {became}")


def publishing(home: Path, model: str, seconds: float) -> subprocess.Popen[str]:
    """Begin to publish generations in another process."""
    command = [sys.executable, str(Path(__file__)), str(home), model, str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def _publish_on(home: Path, model: str, seconds: float) -> list[float]:
    """Publish every five seconds, and return how long each took."""
    platform, began, took = platform_of(home, model), time.monotonic(), []
    manifest = platform.system.index.current(platform.system.settings.collection_name, model)
    assert manifest is not None
    generation = manifest.generation
    while (at := max(time.monotonic(), began + EVERY_S * (len(took) + 1))) < began + seconds:
        time.sleep(max(0.0, at - time.monotonic()))
        generation += 1
        publish(platform, generation, corpus.changed(generation))
        took.append(time.monotonic() - at)
    return took


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise SystemExit("the service ended")
        with contextlib.suppress(OSError):
            urllib.request.urlopen(address, timeout=5).close()
            return
        time.sleep(0.1)
    raise SystemExit("the service did not become ready in a minute")


if __name__ == "__main__":
    print(json.dumps(_publish_on(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))))
