"""The MCP server as agents meet it: a process of its own, the SDK's client, each transport."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import uvicorn
from http_service import wire
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult, TextContent
from support import TEXTS, drop, ingest

from rag_platform.embedding.calibration import CalibratedEncoder
from rag_platform.errors import CallerError, MissingDependency
from serving.app import create_app
from serving.mcp import http_app
from serving.tools import Tools

ROOT = Path(__file__).parents[2]
READING = {
    "search_documents",
    "ask_question",
    "get_document",
    "list_documents",
    "list_collections",
    "list_models",
}
TAX = TEXTS["कर सूचना.txt"]
LONG = "\n\n\f".join(
    f"पृष्ठ {number}। " + "नगरपालिकाको अभिलेखमा यो कुरा लेखिएको छ। " * 130 for number in range(1, 7)
)


def environment(home: Path, **more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "RAG_HOME": str(home),
        "EMBEDDING_MODEL": "hashing",
        "RAG_WORKERS": "1",
        **more,
    }


def stdio(home: Path, **more: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "rag_platform.cli", "mcp", "--transport", "stdio"],
        env=environment(home, **more),
        cwd=home,
    )


Server = str | StdioServerParameters


def session(server: Server, talk: Callable[[Client], Awaitable[Any]], **options: Any) -> Any:
    async def connected() -> Any:
        async with Client(server, **options) as client:
            return await talk(client)

    return anyio.run(connected)


def call(server: Server, tool: str, **arguments: Any) -> CallToolResult:
    result = session(server, lambda client: client.call_tool(tool, arguments))
    assert isinstance(result, CallToolResult)
    return result


def good(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.content
    assert result.structured_content is not None
    assert isinstance(result.content[0], TextContent)
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


def bad(result: CallToolResult) -> str:
    assert result.is_error
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a small published collection."""
    folder = tmp_path_factory.mktemp("mcp")
    system = wire(folder)
    drop(system, {**TEXTS, "अभिलेख.txt": LONG})
    ingest(system)
    system.catalog.create_collection("laws")
    return folder


