"""A service that asks for keys: what each may see over HTTP and MCP, and that no key is written down."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from http_service import ingested, served, wire

from rag_platform.keys import Keys
from serving.app import create_app
from serving.mcp import http_app

LAW = "सुनकोशी नगरपालिकाको फोहोरमैला व्यवस्थापन ऐन। फोहोर छुट्याएर मात्र संकलन केन्द्रमा बुझाउनुपर्छ।"
MCP_HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}


@dataclass
class World:
    """A running service with two collections, and its keys."""

    client: httpx.Client
    home: Path
    admin: str
    reader: str
    sender: str
    ward: str
    wards: str
    foreign: dict[str, Any]
    """A document that is in no collection of ``ward``."""

    def call(self, method: str, path: str, key: str, **more: Any) -> httpx.Response:
        return self.client.request(method, path, headers={"authorization": f"Bearer {key}"}, **more)

    def tool(self, key: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the result of a tool."""
        return mcp_call(self.client, key, "tools/call", name=tool, arguments=arguments)


def mcp_call(client: httpx.Client, key: str, method: str, **params: Any) -> dict[str, Any]:
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {**MCP_HEADERS, **({"x-api-key": key} if key else {})}
    answer = client.post("/mcp", json=asked, headers=headers)
    assert answer.status_code == 200, answer.text
    written = next(line for line in answer.text.splitlines() if line.startswith("data: {"))
    found: dict[str, Any] = json.loads(written.removeprefix("data: "))["result"]
    return found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    home, agents = tmp_path_factory.mktemp("keys"), tmp_path_factory.mktemp("agents")
    (agents / "ऐन.txt").write_text(LAW, encoding="utf-8")
    system = ingested(home, RAG_API_KEYS="required", RAG_MCP_FOLDERS=agents)
    keys = Keys(home)
    made = {
        "admin": keys.add("admin", ["admin"]),
        "reader": keys.add("पाठक", ["read"]),
        "sender": keys.add("दर्ता", ["ingest"]),
        "ward": keys.add("वडा", ["read", "ingest"], collections=["laws"]),
        "wards": keys.add("वडाहरू", ["read"], collections=["laws", "roads"]),
    }
    with served(create_app(system=system)) as client:
        found = World(client, home, **made, foreign={})
        body = {"text": LAW, "name": "फोहोर ऐन", "wait": True}
        assert found.call("POST", "/v1/text", found.ward, json=body).status_code == 200
        listed = found.call("GET", "/v1/documents?collection=nepali_docs", found.admin).json()["documents"]
        found.foreign = next(one for one in listed if one["source"] == "health.txt")
        yield found


def test_without_a_key_nothing_is_told(world: World) -> None:
    answers = [
        world.client.post("/v1/search", json={"query": "कर"}),
        world.client.get("/v1/collections"),
        world.client.get("/openapi.json"),
        world.client.get("/no/such/path"),
        world.client.post("/mcp", json={}, headers=MCP_HEADERS),
        world.call("GET", "/v1/documents", "rag_" + "x" * 43),
    ]
    assert {answer.status_code for answer in answers} == {401}
    assert {answer.headers["www-authenticate"] for answer in answers} == {'Bearer realm="rag-platform"'}
    assert {answer.json()["code"] for answer in answers} == {"unauthenticated"}
    assert all(answer.headers["x-request-id"] == answer.json()["request_id"] for answer in answers)
    chat = world.client.post("/v1/chat/completions", json={})
    assert (chat.status_code, chat.json()["error"]["code"]) == (401, "unauthenticated")
    assert world.client.get("/healthz").status_code == 200
    assert world.client.get("/readyz").status_code in (200, 503)


