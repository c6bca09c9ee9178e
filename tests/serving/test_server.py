"""Clients that send too slowly, too much or nothing, and those that read nothing: over bare sockets."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from http_service import wait, wire
from starlette.types import ASGIApp, Receive, Scope, Send

from rag_platform.settings import Settings
from serving.app import create_app
from serving.server import config

PATIENCE_S = 0.4
FORM = "multipart/form-data; boundary=b"
PART = b'--b\r\ncontent-disposition: form-data; name="files"; filename="x.txt"\r\n\r\n'
LONG = "सुनकोशी नगरपालिकाको अभिलेखमा यो कुरा लेखिएको छ। ".encode() * 100_000
"""More than the buffers of two sockets."""


@dataclass
class Service:
    """Where it listens, and the server itself."""

    server: uvicorn.Server
    port: int
    home: Path

    def connect(self, **options: int) -> socket.socket:
        found = socket.socket()
        for option, value in options.items():
            found.setsockopt(socket.SOL_SOCKET, getattr(socket, option), value)
        found.settimeout(10)
        found.connect(("127.0.0.1", self.port))
        return found

    @property
    def n_connections(self) -> int:
        return len(self.server.server_state.connections)


@contextlib.contextmanager
def serving(app: ASGIApp, settings: Settings) -> Iterator[Service]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        known = config(app, settings, log_level="error")
        server = uvicorn.Server(known)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        wait(lambda: server.started)
        yield Service(server, listener.getsockname()[1], settings.home)
        server.should_exit = True
        thread.join(timeout=10)
    assert not thread.is_alive()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    system = wire(
        tmp_path_factory.mktemp("server"), RAG_CLIENT_TIMEOUT_S=PATIENCE_S, RAG_UPLOAD_MB=1, RAG_DEADLINE_S=20
    )
    with serving(create_app(system=system), system.settings) as found:
        yield found


@pytest.fixture
def teller() -> Iterator[Service]:
    """A service that has much to tell, in one piece or in many."""
    with serving(tells, Settings.load(None, RAG_CLIENT_TIMEOUT_S=PATIENCE_S)) as found:
        yield found


async def tells(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] != "http":
        return
    size = len(LONG) if scope["path"] == "/whole" else 65_536
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-length", b"%d" % len(LONG))]})
    for start in range(0, len(LONG), size):
        await send({"type": "http.response.body", "body": LONG[start : start + size], "more_body": True})
    await send({"type": "http.response.body", "body": b""})


@pytest.fixture(autouse=True)
def _quiet_before_and_after(service: Service) -> Iterator[None]:
    """Nothing that a client did keeps a connection: that is what all of this is about."""
    yield
    wait(lambda: service.n_connections == 0, limit_s=15)


def head(path: str = "/v1/search", **headers: object) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "host: localhost"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def all_of(client: socket.socket) -> bytes:
    """Return everything up to the end of the connection."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while piece := client.recv(65_536):
            found += piece
    return found


def answer_of(client: socket.socket) -> tuple[int, dict[str, Any]]:
    """Return status and body of an answer with a length."""
    found = b""
    while b"\r\n\r\n" not in found:
        found += client.recv(65_536)
    before, _, body = found.partition(b"\r\n\r\n")
    lines = before.decode().lower().split("\r\n")
    length = next(int(line.split(":")[1]) for line in lines if line.startswith("content-length"))
    while len(body) < length:
        body += client.recv(65_536)
    return int(lines[0].split()[1]), json.loads(body)


def dripping(client: socket.socket, drops: bytes, *, every_s: float = 0.05, limit_s: float = 5.0) -> float:
    """Send byte after byte until the other side has had enough, and return how long that took."""
    began = time.monotonic()
    client.setblocking(False)
    for drop in drops:
        with contextlib.suppress(BlockingIOError):
            if client.recv(1, socket.MSG_PEEK) == b"":
                break
        try:
            client.send(bytes([drop]))
        except ConnectionError:
            break
        assert time.monotonic() - began < limit_s, "the service waited on"
        time.sleep(every_s)
    client.settimeout(10)
    return time.monotonic() - began


def test_who_says_nothing_is_let_go(service: Service) -> None:
    began = time.monotonic()
    with service.connect() as client:
        assert all_of(client) == b""
    assert PATIENCE_S * 0.9 < time.monotonic() - began < 5


def test_who_begins_and_leaves_it_at_that_is_let_go(service: Service) -> None:
    began = time.monotonic()
    with service.connect() as client:
        client.sendall(b"POST /v1/search HTTP/1.1\r\nhost: localhost\r\nx-half: ")
        assert all_of(client) == b""
    assert time.monotonic() - began < 5


