"""What every request passes before its route: an id, the limit of its body, and where it may come from.

Plain ASGI, so that streams stay streams. What errors look like stands in ``errors``.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serving.errors import REQUEST_ID, answer

__all__ = ["BodyLimit", "OriginCheck", "RequestId", "TooLarge"]

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class TooLarge(HTTPException, MultiPartException):
    """A body is larger than allowed; of both kinds, so that parsers clean up and it is passed on."""

    def __init__(self, limit: int) -> None:
        self.message = f"the body is larger than {limit:,} bytes; send less at once"
        HTTPException.__init__(self, 413, self.message)


class RequestId:
    """Gives each request an id, its caller's own where that is one, and tells it in the answer's headers."""

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

        await self.app(scope, receive, named)


class BodyLimit:
    """Refuses a body that is too large: by its announced size before a byte is read, else when it gets there.

    Args:
        app: What comes next.
        limit_of: Bytes that a path takes.
    """

    def __init__(self, app: ASGIApp, *, limit_of: Callable[[str], int]) -> None:
        self.app, self.limit_of = app, limit_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a body that ends in ``TooLarge`` beyond the limit."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.limit_of(scope["path"])
        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isdecimal() and int(announced) > limit:
            await _refuse(TooLarge(limit), scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > limit:
                raise TooLarge(limit)
            return message

        await self.app(scope, counted, send)


class OriginCheck:
    """Refuses what a page of another site has a browser send here: to change something takes no reading.

    Args:
        app: What comes next.
        exempt: Paths that check it themselves.
    """

    def __init__(self, app: ASGIApp, *, exempt: Collection[str] = ()) -> None:
        self.app, self.exempt = app, exempt

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what comes from no browser, or from a page of this service."""
        is_checked = scope["type"] == "http" and scope["path"] not in self.exempt
        if is_checked and scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            headers = Headers(scope=scope)
            origin = headers.get("origin")
            if origin is not None and urlsplit(origin).netloc != headers.get("host"):
                refused = HTTPException(403, f"a page of {origin!r} may not change anything here")
                await _refuse(refused, scope, receive, send)
                return
        await self.app(scope, receive, send)


async def _refuse(error: HTTPException, scope: Scope, receive: Receive, send: Send) -> None:
    await answer(Request(scope), error)(scope, receive, send)
