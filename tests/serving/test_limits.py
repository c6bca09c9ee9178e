"""A whole service at its limits: deadlines of real questions, pages of other sites, false names."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from http_service import events_of, ingested, served, wait, wire

from rag_platform.answering.extractive import ExtractiveGenerator
from rag_platform.embedding.hashing import HashingEncoder
from rag_platform.keys import Keys
from rag_platform.system import System
from serving.app import create_app

PAGE = "https://nagarpalika.example"


@pytest.fixture
def system(tmp_path: Path) -> System:
    return ingested(tmp_path, RAG_DEADLINE_S=0.5)


def held(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> tuple[threading.Event, list[str]]:
    """Make a step wait for an event, and return it with the names of the threads that wait."""
    done, go_on, waiting = getattr(owner, name), threading.Event(), []

    def holding(*args: Any, **options: Any) -> Any:
        waiting.append(threading.current_thread().name)
        go_on.wait(20)
        return done(*args, **options)

    monkeypatch.setattr(owner, name, holding)
    return go_on, waiting


def test_a_search_that_takes_too_long_is_told_so(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(create_app(system=system)) as client:
        wait(lambda: client.get("/readyz").status_code == 200)
        go_on, waiting = held(monkeypatch, HashingEncoder, "encode")
        began = time.monotonic()
        answer = client.post("/v1/search", json={"query": "उम्लेको पानी"})
        assert time.monotonic() - began < 5
        assert (answer.status_code, answer.json()["code"]) == (503, "deadline_exceeded")
        assert answer.headers["retry-after"] == "1"
        assert answer.json()["request_id"] == answer.headers["x-request-id"]
        assert waiting == ["question"]
        go_on.set()
        assert client.post("/v1/search", json={"query": "साबुनले हात धुनु"}).status_code == 200


def test_a_stream_that_takes_too_long_ends_in_an_error(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(create_app(system=system)) as client:
        wait(lambda: client.get("/readyz").status_code == 200)
        go_on, waiting = held(monkeypatch, ExtractiveGenerator, "ranked")
        body = {"question": "सम्पत्ति कर कहिले?", "stream": True}
        found = client.post("/v1/ask", json=body)
        events = events_of(found.text)
        assert [name for name, _ in events] == ["sources", "error"]
        assert events[-1][1]["code"] == "deadline_exceeded"
        body = {"model": "rag", "messages": [{"role": "user", "content": "पानी?"}], "stream": True}
        said = client.post("/v1/chat/completions", json=body)
        assert '"code": "deadline_exceeded"' in said.text.split("\n\n")[-2]
        assert "event:" not in said.text
        assert len(waiting) == 2
        go_on.set()
        assert client.post("/v1/ask", json={"question": "भर्ना कहिले?"}).status_code == 200
        assert client.get("/v1/conversations").json()["conversations"][0]["title"] == "भर्ना कहिले?"


def test_waiting_for_a_document_ends_before_the_deadline(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(create_app(system=system)) as client:
        wait(lambda: client.get("/readyz").status_code == 200)
        go_on, _ = held(monkeypatch, HashingEncoder, "encode")
        made = client.post("/v1/text", json={"text": "नयाँ सूचना।", "name": "नयाँ", "wait": True})
        assert made.status_code == 202
        go_on.set()
        wait(lambda: client.get(made.headers["location"]).json()["status"] == "done")


def test_pages_that_are_named_may_call_with_a_key(tmp_path: Path) -> None:
    system = wire(tmp_path, RAG_API_KEYS="required", RAG_CORS_ORIGINS=f"{PAGE},https://other.example")
    made = Keys(tmp_path).add("page", ["read"])
    asked = {
        "origin": PAGE,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
    }
    with served(create_app(system=system)) as client:
        before = client.options("/v1/search", headers=asked)
        assert before.status_code == 200
        assert before.headers["access-control-allow-origin"] == PAGE
        assert "Authorization" in before.headers["access-control-allow-headers"]
        assert "access-control-allow-credentials" not in before.headers
        headers = {"origin": PAGE, "authorization": f"Bearer {made}"}
        answer = client.post("/v1/search", json={"query": " "}, headers=headers)
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (422, PAGE)
        assert "Retry-After" in answer.headers["access-control-expose-headers"]
        unknown = client.post("/v1/search", json={}, headers={"origin": PAGE})
        assert (unknown.status_code, unknown.headers["access-control-allow-origin"]) == (401, PAGE)
        evil = client.options("/v1/search", headers={**asked, "origin": "https://evil.example"})
        assert evil.status_code == 400
        assert "access-control-allow-origin" not in evil.headers
        headers = {**headers, "origin": "https://evil.example"}
        refused = client.post("/v1/search", json={"query": "पानी"}, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


def test_no_page_may_call_unless_it_is_named(tmp_path: Path) -> None:
    with served(create_app(system=wire(tmp_path))) as client:
        answer = client.get("/v1/models", headers={"origin": PAGE})
        assert "access-control-allow-origin" not in answer.headers


def test_a_name_that_leads_here_by_false_dns_is_refused_where_no_key_is_asked_for(tmp_path: Path) -> None:
    names = {"host": "evil.example"}
    with served(create_app(system=wire(tmp_path, RAG_MCP_HOSTS="rag.example"))) as client:
        refused = client.get("/v1/documents", headers=names)
        assert (refused.status_code, refused.json()["code"]) == (421, "misdirected")
        assert "RAG_MCP_HOSTS" in refused.json()["detail"]
        assert client.get("/v1/models", headers={"host": "rag.example"}).status_code == 200
        assert (
            client.get("/v1/models", headers={"host": f"localhost:{client.base_url.port}"}).status_code == 200
        )
    for more in ({"RAG_API_KEYS": "required"}, {"RAG_OPEN_TO_ALL": "true"}):
        with served(create_app(system=wire(tmp_path, **more))) as client:
            assert client.get("/healthz", headers=names).status_code == 200


def test_the_page_searches_for_nobody_without_a_key(tmp_path: Path) -> None:
    system = ingested(tmp_path, RAG_API_KEYS="required")
    with served(create_app(system=system)) as client:
        wait(lambda: client.get("/readyz").status_code == 200)
        shown = client.get("/")
        assert shown.status_code == 200
        searched = client.get("/", params={"q": "उम्लेको पानी"})
        assert not any(word in shown.text + searched.text for word in ("Boil water", "health.txt"))


def test_a_tool_that_takes_too_long_says_so(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "search_documents", "arguments": {"query": "पानी"}},
    }
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
    with served(create_app(system=system)) as client:
        wait(lambda: client.get("/readyz").status_code == 200)
        go_on, waiting = held(monkeypatch, HashingEncoder, "encode")
        answer = client.post("/mcp", json=asked, headers=headers)
        assert answer.status_code == 200
        assert "it took longer than 0.45 s (RAG_DEADLINE_S)" in answer.text
        assert "(code: deadline_exceeded)" in answer.text
        assert waiting == ["search_documents"]
        go_on.set()
        assert '"isError":false' in client.post("/mcp", json=asked, headers=headers).text
