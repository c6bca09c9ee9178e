"""Threads for what would hold up the event loop: a few, and none that the end of the process waits for.

``concurrent.futures`` joins its threads at the end, so a language model that is silent for a minute would
keep a service alive that was told to stop.
"""

from __future__ import annotations

import contextlib
import contextvars
import queue
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["Threads"]

T = TypeVar("T")
_Job = tuple[Future[Any], Callable[[], Any]]


class Threads:
    """So many threads at most, begun as they are needed; work waits for its turn, what goes on comes first.

    They end with ``close``, or when nobody holds this object any more.

    Args:
        most: Of them.
        name: What they are called.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._waiting = _Waiting()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._n_threads = 0
        self._finalizer = weakref.finalize(self, self._waiting.end, most)

    def begin(self, work: Callable[[], T], *, goes_on: bool = False) -> Future[T]:
        """Have ``work`` done in the context of the caller; who cancels before its turn gets nothing done.

        Args:
            work: What is done.
            goes_on: It is the next step of what has begun, and need not wait behind what has not.
        """
        end: Future[T] = Future()
        context = contextvars.copy_context()
        if not self._finalizer.alive:
            end.cancel()
            return end
        self._waiting.put((end, lambda: context.run(work)), goes_on=goes_on)
        with self._lock:
            if not self._idle.acquire(blocking=False) and self._n_threads < self._most:
                self._n_threads += 1
                given = (self._waiting, self._idle)
                threading.Thread(target=_work, args=given, name=self._name, daemon=True).start()
        return end

    def close(self) -> None:
        """Cancel what still waits, and let the threads end; nobody waits for them."""
        self._finalizer()


class _Waiting:
    """Jobs in their order; of simple queues, since finalizers may run in the middle of using them."""

    def __init__(self) -> None:
        self._new, self._going_on = queue.SimpleQueue[_Job](), queue.SimpleQueue[_Job]()
        self._turns = queue.SimpleQueue[bool]()

    def put(self, job: _Job, *, goes_on: bool) -> None:
        (self._going_on if goes_on else self._new).put(job)
        self._turns.put(True)

    def get(self) -> _Job | None:
        """Wait for the next job; None: there comes none any more."""
        while self._turns.get():
            for jobs in (self._going_on, self._new):
                with contextlib.suppress(queue.Empty):
                    return jobs.get_nowait()
        return None

    def end(self, n_threads: int) -> None:
        """Cancel what waits, and tell so many threads that nothing comes any more."""
        for jobs in (self._going_on, self._new):
            with contextlib.suppress(queue.Empty):
                while True:
                    jobs.get_nowait()[0].cancel()
        for _ in range(n_threads):
            self._turns.put(False)


def _work(waiting: _Waiting, idle: threading.Semaphore) -> None:
    while (job := waiting.get()) is not None:
        end, work = job
        if end.set_running_or_notify_cancel():
            try:
                end.set_result(work())
            except BaseException as error:
                end.set_exception(error)
        del job, end, work  # or the last one is kept until the next
        idle.release()
