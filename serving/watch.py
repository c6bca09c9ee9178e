"""What every request is watched by: its id, route, status and time, and where the time went.

Plain ASGI, the first that a request passes. What is counted of it stands in ``metrics``, how it is written
down in ``logs``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag_platform.watching import Call, begin

__all__ = ["HEALTH", "METHODS", "QUIET", "UNMATCHED", "Counter", "Watch", "Watched", "route_of"]

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
UNMATCHED = "unmatched"
"""The route of every path that there is not: callers make up as many as they like."""
_CLOSED = 499
"""The status of a request whose caller went away before there was an answer; nginx's."""
HEALTH = frozenset({"/healthz", "/readyz", "/api/v1/health"})
QUIET = HEALTH | {"/metrics"}
"""Asked every few seconds by machines, and to be answered however much there is to do."""

access = logging.getLogger("serving.access")
slow = logging.getLogger("serving.slow")


@dataclass
class Watched:
    """One request as it is known by now; the watcher of its context.

    Attributes:
        request_id: As its answer tells it.
        method: One of ``METHODS``, or ``other``.
        scope: As the application changes it.
        status: 0 until an answer begins.
        seconds: To the end of the answer; 0 until then.
        steps: Milliseconds of each step of a question.
    """

    request_id: str
    method: str
    scope: Scope
    counter: Counter | None = None
    status: int = 0
    seconds: float = 0.0
    steps: dict[str, float] = field(default_factory=dict)
    _route: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def route(self) -> str:
        """The template of its route, never its path; empty before that is known."""
        if not self._route and ("route" in self.scope or "endpoint" in self.scope):
            self._route = route_of(self.scope)
        return self._route

    @property
    def principal(self) -> str:
        """The name of the key that it came with; empty without one."""
        return getattr(self.scope["state"].get("principal"), "name", "")

    @property
    def code(self) -> str:
        """The code of the error that it was answered with; empty without one."""
        return str(self.scope["state"].get("code", ""))

    def end(self, seconds: float) -> None:
        """Take down that it is answered, or that its caller is gone."""
        self.status = self.status or _CLOSED
        self._route = route_of(self.scope)
        with self._lock:
            self.seconds = seconds

    def spent(self, step: str, milliseconds: float) -> None:
        """Hear how long a step took; of a request that is over, whose threads still work, nothing more."""
        with self._lock:
            if not self.seconds:
                self.steps[step] = self.steps.get(step, 0.0) + milliseconds

    def called(self, call: Call) -> None:
        """Hear of a request to a hosted model."""
        if self.counter is not None:
            self.counter.called(call)


class Counter(Protocol):
    """Counts requests: ``metrics.Metrics``."""

    def began(self) -> None:
        """Count one that is under way."""
        ...

    def ended(self, watched: Watched) -> None:
        """Count one that is answered."""
        ...

    def called(self, call: Call) -> None:
        """Count a request to a hosted model."""
        ...


class Watch:
    """Watches requests, from outside of everything but what gives them their id.

    Args:
        app: What comes next.
        counter: Counts them; None: nobody does.
        slow_ms: A question whose steps took longer is logged; 0: none is.
    """

    def __init__(self, app: ASGIApp, *, counter: Counter | None = None, slow_ms: float = 0.0) -> None:
        self.app, self.counter, self.slow_ms = app, counter, slow_ms

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and tell how it went."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        method, state = scope["method"], scope.setdefault("state", {})
        known = method if method in METHODS else "other"
        watched = Watched(state.get("request_id", ""), known, scope, self.counter)
        # For as long as the request's task lives: what the server itself logs of it comes after us.
        begin(watched)
        began = time.perf_counter()
        if self.counter is not None:
            self.counter.began()

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                watched.status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, sending)
        except Exception:
            watched.status = watched.status or 500
            raise
        finally:
            watched.end(time.perf_counter() - began)
            self._tell(watched)

    def _tell(self, watched: Watched) -> None:
        if self.counter is not None:
            self.counter.ended(watched)
        level = logging.DEBUG if watched.route in QUIET else logging.INFO
        took = 1_000 * watched.seconds
        access.log(level, "%s %s %d %.1f ms", watched.method, watched.route, watched.status, took)
        worked = sum(watched.steps.values())
        if self.slow_ms and worked >= self.slow_ms:
            parts = sorted(watched.steps.items(), key=lambda one: -one[1])
            where = ", ".join(f"{name} {took:.0f}" for name, took in parts if took >= 0.5)
            steps = {"steps": {name: round(took, 1) for name, took in parts}}
            slow.warning(
                "slow, %.0f ms: %s %s: %s", worked, watched.method, watched.route, where, extra=steps
            )


def route_of(scope: Scope) -> str:
    """Return the template of the route that a request went to, or would have gone to had it been let in."""
    route = scope.get("route")
    if route is not None:
        return str(route.path)
    for one in _leaves(scope["app"].routes) if "app" in scope else ():
        if one.matches(scope)[0] is not Match.NONE:
            return str(getattr(one, "path", UNMATCHED))
    return UNMATCHED


def _leaves(routes: list[BaseRoute]) -> Iterator[BaseRoute]:
    """Yield routes one by one: FastAPI keeps those of a router together."""
    for route in routes:
        router = getattr(route, "original_router", None)
        if router is None:
            yield route
        else:
            yield from _leaves(router.routes)
