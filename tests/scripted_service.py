"""A small real HTTP server that answers as a test tells it, and remembers what it was asked."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Script", "answer", "cut", "drop_by_drop", "events", "failure", "scripted", "slow"]

Does = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Script:
    """What is answered, in order, the last one again and again; and what was asked."""

    url: str = ""
    answers: list[Does] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    gone: threading.Event = field(default_factory=threading.Event)


@contextlib.contextmanager
def scripted(*answers: Does) -> Iterator[Script]:
    """Serve a script on a free port."""
    script = Script(answers=list(answers))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answered(self) -> None:
            script.times.append(time.monotonic())
            script.asked.append((self.command, self.path))
            script.headers.append(dict(self.headers))
            script.bodies.append(self._body())
            does = script.answers.pop(0) if len(script.answers) > 1 else script.answers[0]
            try:
                does(self)
            except OSError:
                script.gone.set()
                self.close_connection = True

        def _body(self) -> bytes:
            if self.headers.get("transfer-encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("content-length") or 0))
            found = b""
            while size := int(self.rfile.readline(), 16):
                found += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return found

        do_GET = do_POST = do_DELETE = _answered  # noqa: N815

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def answer(status: int, body: Any, **headers: str) -> Does:
    """Answer with JSON, or with text as it is."""

    def does(handler: BaseHTTPRequestHandler) -> None:
        written = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(written)))
        handler.end_headers()
        handler.wfile.write(written)

    return does


def failure(status: int, code: str, **headers: str) -> Does:
    """Answer with an error of the service's own form."""
    return answer(status, {"detail": f"{code} कारण", "code": code, "request_id": "r-1"}, **headers)


def cut(handler: BaseHTTPRequestHandler) -> None:
    """Close the connection without an answer."""
    handler.close_connection = True


def slow(seconds: float, then: Does) -> Does:
    """Answer after a while."""

    def does(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(seconds)
        then(handler)

    return does


def drop_by_drop(handler: BaseHTTPRequestHandler) -> None:
    """Send an answer that does not end, a byte every 50 ms."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b" ")
        time.sleep(0.05)


def events(*pieces: bytes, forever: bytes = b"", whole: bool = True) -> Does:
    """Send pieces of an event stream; then one of them again and again, or the end, or a cut."""

    def does(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()

        def send(piece: bytes) -> None:
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

        for piece in pieces:
            send(piece)
            time.sleep(0.01)
        while forever:
            send(forever)
            time.sleep(0.01)
        if whole:
            handler.wfile.write(b"0\r\n\r\n")
        handler.close_connection = not whole

    return does
