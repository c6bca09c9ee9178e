"""Who may call, how often, how many at once and for how long; and all that a request passes, in its order.

Plain ASGI, one class a rule. What keys are stands in ``rag_platform.keys``; how bodies are bounded and pages
of other sites kept out, in ``middleware``; how connections are bounded, in ``server``.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag_platform.errors import DeadlineExceeded, Overloaded, RagError, RateLimited, Unauthenticated
from rag_platform.keys import EVERYBODY, Keys, Principal
from rag_platform.keys import Scope as KeyScope
from rag_platform.settings import Settings
from serving import errors
from serving.binding import asked_keys, is_local, names_of, origins
from serving.errors import last_event, refuse
from serving.events import EVENTS
from serving.middleware import BodyLimit, HostCheck, OriginCheck, RequestId, path_of
from serving.watch import HEALTH, QUIET, Counter, Watch

__all__ = [
    "MCP_PATH",
    "NOBODY",
    "Authenticate",
    "Deadline",
    "InFlight",
    "RateLimit",
    "install",
    "principal",
    "scope_of",
]

_log = logging.getLogger(__name__)

MCP_PATH = "/mcp"
NOBODY = Principal("", frozenset(), frozenset())
"""Who asks for what is open to all, where keys are asked for and none was sent."""

_INGEST = ("/v1/documents", "/v1/text", "/api/v1/upload")
_MOST_BUCKETS = 10_000
_BODY_BYTES = 8 << 20
"""What a body that is no upload may take: a history, or a text of two million characters."""
_UPLOADS = frozenset({"/v1/documents", "/api/v1/upload"})
_ASKED_HEADERS = ("Authorization", "X-API-Key", "Content-Type", "If-None-Match", errors.REQUEST_ID)
_TOLD_HEADERS = ("ETag", "Location", "Retry-After", errors.REQUEST_ID)
"""What a page of another site may send, and may read of an answer."""


def install(app: Starlette, settings: Settings, *, counter: Counter | None = None) -> None:
    """Put everything before an application that a request must pass; the last added is the first.

    Args:
        app: Not begun yet.
        settings: Of the service.
        counter: Counts requests; None: nobody does.
    """
    uploads = settings.upload_mb << 20
    keys, pages = asked_keys(settings), origins(settings)
    app.add_middleware(
        BodyLimit,
        limit_of=lambda path: uploads if path in _UPLOADS else _BODY_BYTES,
        patience_s=settings.client_timeout_s,
    )
    app.add_middleware(Deadline, seconds=settings.deadline_s)
    app.add_middleware(RateLimit, per_minute=settings.requests_per_minute)
    app.add_middleware(Authenticate, keys=keys)
    app.add_middleware(InFlight, most=settings.max_in_flight)
    app.add_middleware(OriginCheck, allowed=pages, exempt=(MCP_PATH,))
    is_closed = keys is None and not settings.open_to_all
    app.add_middleware(HostCheck, names=names_of(settings) if is_closed else (), exempt=(MCP_PATH,))
    if pages:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=pages,
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=_ASKED_HEADERS,
            expose_headers=_TOLD_HEADERS,
        )
    app.add_middleware(Watch, counter=counter, slow_ms=settings.slow_query_ms)
    app.add_middleware(RequestId)
    errors.install(app)


def principal(request: Request) -> Principal:
    """Return who sent a request."""
    found: Principal = request.state.principal
    return found


def scope_of(method: str, path: str) -> KeyScope | None:
    """Return what a key must be for; None: no key is needed.

    >>> scope_of("POST", "/v1/search"), scope_of("DELETE", "/v1/documents/x"), scope_of("GET", "/")
    ('read', 'ingest', None)
    """
    if path in HEALTH or path == "/" or path.startswith("/assets/"):
        return None
    if path == "/metrics":
        return "admin"
    if method not in ("GET", "HEAD", "OPTIONS") and path.startswith(_INGEST):
        return "ingest"
    return "read"


class Authenticate:
    """Finds out who calls, and refuses who has no key for what is asked.

    Args:
        app: What comes next.
        keys: None where the service asks for none.
    """

    def __init__(self, app: ASGIApp, *, keys: Keys | None) -> None:
        self.app, self.keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its principal in ``request.state``."""
        if scope["type"] == "http":
            try:
                scope.setdefault("state", {})["principal"] = self._caller(scope)
            except RagError as error:
                await refuse(error, scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _caller(self, scope: Scope) -> Principal:
        if self.keys is None:
            return EVERYBODY
        given = _key(Headers(scope=scope))
        needed = scope_of(scope["method"], path_of(scope))
        if not given:
            if needed is None:
                return NOBODY
            raise Unauthenticated(
                "this service asks for a key; send it as 'Authorization: Bearer KEY' or 'X-API-Key: KEY'"
            )
        found = self.keys.whose(given)
        if found is None:
            raise Unauthenticated("the key is not known here, or has ended; ask for another: rag keys add")
        scope.setdefault("state", {})["principal"] = found  # the log names who is refused, too
        if needed is not None and not (needed == "read" and _is_shared(path_of(scope))):
            found.check(needed)
        return found


def _key(headers: Headers) -> str:
    """Return the key that was sent, in the one way or the other."""
    kind, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if kind.lower() == "bearer" else headers.get("x-api-key", "").strip()


def _is_shared(path: str) -> bool:
    """Say whether any key may: who hands over documents asks how it goes, and each tool has its scope."""
    return path.startswith("/v1/jobs/") or path == MCP_PATH


class RateLimit:
    """Refuses a caller that sends more requests than its bucket has tokens; it holds a minute's worth.

    A caller is a key; without keys an address, this machine's excepted.

    Args:
        app: What comes next.
        per_minute: 0: no limit.
        now: The clock.
    """

    def __init__(self, app: ASGIApp, *, per_minute: int, now: Callable[[], float] = time.monotonic) -> None:
        self.app, self.per_minute, self.now = app, per_minute, now
        self._buckets: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what there is a token for."""
        if scope["type"] == "http" and self.per_minute and not _is_free(scope):
            caller = self._caller(scope)
            wait_s = self._wait_s(caller) if caller else 0.0
            if wait_s:
                error = RateLimited(
                    f"more than {self.per_minute} requests a minute; wait {math.ceil(wait_s)} s",
                    retry_after_s=wait_s,
                )
                await refuse(error, scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _caller(self, scope: Scope) -> tuple[str, str] | None:
        key = scope["state"]["principal"].name
        if key:
            return "key", key
        client = scope.get("client")  # None: over a socket of this machine's file system
        return None if client is None or is_local(client[0]) else ("address", client[0])

    def _wait_s(self, caller: tuple[str, str]) -> float:
        """Take a token, or return how long it takes until there is one."""
        now, rate = self.now(), self.per_minute / 60
        tokens, seen = self._buckets.pop(caller, (float(self.per_minute), now))
        tokens = min(self.per_minute, tokens + (now - seen) * rate)
        taken = tokens >= 1
        self._buckets[caller] = (tokens - taken, now)
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)  # who was quiet longest; its bucket is full again first
        return 0.0 if taken else (1 - tokens) / rate


class InFlight:
    """Refuses requests while as many are under way as the service takes: better now than in a minute.

    Args:
        app: What comes next.
        most: Requests under way at once.
    """

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self.app, self.most = app, most
        self.under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what there is room for."""
        if scope["type"] != "http" or path_of(scope) in QUIET:
            await self.app(scope, receive, send)
            return
        if self.under_way >= self.most:
            error = Overloaded(f"{self.most} requests are under way, and no more are taken; come back soon")
            await refuse(error, scope, receive, send)
            return
        self.under_way += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.under_way -= 1


class Deadline:
    """Ends a request that takes too long, or that a service which stops cannot wait for any more.

    The time of a body that is still coming in does not count: ``BodyLimit`` bounds it. An answer that has
    begun as events ends with an event that says so, any other breaks off.

    Args:
        app: What comes next.
        seconds: From the last byte of the body.
    """

    def __init__(self, app: ASGIApp, *, seconds: float) -> None:
        self.app, self.seconds = app, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, for a while."""
        if scope["type"] != "http" or path_of(scope) in QUIET:
            await self.app(scope, receive, send)
            return
        sent = _Sent(send)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.seconds) as limit:

                async def renewing() -> Message:
                    message = await receive()
                    if message["type"] == "http.request" and not limit.expired():
                        limit.reschedule(loop.time() + self.seconds)
                    return message

                await self.app(scope, renewing, sent)
        except TimeoutError:
            if not limit.expired():
                raise
            late = DeadlineExceeded(
                f"the request took longer than {self.seconds:g} s (RAG_DEADLINE_S); ask for less at once"
            )
            await sent.break_off(late, scope, receive)
        except asyncio.CancelledError:  # uvicorn's, when the time that RAG_SHUTDOWN_S gives is over
            await sent.break_off(Overloaded("the service is stopping; ask again"), scope, receive)


class _Sent:
    """An answer on its way: how far it is, and how it ends before its time."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = self._ended = self._is_events = False

    async def __call__(self, message: Message) -> None:
        """Send a part of it."""
        if message["type"] == "http.response.start":
            self._begun = True
            kind = Headers(raw=message.get("headers", [])).get("content-type", "")
            self._is_events = kind.startswith(EVENTS)
        elif message["type"] == "http.response.body":
            self._ended = not message.get("more_body", False)
        await self._send(message)

    async def break_off(self, error: RagError, scope: Scope, receive: Receive) -> None:
        """Answer with the error where nothing is sent yet, else end so that the reader can tell."""
        if self._ended:
            return
        if not self._begun:
            await refuse(error, scope, receive, self._send)
            return
        request = Request(scope)
        _log.warning("%s: the answer broke off: %s", request.state.request_id, error)
        if self._is_events:
            event = last_event(request, error).encode()
            await self._send({"type": "http.response.body", "body": event, "more_body": False})


def _is_free(scope: Scope) -> bool:
    """Say whether a request costs nothing, so that nobody need count it.

    Of the page that is so without a question, and for who has no key: it tells others what there is.
    """
    path = path_of(scope)
    is_bare = path == "/" and not scope.get("query_string") and scope["state"]["principal"] == NOBODY
    return path in QUIET or is_bare or path.startswith("/assets/")
