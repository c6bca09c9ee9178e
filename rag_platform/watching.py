"""Who watches a request, and what they are told: time of its steps, calls to hosted models.

A watcher belongs to a context (``contextvars``), so the parts of the library tell theirs without being
handed it, and two services in one process never hear each other. What is made of it, metrics or a log, is
the watcher's; without one nothing happens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

__all__ = [
    "Call",
    "Role",
    "Watcher",
    "begin",
    "called",
    "current",
    "spent",
    "step",
    "timed",
    "waited",
    "watched_by",
]

Role = Literal["llm", "embedding", "reranker", "judge"]
"""What a hosted model does for us."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a hosted model, repeated ones each by itself.

    Attributes:
        provider: As ``openai``, ``ollama``, ``cohere``.
        seconds: Until it answered; of an answer in pieces, until it began to, or until it broke off.
        code: ``200``, the status of a refusal, ``none`` where no answer came, ``broken`` where it broke off.
    """

    role: Role
    provider: str
    seconds: float
    code: str


class Watcher(Protocol):
    """Told from whichever threads work on the request."""

    def spent(self, step: str, milliseconds: float) -> None:
        """Hear how long a step took; steps of one name add up."""
        ...

    def called(self, call: Call) -> None:
        """Hear of a request to a hosted model."""
        ...


_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def current() -> Watcher | None:
    """Return who watches what is done here."""
    return _WATCHER.get()


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Have a watcher told of what is done inside, and in threads that inherit the context."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def begin(watcher: Watcher) -> None:
    """Have a watcher told of all that is done in this context from now on: that of a task is its own."""
    _WATCHER.set(watcher)


def spent(name: str, milliseconds: float) -> None:
    """Tell how long a step took."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher.spent(name, milliseconds)


def called(call: Call) -> None:
    """Tell of a request to a hosted model."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher.called(call)


@contextmanager
def step(name: str) -> Iterator[None]:
    """Tell how long what runs inside took."""
    start = time.perf_counter()
    try:
        yield
    finally:
        spent(name, 1_000 * (time.perf_counter() - start))


def waited(name: str, work: Callable[[], T]) -> Callable[[], T]:
    """Return some work that tells how long it waited, from now, for somebody to begin it."""
    asked = time.perf_counter()

    def begun() -> T:
        spent(name, 1_000 * (time.perf_counter() - asked))
        return work()

    return begun


def timed(name: str, pieces: Iterable[T]) -> Iterator[T]:
    """Yield pieces, and tell how long each was waited for; what their reader does meanwhile is not."""
    waiting = iter(pieces)
    while True:
        with step(name):
            try:
                piece = next(waiting)
            except StopIteration:
                return
        yield piece