def test_scopes(world: World) -> None:
    body, text = {"query": "उम्लेको पानी"}, {"text": "परीक्षण", "name": "परीक्षण"}
    assert world.call("POST", "/v1/search", world.reader, json=body).status_code == 200
    refused = [
        world.call("POST", "/v1/text", world.reader, json=text),
        world.call("DELETE", f"/v1/documents/{world.foreign['document_id']}", world.reader),
        world.call("POST", "/v1/search", world.sender, json=body),
        world.call("GET", "/v1/documents", world.sender),
        world.call("GET", "/metrics", world.reader),
    ]
    assert {answer.status_code for answer in refused} == {403}
    assert "the key 'पाठक' has read" in refused[0].json()["detail"]
    done = world.call("POST", "/v1/text", world.sender, json={**text, "wait": True})
    assert done.status_code == 200
    assert world.call("GET", f"/v1/jobs/{done.json()['job_id']}", world.sender).status_code == 200


def test_a_key_of_one_collection_means_that_one(world: World) -> None:
    found = world.call("POST", "/v1/search", world.ward, json={"query": "फोहोर"}).json()
    assert found["generations"].keys() == {"laws"}
    assert {hit["source"] for hit in found["hits"]} == {"फोहोर ऐन.txt"}
    answer = world.call("POST", "/v1/ask", world.ward, json={"question": "फोहोर कहाँ बुझाउने?"}).json()
    assert answer["generations"].keys() == {"laws"}
    chat = {"model": "rag", "messages": [{"role": "user", "content": "फोहोर कहाँ बुझाउने?"}]}
    said = world.call("POST", "/v1/chat/completions", world.ward, json=chat)
    assert said.status_code == 200, said.text
    assert {one["source"] for one in said.json()["citations"]} <= {"फोहोर ऐन.txt"}


@pytest.mark.parametrize("name", ["nepali_docs", "no_such_collection"])
def test_collections_of_others_are_refused_whether_they_exist_or_not(name: str, world: World) -> None:
    chat = {"model": f"rag/{name}", "messages": [{"role": "user", "content": "पानी?"}]}
    file = {"files": ("सूचना.txt", b"abc")}
    answers = [
        world.call("POST", "/v1/search", world.ward, json={"query": "पानी", "collection": name}),
        world.call("POST", "/v1/search", world.ward, json={"query": "पानी", "collections": ["laws", name]}),
        world.call("POST", "/v1/ask", world.ward, json={"question": "पानी?", "collection": name}),
        world.call(
            "POST", "/v1/ask", world.ward, json={"question": "प?", "collection": name, "stream": True}
        ),
        world.call("POST", "/api/v1/query", world.ward, json={"query": "पानी", "collection_name": name}),
        world.call("GET", f"/v1/documents?collection={name}", world.ward),
        world.call("GET", f"/v1/collections/{name}", world.ward),
        world.call("GET", f"/api/v1/collections/{name}", world.ward),
        world.call("POST", "/v1/text", world.ward, json={"text": "क", "name": "क", "collection": name}),
        world.call("POST", "/v1/documents", world.ward, files=file, data={"collection": name}),
        world.call("POST", "/api/v1/upload", world.ward, files=file, data={"collection_name": name}),
    ]
    assert [answer.status_code for answer in answers] == [403] * len(answers)
    wanted = f"the key 'वडा' is for laws, not for the collection '{name}'"
    assert {answer.json()["detail"] for answer in answers} == {wanted}
    said = world.call("POST", "/v1/chat/completions", world.ward, json=chat)
    assert (said.status_code, said.json()["error"]["code"]) == (403, "forbidden")
    assert not (world.home / "inbox" / "no_such_collection").exists()


def test_collections_of_others_are_not_listed(world: World) -> None:
    for path in ("/v1/collections", "/api/v1/collections"):
        listed = world.call("GET", path, world.ward).json()["collections"]
        assert [one["name"] for one in listed] == ["laws"]
    documents = world.call("GET", "/v1/documents", world.ward).json()["documents"]
    assert {one["collection"] for one in documents} == {"laws"}
    models = world.call("GET", "/v1/models", world.ward).text
    assert "nepali_docs" not in models
    everything = world.call("GET", "/v1/collections", world.reader).json()["collections"]
    assert {one["name"] for one in everything} == {"laws", "nepali_docs"}


