"""When a request is sent again, and when no more. Nothing is sent and nobody waits here."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Generator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count
from typing import Any, Generic, TypeVar

from rag_platform.client.failures import expected, failure_of, is_ours, retry_after_s
from rag_platform.client.requests import Answer, Attempt, Request, Steps
from rag_platform.errors import Overloaded, RagError, RateLimited, Unreachable

__all__ = ["Call", "Ended"]

_ATTEMPTS = 5
_FIRST_WAIT_S = 0.25
_LONGEST_WAIT_S = 8.0
_LEAST_S = 0.01
_SPREAD = 0.25
"""By how much of it a wait is longer at most, so that those who were refused together come apart."""

R = TypeVar("R")
Got = Answer | Unreachable | None


@dataclass(frozen=True, slots=True)
class Ended(Generic[R]):
    """A call is done, and this is its value."""

    value: R


class Call(Generic[R]):
    """A call on its way: says what to do next, and is told what came of it.

    Args:
        steps: What is asked.
        address: Of the service, for messages.
        limit_s: Seconds for each request, with all its repetitions.
    """

    def __init__(self, steps: Steps[R], address: str, limit_s: float) -> None:
        self._address, self._limit_s = address, limit_s
        self._moves = self._all(steps)

    def next(self, got: Got = None) -> Attempt | float | Ended[R]:
        """Return a request to send, seconds to wait, or the end.

        Args:
            got: What came of the request before; None after a wait and at the beginning.

        Raises:
            RagError: The call failed.
        """
        try:
            return self._moves.send(got)
        except StopIteration as end:
            return Ended(end.value)

    def _all(self, steps: Steps[R]) -> Generator[Attempt | float, Got, R]:
        found: Any = None
        while True:
            try:
                with nullcontext() if found is None else expected(self._address):
                    step = steps.send(found)
            except StopIteration as end:
                value: R = end.value
                return value
            if isinstance(step, float):
                yield step
                found = None
            else:
                answer = yield from self._answered(step)
                with expected(self._address):
                    found = answer.events or dict(json.loads(answer.body))

    def _answered(self, request: Request) -> Generator[Attempt | float, Got, Answer]:
        ends = time.monotonic() + self._limit_s
        for attempt in count(1):
            got = yield Attempt(request, max(_LEAST_S, ends - time.monotonic()))
            failure = failure_of(got, self._address) if isinstance(got, Answer) else got
            if isinstance(got, Answer) and failure is None:
                return got
            wait_s = _wait_s(got, attempt)
            is_last = attempt == _ATTEMPTS or time.monotonic() + wait_s >= ends
            if failure is not None and (is_last or not _may_pass(request, got, failure)):
                raise failure
            yield wait_s
        raise AssertionError("unreachable: the last attempt returns or raises")


def _may_pass(request: Request, got: Got, failure: RagError) -> bool:
    """Say whether the same request may succeed later, and does no harm if it is done twice."""
    if isinstance(failure, Unreachable):
        return request.safe or not failure.sent
    if isinstance(failure, RateLimited | Overloaded):
        return True  # refused before anything was done
    if not isinstance(got, Answer):
        return False
    # of the service's own 503 those that pass say when; others lack something
    return request.safe and got.status == 503 and (retry_after_s(got) is not None or not is_ours(got))


def _wait_s(got: Got, attempt: int) -> float:
    doubled = min(_FIRST_WAIT_S * 2 ** (attempt - 1), _LONGEST_WAIT_S)
    asked = retry_after_s(got) if isinstance(got, Answer) else None
    return (doubled if asked is None else asked) * (1 + random.uniform(0, _SPREAD))
