"""What all routes need: the service of a request, and how errors stand in the OpenAPI document."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from serving.schemas.state import ErrorAnswer
from serving.service import Service

__all__ = ["Responses", "errors", "service_of"]

Responses = dict[int | str, dict[str, Any]]

_MEANINGS = {
    400: "A value that cannot be worked with",
    403: "Not from here",
    404: "An unknown name",
    413: "The body is too large",
    422: "A field is unknown, missing or of the wrong type",
    502: "A remote service failed",
    503: "Nothing is published yet, or a part is not available",
}


def service_of(request: Request) -> Service:
    """Return the service that the application serves."""
    service: Service = request.app.state.service
    return service


def errors(*statuses: int) -> Responses:
    """Return how these errors are documented; 422 is any route's."""
    return {
        status: {"model": ErrorAnswer, "description": _MEANINGS[status]}
        for status in sorted({*statuses, 422})
    }