def test_documents_of_others_are_as_if_they_were_not(world: World) -> None:
    known, unknown = world.foreign["document_id"], str(uuid4())
    for method, path in [
        ("GET", "/v1/documents/{}"),
        ("DELETE", "/v1/documents/{}"),
        ("GET", "/v1/documents/{}/pages"),
        ("GET", "/v1/documents/{}/chunks"),
        ("GET", "/v1/documents/{}/pages/1/image"),
        ("GET", "/v1/documents/{}/pages/1/boxes?start=0&end=3"),
    ]:
        one, other = (world.call(method, path.format(key), world.ward) for key in (known, unknown))
        assert (one.status_code, other.status_code) == (404, 404), path
        assert one.json()["detail"].replace(known, "X") == other.json()["detail"].replace(unknown, "X")
    assert world.call("GET", f"/v1/documents/{known}", world.reader).status_code == 200
    body = {"query": "पानी", "documents": [known]}
    assert world.call("POST", "/v1/search", world.ward, json=body).json().get("hits", []) == []


def test_jobs_and_conversations_of_others_are_as_if_they_were_not(world: World) -> None:
    body = {"text": "नयाँ सूचना", "name": "नयाँ", "wait": True}
    job = world.call("POST", "/v1/text", world.admin, json=body).json()["job_id"]
    assert world.call("GET", f"/v1/jobs/{job}", world.admin).status_code == 200
    refused = world.call("GET", f"/v1/jobs/{job}", world.ward)
    missing = world.call("GET", f"/v1/jobs/{'0' * 32}", world.ward)
    assert (refused.status_code, missing.status_code) == (404, 404)
    assert refused.json()["detail"].replace(job, "X") == missing.json()["detail"].replace("0" * 32, "X")
    asked = world.call("POST", "/v1/ask", world.reader, json={"question": "भर्ना कहिले?"}).json()
    path = f"/v1/conversations/{asked['conversation_id']}"
    assert world.call("GET", path, world.reader).status_code == 200
    assert world.call("GET", path, world.ward).status_code == 404
    assert world.call("DELETE", path, world.ward).status_code == 404
    listed = world.call("GET", "/v1/conversations", world.ward).json()["conversations"]
    assert asked["conversation_id"] not in {one["conversation_id"] for one in listed}


def test_many_searches_at_once_are_each_looked_at(world: World) -> None:
    searches = [{"query": "फोहोर"}, {"query": "पानी", "collection": "nepali_docs"}]
    answer = world.call("POST", "/v1/search/batch", world.ward, json={"searches": searches})
    assert answer.status_code == 200, answer.text
    assert [one["status"] for one in answer.json()["results"]] == [200, 403]
    by_address = world.call("GET", "/v1/search?q=पानी&collection=nepali_docs", world.ward)
    assert by_address.status_code == 403


def test_the_same_question_of_two_keys_is_two(world: World) -> None:
    """What is remembered of one key's search is never another's answer."""
    body = {"query": "सम्पत्ति कर कहिलेसम्म?"}
    for key, wanted in [(world.reader, "nepali_docs"), (world.ward, "laws"), (world.reader, "nepali_docs")]:
        found = world.call("POST", "/v1/search", key, json=body).json()
        assert found["generations"].keys() == {wanted}


