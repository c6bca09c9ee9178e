"""One request as it is watched: what comes too late, and how it ends."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from rag_platform.watching import current, spent
from serving.metrics import Metrics
from serving.watch import Watch, Watched


def scope(**more: Any) -> dict[str, Any]:
    return {"type": "http", "method": "GET", "path": "/x", "state": {"request_id": "r1"}, **more}


def passed(app: Any, **more: Any) -> tuple[Metrics, list[Watched]]:
    """Send one request through ``Watch`` and return what was counted and seen."""
    seen: list[Watched] = []
    counts = Metrics()
    ended = counts.ended

    def ending(watched: Watched) -> None:
        seen.append(watched)
        ended(watched)

    counts.ended = ending  # type: ignore[method-assign]

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        await asyncio.sleep(0)

    async def run() -> None:
        await Watch(app, counter=counts)(scope(**more), receive, send)

    asyncio.run(run())
    return counts, seen


def requests(counts: Metrics, **labels: str) -> float | None:
    return counts.registry.get_sample_value("rag_http_requests_total", labels)


def under_way(counts: Metrics) -> float | None:
    return counts.registry.get_sample_value("rag_http_requests_in_flight")


def test_who_goes_away_before_an_answer_is_told_apart() -> None:
    async def silent(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()

    counts, (watched,) = passed(silent)
    assert watched.status == 499
    assert requests(counts, method="GET", route="unmatched", status="499") == 1
    assert under_way(counts) == 0


def test_an_answer_that_is_broken_off_keeps_its_status_and_is_over() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ConnectionResetError

    counts = Metrics()

    async def run() -> None:
        await Watch(broken, counter=counts)(scope(method="PURGE"), None, lambda _: asyncio.sleep(0))  # type: ignore[arg-type]

    with pytest.raises(ConnectionResetError):
        asyncio.run(run())
    assert requests(counts, method="other", route="unmatched", status="200") == 1
    assert under_way(counts) == 0


def test_a_thread_that_works_on_after_the_end_changes_nothing() -> None:
    late, over = threading.Event(), threading.Event()

    async def impatient(scope: Scope, receive: Receive, send: Send) -> None:
        watched = current()
        assert watched is not None

        def work() -> None:
            watched.spent("dense", 1.0)
            late.wait(10)
            for n in range(2_000):
                watched.spent(f"late {n % 7}", 1.0)
            over.set()

        threading.Thread(target=work).start()
        await send({"type": "http.response.start", "status": 503, "headers": []})

    _, (watched,) = passed(impatient)
    late.set()
    assert over.wait(10)
    assert set(watched.steps) <= {"dense"}


def test_who_is_no_request_passes_by() -> None:
    seen: list[object] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(current())
        spent("nothing", 1.0)

    counts, ended = passed(app, type="lifespan")
    assert (seen, ended, under_way(counts)) == ([None], [], 0)
