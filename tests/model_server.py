"""An OpenAI-style server that says what a test tells it, in a stream, with tools, and with every fault."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, Literal

from judge_server import BROKEN, BUSY, Fault
from local_server import listening

__all__ = ["BROKEN", "BUSY", "Body", "Fault", "ModelServer", "Says", "call", "replaying", "speaking"]

Body = dict[str, Any]


@dataclass(frozen=True)
class Says:
    """One turn of the model.

    Attributes:
        pieces: Of its text, one chunk each.
        calls: Names and arguments of the tools that it calls.
        finish: Why it stops.
        pause_s: Before each piece.
        cut: How the stream ends early: the connection breaks, or it is closed without a word.
    """

    pieces: tuple[str, ...] = ()
    calls: tuple[tuple[str, str], ...] = ()
    finish: str = "stop"
    pause_s: float = 0.0
    cut: Literal["", "broken", "closed"] = ""


def call(query: str, **more: object) -> Says:
    """Return a turn that searches."""
    arguments = json.dumps({"query": query, **more}, ensure_ascii=False)
    return Says(calls=(("retrieve_documents", arguments),), finish="tool_calls")


@dataclass
class ModelServer:
    """Where it listens, what it has yet to say, and what it was asked."""

    url: str
    script: list[Says | Fault]
    bodies: list[Body] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def messages(self, at: int = -1) -> list[Body]:
        """Return the conversation of one request."""
        found: list[Body] = self.bodies[at]["messages"]
        return found


def _chunks(says: Says) -> Iterator[Body]:
    yield {"role": "assistant", "content": ""}
    for piece in says.pieces:
        yield {"content": piece}
    for at, (name, arguments) in enumerate(says.calls):
        head, tail = arguments[: len(arguments) // 2], arguments[len(arguments) // 2 :]
        yield {"tool_calls": [_call(at, {"name": name, "arguments": head}, f"id_{at}")]}
        yield {"tool_calls": [_call(at, {"arguments": tail})]}


def _call(at: int, function: Body, key: str | None = None) -> Body:
    return {"index": at, "type": "function", "function": function} | ({"id": key} if key else {})


@contextmanager
def speaking(
    script: Sequence[Says | Fault] | Callable[[Body], Says | Fault],
) -> Iterator[ModelServer]:
    """Serve until the block ends; each request gets the next turn of the script, or what a function says."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            local.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            local.paths.append(self.path)
            local.keys.append(self.headers.get("authorization", ""))
            turn = script(local.bodies[-1]) if callable(script) else local.script.pop(0)
            try:
                self._fail(turn) if isinstance(turn, Fault) else self._speak(turn)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = (
                    True  # the client has given up on a slow reply: that is what is tested
                )

        def _fail(self, fault: Fault) -> None:
            raw = fault.raw or json.dumps({"error": {"message": f"fault {fault.status}"}}).encode()
            self.send_response(fault.status)
            for name, value in (("content-type", "application/json"), *fault.headers):
                self.send_header(name, value)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def _speak(self, says: Says) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            if says.cut != "closed":
                self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            self.close_connection = True
            for delta in _chunks(says):
                time.sleep(says.pause_s)
                self._event(says, {"index": 0, "delta": delta, "finish_reason": None})
            if says.cut:
                return
            self._event(says, {"index": 0, "delta": {}, "finish_reason": says.finish})
            self._event(says, None)
            self._write(says, b"data: [DONE]\n\n")
            self.wfile.write(b"0\r\n\r\n")

        def _event(self, says: Says, choice: Body | None) -> None:
            event = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
            event["choices"] = [choice] if choice else []
            if choice is None:
                event["usage"] = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
            self._write(says, f"data: {json.dumps(event)}\n\n".encode())

        def _write(self, says: Says, raw: bytes) -> None:
            framed = raw if says.cut == "closed" else b"%x\r\n%s\r\n" % (len(raw), raw)
            self.wfile.write(framed)
            self.wfile.flush()

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with listening(Handler) as address:
        local = ModelServer(f"{address}/v1", [] if callable(script) else list(script))
        yield local


@contextmanager
def replaying(replies: Mapping[str, tuple[str, bytes]]) -> Iterator[ModelServer]:
    """Serve the same bytes for each path, for providers that speak another way; ``keys`` are of Anthropic."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            local.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            local.paths.append(self.path)
            local.keys.append(self.headers.get("x-api-key", ""))
            kind, raw = replies[self.path]
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with listening(Handler) as address:
        local = ModelServer(address, [])
        yield local
