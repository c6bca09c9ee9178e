"""Clients that ask without pause over bare connections, in a process of their own that takes little.

Run by ``load``: arguments as JSON in, what was measured as JSON out.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from corpus import is_of_one_generation, questions

ALLOWED = (200, 429, 503)
LIMIT_S = 60.0


@dataclass
class Asked:
    """What clients are to do: for so many seconds, or so many questions."""

    port: int
    clients: int = 64
    seconds: float = 0.0
    n_requests: int = 0
    start: int = 0
    repeated: bool = False
    path: str = "/v1/search"
    streams: int = 0


@dataclass
class Measured:
    """What came of it; times in milliseconds."""

    took: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    generations: list[int] = field(default_factory=list)
    wall_s: float = 0.0
    client_s: float = 0.0

    def answered(self, status: int, head: bytes, body: bytes, *, is_search: bool) -> None:
        """Count an answer, and keep what is wrong with it."""
        self.statuses[str(status)] += 1
        if status not in ALLOWED or (status != 200 and b"retry-after:" not in head.lower()):
            self.faults.append(f"{status}: {body[:300].decode(errors='replace')}")
        elif status == 200 and is_search and not is_of_one_generation(body):
            self.faults.append(f"mixed: {body[:3_000].decode(errors='replace')}")


def load(asked: Asked) -> subprocess.Popen[str]:
    """Begin to ask in another process."""
    command = [sys.executable, str(Path(__file__)), json.dumps(vars(asked))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> Measured:
    """Wait for its end, and return what was measured."""
    written, _ = process.communicate()
    if process.returncode:
        raise SystemExit("the clients failed")
    found = json.loads(written)
    return Measured(**{**found, "statuses": Counter(found["statuses"])})


class _Clients:
    def __init__(self, asked: Asked) -> None:
        self.asked, self.measured = asked, Measured()
        self.questions = questions(asked.start, repeated=asked.repeated)
        self.numbers = count()
        self.end = time.perf_counter() + (asked.seconds or 86_400)

    def is_over(self) -> bool:
        most = self.asked.n_requests
        return time.perf_counter() >= self.end or bool(most and next(self.numbers) >= most)

    async def search(self) -> None:
        """Ask one question after another over one connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.asked.port)
        is_search = self.asked.path == "/v1/search"
        while not self.is_over():
            began = time.perf_counter()
            writer.write(_request(self.asked.path, {"query": next(self.questions)}))
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(_length(head))
            self.measured.took.append(1_000 * (time.perf_counter() - began))
            self.measured.answered(int(head[9:12]), head, body, is_search=is_search)
        writer.close()

    async def stream(self) -> None:
        """Have answers streamed, and measure until the first word."""
        while time.perf_counter() < self.end and (self.asked.seconds or len(self.measured.first) < 20):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.asked.port)
            began = time.perf_counter()
            writer.write(_request("/v1/ask", {"question": next(self.questions), "stream": True}))
            seen, first = b"", None
            while piece := await reader.read(65_536):
                seen += piece
                if first is None and b"event: delta" in seen:
                    first = 1_000 * (time.perf_counter() - began)
                if seen.endswith(b"0\r\n\r\n"):
                    break
            writer.close()
            head, _, body = seen.partition(b"\r\n\r\n")
            self.measured.answered(int(head[9:12]), head, body, is_search=False)
            if head[9:12] == b"200" and b"event: answer" not in body:
                self.measured.faults.append(f"broke off: {body[-500:].decode(errors='replace')}")
            if first is not None:
                self.measured.first.append(first)

    async def run(self) -> Measured:
        began = time.perf_counter()
        who = [self.search() for _ in range(self.asked.clients)]
        who += [self.stream() for _ in range(self.asked.streams)]
        async with asyncio.timeout((self.asked.seconds or 3_600) + LIMIT_S):
            for problem in await asyncio.gather(*who, return_exceptions=True):
                if isinstance(problem, BaseException):
                    self.measured.faults.append(repr(problem))
        self.measured.wall_s = time.perf_counter() - began
        self.measured.client_s = time.process_time()
        return self.measured


def _request(path: str, body: dict[str, Any]) -> bytes:
    written = json.dumps(body, ensure_ascii=False).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: "
    return f"{head}{len(written)}\r\n\r\n".encode() + written


def _length(head: bytes) -> int:
    return int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])


if __name__ == "__main__":
    found = asyncio.run(_Clients(Asked(**json.loads(sys.argv[1]))).run())
    print(json.dumps(vars(found)))
