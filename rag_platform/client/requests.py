"""What goes over HTTP and comes back, as values. Nothing is sent here."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx

__all__ = ["Answer", "Attempt", "Request", "Steps"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Request:
    """A request.

    Attributes:
        json: The body; None: there is none, or a form.
        files: Of a form: names with the files to send.
        form: Its other fields.
        safe: Asked twice it does no more than once.
        events: The answer is handed over open, to be read as it comes.
    """

    method: str
    path: str
    params: Mapping[str, str | int] = field(default_factory=dict)
    json: Mapping[str, Any] | None = None
    files: Sequence[tuple[str, Path]] = ()
    form: Mapping[str, str] = field(default_factory=dict)
    safe: bool = False
    events: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request that is to be sent now, and the seconds that are left for it."""

    request: Request
    left_s: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service answered: its body, or the open answer where events come."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    events: httpx.Response | None = None


Steps = Generator[Request | float, Any, R]
"""A call: yields requests, for which it is sent their JSON, and seconds to wait; returns its value."""
