"""``/v1/chat/completions``: the answers of ``/v1/ask`` as OpenAI's clients and chat front ends know them.

The caller keeps the conversation; its last message is the question. Errors have OpenAI's form, our codes.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from pydantic import ValidationError

from rag_platform.answering.conversation import Turn, checked
from rag_platform.answering.reply import Delta, Done, Event
from rag_platform.errors import CallerError
from serving.chat_models import named
from serving.errors import CHAT_PATH, last_event
from serving.events import framed, streamed
from serving.footnotes import footnotes, without_footnotes
from serving.guard import principal
from serving.routes.common import IN_EVENTS, errors, service_of
from serving.schemas.ask import AskAnswer, AskRequest
from serving.schemas.chat import (
    ChatAnswer,
    ChatChoice,
    ChatChunk,
    ChatDelta,
    ChatMessage,
    ChatRequest,
    ChunkChoice,
    FromDocuments,
    TokenUsage,
)
from serving.service import Asked

__all__ = ["chat_completions", "router"]

_log = logging.getLogger(__name__)

router = APIRouter(tags=["questions"])


@router.post(
    CHAT_PATH,
    response_model=ChatAnswer,
    responses={**IN_EVENTS, **errors(400, 404, 502, chat=True)},
)
async def chat_completions(body: ChatRequest, request: Request) -> StreamingResponse | ChatAnswer:
    """Answer the last message of a conversation from the documents, as OpenAI's chat completions do.

    Below the answer stand its sources; `citations` has them for programs. `extra_body` may hold `k`,
    `filters`, `documents` and `strict`. What else a client sends is tolerated and changes nothing.
    """
    service = service_of(request)
    wanted = _question(body)
    asked = await service.off_loop(lambda: service.begin(wanted, principal(request)))
    first = await asked.next()
    told = _Told(request.state.request_id, int(time.time()), body)
    if body.stream:
        return streamed(_events(asked, first, request, told))
    reply = await asked.reply(first)
    return told.whole(await asked.finished(reply), reply.answer + footnotes(reply))


async def _events(asked: Asked, first: Event | None, request: Request, told: _Told) -> AsyncIterator[str]:
    event = first
    try:
        yield told.chunk(ChatDelta(role="assistant", content=""))
        while event is not None:
            if isinstance(event, Delta):
                yield told.chunk(ChatDelta(content=event.text))
            elif isinstance(event, Done):
                answer = await asked.finished(event.reply)
                if sources := footnotes(event.reply):
                    yield told.chunk(ChatDelta(content=sources))
                yield told.end(answer)
                if told.with_usage:
                    yield told.usage(answer)
            event = await asked.next()
        yield framed("[DONE]")
    except Exception as error:  # the status is sent already: the error becomes the last event
        _log.exception("%s: the stream broke off", request.state.request_id)
        yield last_event(request, error)
    finally:
        await asked.abandon()


class _Told:
    """What all parts of one answer say alike."""

    def __init__(self, request_id: str, created: int, body: ChatRequest) -> None:
        self._head: dict[str, Any] = {"id": f"chatcmpl-{request_id}", "created": created, "model": body.model}
        self.with_usage = bool(body.stream_options and body.stream_options.include_usage)

    def whole(self, answer: AskAnswer, text: str) -> ChatAnswer:
        """Return an answer that is not streamed."""
        return ChatAnswer(
            **self._head,
            choices=[ChatChoice(message=ChatMessage(content=text))],
            usage=_usage(answer),
            citations=answer.citations,
            rag=_beside(answer),
        )

    def chunk(self, delta: ChatDelta) -> str:
        """Return the event of some words."""
        return _chunk(ChatChunk(**self._head, choices=[ChunkChoice(delta=delta)]))

    def end(self, answer: AskAnswer) -> str:
        """Return the event that ends the answer."""
        last = ChunkChoice(delta=ChatDelta(), finish_reason="stop")
        return _chunk(
            ChatChunk(**self._head, choices=[last], citations=answer.citations, rag=_beside(answer))
        )

    def usage(self, answer: AskAnswer) -> str:
        """Return the event after it, where it is wanted."""
        return _chunk(ChatChunk(**self._head, choices=[], usage=_usage(answer)))


def _question(body: ChatRequest) -> AskRequest:
    """Return what is asked of the documents.

    Raises:
        CallerError: Something is asked for that cannot be had.
        RequestValidationError: The question is blank or too long.
    """
    body.check()
    collection, generator = named(body.model)
    turns = [
        (one.role, one.text())
        for one in body.messages
        if one.role in ("user", "assistant", "tool", "function")
    ]
    if not turns or turns[-1][0] != "user":
        raise CallerError("the last message is not the user's; end the messages with a question")
    before = [
        Turn(role, without_footnotes(text) if role == "assistant" else text)
        for role, text in turns[:-1]
        if role in ("user", "assistant")
    ]
    try:
        return AskRequest.model_validate(
            {
                "question": turns[-1][1],
                "history": [{"role": turn.role, "content": turn.content} for turn in checked(before)],
                "model": generator,
                "collection": collection,
                "temperature": body.temperature,
                "k": body.k,
                "filters": body.filters,
                "documents": body.documents,
                "strict": body.strict,
            }
        )
    except ValidationError as error:
        faults = [{**fault, "loc": ("body", "messages", -1, *fault["loc"])} for fault in error.errors()]
        raise RequestValidationError(faults) from error


def _usage(answer: AskAnswer) -> TokenUsage:
    took = answer.usage
    return TokenUsage(
        prompt_tokens=took.prompt_tokens,
        completion_tokens=took.completion_tokens,
        total_tokens=took.prompt_tokens + took.completion_tokens,
    )


def _beside(answer: AskAnswer) -> FromDocuments:
    return FromDocuments(**{name: getattr(answer, name) for name in FromDocuments.model_fields})


def _chunk(chunk: ChatChunk) -> str:
    """Return a chunk without the fields that it does not tell."""
    written = chunk.model_dump(exclude=None if chunk.rag else {"citations", "rag"})
    for choice in written["choices"]:
        choice["delta"] = {name: value for name, value in choice["delta"].items() if value is not None}
    return framed(json.dumps(written, ensure_ascii=False))
