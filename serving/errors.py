"""Every error as ``{"detail", "code", "request_id"}`` with the right status; which is which stands here."""

from __future__ import annotations

import json
import logging
import math
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from rag_platform.errors import (
    CallerError,
    DocumentError,
    Forbidden,
    PromptTooLong,
    RagError,
    RateLimited,
    Unauthenticated,
    UnknownName,
    UpstreamError,
)
from rag_platform.keys import Principal
from serving.events import framed

__all__ = [
    "CHAT_PATH",
    "REQUEST_ID",
    "answer",
    "body_of",
    "described",
    "install",
    "last_event",
    "refuse",
    "status_of",
    "told_to",
]

_log = logging.getLogger(__name__)

REQUEST_ID = "X-Request-ID"
CHAT_PATH = "/v1/chat/completions"
_OPENAI_PATHS = (CHAT_PATH, "/v1/models/")
"""Whose callers know OpenAI's form of an error alone."""

_STATUS: list[tuple[type[RagError], int]] = [
    (UnknownName, 404),
    (Unauthenticated, 401),
    (Forbidden, 403),
    (CallerError, 400),
    (DocumentError, 422),
    (PromptTooLong, 422),
    (UpstreamError, 502),
    (RateLimited, 429),
    (RagError, 503),
]
"""The first that fits; what is left is the machine's or nothing published yet: not the caller's fault."""

_HTTP_CODES = {
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "too_slow",
    413: "body_too_large",
    415: "unsupported_media_type",
    421: "misdirected",
    431: "headers_too_large",
}

_CHAT_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def status_of(error: RagError) -> int:
    """Return the HTTP status of an error of the library."""
    return next(status for kind, status in _STATUS if isinstance(error, kind))


def install(app: Starlette) -> None:
    """Give ``app`` one form for every error, those of the framework included."""
    for kind in (RagError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _handled)


def answer(request: Request, error: Exception) -> JSONResponse:
    """Return an error as what the caller gets."""
    status, body = body_of(request, error)
    return JSONResponse(body, status, {**_headers(error), REQUEST_ID: request.state.request_id})


async def refuse(error: Exception, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request with an error, before any route has seen it."""
    await answer(Request(scope), error)(scope, receive, send)


def last_event(request: Request, error: Exception) -> str:
    """Return an error as the event that ends an answer which has begun already."""
    body = json.dumps(body_of(request, error)[1], ensure_ascii=False)
    return framed(body, "" if request.url.path.startswith(_OPENAI_PATHS) else "error")


def body_of(request: Request, error: Exception) -> tuple[int, dict[str, Any]]:
    """Return an error's status and body, in the form that callers of its path know."""
    status, body = described(request, error)
    if not request.url.path.startswith(_OPENAI_PATHS):
        return status, dict(body)
    kind = _CHAT_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    said = {"message": body["detail"], "type": kind, "param": None}
    return status, {"error": {**said, "code": body["code"], "request_id": body["request_id"]}}


def described(request: Request, error: Exception) -> tuple[int, dict[str, str]]:
    """Return an error's status and body."""
    caller = getattr(request.state, "principal", None)
    status, detail, code = _described(told_to(caller, error))
    request.state.code = code  # for whoever watches the request
    return status, {"detail": detail, "code": code, "request_id": request.state.request_id}


def told_to(caller: Principal | None, error: Exception) -> Exception:
    """Return an error without the names of collections that its reader may not know of."""
    if not isinstance(error, UnknownName) or caller is None or not error.kind.endswith("collection"):
        return error
    return UnknownName(error.kind, error.name, filter(caller.may_use, error.known))


def _headers(error: Exception) -> dict[str, str]:
    if isinstance(error, Unauthenticated):
        return {"WWW-Authenticate": 'Bearer realm="rag-platform"'}
    if (wait_s := getattr(error, "retry_after_s", None)) is not None:
        return {"Retry-After": str(max(1, math.ceil(wait_s)))}
    if isinstance(error, HTTPException):
        return dict(error.headers or {})
    if isinstance(error, RagError | RequestValidationError):
        return {}
    return {"Connection": "close"}  # uvicorn ends it after a fault, with the next request on its way


def _described(error: Exception) -> tuple[int, str, str]:
    if isinstance(error, RagError):
        return status_of(error), str(error), error.code
    if isinstance(error, RequestValidationError):
        faults = [f"{'.'.join(str(part) for part in e['loc'])}: {e['msg']}" for e in error.errors()]
        return 422, "; ".join(faults), "invalid_request"
    if isinstance(error, HTTPException):
        usual = _HTTP_CODES.get(error.status_code, "http_error")
        return error.status_code, str(error.detail), getattr(error.__cause__, "code", usual)
    return 500, "internal error; the service's log has the details", "internal_error"


async def _handled(request: Request, error: Exception) -> JSONResponse:
    found = answer(request, error)
    if found.status_code >= 500:
        _log.error("%s %s %s: %s", request.state.request_id, request.method, request.url.path, error)
    return found
