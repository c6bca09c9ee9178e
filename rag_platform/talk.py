"""A conversation with the documents, in this process or over HTTP: who asks remembers what was said.

How a follow-up is understood stands in ``answering.conversation``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rag_platform.answering.conversation import Turn
    from rag_platform.answering.reply import Reply

__all__ = ["Asks", "AsksLater", "AsyncConversation", "Conversation", "Names"]

Names = str | Sequence[str] | None
"""One collection, several, or the default one."""


class Asks(Protocol):
    """Who answers questions, as ``RagPlatform`` and ``RagClient`` do."""

    def ask(
        self,
        question: str,
        *,
        collection: Names,
        generator: str | None,
        history: Sequence[Turn],
        strict: bool,
    ) -> Reply:
        """Answer a question from the documents."""
        ...


class AsksLater(Protocol):
    """Who answers questions for asyncio."""

    def ask(
        self,
        question: str,
        *,
        collection: Names,
        generator: str | None,
        history: Sequence[Turn],
        strict: bool,
    ) -> Awaitable[Reply]:
        """Answer a question from the documents."""
        ...


class Conversation:
    """A conversation with the documents; ``history`` is what was said, and can be carried on elsewhere."""

    def __init__(self, platform: Asks, collection: Names, generator: str | None) -> None:
        self._platform, self._collection, self._generator = platform, collection, generator
        self.history: list[Turn] = []

    def ask(self, question: str, *, strict: bool = False) -> Reply:
        """Answer the next question; one that fails leaves the history as it was."""
        reply = self._platform.ask(
            question,
            collection=self._collection,
            generator=self._generator,
            history=self.history,
            strict=strict,
        )
        self.history += _said(question, reply)
        return reply


class AsyncConversation:
    """``Conversation`` for asyncio."""

    def __init__(self, platform: AsksLater, collection: Names, generator: str | None) -> None:
        self._platform, self._collection, self._generator = platform, collection, generator
        self.history: list[Turn] = []

    async def ask(self, question: str, *, strict: bool = False) -> Reply:
        """Answer the next question; one that fails leaves the history as it was."""
        reply = await self._platform.ask(
            question,
            collection=self._collection,
            generator=self._generator,
            history=list(self.history),
            strict=strict,
        )
        self.history += _said(question, reply)
        return reply


def _said(question: str, reply: Reply) -> list[Turn]:
    from rag_platform.answering.conversation import Turn

    return [Turn("user", question), Turn("assistant", reply.answer)]
