"""What the OpenAPI document allows and forbids, and headers beyond it: no fault of ours, no wait without end.

Schemathesis makes the requests; ``FUZZ=10`` makes ten times as many of those that are drawn.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from http_service import served, wait, wire
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from page_service import LIBRARY_ACT, NOTICE
from schemathesis import checks
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from rag_platform.platform import RagPlatform
from serving.app import create_app

TIMES = int(os.environ.get("FUZZ", "1"))
LIMIT_S = 20
ALWAYS = [
    checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
"""Of every answer. That what is allowed is not refused is none: a cursor is any text, and of one list."""
DRAWN = settings(
    max_examples=2 * TIMES,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
DOCUMENT = Path(__file__).parents[2] / "docs" / "openapi.json"
SCHEMA = schemathesis.openapi.from_path(DOCUMENT, config=SchemathesisConfig(seed=1)).exclude(
    path_regex="^/api/"
)
"""Without the other names of the same routes."""


@dataclass
class Service:
    address: str
    port: int
    session: requests.Session
    known: dict[str, str]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    system = wire(tmp_path_factory.mktemp("fuzzing"), RAG_CLIENT_TIMEOUT_S=2)
    platform = RagPlatform(system=system)
    platform.add_text(NOTICE, name="कर सूचना.txt")
    (act,) = platform.ingest(LIBRARY_ACT)
    with served(create_app(system=system), system.settings) as client, requests.Session() as session:
        wait(lambda: client.get("/readyz").status_code == 200)
        told = client.post("/v1/ask", json={"question": "सम्पत्ति कर कहिले तिर्ने?"}).json()
        job = client.post("/v1/text", json={"text": NOTICE, "name": "फेरि", "wait": True}).json()
        known = {
            "document_id": act.document_id,
            "page": "1",
            "conversation_id": told["conversation_id"],
            "job_id": job["job_id"],
            "name": "nepali_docs",
            "model": "rag",
        }
        port = client.base_url.port
        assert port is not None
        yield Service(f"http://127.0.0.1:{port}", port, session, known)
        assert client.get("/readyz").status_code == 200


@pytest.mark.filterwarnings("default")
@SCHEMA.parametrize()
@DRAWN
def test_every_answer_is_as_described(case: schemathesis.Case, service: Service) -> None:
    asked = {"base_url": service.address, "session": service.session, "timeout": LIMIT_S}
    case.call_and_validate(**asked, checks=ALWAYS)
    if case.path_parameters and case.method != "DELETE":
        case.path_parameters = {name: service.known[name] for name in case.path_parameters}
        case.call_and_validate(**asked, checks=ALWAYS)


HOSTILE: dict[str, list[bytes]] = {
    "accept": [b"", b"*/*;q=nan", b"application/openmetrics-text;version=;q=", b"text/event-stream" * 99],
    "accept-encoding": [b"gzip;q=0", b"gzip, gzip, \xff"],
    "accept-language": [b"ne;q=x", b"\xe0\xa4\xa8", b"*" * 5_000, b"-,;=,;q=1e999"],
    "authorization": [b"Bearer", b"Bearer \xff\xfe", b"Basic " + b"A" * 9_000, b"\x01bearer x"],
    "connection": [b"close, keep-alive", b"upgrade"],
    "content-encoding": [b"gzip", b"br, zstd"],
    "content-length": [b"-1", b"+5", b"1e3", b"0x10", b"9" * 40, b"2, 2", b"\xb2", b""],
    "content-type": [
        b"multipart/form-data",
        b"multipart/form-data; boundary=",
        b"multipart/form-data; boundary=" + b"x" * 9_000,
        b'multipart/form-data; boundary="\xff\x00',
        b"application/json; charset=utf-7",
        b"application/json; charset=\xff",
        b"application/vnd.x+json",
        b"/",
        b";;;",
    ],
    "cookie": [b"rag_language=" + b"\xff" * 300, b"=;=;=", b'rag_language="ne'],
    "expect": [b"100-continue", b"the worst"],
    "host": [
        b"",
        b"[::1",
        b"localhost:x",
        b"localhost:99999999999",
        b"\xff",
        b"localhost, localhost",
        b"a@b",
    ],
    "if-none-match": [b"*", b'W/"', b'"' * 3_000, b", ,", b"\xff"],
    "origin": [b"null", b"http://[", b"http://localhost:99999999", b"\xff", b""],
    "range": [b"bytes=0-", b"bytes=-1, 5-3", b"lines=1"],
    "transfer-encoding": [b"chunked", b"gzip, chunked", b"identity", b"chunked, chunked", b"\x0bchunked"],
    "upgrade": [b"websocket", b"h2c"],
    "x-api-key": [b"\xff" * 100, b"", b"\xe0\xa4\x95"],
    "x-forwarded-for": [b"127.0.0.1, \xff", b"::"],
    "x-http-method-override": [b"DELETE"],
    "x-request-id": [b"\xff", b"a" * 65, b"\x01", b"a b"],
    "x\x00y": [b"1"],
    "": [b"no name"],
    "\u00ff": [b"1"],
}
PATHS = ["/", "/v1/search?q=x", "/v1/documents", "/v1/collections", "/metrics", "/mcp", "/v1/none", "/v1/ask"]
PATHS += [
    "//",
    "/%ff",
    "/v1/search?q=%ff&q=%00",
    "/assets/../../x",
    "/v1/models/%2e%2e%2f",
    "*",
    "http://[/v1",
]
BODIES = [
    b"",
    b"{",
    b'{"query": "\\ud800"}',
    b"[" * 50_000,
    b'{"query": 1e999}',
    b"\xff\xfe",
    b"2\r\n{}\r\n0\r\n\r\n",
]
HEADERS = st.lists(
    st.sampled_from([(name, value) for name, values in HOSTILE.items() for value in values])
    | st.tuples(st.sampled_from(sorted(HOSTILE)), st.binary(max_size=40)),
    max_size=4,
)


@settings(DRAWN, max_examples=150 * TIMES)
@given(
    method=st.sampled_from(["GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "TRACE", "कर"]),
    path=st.sampled_from(PATHS),
    headers=HEADERS,
    body=st.sampled_from(BODIES),
)
def test_no_header_brings_the_service_down(
    service: Service, method: str, path: str, headers: list[tuple[str, bytes]], body: bytes
) -> None:
    status = answered(service.port, method, path, headers, body)
    assert is_fine(status, headers), status


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in HOSTILE.items() for v in values])
def test_no_single_header_does(service: Service, name: str, value: bytes) -> None:
    for method, path, body in (
        ("GET", "/", b""),
        ("POST", "/v1/search", b'{"query": "\xe0\xa4\x95\xe0\xa4\xb0"}'),
    ):
        status = answered(service.port, method, path, [(name, value)], body)
        assert is_fine(status, [(name, value)]), (method, status)


def is_fine(status: int | None, headers: list[tuple[str, bytes]]) -> bool:
    """Say whether nothing is wrong here; 501 is the answer to a way of sending that nobody knows."""
    is_unknown = status == 501 and any(name == "transfer-encoding" for name, _ in headers)
    return status is None or 200 <= status < 500 or is_unknown


HALF = "\ud800क\x00"
"""Half a character, which JSON can hold and no file name, database or encoder can."""
TEXTS: dict[str, dict[str, Any]] = {
    "/v1/search": {
        "query": HALF,
        "collection": HALF,
        "collections": [HALF],
        "documents": [HALF],
        "filters": [f"year={HALF}"],
        "embedding_model": HALF,
        "reranker": HALF,
    },
    "/v1/ask": {
        "question": HALF,
        "collection": HALF,
        "model": HALF,
        "conversation_id": HALF,
        "history": [{"role": "user", "content": HALF}],
    },
    "/v1/chat/completions": {
        "model": HALF,
        "messages": [{"role": "user", "content": [{"type": "text", "text": HALF}]}],
        "documents": [HALF],
        "response_format": {"type": HALF},
    },
    "/v1/text": {"text": HALF, "name": HALF, "collection": HALF, "metadata": {HALF: HALF}},
}
NEEDED = {
    "/v1/search": {"query": "कर"},
    "/v1/ask": {"question": "कर"},
    "/v1/chat/completions": {"model": "rag", "messages": [{"role": "user", "content": "कर"}]},
    "/v1/text": {"text": "कर"},
}


@pytest.mark.parametrize(
    ("path", "field"), [(path, field) for path, fields in TEXTS.items() for field in fields]
)
def test_half_a_character_is_refused(service: Service, path: str, field: str) -> None:
    body = json.dumps({**NEEDED[path], field: TEXTS[path][field]}).encode()
    headers = {"content-type": "application/json"}
    found = service.session.post(service.address + path, data=body, headers=headers, timeout=LIMIT_S)
    assert found.status_code in (400, 404, 422)


def answered(port: int, method: str, path: str, headers: list[tuple[str, bytes]], body: bytes) -> int | None:
    """Return the status of the answer; None where the connection was ended without one."""
    given_names = {name for name, _ in headers}
    usual = {"host": b"localhost", "content-type": b"application/json", "content-length": b"%d" % len(body)}
    if "transfer-encoding" in given_names:
        del usual["content-length"]
    whole = [(name, value) for name, value in usual.items() if name not in given_names] + headers
    lines = [f"{method} {path} HTTP/1.1".encode()]
    lines += [name.encode("latin-1") + b": " + value for name, value in whole]
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as client:
        found = b""
        with contextlib.suppress(ConnectionError):
            client.sendall(b"\r\n".join(lines) + b"\r\nconnection: close\r\n\r\n" + body)
            while piece := client.recv(65_536):
                found += piece
    while found.startswith(b"HTTP/1.1 1"):  # go on with the body
        found = found.partition(b"\r\n\r\n")[2]
    return int(found.split(b" ", 2)[1]) if found else None
