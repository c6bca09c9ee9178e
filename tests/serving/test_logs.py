"""The log of a service: one record a line whatever is sent, with its request, and without keys."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from http_service import ingested, served, wait, wire

from rag_platform.embedding.hashing import HashingEncoder
from rag_platform.errors import UpstreamError
from rag_platform.keys import Keys
from rag_platform.protocols import FloatArray
from rag_platform.settings import Settings
from rag_platform.system import System
from rag_platform.types import Prompt
from serving import logs
from serving.app import create_app
from serving.logs import JsonLines, TextLines

SECRET = "sk-गोप्य-9f8e7d"


@contextlib.contextmanager
def written(form: logging.Formatter, level: int = logging.INFO) -> Iterator[io.StringIO]:
    """Collect what the whole process logs, in a form."""
    stream, root = io.StringIO(), logging.getLogger()
    handler, before = logging.StreamHandler(stream), root.level
    handler.setFormatter(form)
    root.addHandler(handler)
    root.setLevel(level)
    try:
        yield stream
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


def records(stream: io.StringIO, logger: str = "", *, n: int = 0) -> list[dict[str, Any]]:
    """Return what a logger wrote, once there are so many lines: a service tells of a request after it."""

    def found() -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in stream.getvalue().splitlines()]
        return [one for one in lines if not logger or one["logger"] == logger]

    wait(lambda: len(found()) >= n)
    return found()


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> System:
    return ingested(tmp_path_factory.mktemp("logs"), RAG_SLOW_QUERY_MS=100, OPENAI_API_KEY=SECRET)


@pytest.fixture(scope="module")
def client(system: System) -> Iterator[httpx.Client]:
    with served(create_app(system=system)) as client:
        wait(lambda: client.get("/readyz").status_code == 200)
        yield client


def logged(form: logging.Formatter, message: str, *args: object, **more: Any) -> str:
    """Return what one record looks like."""
    with written(form) as stream:
        logging.getLogger("परीक्षण").warning(message, *args, **more)
    return stream.getvalue()


HOSTILE = "कर\n2026-01-01T00:00:00.000Z ERROR serving: forged\r\u2028\x85\x1b[2J\ud800"


@pytest.mark.parametrize("form", [TextLines(), JsonLines()])
def test_what_a_caller_sends_stays_on_its_line(form: logging.Formatter) -> None:
    line = logged(form, "asked for %s", HOSTILE)
    assert len(line.splitlines()) == 1
    assert line.endswith("\n")
    assert "\x1b" not in line
    assert "कर" in line
    line.encode()


def test_a_message_comes_back_as_it_was() -> None:
    (record,) = [json.loads(line) for line in logged(JsonLines(), "asked for %s", HOSTILE).splitlines()]
    assert record["message"] == f"asked for {HOSTILE}"
    assert (record["level"], record["logger"]) == ("WARNING", "परीक्षण")
    assert record["time"].endswith("Z")
    assert set(record) == {"time", "level", "logger", "message"}


def test_a_traceback_is_no_record() -> None:
    def fail() -> str:
        try:
            raise ValueError("टुट्यो\n2026-01-01T00:00:00.000Z ERROR forged: yes")
        except ValueError:
            return logged(TextLines(), "it broke", exc_info=True)

    head, *below = fail().splitlines()
    assert head.endswith("WARNING परीक्षण: it broke")
    assert below[0] == "    Traceback (most recent call last):"
    assert all(line.startswith("    ") for line in below)
    try:
        raise ValueError("टुट्यो")
    except ValueError:
        record = json.loads(logged(JsonLines(), "it broke", exc_info=True))
    assert record["exception"].endswith("ValueError: टुट्यो")


@pytest.mark.parametrize("form", [TextLines, JsonLines])
@pytest.mark.parametrize(
    "said",
    [
        f"the provider said {SECRET} is wrong",
        "Authorization: Bearer rag_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_abcdef",
        "key rag_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_abcdef came",
        "headers {'authorization': 'Bearer AbCdEf0123456789'}",
        "POST https://models.invalid/v1?key=AbCdEf0123456789&alt=sse",
        "{'pdf': 'नागरिक-७७'}",
    ],
)
def test_keys_are_blotted_out(form: type[TextLines] | type[JsonLines], said: str) -> None:
    settings = Settings.load(None, OPENAI_API_KEY=SECRET, RAG_PDF_PASSWORDS="नागरिक-७७,क")
    assert logs.secrets_of(settings) == sorted([SECRET, "क", "नागरिक-७७"])
    lines = form(logs.secrets_of(settings))
    try:
        raise UpstreamError(said)
    except UpstreamError:
        line = logged(lines, "it said %s", said, exc_info=True)
    for secret in (SECRET, "AbCdEf", "0123456789", "नागरिक-७७"):
        assert secret not in line
    assert "***" in line
    assert "क" in logged(lines, "क")  # too short to be told from a word


def test_keys_of_named_models_are_blotted_out_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "models.toml"
    file.write_text(
        '[chat.fast]\nprovider = "groq"\nkey = "FAST_KEY"\n'
        '[embedding.office]\nmodel = "openai/BAAI/bge-m3"\nbase_url = "http://x/v1"\nkey = "OFFICE_KEY"\n'
    )
    monkeypatch.setenv("FAST_KEY", "gsk-fast-1")
    monkeypatch.setenv("OFFICE_KEY", "office-2")
    settings = Settings.load(None, RAG_MODEL_PROFILES=file)
    assert logs.secrets_of(settings) == ["gsk-fast-1", "office-2"]


def test_a_request_is_one_line_with_its_id_and_no_path(client: httpx.Client) -> None:
    with written(JsonLines()) as stream:
        client.post("/v1/search", json={"query": "कर"}, headers={"X-Request-ID": "not an id"})
        client.post("/v1/search", json={"query": "गोप्य प्रश्न"}, headers={"X-Request-ID": "mine-1"})
        client.get("/नभएको%0aINFO", headers={"X-Request-ID": "mine-2"})
        client.get("/healthz", headers={"X-Request-ID": "mine-3"})
        lines = records(stream, "serving.access", n=3)
    assert len(lines) == 3
    assert len(lines[0]["request_id"]) == 32
    second, third = lines[1:]
    assert second["request_id"] == "mine-1"
    assert (second["method"], second["route"], second["status"]) == ("POST", "/v1/search", 200)
    assert 0 < second["ms"] < 30_000
    assert second["message"].startswith("POST /v1/search 200 ")
    assert (third["request_id"], third["route"], third["status"]) == ("mine-2", "unmatched", 404)
    assert "प्रश्न" not in stream.getvalue()
    assert "नभएको" not in stream.getvalue()


def test_records_of_worker_threads_know_their_request(client: httpx.Client, system: System) -> None:
    search, gate = system.searcher.search, threading.Barrier(4)

    def telling(query: str, **given: Any) -> object:
        gate.wait(20)
        logging.getLogger("rag_platform.परीक्षण").warning("asked %s", query)
        return search(query, **given)

    with written(JsonLines()) as stream, pytest.MonkeyPatch.context() as patch:
        patch.setattr(system.searcher, "search", telling)
        with ThreadPoolExecutor(4) as pool:
            for n in range(4):
                body, headers = {"query": f"कर {n}"}, {"X-Request-ID": f"request-{n}"}
                pool.submit(client.post, "/v1/search", json=body, headers=headers)
        told = {one["request_id"]: one for one in records(stream, "rag_platform.परीक्षण", n=4)}
    assert {key: one["message"] for key, one in told.items()} == {
        f"request-{n}": f"asked कर {n}" for n in range(4)
    }
    assert {one["route"] for one in told.values()} == {"/v1/search"}
    assert all("status" not in one for one in told.values())


def test_a_fault_of_ours_is_told_with_its_request(client: httpx.Client, system: System) -> None:
    def broken(*args: object, **given: object) -> object:
        raise ZeroDivisionError("टुट्यो")

    with written(JsonLines()) as stream, pytest.MonkeyPatch.context() as patch:
        patch.setattr(system.searcher, "search", broken)
        answer = client.post("/v1/search", json={"query": "कर"}, headers={"X-Request-ID": "broken-1"})
        (line,) = records(stream, "serving.access", n=1)
        (told,) = records(stream, "serving.errors", n=1)
    assert (answer.status_code, answer.headers["connection"]) == (500, "close")
    assert (line["request_id"], line["status"]) == ("broken-1", 500)
    assert (told["request_id"], told["level"]) == ("broken-1", "ERROR")


def test_a_slow_question_tells_where_the_time_went(client: httpx.Client) -> None:
    encode = HashingEncoder.encode

    def slowly(self: HashingEncoder, texts: Sequence[str], prompt: Prompt) -> FloatArray:
        time.sleep(0.15)
        return encode(self, texts, prompt)

    with written(JsonLines()) as stream, pytest.MonkeyPatch.context() as patch:
        patch.setattr(HashingEncoder, "encode", slowly)
        asked = {"X-Request-ID": "slow-1"}
        client.post("/v1/ask", json={"question": "बाघ भैरव मन्दिर कहिले बन्यो?"}, headers=asked)
        client.post("/v1/search", json={"query": "स्वास्थ्य"}, headers={"X-Request-ID": "slow-2"})
        slow = {one["request_id"]: one for one in records(stream, "serving.slow", n=2)}
    record = slow["slow-1"]
    assert record["level"] == "WARNING"
    assert record["steps"]["encoding"] >= 150
    assert {"queue", "dense", "lexical", "fetch", "generation"} <= set(record["steps"])
    assert record["message"].startswith("slow, ")
    assert " ms: POST /v1/ask: " in record["message"]
    assert "encoding 1" in record["message"]


def test_an_mcp_call_knows_its_request_too(client: httpx.Client, system: System) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "search_documents", "arguments": {"query": "साबुन"}},
    }
    search = system.searcher.search

    def telling(query: str, **given: Any) -> object:
        logging.getLogger("rag_platform.परीक्षण").warning("asked %s", query)
        return search(query, **given)

    headers = {"X-Request-ID": "agent-1", "Accept": "application/json, text/event-stream"}
    with written(JsonLines()) as stream, pytest.MonkeyPatch.context() as patch:
        patch.setattr(system.searcher, "search", telling)
        assert client.post("/mcp", json=call, headers=headers).status_code == 200
        told = records(stream, "rag_platform.परीक्षण", n=1)
    assert [(one["request_id"], one["route"]) for one in told] == [("agent-1", "/mcp")]


def test_who_called_is_named_and_the_key_is_not(tmp_path_factory: pytest.TempPathFactory) -> None:
    system = wire(tmp_path_factory.mktemp("keys"), RAG_API_KEYS="required")
    key = Keys(system.home).add("पाठक", ["read"])
    with served(create_app(system=system)) as client, written(JsonLines(), logging.DEBUG) as stream:
        for headers in ({"Authorization": f"Bearer {key}"}, {"X-API-Key": key}, {"X-API-Key": key[:-1]}):
            client.get(f"/v1/models?key={key}", headers={**headers, "X-Request-ID": key[-8:]})
        client.get(f"/{key}", headers={"Authorization": f"Bearer {key}"})
        client.delete("/v1/documents/x", headers={"X-API-Key": key})
        lines = records(stream, "serving.access", n=5)
    assert key not in stream.getvalue()
    assert key[4:-9] not in stream.getvalue()
    assert [one.get("principal") for one in lines[:3]] == ["पाठक", "पाठक", None]
    assert lines[4].get("principal") == "पाठक"
    assert [one["status"] for one in lines] == [200, 200, 401, 404, 403]


@pytest.mark.parametrize(
    ("form", "verbose", "level"), [("json", False, 20), ("text", False, 30), ("text", True, 20)]
)
def test_what_is_told_by_choice(form: str, verbose: bool, level: int) -> None:
    settings = Settings.load(None, RAG_LOG_FORMAT=form)
    names = (None, "serving", "rag_platform", "httpx", "httpcore", "assets", "jobs")
    loggers = [logging.getLogger(name) for name in names]
    before = [(one, one.level, one.handlers[:], one.propagate) for one in loggers]
    try:
        logs.set_up(settings, verbose=verbose)
        assert logging.getLogger("serving.access").getEffectiveLevel() == level
        assert logging.getLogger("httpx").getEffectiveLevel() == logging.WARNING
        (handler,) = logging.getLogger().handlers
        assert isinstance(handler.formatter, JsonLines if form == "json" else TextLines)
        assert getattr(handler, "stream", None) is sys.stderr
    finally:
        logging.captureWarnings(False)
        for one, was, handlers, propagate in before:
            one.setLevel(was)
            one.handlers[:], one.propagate = handlers, propagate