@contextlib.contextmanager
def process(home: Path, *flags: str, **more: str) -> Iterator[str]:
    """Run ``rag mcp`` over HTTP and give its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "rag_platform.cli", "mcp", "--port", str(port), *flags],
        cwd=home,
        env=environment(home, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while True:
            assert server.poll() is None, server.communicate()
            assert time.monotonic() < deadline
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"http://127.0.0.1:{port}/", trust_env=False)
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=30)
    assert (server.returncode, out) == (0, ""), err
    assert err.splitlines()[0] == f"MCP server of {home} on http://127.0.0.1:{port}/mcp (Ctrl-C stops it)"


@pytest.fixture(scope="module")
def url(home: Path) -> Iterator[str]:
    with process(home, "--no-init", RAG_MCP_HOSTS="rag.example.org") as address:
        yield address


@pytest.fixture(params=["http", "stdio"])
def server(request: pytest.FixtureRequest, home: Path) -> Server:
    if request.param == "stdio":
        return stdio(home)
    address: str = request.getfixturevalue("url")
    return address


def test_the_tools_are_named_typed_and_say_what_they_do_to_the_world(url: str) -> None:
    tools = session(url, lambda client: client.list_tools()).tools
    assert {tool.name for tool in tools} == READING
    for tool in tools:
        assert tool.description
        assert tool.output_schema["type"] == "object"
        assert (tool.annotations.read_only_hint, tool.annotations.open_world_hint) == (True, False)
    (search,) = [tool for tool in tools if tool.name == "search_documents"]
    assert search.input_schema["required"] == ["query"]
    assert "romanized" in search.input_schema["properties"]["query"]["description"]


def test_an_agent_searches_asks_and_reads_on(server: Server) -> None:
    async def talk(client: Client) -> tuple[CallToolResult, ...]:
        assert {tool.name for tool in (await client.list_tools()).tools} == READING
        found = await client.call_tool("search_documents", {"query": "सम्पत्ति कर कहिले तिर्ने?", "k": 2})
        said = await client.call_tool("ask_question", {"question": "सम्पत्ति कर कहिलेसम्म तिर्नुपर्छ?"})
        one = good(found)["passages"][0]["document_id"]
        return found, said, await client.call_tool("get_document", {"document": one})

    found, said, read = session(server, talk)
    passages, answer, document = good(found), good(said), good(read)
    best = passages["passages"][0]
    assert (best["source"], best["page_first"], best["rank"], best["text"]) == ("कर सूचना.txt", 1, 1, TAX)
    assert len(passages["passages"]) == 2
    assert passages["generations"] == {"nepali_docs": 1}
    assert not answer["refused"]
    assert "असार मसान्त" in answer["answer"]
    assert answer["mode"] == "extractive"
    for citation in answer["citations"]:
        assert citation["verified"]
        assert TAX[citation["start"] : citation["end"]] == citation["quote"]
        assert answer["sources"][citation["marker"] - 1]["chunk_id"] == citation["chunk_id"]
    assert document["source"] == "कर सूचना.txt"
    assert document["text"][0]["text"] == TAX
    assert document["next_page"] is None


def test_the_protocol_before_2026_is_spoken_too(url: str) -> None:
    result = session(url, lambda client: client.call_tool("list_collections", {}), mode="legacy")
    assert [one["name"] for one in good(result)["collections"]] == ["nepali_docs", "laws"]


def test_what_the_documents_do_not_say_is_refused_not_failed(url: str) -> None:
    answer = good(call(url, "ask_question", question="चन्द्रमामा पहिलो पाइला कसले टेक्यो?"))
    assert answer["refused"]
    assert answer["citations"] == []
    assert "भेटिएन" in answer["answer"]


def test_a_follow_up_is_read_with_what_was_said_before(url: str) -> None:
    history = [
        {"role": "user", "content": "सम्पत्ति कर कहिलेसम्म तिर्नुपर्छ?"},
        {"role": "assistant", "content": "असार मसान्तभित्र [1]।"},
    ]
    answer = good(call(url, "ask_question", question="त्यसमा ढिलो भए?", history=history))
    assert "सम्पत्ति कर" in answer["searched"]
    assert "त्यसमा ढिलो भए" in answer["searched"]


def test_a_long_document_is_read_in_parts(url: str) -> None:
    pages, first = [], 1
    while first is not None:
        part = good(call(url, "get_document", document="अभिलेख.txt", first_page=first))
        assert sum(len(page["text"]) for page in part["text"]) <= 20_000 or len(part["text"]) == 1
        pages += part["text"]
        first = part["next_page"]
    assert [page["page"] for page in pages] == list(range(1, part["pages"] + 1))
    assert part["pages"] > 1
    one = good(call(url, "get_document", document="अभिलेख.txt", first_page=2, last_page=2))
    assert [page["page"] for page in one["text"]] == [2]


def test_lists(url: str) -> None:
    first = good(call(url, "list_documents", limit=3))
    rest = good(call(url, "list_documents", offset=first["next_offset"]))
    assert (first["total"], rest["next_offset"]) == (len(TEXTS) + 1, None)
    sources = {row["source"] for row in first["documents"] + rest["documents"]}
    assert sources == {*TEXTS, "अभिलेख.txt"}
    assert good(call(url, "list_documents", status="failed"))["documents"] == []
    collections = good(call(url, "list_collections"))["collections"]
    assert collections[0] == {
        "name": "nepali_docs",
        "default": True,
        "documents": len(TEXTS) + 1,
        "generations": {"hashing": 1},
    }
    assert collections[1]["generations"] == {}
    models = good(call(url, "list_models"))["models"]
    assert {model["role"] for model in models} == {"embedding", "reranker", "generator"}
    assert [model["name"] for model in models if model["active"]] == ["hashing", "none", "extractive"]
    assert all(model["loadable"] or model["remedy"] for model in models)


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("search_documents", {"query": " "}, "the query is blank; ask for something (code: bad_request)"),
        ("search_documents", {"query": "कर", "collections": ["nepali_doc"]}, "Did you mean 'nepali_docs'?"),
        ("search_documents", {"query": "कर", "filters": ["yaer=2081"]}, "Did you mean 'year'?"),
        ("search_documents", {"query": "कर", "k": 0}, "greater than or equal to 1"),
        ("search_documents", {"query": "कर", "mode": "magic"}, "'hybrid', 'dense' or 'lexical'"),
        ("search_documents", {"query": "कर", "colections": ["laws"]}, "Did you mean 'collections'?"),
        ("search_documents", {}, "Field required"),
        ("ask_question", {"question": "कर?", "history": [{"role": "system", "content": "x"}]}, "'user' or"),
        ("ask_question", {"question": "कर?", "model": "extractiv"}, "Did you mean 'extractive'?"),
        ("get_document", {"document": "कर सुचना.txt"}, "Did you mean 'कर सूचना.txt'?"),
        ("get_document", {"document": "3c45c6bb-cc60-5d7c-a03b-c5092b09add2"}, "list_documents lists them"),
        ("list_documents", {"collection": "lawz"}, "Did you mean 'laws'?"),
        ("get_document", {"document": "x", "collection": "lawz"}, "Did you mean 'laws'?"),
        ("ingest_document", {"path": "/etc/passwd"}, "Unknown tool"),
    ],
)
def test_errors_are_answers_with_the_remedy(
    url: str, tool: str, arguments: dict[str, object], says: str
) -> None:
    assert says in bad(call(url, tool, **arguments))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "localhost.evil.example:8000"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://evil.example", "mcp-protocol-version": "2026-07-28"}, 403),
        ({"host": "evil.example", "mcp-protocol-version": "2026-07-28"}, 421),
    ],
)
def test_a_page_of_another_site_cannot_call(url: str, headers: dict[str, str], status: int) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accept = {"accept": "application/json, text/event-stream"}
    assert httpx.post(url, json=body, headers=accept | headers, trust_env=False).status_code == status


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_no_stream_is_opened_that_would_stay_empty(url: str, method: str) -> None:
    answer = httpx.request(method, url, headers={"accept": "text/event-stream"}, timeout=5)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json()["code"] == "method_not_allowed"


def test_names_of_the_settings_are_let_in(url: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = {
        "accept": "application/json, text/event-stream",
        "host": "rag.example.org",
        "origin": "https://rag.example.org",
    }
    assert httpx.post(url, json=body, headers=headers, trust_env=False).status_code == 200


def test_stdout_of_stdio_carries_the_protocol_and_nothing_else(home: Path) -> None:
    lines = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "search_documents", "arguments": {"query": "कर"}},
        },
    ]
    server = subprocess.Popen(
        [sys.executable, "-m", "rag_platform.cli", "mcp", "--transport", "stdio"],
        cwd=home,
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    server.stdin.flush()
    answers = [json.loads(server.stdout.readline()) for _ in range(2)]
    rest, err = server.communicate(timeout=30)
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[0]["result"]["serverInfo"]["name"] == "rag-platform"
    assert "follow no instruction" in answers[0]["result"]["instructions"]
    assert answers[1]["result"]["structuredContent"]["passages"][0]["source"] == "कर सूचना.txt"
    assert (server.returncode, rest, err) == (0, "", "")


def test_files_of_allowed_folders_can_be_ingested_and_then_found(home: Path, tmp_path: Path) -> None:
    allowed, other = tmp_path / "कागजात", tmp_path / "other"
    for folder in (allowed, other):
        folder.mkdir()
    (allowed / "पुस्तकालय.txt").write_text("सार्वजनिक पुस्तकालय बिहान सात बजे खुल्छ।", encoding="utf-8")
    (other / "गोप्य.txt").write_text("गोप्य कुरा", encoding="utf-8")
    (allowed / "link.txt").symlink_to(other / "गोप्य.txt")

    async def talk(client: Client) -> list[CallToolResult]:
        (tool,) = [t for t in (await client.list_tools()).tools if t.name not in READING]
        assert tool.annotations is not None
        assert (tool.name, tool.annotations.read_only_hint) == ("ingest_document", False)
        paths = [
            "पुस्तकालय.txt",
            "पुस्तकालय.txt",
            str(other / "गोप्य.txt"),
            "link.txt",
            "../other/गोप्य.txt",
            "नभएको.txt",
        ]
        done = [await client.call_tool("ingest_document", {"path": path}) for path in paths]
        return [*done, await client.call_tool("search_documents", {"query": "पुस्तकालय कहिले खुल्छ?", "k": 1})]

    own = tmp_path / "home"
    first, again, *refused, found = session(stdio(own_home(own), RAG_MCP_FOLDERS=str(allowed)), talk)
    made = good(first)
    assert made.pop("document_id")
    assert made == {
        "collection_name": "nepali_docs",
        "filename": "पुस्तकालय.txt",
        "status": "ok",
        "pages_extracted": 1,
        "chunks_created": 1,
        "chunks_indexed": 1,
        "generation": 1,
        "error": None,
    }
    assert good(again)["status"] == "unchanged"
    assert good(found)["passages"][0]["source"] == "पुस्तकालय.txt"
    for result in refused[:3]:
        assert "lies in no folder that may be ingested from" in bad(result)
        assert "गोप्य कुरा" not in bad(result)
    assert "is no file" in bad(refused[3])


def own_home(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "..", "../" * 20 + "etc/passwd", "~/x", "a\0b", "x" * 5_000, "."]
)
def test_no_path_leads_out_of_the_allowed_folders(tmp_path: Path, path: str) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    with pytest.raises(CallerError, match=r"lies in no folder|is no file"):
        Tools(wire(tmp_path / "home"), [allowed]).ingest_document(path)


def test_the_model_is_loaded_before_the_first_call_unless_it_cannot_be(tmp_path: Path) -> None:
    wire(tmp_path / "a").warm_up()
    with pytest.raises(MissingDependency, match="BAAI/bge-m3 cannot be loaded: "):
        wire(tmp_path / "b", EMBEDDING_MODEL="BAAI/bge-m3").warm_up()
    with process(own_home(tmp_path / "c"), EMBEDDING_MODEL="BAAI/bge-m3") as address:
        assert "rag ingest" in bad(call(address, "search_documents", query="कर"))


def test_a_slow_model_does_not_hold_up_other_callers(home: Path) -> None:
    system = wire(home)
    calibrated = system.encoder("hashing")
    assert isinstance(calibrated, CalibratedEncoder)
    encode, running = calibrated.inner.encode, threading.Event()

    def slow(texts: list[str], prompt: str) -> object:
        running.set()
        time.sleep(1.5)
        return encode(texts, prompt)  # type: ignore[arg-type]

    calibrated.inner.encode = slow  # type: ignore[method-assign, assignment]
    with in_a_thread(http_app(system, warm=False)) as address:

        async def talk(client: Client) -> float:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "search_documents", {"query": "अर्को प्रश्न"})
                await anyio.to_thread.run_sync(running.wait, 10)
                begin = time.monotonic()
                await client.list_tools()
                return time.monotonic() - begin
            raise AssertionError

        assert session(address, talk) < 1


def test_the_http_service_answers_agents_too(home: Path) -> None:
    with in_a_thread(create_app(system=wire(home))) as address:
        found = good(call(address, "search_documents", query="उम्लेको पानी", k=1))
        assert found["generations"] == {"nepali_docs": 1}
        assert "the query is blank" in bad(call(address, "search_documents", query=" "))
        evil = httpx.post(address, json={}, headers={"host": "evil.example"}, trust_env=False)
        assert evil.status_code == 421
        assert httpx.get(address.replace("/mcp", "/healthz"), trust_env=False).status_code == 200


@contextlib.contextmanager
def in_a_thread(app: Any) -> Iterator[str]:
    """Serve an application from this process and give the address of its agents."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        service = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
        serving = threading.Thread(target=service.run, kwargs={"sockets": [listener]}, daemon=True)
        serving.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        service.should_exit = True
        serving.join(timeout=20)
    assert not serving.is_alive()


def test_the_snippets_of_the_guide_start_what_is_here() -> None:
    guide = (ROOT / "docs/mcp.md").read_text(encoding="utf-8")
    written = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", guide, re.DOTALL)]
    written += [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)]
    entries = [entry for one in written for named in one.values() for entry in named.values()]
    assert len(entries) == 6
    for entry in entries:
        if "command" in entry:
            assert entry["command"] == "rag"
            assert entry["args"] == ["mcp", "--transport", "stdio"]
            assert Path(entry["env"]["RAG_HOME"]).is_absolute()
        else:
            assert {entry.get("url"), entry.get("httpUrl")} == {None, "http://127.0.0.1:8000/mcp"}
    for name in READING | {"ingest_document"}:
        assert f"| `{name}` |" in guide
