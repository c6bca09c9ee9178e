"""Names of those who work on documents, and whether the process that a name tells of still lives.

The catalog keeps claims and asks whether an owner lives; a name holds all that is needed to tell: kind,
host, process, when that process began, when the claim was made. Orchestration uses the same names, so that
each leaves the other's documents alone; what its runs say of a claim is not known here.
"""

from __future__ import annotations

import socket
import time
import uuid
from dataclasses import dataclass
from typing import Literal, Self, get_args

import psutil

from rag_platform.errors import CallerError

__all__ = ["Owner", "OwnerKind", "host_name", "new_owner", "process_lives"]

OwnerKind = Literal["cli", "sensor", "library"]

_FOREIGN_S = 3600.0
"""How long a process on another host, which cannot be looked at, is believed to live."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A piece of work, named after the process that began it."""

    kind: OwnerKind
    host: str
    pid: int
    started: float
    claimed_at: float
    nonce: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.host}:{self.pid}:{self.started:.2f}:{self.claimed_at:.2f}:{self.nonce}"

    @classmethod
    def parse(cls, name: str) -> Self:
        """Return the owner of this name.

        Raises:
            CallerError: It is not of this form; make names with ``new_owner``.
        """
        try:
            kind, host, pid, started, claimed_at, nonce = name.split(":")
            if kind not in get_args(OwnerKind):
                raise ValueError(kind)
            return cls(kind, host, int(pid), float(started), float(claimed_at), nonce)  # type: ignore[arg-type]
        except ValueError:
            raise CallerError(f"{name!r} names no owner of a claim; use new_owner") from None


def new_owner(kind: OwnerKind, *, now: float | None = None) -> str:
    """Return a name for a new piece of work of this process."""
    me = psutil.Process()
    moment = time.time() if now is None else now
    return str(Owner(kind, host_name(), me.pid, me.create_time(), moment, uuid.uuid4().hex[:8]))


def process_lives(owner: Owner, now: float) -> bool:
    """Say whether the owner's process lives; one of another host is believed for an hour."""
    if owner.host != host_name():
        return now - owner.claimed_at < _FOREIGN_S
    try:
        return abs(psutil.Process(owner.pid).create_time() - owner.started) < 1.0
    except psutil.Error:
        return False


def host_name() -> str:
    """Return this host as names of owners hold it."""
    return socket.gethostname().replace(":", "-")
