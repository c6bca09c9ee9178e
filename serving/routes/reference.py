"""Paths and names of the reference system, nepali-rag 0.1; they answer as this system does under ``/v1``."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import model_validator

from serving.etags import UNCHANGED
from serving.paging import Cursor, Limit
from serving.routes import ask, documents, state
from serving.routes import conversations as kept
from serving.routes.common import errors
from serving.schemas.ask import AskAnswer, AskRequest, ConversationAnswer, ConversationsAnswer
from serving.schemas.documents import JobAnswer
from serving.schemas.state import CollectionAnswer, CollectionsAnswer, NotReadyAnswer, ReadyAnswer

__all__ = [
    "QueryRequest",
    "collection",
    "collections",
    "conversation",
    "conversations",
    "forget",
    "health",
    "query",
    "router",
    "upload",
]

_NAMES = {"query": "question", "collection_name": "collection", "top_k": "candidates", "top_r": "k"}

router = APIRouter(prefix="/api/v1", tags=["reference system"])


class QueryRequest(AskRequest):
    """A question, with the names of the reference system beside ours."""

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, given: Any) -> Any:  # noqa: ANN401
        return (
            {_NAMES.get(name, name): value for name, value in given.items()}
            if isinstance(given, dict)
            else given
        )


@router.post("/query", response_model=AskAnswer, responses=errors(400, 404, 502, 503))
async def query(body: QueryRequest, request: Request) -> Response | AskAnswer:
    """Answer a question, as ``/v1/ask``; knows ``query``, ``collection_name``, ``top_k`` and ``top_r``."""
    return await ask.answered(body, request)


@router.post("/upload", responses={**documents.QUEUED, **errors(400, 413, 415)}, openapi_extra=documents.FORM)
async def upload(request: Request, response: Response) -> JobAnswer:
    """Ingest files, as ``/v1/documents`` with ``wait``."""
    return await documents.uploaded(request, response, wait=True, names=_NAMES)


@router.get("/health", response_model=ReadyAnswer, responses={503: {"model": NotReadyAnswer}})
async def health(request: Request) -> JSONResponse:
    """Say whether searches can be answered, as ``/readyz``."""
    return await state.readyz(request)


@router.get("/collections", response_model=CollectionsAnswer, responses={**UNCHANGED, **errors(400)})
async def collections(request: Request, limit: Limit = None, cursor: Cursor = None) -> Response:
    """List the collections."""
    return await state.collections(request, limit, cursor)


@router.get("/collections/{name}", response_model=CollectionAnswer, responses={**UNCHANGED, **errors(404)})
async def collection(name: str, request: Request) -> Response:
    """Return one collection."""
    return await state.collection(name, request)


@router.get("/conversations", responses=errors(400))
async def conversations(request: Request, limit: Limit = None, cursor: Cursor = None) -> ConversationsAnswer:
    """List the caller's conversations."""
    return await kept.conversations(request, limit, cursor)


@router.get("/conversations/{conversation_id}", responses=errors(400, 404))
async def conversation(conversation_id: str, request: Request) -> ConversationAnswer:
    """Return a conversation of the caller's."""
    return await kept.conversation(conversation_id, request)


@router.delete("/conversations/{conversation_id}", status_code=204, responses=errors(404))
async def forget(conversation_id: str, request: Request) -> None:
    """Forget a conversation of the caller's."""
    await kept.forget(conversation_id, request)
