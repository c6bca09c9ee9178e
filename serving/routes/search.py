"""``/v1/search``."""

from __future__ import annotations

from fastapi import APIRouter, Request

from serving.guard import principal
from serving.routes.common import errors, service_of
from serving.schemas.search import SearchAnswer, SearchRequest

__all__ = [
    "router",
    "search",
]

router = APIRouter(tags=["questions"])


@router.post("/v1/search", responses=errors(400, 404, 503))
async def search(body: SearchRequest, request: Request) -> SearchAnswer:
    """Return the passages that answer a question best."""
    service = service_of(request)
    return await service.off_loop(lambda: service.search(body, principal(request)))
