"""``/v1/ask``: an answer with checked citations, whole or as server-sent events.

Events of a stream: ``sources``, any number of ``delta``, then ``answer``; ``error`` where it breaks off. What
fails before the first of them is an ordinary error with its status.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel

from rag_platform.answering.reply import Delta, Event, Sources
from serving.errors import last_event
from serving.events import EVENTS, framed, streamed
from serving.guard import principal
from serving.routes.common import IN_EVENTS, errors, service_of
from serving.schemas.ask import AskAnswer, AskRequest, DeltaEvent, SourcesEvent
from serving.schemas.search import HitAnswer
from serving.service import Asked

__all__ = ["answered", "ask", "router"]

_log = logging.getLogger(__name__)

router = APIRouter(tags=["questions"])


@router.post(
    "/v1/ask",
    response_model=AskAnswer,
    responses={**IN_EVENTS, **errors(400, 404, 502, 503)},
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
    if body.stream or EVENTS in request.headers.get("accept", ""):
        return streamed(_events(asked, first, request))
    return await asked.finished(await asked.reply(first))


async def _events(asked: Asked, first: Event | None, request: Request) -> AsyncIterator[str]:
    event = first
    try:
        while event is not None:
            if isinstance(event, Sources):
                yield _event("sources", SourcesEvent(hits=[HitAnswer.of_hit(hit) for hit in event.hits]))
            elif isinstance(event, Delta):
                yield _event("delta", DeltaEvent(text=event.text))
            else:
                yield _event("answer", await asked.finished(event.reply))
            event = await asked.next()
    except Exception as error:  # the status is sent already: the error becomes the last event
        _log.exception("%s: the stream broke off", request.state.request_id)
        yield last_event(request, error)
    finally:
        await asked.abandon()


def _event(name: str, body: BaseModel) -> str:
    return framed(body.model_dump_json(), name)
