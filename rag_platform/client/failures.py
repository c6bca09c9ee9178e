"""Errors of the library from what a service answers. When to ask again is decided in ``persistence``."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from rag_platform.client.requests import Answer
from rag_platform.errors import (
    CallerError,
    DeadlineExceeded,
    Forbidden,
    Overloaded,
    RagError,
    RateLimited,
    Unauthenticated,
    UnknownName,
    UpstreamError,
)

__all__ = ["expected", "failure_of", "is_ours", "restored", "retry_after_s"]

_BY_STATUS: dict[int, type[RagError]] = {
    HTTPStatus.UNAUTHORIZED: Unauthenticated,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.TOO_MANY_REQUESTS: RateLimited,
}
"""Where the code is none of the library's; else below 500 the caller is at fault."""
_LATER = (RateLimited, Overloaded, DeadlineExceeded)


@contextmanager
def expected(address: str) -> Iterator[None]:
    """Say what is wrong where what is read in here is not what a service of this library answers.

    Raises:
        UpstreamError: It is not.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise UpstreamError(
            f"{address} answered what this library cannot read ({reason}); check that rag-platform answers"
            " there, in this version"
        ) from error


def _tree(kind: type[RagError]) -> Iterator[type[RagError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _tree(below)


def restored(
    detail: str, *, code: str, request_id: str = "", status: int = 0, wait_s: float | None = None
) -> RagError:
    """Return the error that a service tells of, of the class that it has there.

    Args:
        detail: Its message.
        code: Of one of the library's errors, or of the service's own.
        request_id: As the service's log has it.
        status: Of the answer; 0: of one that had begun.
        wait_s: What ``Retry-After`` said.
    """
    kind = next((one for one in _tree(RagError) if vars(one).get("code") == code), None)
    if kind is None:
        kind = _BY_STATUS.get(status, CallerError if 400 <= status < 500 else UpstreamError)
    if issubclass(kind, UnknownName):
        error: RagError = kind.told(detail)
    elif issubclass(kind, _LATER):
        error = kind(detail, retry_after_s=1.0 if wait_s is None else wait_s)
    else:
        error = kind(detail)
    if request_id:
        error.request_id = request_id
        error.add_note(f"request {request_id} of the service")
    return error


def failure_of(answer: Answer, address: str) -> RagError | None:
    """Return why there is no answer; None where there is one."""
    if answer.status < 300:
        return None
    if answer.status < 400:
        target = answer.headers.get("location", "another address").partition("?")[0]
        return UpstreamError(f"{address} sends to {target}; nothing is sent there: give that address instead")
    wait_s = retry_after_s(answer)
    if is_ours(answer):
        told = json.loads(answer.body)
        return restored(
            told["detail"],
            code=told["code"],
            request_id=told["request_id"],
            status=answer.status,
            wait_s=wait_s,
        )
    said = " ".join(answer.body[:500].decode("utf-8", "replace").split())[:200]
    detail = f"{address} answered {answer.status}, and not as rag-platform does: {said!r}; check the address"
    return restored(detail, code="", status=answer.status, wait_s=wait_s)


def is_ours(answer: Answer) -> bool:
    """Say whether an error has the form of the service's own, and not of something before it."""
    try:
        told = json.loads(answer.body)
    except ValueError:
        return False
    names = ("detail", "code", "request_id")
    return isinstance(told, dict) and all(isinstance(told.get(name), str) for name in names)


def retry_after_s(answer: Answer) -> float | None:
    """Return the seconds after which to ask again, as ``Retry-After`` says; None where it does not."""
    written = answer.headers.get("retry-after", "").strip()
    if written.isdecimal():
        return float(written)
    try:
        return max(0.0, parsedate_to_datetime(written).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
