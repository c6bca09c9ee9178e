"""What there is and how it does: collections, models, leaderboard, health, readiness."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import JSONResponse, Response

from rag_platform import __version__
from rag_platform.errors import NotPublished, UnknownName
from rag_platform.states import CollectionState
from serving.etags import UNCHANGED, tagged
from serving.guard import principal
from serving.paging import Cursor, Limit, Part, cut
from serving.routes.common import aside, errors, service_of
from serving.schemas.state import (
    ChatModel,
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
    "model",
    "models",
    "readyz",
    "router",
]

router = APIRouter(tags=["state"])


@router.get("/v1/collections", response_model=CollectionsAnswer, responses={**UNCHANGED, **errors(400)})
async def collections(request: Request, limit: Limit = None, cursor: Cursor = None) -> Response:
    """List the collections and their published generations."""
    caller, part = principal(request), Part(limit, cursor, "collections", key=(int, str))

    def listed() -> Response:
        found = service_of(request).platform.collections()
        root = found[0].name if found else ""

        def key_of(one: CollectionState) -> tuple[int, str]:
            return int(one.name != root), one.name

        rest = [
            one for one in found if caller.may_use(one.name) and (not part.after or key_of(one) > part.after)
        ]
        shown, following = cut(rest, part, key_of)
        body = CollectionsAnswer(
            collections=[CollectionAnswer.of(one) for one in shown], next_cursor=following
        )
        return tagged(request, body)

    return await aside(listed)


@router.get("/v1/collections/{name}", response_model=CollectionAnswer, responses={**UNCHANGED, **errors(404)})
async def collection(name: str, request: Request) -> Response:
    """Return one collection and its published generations."""
    principal(request).check_collections([name])
    found = await aside(service_of(request).platform.collections)
    known = {one.name: one for one in found}
    if name not in known:
        raise UnknownName("collection", name, known)
    return tagged(request, CollectionAnswer.of(known[name]))


@router.get("/v1/models")
async def models(request: Request) -> ModelsAnswer:
    """List what embeds, reranks and answers, what of it the service uses, and what a chat may name."""
    service = service_of(request)
    found = await aside(service.platform.models)
    return ModelsAnswer.of(found, await aside(lambda: service.chat_models(principal(request), found)))


@router.get("/v1/models/{model:path}", responses=errors(404, chat=True))
async def model(model: str, request: Request) -> ChatModel:
    """Return a model that a chat completion may name."""
    service = service_of(request)
    known = await aside(lambda: service.chat_models(principal(request)))
    if model not in known:
        raise UnknownName("model", model, known)
    return ChatModel(id=model)


@router.get("/v1/leaderboard", responses=errors(404))
async def leaderboard(request: Request, run: str | None = None, measure: str | None = None) -> dict[str, Any]:
    """Return the leaderboard of a run, the last complete one unless another is named."""
    platform = service_of(request).platform
    try:
        board = await aside(lambda: platform.leaderboard(run, measure=measure))
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
    answer = await aside(service_of(request).readiness)
    if isinstance(answer, NotReadyAnswer):
        answer.request_id = request.state.request_id
        return JSONResponse(answer.model_dump(), 503)
    return JSONResponse(answer.model_dump())
