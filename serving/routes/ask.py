"""``/v1/ask``: an answer with checked citations, whole or as server-sent events; and kept conversations.

Events of a stream: ``sources``, any number of ``delta``, then ``answer``; ``error`` where it breaks off. What
fails before the first of them is an ordinary error with its status.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel

from rag_platform.answering.reply import Delta, Done, Event, Sources
from serving.binding import is_local
from serving.errors import described
from serving.guard import principal
from serving.routes.common import errors, service_of
from serving.schemas.ask import (
    AskAnswer,
    AskRequest,
    ConversationAnswer,
    ConversationsAnswer,
    DeltaEvent,
    SourcesEvent,
)
from serving.schemas.search import HitAnswer
from serving.schemas.state import ErrorAnswer
from serving.service import Asked

__all__ = [
    "answered",
    "ask",
    "conversation",
    "conversations",
    "forget",
    "router",
]

_log = logging.getLogger(__name__)

_EVENTS = "text/event-stream"
_STREAM = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""So that proxies pass every event on at once."""

router = APIRouter(tags=["questions"])


@router.post(
    "/v1/ask",
    response_model=AskAnswer,
    responses={
        200: {"content": {_EVENTS: {"schema": {"type": "string"}}}, "description": "The answer"},
        **errors(400, 404, 502, 503),
    },
)
async def ask(body: AskRequest, request: Request) -> Response | AskAnswer:
    """Answer a question from the documents, or say that they do not answer it.

    With ``stream`` or ``Accept: text/event-stream`` the answer comes in server-sent events: ``sources``
    first, then ``delta`` with words that are checked already, then ``answer`` with everything.
    """
    return await answered(body, request)


async def answered(body: AskRequest, request: Request) -> Response | AskAnswer:
    """Answer whole or in events, as the request wants it."""
    service = service_of(request)
    asked = await service.off_loop(lambda: service.begin(body, principal(request)))
    first = await asked.next()
    if body.stream or _EVENTS in request.headers.get("accept", ""):
        return StreamingResponse(_events(asked, first, request), media_type=_EVENTS, headers=_STREAM)
    event = first
    while not isinstance(event, Done):
        if event is None:
            raise RuntimeError("the answer ended without a reply")
        event = await asked.next()
    return await asked.finished(event.reply)


async def _events(asked: Asked, first: Event | None, request: Request) -> AsyncIterator[str]:
    event = first
    try:
        while event is not None:
            if isinstance(event, Sources):
                yield _event("sources", SourcesEvent(hits=[HitAnswer.of(hit) for hit in event.hits]))
            elif isinstance(event, Delta):
                yield _event("delta", DeltaEvent(text=event.text))
            else:
                yield _event("answer", await asked.finished(event.reply))
            event = await asked.next()
    except Exception as error:  # the status is sent already: the error becomes the last event
        _log.exception("%s: the stream broke off", request.state.request_id)
        yield _event("error", ErrorAnswer(**described(request, error)[1]))
    finally:
        await asked.abandon()


def _event(name: str, body: BaseModel) -> str:
    """Return one server-sent event; JSON has no line breaks of its own."""
    return f"event: {name}\ndata: {body.model_dump_json()}\n\n"


@router.get("/v1/conversations", responses=errors(403))
async def conversations(request: Request) -> ConversationsAnswer:
    """List the kept conversations; only where the service is reached from its own machine alone."""
    service = service_of(request)
    if not is_local(service.system.settings.host):
        raise HTTPException(403, "conversations are listed only where nobody else can reach the service")
    kept = await service.off_loop(service.conversations.all)
    return ConversationsAnswer(conversations=[ConversationAnswer.of(one) for one in kept])


@router.get("/v1/conversations/{conversation_id}", responses=errors(400, 404))
async def conversation(conversation_id: str, request: Request) -> ConversationAnswer:
    """Return a kept conversation with what was said."""
    service = service_of(request)
    kept = service.conversations
    turns = await service.off_loop(lambda: kept.turns(conversation_id))
    listed = await service.off_loop(kept.all)
    found = [one for one in listed if one.conversation_id == conversation_id]
    if not found:
        raise HTTPException(404, f"there is no conversation {conversation_id!r}")
    return ConversationAnswer.of(found[0], turns)


@router.delete("/v1/conversations/{conversation_id}", status_code=204, responses=errors(404))
async def forget(conversation_id: str, request: Request) -> None:
    """Forget a conversation."""
    kept = service_of(request).conversations
    await service_of(request).off_loop(lambda: kept.delete(conversation_id))
