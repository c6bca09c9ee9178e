"""What every request passes: not more of a body is read than is allowed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from rag_platform.cli.app import main
from rag_platform.errors import InvalidSetting
from rag_platform.keys import Keys
from rag_platform.settings import Settings
from serving.binding import asked_keys, check_binding, is_local, origins
from serving.errors import answer
from serving.middleware import BodyLimit, HostCheck, OriginCheck, RequestId, TooLarge, TooSlow


async def reads_all(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that reads its body to the end."""
    try:
        while (await receive()).get("more_body"):
            pass
        status, body = 200, b"read"
    except (TooLarge, TooSlow) as error:
        response = answer(Request(scope), error)
        status, body = response.status_code, bytes(response.body)
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": body})


def call(app: Any, pieces: list[bytes], **headers: str) -> tuple[int, bytes, int]:
    """Return status and body of the answer, and how many pieces were read."""
    read, sent = 0, []

    async def receive() -> Message:
        nonlocal read
        read += 1
        return {"type": "http.request", "body": pieces[read - 1], "more_body": read < len(pieces)}

    async def send(message: Message) -> None:
        sent.append(message)

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": "/x", "headers": raw, "state": {"request_id": "r1"}}
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent), read


LIMITED = BodyLimit(reads_all, limit_of=lambda path: 10, patience_s=5)


def test_a_body_within_the_limit_is_read() -> None:
    assert call(LIMITED, [b"12345", b"67890"], content_length="10") == (200, b"read", 2)


def test_an_announced_size_is_refused_before_a_byte_is_read() -> None:
    status, body, read = call(LIMITED, [b"x" * 11], content_length="11")
    assert (status, read) == (413, 0)
    assert json.loads(body) == {
        "detail": "the body is larger than 10 bytes; send less at once",
        "code": "body_too_large",
        "request_id": "r1",
    }


def test_a_body_without_a_size_is_read_to_the_limit_and_no_further() -> None:
    status, _, read = call(LIMITED, [b"12345"] * 100)
    assert (status, read) == (413, 3)


def test_a_size_that_was_announced_too_small_does_not_help() -> None:
    status, _, read = call(LIMITED, [b"12345"] * 100, content_length="5")
    assert (status, read) == (413, 3)


@pytest.mark.parametrize(
    ("origin", "status"),
    [("http://here:8080", 200), ("https://evil.example", 403), ("null", 403), ("http://here:9090", 403)],
)
def test_where_a_page_comes_from(origin: str, status: int) -> None:
    app = OriginCheck(reads_all)
    assert call(app, [b""], origin=origin, host="here:8080")[0] == status


def test_who_checks_origins_itself_is_left_alone() -> None:
    assert call(OriginCheck(reads_all, exempt=("/x",)), [b""], origin="null", host="here")[0] == 200


def test_a_page_that_is_allowed_may_change_something() -> None:
    app = OriginCheck(reads_all, allowed=["https://app.example"])
    assert call(app, [b""], origin="https://app.example", host="here:8080")[0] == 200
    assert call(app, [b""], origin="https://app.example:444", host="here:8080")[0] == 403
    assert call(OriginCheck(reads_all, allowed=["*"]), [b""], origin="null", host="here")[0] == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8080", 200),
        ("LOCALHOST", 200),
        ("[::1]:8080", 200),
        ("127.8.8.8:8080", 200),
        ("rag.example", 200),
        ("192.0.2.7", 421),
        ("evil.example:8080", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1@evil.example", 421),
        ("", 421),
    ],
)
def test_a_name_that_is_not_this_machine_is_refused(host: str, status: int) -> None:
    app = HostCheck(reads_all, names=["localhost", "RAG.example"])
    assert call(app, [b""], host=host)[0] == status
    assert call(HostCheck(reads_all, names=()), [b""], host=host)[0] == 200
    assert call(HostCheck(reads_all, names=["localhost"], exempt=("/x",)), [b""], host=host)[0] == 200


def test_headers_have_a_limit() -> None:
    status, body, read = call(RequestId(reads_all), [b""], cookie="x" * 33_000)
    assert (status, read) == (431, 0)
    assert json.loads(body)["code"] == "headers_too_large"


def test_a_body_has_one_length() -> None:
    status, body, read = call(RequestId(reads_all), [b"x"], content_length="1", transfer_encoding="chunked")
    assert (status, read) == (400, 0)
    assert "send one of them" in json.loads(body)["detail"]


def test_an_id_is_given_and_told() -> None:
    seen: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["state"]["request_id"])
        await reads_all(scope, receive, send)

    call(RequestId(app), [b""], x_request_id="a-1")
    call(RequestId(app), [b""], x_request_id="x\ny")
    call(RequestId(app), [b""])
    assert seen[0] == "a-1"
    assert all(len(made) == 32 for made in seen[1:])
    assert seen[1] != seen[2]


def settings(host: str, **more: object) -> Settings:
    return Settings.load(None, RAG_HOST=host, **more)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.20", "rag.example.org"])
def test_an_address_that_others_reach_asks_for_keys(host: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"there is none yet.*rag keys add.*set RAG_OPEN_TO_ALL=true"):
        check_binding(settings(host, RAG_HOME=tmp_path))
    with pytest.raises(InvalidSetting, match=r"RAG_API_KEYS=off.*set RAG_OPEN_TO_ALL=true"):
        check_binding(settings(host, RAG_HOME=tmp_path, RAG_API_KEYS="off"))
    check_binding(settings(host, RAG_HOME=tmp_path, RAG_OPEN_TO_ALL="true"))
    Keys(tmp_path).add("पुस्तकालय", ["read"])
    check_binding(settings(host, RAG_HOME=tmp_path))
    keys = asked_keys(settings(host, RAG_HOME=tmp_path))
    assert keys is not None
    assert [key.name for key in keys.all()] == ["पुस्तकालय"]


def test_keys_are_asked_for_where_it_is_wanted(tmp_path: Path) -> None:
    here = {"RAG_HOME": tmp_path}
    assert asked_keys(settings("127.0.0.1", **here)) is None
    assert asked_keys(settings("127.0.0.1", RAG_API_KEYS="required", **here)) is not None
    assert asked_keys(settings("0.0.0.0", RAG_OPEN_TO_ALL="true", **here)) is None
    both = settings("0.0.0.0", RAG_OPEN_TO_ALL="true", RAG_API_KEYS="required", **here)
    assert asked_keys(both) is not None


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_the_command_line_refuses_it(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAG_HOME", str(tmp_path))
    with pytest.raises(SystemExit) as end:
        main([command, "--host", "0.0.0.0"])
    assert end.value.code == 1
    assert "rag keys add NAME" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"])
def test_this_machine_alone_is_no_danger(host: str) -> None:
    assert is_local(host)
    check_binding(settings(host))


@pytest.mark.parametrize("origin", ["example.org", "https://example.org/a", "ftp://example.org", "null"])
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(InvalidSetting, match=r"is no origin; write it as https://example\.org"):
        origins(settings("127.0.0.1", RAG_CORS_ORIGINS=f"https://a.example,{origin}"))


def test_any_page_may_call_only_where_keys_are_asked_for() -> None:
    with pytest.raises(InvalidSetting, match="name the pages, or ask for keys"):
        origins(settings("127.0.0.1", RAG_CORS_ORIGINS="*"))
    assert origins(settings("127.0.0.1", RAG_CORS_ORIGINS="*", RAG_API_KEYS="required")) == ("*",)
