"""``/v1/documents/{id}/pages/{page}/image`` and ``.../boxes``: a page as people see it, a span marked on it.

How it is drawn stands in ``rag_platform.rendering``; here a document is found, and threads are lent.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Annotated, TypeVar
from uuid import UUID

import anyio
import anyio.to_thread
from fastapi import APIRouter, FastAPI, HTTPException, Query, Request, Response

from rag_platform import pipeline
from rag_platform.parsing.page_pictures import pictured
from rag_platform.rendering import MAX_WIDTH, MIN_WIDTH, Renderer
from rag_platform.types import Document, Span
from serving.etags import UNCHANGED, is_known
from serving.guard import principal
from serving.routes.common import Responses, errors, service_of
from serving.schemas.rendering import BoxesAnswer

__all__ = ["boxes", "image", "router"]

_AT_ONCE = 8
"""Threads that may wait for pages, beside those that search."""
_NO_SPAN = "give both start and end, from a hit or a citation, with start before end"

_TO_SAME_SITE = {"Cross-Origin-Resource-Policy": "same-site", "X-Content-Type-Options": "nosniff"}
"""A page of another site that shows a picture learns its size, and so that there is one."""

Position = Annotated[int | None, Query(ge=0, description="code point of the document, as of a hit")]
Width = Annotated[int, Query(ge=MIN_WIDTH, le=MAX_WIDTH, description="pixels")]
T = TypeVar("T")


@contextlib.asynccontextmanager
async def _rendering(app: FastAPI) -> AsyncIterator[None]:
    """Have a renderer as long as the application runs."""
    system = app.state.service.system
    app.state.rendering = anyio.CapacityLimiter(_AT_ONCE)
    app.state.renderer = Renderer(system.raw, system.home / "page_pictures", system.parse_options)
    yield
    await anyio.to_thread.run_sync(app.state.renderer.close)


router = APIRouter(tags=["documents"], lifespan=_rendering)

_WEBP: Responses = {
    200: {
        "content": {"image/webp": {"schema": {"type": "string", "format": "binary"}}},
        "description": "The page",
    },
    **UNCHANGED,
}


@router.get(
    "/v1/documents/{document_id}/pages/{page}/image",
    response_class=Response,
    responses={**_WEBP, **errors(400, 404, 503)},
)
async def image(
    document_id: UUID,
    page: int,
    request: Request,
    start: Position = None,
    end: Position = None,
    width: Width = 1_000,
) -> Response:
    """Return a page of a PDF or picture, with the passage from ``start`` to ``end`` marked.

    Where the passage stands is not always sure; then nothing is marked, and ``X-Marked`` says ``false``.
    """
    span = _span(start, end)
    renderer = _renderer(request)
    document = await _document(request, document_id)
    version = f'"{renderer.version(document, page, width, span)}"'
    headers = {"ETag": version, "Cache-Control": "private, no-cache"}
    if is_known(request, version):
        return Response(status_code=304, headers=headers)
    found = await _threaded(request, lambda: renderer.picture(document, page, width=width, span=span))
    told = {**headers, **_TO_SAME_SITE, "X-Marked": str(found.marked).lower()}
    return Response(found.content, media_type="image/webp", headers=told)


@router.get("/v1/documents/{document_id}/pages/{page}/boxes", responses=errors(400, 404, 503))
async def boxes(
    document_id: UUID,
    page: int,
    request: Request,
    start: Annotated[int, Query(ge=0)],
    end: Annotated[int, Query(ge=1)],
) -> BoxesAnswer:
    """Say where on a page a passage stands; none rather than wrong ones."""
    document = await _document(request, document_id)
    renderer = _renderer(request)
    found = await _threaded(request, lambda: renderer.boxes(document, page, Span(start, end)))
    return BoxesAnswer.of(found, str(document_id), page, len(document.pages))


def _span(start: int | None, end: int | None) -> Span | None:
    if start is None and end is None:
        return None
    if start is None or end is None or start >= end:
        raise HTTPException(400, _NO_SPAN)
    return Span(start, end)


async def _document(request: Request, document_id: UUID) -> Document:
    """Return a document that the caller may read."""
    service, caller = service_of(request), principal(request)

    def read() -> Document:
        entry = service.entry(str(document_id), caller)
        pictured(entry.format, entry.source)
        return pipeline.document(service.system, entry)

    return await _threaded(request, read)


def _renderer(request: Request) -> Renderer:
    found: Renderer = request.app.state.renderer
    return found


async def _threaded(request: Request, work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work, limiter=request.app.state.rendering)
