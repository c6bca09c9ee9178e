"""A real HTTP server on this machine that answers as a test tells it, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
Answer = Callable[[str, Body], tuple[int, Body] | Body]
"""From path and body to the body of the answer, with its status where that is not 200."""


@dataclass
class LocalServer:
    """Where it listens, and the (path, body, authorization) of every request so far."""

    url: str
    requests: list[tuple[str, Body, str]] = field(default_factory=list)

    def bodies(self) -> list[Body]:
        """Return what was asked, in order."""
        return [body for _, body, _ in self.requests]


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve with a handler until the block ends, and yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def serving(answer: Answer) -> Iterator[LocalServer]:
    """Serve until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            local.requests.append((self.path, body, self.headers.get("authorization", "")))
            given = answer(self.path, body)
            status, reply = given if isinstance(given, tuple) else (200, given)
            raw = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with listening(Handler) as address:
        local = LocalServer(address)
        yield local
