"""``/v1/conversations``: kept conversations of whoever asks, listed, read and forgotten."""

from __future__ import annotations

import time

from fastapi import APIRouter, HTTPException, Request

from rag_platform.answering.conversations import Kept
from rag_platform.keys import Principal
from serving.binding import is_local
from serving.guard import principal
from serving.paging import Cursor, Limit, Part, cut
from serving.routes.common import aside, errors, service_of
from serving.schemas.ask import ConversationAnswer, ConversationsAnswer

__all__ = ["conversation", "conversations", "forget", "router"]

router = APIRouter(tags=["questions"])


@router.get("/v1/conversations", responses=errors(400))
async def conversations(request: Request, limit: Limit = None, cursor: Cursor = None) -> ConversationsAnswer:
    """List the caller's conversations, the one asked last first, as they stood when the list was begun."""
    service, caller = service_of(request), _told_who(request)
    part = Part(limit, cursor, "conversations", caller.name, key=(float, float, str))
    seen_at, *place = part.after or (time.time(),)
    after = (place[0], place[1]) if place else None

    def listed() -> list[Kept]:
        return service.conversations.page(owner=caller.name, seen_at=seen_at, after=after, limit=part.asked)

    found = await aside(listed)
    shown, following = cut(found, part, lambda one: (seen_at, one.updated_at, one.conversation_id))
    return ConversationsAnswer(
        conversations=[ConversationAnswer.of(one) for one in shown], next_cursor=following
    )


@router.get("/v1/conversations/{conversation_id}", responses=errors(400, 404))
async def conversation(conversation_id: str, request: Request) -> ConversationAnswer:
    """Return a conversation of the caller's with what was said."""
    kept, owner = service_of(request).conversations, principal(request).name

    def read() -> ConversationAnswer:
        turns = kept.turns(conversation_id, owner=owner)
        return ConversationAnswer.of(kept.get(conversation_id, owner=owner), turns)

    return await aside(read)


@router.delete("/v1/conversations/{conversation_id}", status_code=204, responses=errors(404))
async def forget(conversation_id: str, request: Request) -> None:
    """Forget a conversation of the caller's."""
    kept, owner = service_of(request).conversations, principal(request).name
    await aside(lambda: kept.delete(conversation_id, owner=owner))


def _told_who(request: Request) -> Principal:
    """Return who asks, where that can be told.

    Raises:
        HTTPException: The service asks for no keys and others reach it: all would see those of all.
    """
    caller = principal(request)
    if not (caller.name or is_local(service_of(request).system.settings.host)):
        raise HTTPException(403, "without keys conversations are listed only where nobody else can ask")
    return caller
