"""The guards one by one, around small applications: keys, rate, requests at once, deadlines."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag_platform.errors import UnknownName
from rag_platform.keys import EVERYBODY, Keys, Principal
from rag_platform.keys import Scope as KeyScope
from rag_platform.settings import Settings
from serving.app import create_app
from serving.errors import told_to
from serving.guard import NOBODY, Authenticate, Deadline, InFlight, RateLimit, scope_of
from serving.middleware import BodyLimit, RequestId, TooSlow


class Call:
    """One request to an application, and what came of it."""

    def __init__(self, path: str = "/v1/search", method: str = "POST", **headers: str) -> None:
        raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        self.scope: Scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": b"",
            "headers": raw,
            "client": ("192.0.2.7", 4711),
            "state": {"request_id": "r1", "principal": NOBODY},
        }
        self.sent: list[Message] = []
        self.body = [b""]
        self.pause_s = 0.0

    async def receive(self) -> Message:
        if not self.body:
            await asyncio.Event().wait()
        await asyncio.sleep(self.pause_s)
        return {"type": "http.request", "body": self.body.pop(0), "more_body": bool(self.body)}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def to(self, app: ASGIApp) -> Call:
        await app(self.scope, self.receive, self.send)
        return self

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def text(self) -> str:
        return b"".join(message.get("body", b"") for message in self.sent).decode()

    @property
    def code(self) -> str:
        return str(json.loads(self.text)["code"])

    def header(self, name: str) -> str | None:
        return dict(self.sent[0]["headers"]).get(name.encode(), b"").decode() or None


class App:
    """Answers, after a while, in so many pieces; remembers who asked."""

    def __init__(self, *, before_s: float = 0.0, between_s: float = 0.0, kind: str = "text/plain") -> None:
        self.before_s, self.between_s, self.kind = before_s, between_s, kind
        self.callers: list[Principal] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.callers.append(scope["state"]["principal"])
        while (await receive()).get("more_body"):
            pass
        await asyncio.sleep(self.before_s)
        head = [(b"content-type", self.kind.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        for piece in (b"one ", b"two "):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            await asyncio.sleep(self.between_s)
        await send({"type": "http.response.body", "body": b"end"})


def run(app: ASGIApp, *calls: Call) -> list[Call]:
    """Send requests one after the other."""

    async def all_of_them() -> list[Call]:
        return [await call.to(app) for call in calls]

    return asyncio.run(all_of_them())


# Keys


def test_who_calls_is_told_to_the_application(tmp_path: Path) -> None:
    made = Keys(tmp_path).add("पुस्तकालय", ["read"], collections=["laws"])
    app = App()
    guarded = Authenticate(app, keys=Keys(tmp_path))
    calls = run(
        guarded,
        Call(authorization=f"Bearer {made}"),
        Call(authorization=f"bearer  {made} "),
        Call(x_api_key=made),
        Call("/healthz", "GET"),
        Call("/", "GET"),
        Call("/", "GET", x_api_key=made),
    )
    assert [call.status for call in calls] == [200] * 6
    library = Principal("पुस्तकालय", frozenset({"read"}), frozenset({"laws"}))
    assert app.callers == [library, library, library, NOBODY, NOBODY, library]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer "},
        {"authorization": "Bearer rag_wrong"},
        {"authorization": "Basic cmFnOnJhZw=="},
        {"x_api_key": "rag_wrong"},
        {"x_api_key": "क"},
        {"cookie": "key=KEY"},
    ],
)
def test_without_a_known_key_nothing_is_answered(headers: dict[str, str], tmp_path: Path) -> None:
    made = Keys(tmp_path).add("library", ["admin"])
    app = App()
    given = {name: value.replace("KEY", made) for name, value in headers.items()}
    (call,) = run(Authenticate(app, keys=Keys(tmp_path)), Call(**given))
    assert (call.status, call.code, app.callers) == (401, "unauthenticated", [])
    assert call.header("www-authenticate") == 'Bearer realm="rag-platform"'
    assert made not in call.text


def test_a_key_is_for_its_scope_alone(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    made: dict[str, str] = {
        "read": keys.add("r", ["read"]),
        "ingest": keys.add("i", ["ingest"]),
        "admin": keys.add("a", ["admin"]),
    }
    asked = [
        ("POST", "/v1/search", {"read", "admin"}),
        ("GET", "/v1/documents", {"read", "admin"}),
        ("POST", "/v1/documents", {"ingest", "admin"}),
        ("DELETE", "/v1/documents/x", {"ingest", "admin"}),
        ("POST", "/v1/text", {"ingest", "admin"}),
        ("POST", "/api/v1/upload", {"ingest", "admin"}),
        ("GET", "/v1/jobs/x", {"read", "ingest", "admin"}),
        ("POST", "/mcp", {"read", "ingest", "admin"}),
        ("GET", "/metrics", {"admin"}),
        ("DELETE", "/v1/conversations/x", {"read", "admin"}),
    ]
    guarded = Authenticate(App(), keys=Keys(tmp_path))
    for method, path, able in asked:
        for scope, key in made.items():
            (call,) = run(guarded, Call(path, method, x_api_key=key))
            assert call.status == (200 if scope in able else 403), (method, path, scope)
            assert key not in call.text


def test_below_a_prefix_a_path_means_the_same(tmp_path: Path) -> None:
    reader = Keys(tmp_path).add("r", ["read"])
    call = Call("/rag/v1/documents", "POST", x_api_key=reader)
    call.scope["root_path"] = "/rag"
    (call,) = run(Authenticate(App(), keys=Keys(tmp_path)), call)
    assert (call.status, call.code) == (403, "forbidden")


def test_keys_that_cannot_be_read_let_nobody_in(tmp_path: Path) -> None:
    made = Keys(tmp_path).add("library", ["read"])
    guarded = Authenticate(App(), keys=Keys(tmp_path))
    (tmp_path / "keys.json").write_text("{")
    (call,) = run(guarded, Call(x_api_key=made))
    assert (call.status, call.code) == (503, "damaged_file")


def test_a_service_without_keys_lets_everybody_in() -> None:
    app = App()
    (call,) = run(Authenticate(app, keys=None), Call(authorization="Bearer whatever"))
    assert (call.status, app.callers) == (200, [EVERYBODY])


def test_what_each_route_needs(tmp_path: Path) -> None:
    """A new route is for readers, unless it stands here."""
    described = create_app(Settings.load(None, RAG_HOME=tmp_path)).openapi()["paths"]
    found: dict[tuple[str, str], KeyScope | None] = {
        (method.upper(), path): scope_of(method.upper(), path)
        for path, methods in described.items()
        for method in methods
    }
    assert {route for route, scope in found.items() if scope == "ingest"} == {
        ("POST", "/v1/documents"),
        ("DELETE", "/v1/documents/{document_id}"),
        ("POST", "/v1/text"),
        ("POST", "/api/v1/upload"),
    }
    opened = {route for route, scope in found.items() if scope is None}
    assert opened - {("GET", "/"), ("GET", "/assets/{name}")} == {
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/api/v1/health"),
    }
    assert {path for (_, path), scope in found.items() if scope == "admin"} <= {"/metrics"}
    assert sum(scope == "read" for scope in found.values()) >= 15


def test_an_error_names_no_collection_of_others() -> None:
    error = UnknownName("published collection", "lawz", ["laws", "budget", "secret-plans"])
    ward = Principal("ward", frozenset({"read"}), frozenset({"laws", "lawz"}))
    assert (
        str(told_to(ward, error)) == "unknown published collection 'lawz'. Did you mean 'laws'? Known: laws."
    )
    assert told_to(EVERYBODY, error).args == error.args
    other = UnknownName("reranker", "x", ["y"])
    assert told_to(ward, other) is other


# Rate


class Clock:
    def __init__(self) -> None:
        self.at = 1_000.0

    def __call__(self) -> float:
        return self.at


def limited(per_minute: int) -> tuple[RateLimit, Clock]:
    clock = Clock()
    return RateLimit(App(), per_minute=per_minute, now=clock), clock


def by(key: str, **more: Any) -> Call:
    call = Call(**more)
    call.scope["state"]["principal"] = Principal(key, frozenset({"read"}))
    return call


def test_a_minutes_worth_at_once_and_then_steadily() -> None:
    app, clock = limited(60)
    assert [call.status for call in run(app, *[by("एक") for _ in range(61)])] == [200] * 60 + [429]
    clock.at += 0.5
    (refused,) = run(app, by("एक"))
    assert (refused.status, refused.code, refused.header("retry-after")) == (429, "rate_limited", "1")
    clock.at += 0.5
    assert [call.status for call in run(app, by("एक"), by("एक"))] == [200, 429]
    clock.at += 3_600
    assert [call.status for call in run(app, *[by("एक") for _ in range(61)])] == [200] * 60 + [429]


def test_how_long_to_wait_is_told() -> None:
    app, _ = limited(2)
    calls = run(app, by("एक"), by("एक"), by("एक"))
    assert calls[-1].header("retry-after") == "30"
    assert "more than 2 requests a minute; wait 30 s" in calls[-1].text


def test_each_key_and_each_address_has_its_own() -> None:
    app, _ = limited(1)
    first, other = by(""), by("")
    other.scope["client"] = ("192.0.2.8", 1)
    assert [call.status for call in run(app, by("एक"), by("दुई"), first, other)] == [200] * 4
    named = by("192.0.2.7")  # a key that is called like an address
    assert [call.status for call in run(app, named, by("एक"), by(""))] == [200, 429, 429]


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", None])
def test_this_machine_is_not_limited_without_keys(address: str | None) -> None:
    app, _ = limited(1)
    calls = [by("") for _ in range(3)]
    for call in calls:
        call.scope["client"] = address and (address, 1)
    assert [call.status for call in run(app, *calls)] == [200] * 3


def test_what_costs_nothing_is_not_counted_but_the_pages_search_is() -> None:
    app, _ = limited(1)
    paths = ("/healthz", "/metrics", "/", "/assets/page.css") * 2
    free = [by("", path=path, method="GET") for path in paths]
    searched = [by("", path="/", method="GET") for _ in range(2)]
    for call in (*free, *searched):
        call.scope["state"]["principal"] = NOBODY
    for call in searched:
        call.scope["query_string"] = b"q=kar"
    assert [call.status for call in run(app, *free, *searched)] == [200] * 9 + [429]


def test_the_page_that_tells_what_there_is_is_counted() -> None:
    app, _ = limited(1)
    calls = [by(key, path="/", method="GET") for key in ("एक", "एक", "", "")]
    assert [call.status for call in run(app, *calls)] == [200, 429, 200, 429]


def test_no_limit() -> None:
    app, _ = limited(0)
    assert {call.status for call in run(app, *[by("एक") for _ in range(300)])} == {200}


def test_callers_that_are_many_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("serving.guard._MOST_BUCKETS", 10)
    app, _ = limited(1)
    run(app, *[by(f"key-{number}") for number in range(100)])
    assert [call.status for call in run(app, by("key-99"), by("key-0"))] == [429, 200]
    assert len(app._buckets) == 10


# At once


def test_more_than_the_service_takes_are_told_to_come_back() -> None:
    app = InFlight(App(before_s=0.1), most=2)

    async def together() -> list[Call]:
        calls = [Call() for _ in range(5)] + [Call("/healthz", "GET")]
        return list(await asyncio.gather(*(call.to(app) for call in calls)))

    calls = asyncio.run(together())
    assert [call.status for call in calls] == [200, 200, 503, 503, 503, 200]
    assert (calls[2].code, calls[2].header("retry-after")) == ("overloaded", "1")
    assert app.under_way == 0
    (later,) = run(app, Call())
    assert later.status == 200


def test_a_request_that_fails_makes_room() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("मर्मत")

    app = InFlight(broken, most=1)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="मर्मत"):
            run(app, Call())
    assert app.under_way == 0


# Deadlines


def test_in_time() -> None:
    (call,) = run(Deadline(App(), seconds=5), Call())
    assert (call.status, call.text) == (200, "one two end")


def test_an_answer_that_does_not_begin_is_an_error_with_a_time() -> None:
    began = time.monotonic()
    (call,) = run(Deadline(App(before_s=5), seconds=0.05), Call())
    assert time.monotonic() - began < 1
    assert (call.status, call.code, call.header("retry-after")) == (503, "deadline_exceeded", "1")
    assert "longer than 0.05 s (RAG_DEADLINE_S)" in call.text


def test_an_answer_in_events_ends_with_one_that_says_so() -> None:
    (call,) = run(Deadline(App(between_s=5, kind="text/event-stream; charset=utf-8"), seconds=0.05), Call())
    whole, _, last = call.text.partition("event: error\ndata: ")
    assert whole == "one "
    assert json.loads(last)["code"] == "deadline_exceeded"
    assert call.sent[-1]["more_body"] is False


def test_a_chat_completion_ends_in_the_form_that_its_callers_read() -> None:
    app = Deadline(App(between_s=5, kind="text/event-stream"), seconds=0.05)
    (call,) = run(app, Call("/v1/chat/completions"))
    last = json.loads(call.text.removeprefix("one data: "))
    assert last["error"]["code"] == "deadline_exceeded"


def test_any_other_answer_breaks_off() -> None:
    (call,) = run(Deadline(App(between_s=5), seconds=0.05), Call())
    assert (call.text, call.sent[-1]["more_body"]) == ("one ", True)


def test_a_body_that_comes_in_slowly_does_not_count() -> None:
    call = Call()
    call.body, call.pause_s = [b"x"] * 6, 0.1
    run(Deadline(App(), seconds=0.4), call)
    assert (call.status, call.text) == (200, "one two end")


def test_health_has_no_deadline() -> None:
    (call,) = run(Deadline(App(before_s=0.2), seconds=0.05), Call("/readyz", "GET"))
    assert call.status == 200


def test_another_time_limit_inside_stays_what_it_is() -> None:
    async def impatient(scope: Scope, receive: Receive, send: Send) -> None:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(5)

    with pytest.raises(TimeoutError):
        run(Deadline(impatient, seconds=5), Call())


@pytest.mark.parametrize("kind", ["text/plain", "text/event-stream"])
@pytest.mark.parametrize("begun", [False, True])
def test_a_service_that_stops_ends_what_it_cannot_finish(kind: str, begun: bool) -> None:
    app = Deadline(App(before_s=0 if begun else 5, between_s=5, kind=kind), seconds=60)

    async def stopped() -> Call:
        call = Call()
        task = asyncio.create_task(call.to(app))
        await asyncio.sleep(0.05)
        task.cancel()
        return await task

    call = asyncio.run(stopped())
    if not begun:
        assert (call.status, call.code, call.header("retry-after")) == (503, "overloaded", "1")
    elif kind == "text/event-stream":
        assert '"code": "overloaded"' in call.text
    else:
        assert call.text == "one "


# Bodies


def test_a_body_that_stops_coming_is_given_up() -> None:
    call = Call()
    call.body, call.pause_s = [b"x", b"y", b"z"], 0.3
    with pytest.raises(TooSlow):
        run(BodyLimit(App(), limit_of=lambda _: 10, patience_s=0.1), call)


def test_a_body_in_drops_is_given_up_though_each_comes_in_time() -> None:
    call = Call()
    call.body, call.pause_s = [b"x"] * 100, 0.05
    began = time.monotonic()
    with pytest.raises(TooSlow):
        run(BodyLimit(App(), limit_of=lambda _: 1_000, patience_s=0.2), call)
    assert time.monotonic() - began < 1


def test_a_body_that_comes_steadily_is_waited_for() -> None:
    call = Call()
    call.body, call.pause_s = [b"x" * 8_192] * 10, 0.06  # 130 kB a second, for longer than a drop may take
    run(BodyLimit(App(), limit_of=lambda _: 1 << 20, patience_s=0.4), call)
    assert call.status == 200


def test_who_waits_for_a_caller_to_leave_waits_on() -> None:
    class Patient(App):
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            await super().__call__(scope, receive, send)
            async with asyncio.timeout(0.2):
                await receive()

    with pytest.raises(TimeoutError):
        run(BodyLimit(Patient(), limit_of=lambda _: 10, patience_s=0.05), Call())


def test_every_refusal_has_the_id_of_its_request() -> None:
    app = RequestId(InFlight(App(), most=0))
    (call,) = run(app, Call(x_request_id="मेरो".encode().hex()))
    assert call.header("x-request-id") == "मेरो".encode().hex()
    assert json.loads(call.text)["request_id"] == call.header("x-request-id")
