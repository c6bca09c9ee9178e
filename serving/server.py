"""The HTTP server under the application: connections that are bounded in time, size and number, and its end.

What requests mean is the application's business; here are only those who send none, too slowly, or take no
answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import signal
import socket
import sys
import uuid
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from rag_platform.settings import Settings
from serving.errors import REQUEST_ID
from serving.middleware import HEADER_BYTES

__all__ = ["Connection", "config", "run"]

_SLOWEST = 1 << 10
"""Bytes a second that a client must take of an answer that waits for it."""
_IDLE = 1024
"""Connections beside those with a request under way."""


class Connection(H11Protocol):
    """A connection that waits for its client, but not for ever.

    Uvicorn of itself waits without end for the rest of headers, of a body that nobody reads any more, and for
    a client that takes nothing of its answer.
    """

    def __init__(self, *args: Any, patience_s: float, most: int, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self._patience_s, self._most = patience_s, most
        self._hearing: asyncio.TimerHandle | None = None
        self._telling: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, unless there are too many already."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that whatever waits for the client is known to
        if len(self.connections) > self._most:
            transport.abort()
            return
        self._hear()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        for timer in (self._hearing, self._telling):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what comes; whoever begins a request must come to an end of its headers."""
        super().data_received(data)
        self._hear()

    def on_response_complete(self) -> None:
        """Wait for the next request, and before it for what is left of this one's body."""
        super().on_response_complete()
        self._hear()

    def _hear(self) -> None:
        """Wait for the client where it is its turn: for headers, or for a body that is answered already."""
        is_answered = self.cycle is None or self.cycle.response_complete
        is_quiet = self.timeout_keep_alive_task is not None  # between two requests, which uvicorn bounds
        if not is_answered or is_quiet or self.transport.is_closing():
            if self._hearing is not None:
                self._hearing.cancel()
            self._hearing = None
        elif self._hearing is None:
            self._hearing = self.loop.call_later(self._patience_s, self.transport.abort)

    def pause_writing(self) -> None:
        """Wait for the client to take what is written."""
        super().pause_writing()
        self._tell()

    def resume_writing(self) -> None:
        """All is taken."""
        super().resume_writing()
        if self._telling is not None:
            self._telling.cancel()
            self._telling = None

    def _tell(self) -> None:
        waiting = self.transport.get_write_buffer_size()
        self._telling = self.loop.call_later(self._patience_s, self._told, waiting)

    def _told(self, waiting: int) -> None:
        """End the connection unless enough was taken since; nothing is written while something waits."""
        self._telling = None
        if waiting - self.transport.get_write_buffer_size() < self._patience_s * _SLOWEST:
            self.transport.abort()
        else:
            self._tell()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, or has headers without an end, as every other error is answered."""
        status = getattr(sys.exception(), "error_status_hint", 400)
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.close()  # in the middle of an answer there is no other way to say it
            return
        code, detail = _REFUSED.get(status, _REFUSED[400])
        request_id = uuid.uuid4().hex
        body = json.dumps({"detail": detail, "code": code, "request_id": request_id}).encode()
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n{REQUEST_ID.lower()}: {request_id}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


_REFUSED = {
    400: ("invalid_http", "this is no HTTP request that can be read"),
    431: ("headers_too_large", f"the headers have more than {HEADER_BYTES:,} bytes; send fewer"),
}


def config(app: Callable[..., Any] | str, settings: Settings, **more: Any) -> uvicorn.Config:  # noqa: ANN401
    """Return how an application is served.

    Args:
        app: It, or the import string of what makes it.
        settings: For how long clients are waited for, and how many requests are taken.
        **more: Of ``uvicorn.Config``.
    """
    protocol = functools.partial(
        Connection, patience_s=settings.client_timeout_s, most=settings.max_in_flight + _IDLE
    )
    given: dict[str, Any] = {
        "http": protocol,  # pure Python, but its headers have a limit; httptools' have none
        "h11_max_incomplete_event_size": HEADER_BYTES,
        "ws": "none",
        "server_header": False,
        "access_log": False,  # ``watch`` tells of every request, with its id
        "timeout_graceful_shutdown": max(1, round(settings.shutdown_s)),
        **more,
    }
    return uvicorn.Config(app, **given)


def run(
    taken: socket.socket,
    app: Callable[..., Any] | str,
    settings: Settings,
    **more: Any,  # noqa: ANN401
) -> None:
    """Answer until Ctrl-C or SIGTERM; answers under way are finished first, and both are a good end.

    Args:
        taken: Where.
        app: An application, or the import string of what makes it.
        settings: As of ``config``.
        **more: Of ``uvicorn.Config``.
    """
    _allow_files(2 * (settings.max_in_flight + _IDLE))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # uvicorn hands it on when all is done
    known = config(app, settings, **more)
    server = uvicorn.Server(known)
    with contextlib.suppress(KeyboardInterrupt):
        if known.reload:
            from uvicorn.supervisors import ChangeReload

            ChangeReload(known, target=server.run, sockets=[taken]).run()
        else:
            server.run(sockets=[taken])


def _allow_files(wanted: int) -> None:
    """Let this process have so many files and connections open, as far as the system lets it."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
