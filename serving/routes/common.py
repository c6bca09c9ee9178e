"""What all routes need: the service of a request, and how errors stand in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import anyio.to_thread
from fastapi import Request

from serving.events import EVENTS
from serving.schemas.state import ChatErrorAnswer, ErrorAnswer
from serving.service import Service

__all__ = ["IN_EVENTS", "Responses", "aside", "errors", "service_of"]

T = TypeVar("T")

Responses = dict[int | str, dict[str, Any]]

IN_EVENTS: Responses = {
    200: {"content": {EVENTS: {"schema": {"type": "string"}}}, "description": "The answer"}
}
"""How an answer is documented that may come in events."""

_MEANINGS = {
    400: "A value that cannot be worked with",
    401: "A key is asked for",
    403: "The key is not for this, or a page of another site asks",
    404: "An unknown name",
    408: "The body did not come in time",
    413: "The body is too large",
    415: "A body that is no form",
    421: "A name that is not this service's",
    422: "A field is unknown, missing or of the wrong type",
    429: "Too many requests in a minute",
    431: "The headers are too large",
    502: "A remote service failed",
    503: "Nothing is published yet, a part is not available, or there is too much to do",
}
_ANY = frozenset({401, 403, 421, 422, 429, 431, 503})
"""What any route may answer."""


def service_of(request: Request) -> Service:
    """Return the service that the application serves."""
    service: Service = request.app.state.service
    return service


async def aside(work: Callable[[], T]) -> T:
    """Run ``work`` that asks no model in a thread; who is cancelled does not wait for it."""
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


def errors(*statuses: int, chat: bool = False) -> Responses:
    """Return how these errors are documented, ``chat`` in OpenAI's form."""
    return {
        status: {"model": ChatErrorAnswer if chat else ErrorAnswer, "description": _MEANINGS[status]}
        for status in sorted({*statuses, *_ANY})
    }
