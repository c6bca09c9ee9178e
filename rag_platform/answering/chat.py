"""What a conversation with a language model consists of, and the protocol of who holds one.

Nouns only: providers stand in ``providers``, what is asked in ``prompts`` and ``tools``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from rag_platform.types import Answer, Passage, Usage

__all__ = ["Chat", "Message", "Said", "ToolCall"]

Message = Mapping[str, Any]
"""As OpenAI has it: role, content, and the calls of tools."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that a model wants called; ``arguments`` is JSON as the model wrote it, maybe malformed."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Said:
    """What a model said in one turn; ``cut_off``: it had more to say than it was allowed."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cut_off: bool = False


@runtime_checkable
class Chat(Protocol):
    """A generator that also holds conversations, piece by piece, with tools."""

    @property
    def name(self) -> str:
        """As of a generator."""
        ...

    @property
    def recipe(self) -> str:
        """As of a generator."""
        ...

    @property
    def has_tools(self) -> bool:
        """Whether tools can be offered to it."""
        ...

    def answer(self, question: str, passages: Sequence[Passage]) -> Answer:
        """As of a generator."""
        ...

    def stream(self, messages: Sequence[Message], *, tools: Sequence[Message] = ()) -> Iterator[str | Said]:
        """Yield the pieces of what the model says, then all of it."""
        ...
