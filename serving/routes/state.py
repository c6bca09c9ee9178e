"""What there is and how it does: collections, models, leaderboard, health, readiness."""

from __future__ import annotations

from typing import Any

import anyio.to_thread
from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import JSONResponse

from rag_platform import __version__
from rag_platform.errors import NotPublished, UnknownName
from serving.routes.common import errors, service_of
from serving.schemas.state import (
    CollectionAnswer,
    CollectionsAnswer,
    HealthAnswer,
    ModelsAnswer,
    NotReadyAnswer,
    ReadyAnswer,
)

__all__ = [
    "collection",
    "collections",
    "healthz",
    "leaderboard",
    "models",
    "readyz",
    "router",
]

router = APIRouter(tags=["state"])


@router.get("/v1/collections")
async def collections(request: Request) -> CollectionsAnswer:
    """List the collections and their published generations."""
    found = await anyio.to_thread.run_sync(service_of(request).platform.collections)
    return CollectionsAnswer(collections=[CollectionAnswer.of(one) for one in found])


@router.get("/v1/collections/{name}", responses=errors(404))
async def collection(name: str, request: Request) -> CollectionAnswer:
    """Return one collection and its published generations."""
    found = await anyio.to_thread.run_sync(service_of(request).platform.collections)
    known = {one.name: one for one in found}
    if name not in known:
        raise UnknownName("collection", name, known)
    return CollectionAnswer.of(known[name])


@router.get("/v1/models")
async def models(request: Request) -> ModelsAnswer:
    """List what embeds, reranks and answers, and what of it the service uses."""
    return ModelsAnswer.of(await anyio.to_thread.run_sync(service_of(request).platform.models))


@router.get("/v1/leaderboard", responses=errors(404))
async def leaderboard(request: Request, run: str | None = None, measure: str | None = None) -> dict[str, Any]:
    """Return the leaderboard of a run, the last complete one unless another is named."""
    platform = service_of(request).platform
    try:
        board = await anyio.to_thread.run_sync(lambda: platform.leaderboard(run, measure=measure))
    except NotPublished as error:
        raise HTTPException(404, str(error)) from error
    return board.value()


@router.get("/healthz")
async def healthz() -> HealthAnswer:
    """Say that the process is alive."""
    return HealthAnswer(status="ok", version=__version__)


@router.get("/readyz", response_model=ReadyAnswer, responses={503: {"model": NotReadyAnswer}})
async def readyz(request: Request) -> JSONResponse:
    """Say whether searches can be answered; 503 with what is missing otherwise."""
    answer = await anyio.to_thread.run_sync(service_of(request).readiness)
    if isinstance(answer, NotReadyAnswer):
        answer.request_id = request.state.request_id
        return JSONResponse(answer.model_dump(), 503)
    return JSONResponse(answer.model_dump())