def test_headers_in_drops_are_let_go(service: Service) -> None:
    with service.connect() as client:
        took = dripping(client, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n" + b"x: y\r\n" * 100)
    assert took >= PATIENCE_S * 0.9


def test_a_second_request_in_drops_is_let_go_too(service: Service) -> None:
    with service.connect() as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert answer_of(client)[0] == 200
        dripping(client, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n" + b"x: y\r\n" * 100)


def test_requests_on_one_connection_are_all_answered(service: Service) -> None:
    with service.connect() as client:
        for _ in range(6):  # longer than the patience with any one of them
            client.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert answer_of(client)[0] == 200
            time.sleep(PATIENCE_S / 4)


@pytest.mark.parametrize("path", ["/v1/search", "/v1/documents", "/api/v1/upload", "/v1/chat/completions"])
def test_a_body_in_drops_is_told_so(service: Service, path: str) -> None:
    is_form = path in ("/v1/documents", "/api/v1/upload")
    with service.connect() as client:
        kind = FORM if is_form else "application/json"
        client.sendall(head(path, content_length=10_000, content_type=kind) + (PART if is_form else b""))
        took = dripping(client, b" " * 200)
        status, body = answer_of(client)
        assert all_of(client) == b""
    assert took < 5
    assert (status, body.get("error", body)["code"]) == (408, "too_slow")


def test_chunks_in_drops_are_told_so(service: Service) -> None:
    with service.connect() as client:
        client.sendall(head(transfer_encoding="chunked", content_type="application/json"))
        dripping(client, b"1\r\n{\r\n" * 100)
        assert answer_of(client)[0] == 408


def test_a_body_that_nobody_reads_is_not_waited_for(service: Service) -> None:
    with service.connect() as client:
        client.sendall(head("/no/such/path", content_length=10_000))
        status, body = answer_of(client)
        assert (status, body["code"]) == (404, "not_found")
        dripping(client, b" " * 200)


def test_an_announced_size_is_refused_before_it_comes(service: Service) -> None:
    with service.connect() as client:
        client.sendall(head("/v1/documents", content_length=(1 << 20) + 1, content_type=FORM))
        status, body = answer_of(client)
    assert (status, body["code"]) == (413, "body_too_large")


def test_chunks_beyond_the_limit_are_refused_and_nothing_stays(service: Service) -> None:
    with service.connect() as client:
        client.sendall(head("/v1/documents", transfer_encoding="chunked", content_type=FORM))
        client.sendall(b"%x\r\n%s\r\n" % (len(PART), PART))
        with contextlib.suppress(ConnectionError):
            for _ in range(64):
                client.sendall(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
        status, body = answer_of(client)
    assert (status, body["code"]) == (413, "body_too_large")
    assert not list(service.home.glob("inbox/**/x.txt"))


@pytest.mark.parametrize("size", [40_000, 200_000])
def test_headers_that_are_huge_are_refused(service: Service, size: int) -> None:
    with service.connect() as client:
        client.sendall(b"GET /v1/models HTTP/1.1\r\nhost: localhost\r\nx: " + b"x" * size + b"\r\n\r\n")
        status, body = answer_of(client)
    assert (status, body["code"]) == (431, "headers_too_large")
    assert set(body) == {"detail", "code", "request_id"}


def test_headers_without_an_end_are_refused(service: Service) -> None:
    with service.connect() as client:
        with contextlib.suppress(ConnectionError):
            client.sendall(b"GET /v1/models HTTP/1.1\r\n")
            for _ in range(2_000):
                client.sendall(b"x-more: " + b"x" * 100 + b"\r\n")
        found = b""
        with contextlib.suppress(ConnectionError):
            found = all_of(client)
    assert found == b"" or b" 431 " in found.split(b"\r\n")[0]


@pytest.mark.parametrize(
    "said",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "नमस्ते\r\n\r\n".encode(),
        b"GET /v1/models HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        b"POST /v1/search HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"POST /v1/search HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused_as_everything_is(
    service: Service, said: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.CRITICAL), service.connect() as client:
        client.sendall(said)
        status, body = answer_of(client)
        assert all_of(client) == b""
    assert (status, body["code"]) == (400, "invalid_http")
    assert set(body) == {"detail", "code", "request_id"}


@pytest.mark.parametrize("path", ["/whole", "/pieces"])
def test_who_reads_nothing_of_an_answer_is_let_go(teller: Service, path: str) -> None:
    with teller.connect(SO_RCVBUF=4_096) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        wait(lambda: teller.n_connections == 1)
        began = time.monotonic()
        wait(lambda: teller.n_connections == 0)
        assert PATIENCE_S * 0.9 < time.monotonic() - began < 5
        wait(lambda: not teller.server.server_state.tasks)


@pytest.mark.parametrize("path", ["/whole", "/pieces"])
def test_who_reads_slowly_but_steadily_gets_everything(teller: Service, path: str) -> None:
    with teller.connect(SO_RCVBUF=65_536) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
        began, n_read, next_rest = time.monotonic(), 0, 0
        while piece := client.recv(262_144):
            n_read += len(piece)
            if n_read > next_rest:
                next_rest += len(LONG) // 20
                time.sleep(PATIENCE_S / 8)
    assert time.monotonic() - began > PATIENCE_S * 2
    assert n_read > len(LONG)


def test_connections_beyond_the_limit_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("serving.server._IDLE", 2)
    few_at_once = Settings.load(None, RAG_HOME=tmp_path, RAG_MAX_IN_FLIGHT=1)
    with serving(tells, few_at_once) as few, contextlib.ExitStack() as opened:
        clients = [opened.enter_context(few.connect()) for _ in range(3)]
        wait(lambda: few.n_connections == 3)
        assert all_of(opened.enter_context(few.connect())) == b""
        clients.pop().close()
        wait(lambda: few.n_connections == 2)
        last = opened.enter_context(few.connect())
        last.sendall(b"GET /pieces HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        assert len(all_of(last)) > len(LONG)
