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
from serving.binding import check_binding, is_local
from serving.errors import answer
from serving.middleware import BodyLimit, OriginCheck, RequestId, TooLarge


async def reads_all(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that reads its body to the end."""
    try:
        while (await receive()).get("more_body"):
            pass
        status, body = 200, b"read"
    except TooLarge as error:
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


LIMITED = BodyLimit(reads_all, limit_of=lambda path: 10)


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


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.20", "rag.example.org", ""])
def test_an_address_that_others_reach_is_refused_with_the_remedy(host: str) -> None:
    with pytest.raises(InvalidSetting, match="set RAG_OPEN_TO_ALL=true"):
        check_binding(host, open_to_all=False)
    check_binding(host, open_to_all=True)


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_the_command_line_refuses_it(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAG_HOME", str(tmp_path))
    with pytest.raises(SystemExit) as end:
        main([command, "--host", "0.0.0.0"])
    assert end.value.code == 1
    assert "set RAG_OPEN_TO_ALL=true" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"])
def test_this_machine_alone_is_no_danger(host: str) -> None:
    assert is_local(host)
    check_binding(host, open_to_all=False)
