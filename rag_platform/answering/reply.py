"""What an answered question comes back as: the reply, and the events of one that is streamed. Nouns only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rag_platform.answering.citations import Citation, Unsupported
from rag_platform.types import Hit, Usage

__all__ = ["Delta", "Done", "Event", "Reply", "ReplyMode", "Sources"]

ReplyMode = Literal["extractive", "retrieve", "tools", "prompt"]


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said to a question, and what it rests on.

    Attributes:
        question: As it was asked.
        standalone: What was searched: the question, with its topic where it was a follow-up.
        answer: Checked, with marks ``[n]`` for ``hits[n - 1]``; the exact prompt in mode ``prompt``.
        citations: Where each cited sentence stands.
        hits: What was found.
        refused: The documents do not answer, and the answer says so.
        mode: ``extractive`` (sentences of the hits), ``retrieve`` (a model read them), ``tools`` (a model
            searched itself), ``prompt`` (nothing was asked).
        generations: The generation that was searched of each collection; empty where nothing was.
        model: The embedding model.
        generator: Who answered.
        unsupported: Sentences that what they cite does not support.
        notes: What a reader should know about how it was made.
        searched: All that was searched: the question, its other wordings, a model's own queries.
    """

    question: str
    standalone: str
    answer: str
    citations: tuple[Citation, ...]
    hits: tuple[Hit, ...]
    refused: bool
    mode: ReplyMode
    generations: Mapping[str, int]
    model: str
    generator: str
    usage: Usage = field(default_factory=Usage)
    unsupported: tuple[Unsupported, ...] = ()
    notes: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sources:
    """What was found, before anything is said."""

    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Delta:
    """The next words of the answer, checked; all of them together are ``Reply.answer``."""

    text: str


@dataclass(frozen=True, slots=True)
class Done:
    """The whole reply."""

    reply: Reply


Event = Sources | Delta | Done
