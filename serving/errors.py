"""Every error as ``{"detail", "code"}`` with the right status; which error is which status stands here."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from rag_platform.errors import CallerError, DocumentError, RagError, UnknownName, UpstreamError

__all__ = ["install", "status_of"]

_STATUS: list[tuple[type[RagError], int]] = [
    (UnknownName, 404),
    (CallerError, 400),
    (DocumentError, 422),
    (UpstreamError, 502),
    (RagError, 503),
]
"""The first that fits; what is left is the machine's or nothing published yet: not the caller's fault."""

_HTTP_CODES = {404: "not_found", 405: "method_not_allowed"}


def status_of(error: RagError) -> int:
    """Return the HTTP status of an error of the library."""
    return next(status for kind, status in _STATUS if isinstance(error, kind))


def install(app: FastAPI) -> None:
    """Give ``app`` one form for every error, those of the framework included."""
    app.add_exception_handler(RagError, _rag_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _programmer_error)


def _answer(status: int, detail: str, code: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": detail, "code": code}, status, headers)


def _rag_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RagError)
    return _answer(status_of(error), str(error), error.code)


def _validation_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    faults = [f"{'.'.join(str(part) for part in e['loc'])}: {e['msg']}" for e in error.errors()]
    return _answer(422, "; ".join(faults), "invalid_request")


def _http_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = _HTTP_CODES.get(error.status_code, "http_error")
    return _answer(error.status_code, str(error.detail), code, dict(error.headers or {}))


def _programmer_error(_: Request, error: Exception) -> JSONResponse:
    return _answer(500, "internal error; the service's log has the details", "internal_error")
