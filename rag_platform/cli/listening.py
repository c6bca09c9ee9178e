"""What ``rag serve`` and ``rag mcp`` share: an address of our own, and the server that answers there.

The address is taken before anybody is told of it. What is served stands in ``serving``.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from typing import Any

from rag_platform.errors import EnvironmentProblem

__all__ = ["listening", "serve_on"]

_BACKLOG = 2048
"""Connections that wait to be taken, as uvicorn has it."""
_LAST_S = 30
"""Seconds that answers under way are given after Ctrl-C; an endless stream would hold the process."""


@contextlib.contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Take an address and keep it; callers that come early wait until they are answered.

    Raises:
        EnvironmentProblem: It belongs to another program, may not be taken, or is none of this machine's.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        taken = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot listen on {host}:{port}: {_reason(error)}; stop what listens there, or choose another"
            " address with --host and --port"
        ) from error
    with taken:
        taken.set_inheritable(True)
        yield taken


def _reason(error: OSError) -> str:
    named = error.errno is not None and error.errno > 0  # of a name that cannot be looked up it is negative
    return os.strerror(error.errno or 0) if named else str(error.strerror)


def serve_on(
    taken: socket.socket,
    app: Callable[..., Any] | str,
    *,
    verbose: bool,
    reload: bool = False,
) -> None:
    """Answer there until Ctrl-C.

    Args:
        taken: Where, of ``listening``.
        app: An application, or with ``reload`` the import string of what makes one.
        verbose: Log every request.
        reload: Start anew when the code changes.
    """
    import uvicorn

    config = uvicorn.Config(
        app,
        factory=reload,
        reload=reload,
        log_level="info" if verbose else "warning",
        timeout_graceful_shutdown=_LAST_S,
    )
    server = uvicorn.Server(config)
    with contextlib.suppress(KeyboardInterrupt):  # the way to stop it
        if reload:
            from uvicorn.supervisors import ChangeReload

            ChangeReload(config, target=server.run, sockets=[taken]).run()
        else:
            server.run(sockets=[taken])
