"""What ``rag serve`` and ``rag mcp`` share: an address of our own, taken before anybody is told of it.

What is served there, and how, stands in ``serving``.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from collections.abc import Iterator

from rag_platform.cli.render import say
from rag_platform.errors import EnvironmentProblem
from rag_platform.settings import Settings

__all__ = ["announce", "listening"]

_BACKLOG = 2048
"""Connections that wait to be taken, as uvicorn has it."""


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


def announce(settings: Settings, what: str) -> None:
    """Tell that a service is there: to a person, or to the log where machines read that."""
    if settings.log_format == "json":
        logging.getLogger("serving").info(what)
    else:
        say(f"{what} (Ctrl-C stops it)")


def _reason(error: OSError) -> str:
    named = error.errno is not None and error.errno > 0  # of a name that cannot be looked up it is negative
    return os.strerror(error.errno or 0) if named else str(error.strerror)