def test_tools_are_limited_as_routes_are(world: World) -> None:
    listed = mcp_call(world.client, world.ward, "tools/list")["tools"]
    assert {"search_documents", "ingest_document"} <= {tool["name"] for tool in listed}
    found = world.tool(world.ward, "search_documents", query="फोहोर")["structuredContent"]
    assert found["generations"].keys() == {"laws"}
    collections = world.tool(world.ward, "list_collections")["structuredContent"]["collections"]
    assert [(one["name"], one["default"]) for one in collections] == [("laws", True)]
    documents = world.tool(world.ward, "list_documents")["structuredContent"]["documents"]
    assert {one["collection"] for one in documents} == {"laws"}
    mine = world.tool(world.ward, "get_document", document="फोहोर ऐन.txt")["structuredContent"]
    assert LAW in mine["text"][0]["text"]
    for arguments in (
        {"tool": "search_documents", "query": "पानी", "collections": ["nepali_docs"]},
        {"tool": "ask_question", "question": "पानी?", "collections": ["nepali_docs"]},
        {"tool": "list_documents", "collection": "nepali_docs"},
        {"tool": "get_document", "document": "health.txt", "collection": "nepali_docs"},
        {"tool": "ingest_document", "path": "ऐन.txt", "collection": "nepali_docs"},
    ):
        refused = world.tool(world.ward, **arguments)
        assert refused["isError"], arguments
        assert "not for the collection 'nepali_docs' (code: forbidden)" in refused["content"][0]["text"]
    hidden = world.tool(world.ward, "get_document", document=world.foreign["document_id"])
    assert "there is no document" in hidden["content"][0]["text"]
    unread = world.tool(world.sender, "search_documents", query="पानी")
    assert "takes a key with the scope 'read'" in unread["content"][0]["text"]
    unsent = world.tool(world.reader, "ingest_document", path="ऐन.txt")
    assert "takes a key with the scope 'ingest'" in unsent["content"][0]["text"]
    done = world.tool(world.ward, "ingest_document", path="ऐन.txt")["structuredContent"]
    assert (done["collection_name"], done["status"]) == ("laws", "ok")


def test_a_tool_tells_a_key_of_several_others_nothing_of_the_default_collection(world: World) -> None:
    for name in ("health.txt", "health.tx", "nothing.txt"):
        refused = world.tool(world.wards, "get_document", document=name)
        assert "not for the collection 'nepali_docs' (code: forbidden)" in refused["content"][0]["text"]
        assert "Known" not in refused["content"][0]["text"]


def test_the_agents_service_asks_for_keys_too(tmp_path: Path) -> None:
    system = ingested(tmp_path, RAG_API_KEYS="required")
    made = Keys(tmp_path).add("agent", ["read"])
    with served(http_app(system, warm=False)) as client:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        refused = client.post("/mcp", json=asked, headers=MCP_HEADERS)
        assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
        arguments = {"name": "search_documents", "arguments": {"query": "पानी"}}
        found = mcp_call(client, made, "tools/call", **arguments)["structuredContent"]
        assert found["passages"]
        elsewhere = {**MCP_HEADERS, "x-api-key": made, "host": "192.0.2.1:8000"}
        assert client.post("/mcp", json=asked, headers=elsewhere).status_code == 200


def test_a_key_that_is_revoked_is_refused_at_once(world: World) -> None:
    made = Keys(world.home).add("भोलि", ["read"])
    assert world.call("GET", "/v1/collections", made).status_code == 200
    Keys(world.home).revoke("भोलि")
    assert world.call("GET", "/v1/collections", made).status_code == 401


def test_no_key_is_written_into_the_log(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for key in (world.reader, world.ward, "rag_not-a-key-of-this-service"):
        world.call("POST", "/v1/search", key, json={"query": "पानी", "collection": "nepali_dox"})
        world.call("POST", "/v1/search", key, content=b"{")
        world.client.get("/v1/collections", headers={"x-api-key": key})
    kept = caplog.text + "".join(
        path.read_text(encoding="utf-8", errors="replace")
        for path in world.home.rglob("*")
        if path.is_file() and path.suffix in (".json", ".log", ".jsonl", ".sqlite")
    )
    assert caplog.records
    for key in (world.admin, world.reader, world.sender, world.ward, "rag_not-a-key-of-this-service"):
        assert key not in kept


def test_each_key_has_its_own_minute(tmp_path: Path) -> None:
    system = wire(tmp_path, RAG_API_KEYS="required", RAG_REQUESTS_PER_MINUTE=3)
    keys = Keys(tmp_path)
    one, two = keys.add("एक", ["read"]), keys.add("दुई", ["read"])
    with served(create_app(system=system)) as client:
        answers = [client.get("/v1/models", headers={"x-api-key": one}) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 20
        assert answers[-1].json()["code"] == "rate_limited"
        assert client.get("/v1/models", headers={"x-api-key": two}).status_code == 200
        assert client.get("/healthz", headers={"x-api-key": one}).status_code == 200
