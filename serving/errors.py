"""Every error as ``{"detail", "code", "request_id"}`` with the right status; which is which stands here."""

from __future__ import annotations

import logging

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from rag_platform.errors import CallerError, DocumentError, RagError, UnknownName, UpstreamError

__all__ = ["REQUEST_ID", "answer", "described", "install", "status_of"]

_log = logging.getLogger(__name__)

REQUEST_ID = "X-Request-ID"

_STATUS: list[tuple[type[RagError], int]] = [
    (UnknownName, 404),
    (CallerError, 400),
    (DocumentError, 422),
    (UpstreamError, 502),
    (RagError, 503),
]
"""The first that fits; what is left is the machine's or nothing published yet: not the caller's fault."""

_HTTP_CODES = {
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "body_too_large",
    415: "unsupported_media_type",
}


def status_of(error: RagError) -> int:
    """Return the HTTP status of an error of the library."""
    return next(status for kind, status in _STATUS if isinstance(error, kind))


def install(app: FastAPI) -> None:
    """Give ``app`` one form for every error, those of the framework included."""
    for kind in (RagError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _handled)


def answer(request: Request, error: Exception) -> JSONResponse:
    """Return an error as what the caller gets."""
    status, body = described(request, error)
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    return JSONResponse(body, status, {**headers, REQUEST_ID: body["request_id"]})


def described(request: Request, error: Exception) -> tuple[int, dict[str, str]]:
    """Return an error's status and body."""
    status, detail, code = _described(error)
    return status, {"detail": detail, "code": code, "request_id": request.state.request_id}


def _described(error: Exception) -> tuple[int, str, str]:
    if isinstance(error, RagError):
        return status_of(error), str(error), error.code
    if isinstance(error, RequestValidationError):
        faults = [f"{'.'.join(str(part) for part in e['loc'])}: {e['msg']}" for e in error.errors()]
        return 422, "; ".join(faults), "invalid_request"
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail), _HTTP_CODES.get(error.status_code, "http_error")
    return 500, "internal error; the service's log has the details", "internal_error"


async def _handled(request: Request, error: Exception) -> JSONResponse:
    found = answer(request, error)
    if found.status_code >= 500:
        _log.error("%s %s %s: %s", request.state.request_id, request.method, request.url.path, error)
    return found
