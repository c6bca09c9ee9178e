"""What every request passes before its route: an id, limits of headers and body, and where it may come from.

Plain ASGI, so that streams stay streams. What errors look like stands in ``errors``.
"""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serving.binding import is_local
from serving.errors import REQUEST_ID, refuse

__all__ = [
    "HEADER_BYTES",
    "BodyLimit",
    "BodyRefused",
    "HostCheck",
    "OriginCheck",
    "RequestId",
    "TooLarge",
    "TooSlow",
    "path_of",
]

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
HEADER_BYTES = 32 << 10
"""Of all headers together."""
_SLOWEST = 16 << 10
"""Bytes a second that a body must come in with, after a while: a poor telephone line has more."""


def path_of(scope: Scope) -> str:
    """Return the path below what the service is mounted at."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


class BodyRefused(HTTPException, MultiPartException):
    """A body is not read to its end; of both kinds, so that parsers clean up and it is passed on."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        self.message = message
        HTTPException.__init__(self, status, message, headers=headers or None)


class TooLarge(BodyRefused):
    """A body is larger than allowed."""

    def __init__(self, limit: int) -> None:
        super().__init__(413, f"the body is larger than {limit:,} bytes; send less at once")


class TooSlow(BodyRefused):
    """A body keeps the service waiting."""

    def __init__(self) -> None:
        message = "the body did not come in time; send it again over a better line, or in parts"
        super().__init__(408, message, Connection="close")


class RequestId:
    """Gives each request an id, its caller's own where that is one, and tells it in the answer's headers.

    Headers that no caller needs are refused here, before anything reads them.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its id in ``request.state``."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if _ID.fullmatch(given) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            await send(message)

        try:
            _check_headers(scope)
        except HTTPException as refused:
            await refuse(refused, scope, receive, send)
            return
        await self.app(scope, receive, named)


def _check_headers(scope: Scope) -> None:
    """Refuse headers that no caller needs, and those that another server may read otherwise than this one."""
    if sum(len(name) + len(value) for name, value in scope["headers"]) > HEADER_BYTES:
        raise HTTPException(431, f"the headers have more than {HEADER_BYTES:,} bytes; send fewer")
    if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
        raise HTTPException(400, "both content-length and transfer-encoding are given; send one of them")


class BodyLimit:
    """Refuses a body that is too large, by its announced size before a byte is read, or too slow.

    Args:
        app: What comes next.
        limit_of: Bytes that a path takes.
        patience_s: How long no piece may come; and how long a body may be slower than ``_SLOWEST``.
    """

    def __init__(self, app: ASGIApp, *, limit_of: Callable[[str], int], patience_s: float) -> None:
        self.app, self.limit_of, self.patience_s = app, limit_of, patience_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a body that ends in ``TooLarge`` or ``TooSlow`` beyond the limits."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.limit_of(path_of(scope))
        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isdecimal() and int(announced) > limit:
            await refuse(TooLarge(limit), scope, receive, send)
            return
        await self.app(scope, _Body(receive, limit, self.patience_s).receive, send)


class _Body:
    """A body on its way: how much has come, and how long was waited for it."""

    def __init__(self, receive: Receive, limit: int, patience_s: float) -> None:
        self._receive, self._limit, self._patience_s = receive, limit, patience_s
        self._seen, self._waited_s, self._is_whole = 0, 0.0, False

    async def receive(self) -> Message:
        """Return its next piece; after the last one, whatever happens next, however late."""
        if self._is_whole:
            return await self._receive()
        left_s = self._patience_s + self._seen / _SLOWEST - self._waited_s
        began = time.monotonic()
        try:
            async with asyncio.timeout(min(left_s, self._patience_s)):
                message = await self._receive()
        except TimeoutError:
            raise TooSlow from None
        self._waited_s += time.monotonic() - began
        self._seen += len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        if self._seen > self._limit:
            raise TooLarge(self._limit)
        return message


class HostCheck:
    """Refuses requests under a name that is not this machine's, where no key is asked for.

    A page may have its own name lead here (DNS rebinding): a browser then takes it for one of this service.

    Args:
        app: What comes next.
        names: As they stand in ``Host``, without a port, beside addresses of this machine; empty: any.
        exempt: Paths that check it themselves.
    """

    def __init__(self, app: ASGIApp, *, names: Collection[str], exempt: Collection[str] = ()) -> None:
        self.app, self.names, self.exempt = app, {name.lower() for name in names}, exempt

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is meant for this machine."""
        if scope["type"] == "http" and self.names and path_of(scope) not in self.exempt:
            host = Headers(scope=scope).get("host", "")
            name = re.sub(r":\d+$", "", _netloc(f"//{host}")).lower()
            if name not in self.names and not is_local(name):
                remedy = "where a proxy sends it, name it in RAG_MCP_HOSTS"
                await refuse(
                    HTTPException(421, f"{host!r} is not this service; {remedy}"), scope, receive, send
                )
                return
        await self.app(scope, receive, send)


class OriginCheck:
    """Refuses what a page of another site has a browser send here: to change something takes no reading.

    Args:
        app: What comes next.
        allowed: Origins of other sites whose pages may; ``*``: any.
        exempt: Paths that check it themselves.
    """

    def __init__(self, app: ASGIApp, *, allowed: Collection[str] = (), exempt: Collection[str] = ()) -> None:
        self.app, self.allowed, self.exempt = app, allowed, exempt

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what comes from no browser, from a page of this service, or of an allowed one."""
        is_checked = scope["type"] == "http" and path_of(scope) not in self.exempt
        if is_checked and scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            headers = Headers(scope=scope)
            origin = headers.get("origin")
            if origin is not None and not self._is_allowed(origin, headers.get("host", "")):
                refused = HTTPException(403, f"a page of {origin!r} may not change anything here")
                await refuse(refused, scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _is_allowed(self, origin: str, host: str) -> bool:
        is_own = bool(host) and _netloc(origin) == host
        return is_own or origin in self.allowed or "*" in self.allowed


def _netloc(address: str) -> str:
    """Return whom an address names; of one that is none, nobody."""
    try:
        return urlsplit(address).netloc
    except ValueError:
        return ""
