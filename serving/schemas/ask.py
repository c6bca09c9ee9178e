"""How a question is asked and answered, whole or in pieces, and conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

from rag_platform.answering.conversation import Turn
from rag_platform.answering.conversations import Kept
from rag_platform.answering.reply import Reply, ReplyMode
from serving.schemas.search import HitAnswer, Name, Question, Request, SearchedBody

__all__ = [
    "AskAnswer",
    "AskRequest",
    "CitationAnswer",
    "ConversationAnswer",
    "ConversationsAnswer",
    "DeltaEvent",
    "SourcesEvent",
    "TurnBody",
    "UnsupportedAnswer",
    "UsageAnswer",
]

MAX_TURN_CHARACTERS = 24_000
MAX_TURNS = 200
"""Of a history as it is sent; what of it is read is less, see ``answering.conversation``."""


class TurnBody(Request):
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    content: Annotated[str, Field(max_length=MAX_TURN_CHARACTERS)]


class AskRequest(SearchedBody):
    """A question to the documents; beside how it is searched, how it is answered."""

    question: Question
    model: str | None = Field(
        None,
        max_length=200,
        description="who answers: extractive, prompt, or an allowed model",
    )
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    history: Annotated[list[TurnBody], Field(max_length=MAX_TURNS)] | None = Field(
        None, description="what was said before, without the question; the caller keeps it"
    )
    conversation_id: Name | None = Field(
        None, description="of an earlier answer; the service keeps what was said"
    )
    tools: bool | None = Field(None, description="whether the model may search by itself")
    expand: Annotated[int, Field(ge=0, le=4)] | None = Field(
        None, description="other wordings of the question that the model writes and that are searched, too"
    )
    strict: bool = Field(False, description="leave out what the documents do not support")
    stream: bool = Field(False, description="answer in server-sent events")

    @model_validator(mode="after")
    def _one_memory(self) -> Self:
        if self.history is not None and self.conversation_id is not None:
            raise ValueError("history and conversation_id are both given; give one of them")
        return self

    @property
    def turns(self) -> list[Turn]:
        """What was said before, as the request has it."""
        return [Turn(turn.role, turn.content) for turn in self.history or ()]


class CitationAnswer(BaseModel):
    """Where a sentence of the answer stands; ``quote`` is the stored text from ``start`` to ``end``."""

    marker: int
    document_id: str
    chunk_id: str
    source: str
    page: int
    start: int
    end: int
    quote: str
    verified: bool


class UsageAnswer(BaseModel):
    """What the language model took; ``cost`` in US dollars, 0 where the price is not known."""

    prompt_tokens: int
    completion_tokens: int
    cost: float


class UnsupportedAnswer(BaseModel):
    """A sentence that what it cites does not support, and why."""

    text: str
    reason: str


class AskAnswer(BaseModel):
    """The answer and what it rests on."""

    question: str
    standalone: str = Field(description="what was searched: a follow-up with its topic")
    searched: list[str] = Field(
        description="all that was searched: the question, its other wordings, a model's own queries"
    )
    answer: str
    citations: list[CitationAnswer]
    hits: list[HitAnswer]
    refused: bool = Field(description="the documents do not answer, and the answer says so")
    mode: ReplyMode
    generator: str
    embedding_model: str
    generation: int | None = Field(description="of the first collection; null where nothing was searched")
    generations: dict[str, int]
    conversation_id: str | None = Field(description="null where the caller keeps the history")
    usage: UsageAnswer
    unsupported: list[UnsupportedAnswer]
    filters: list[str] = Field(description="how each filter was understood")
    notes: list[str]

    @classmethod
    def of(cls, reply: Reply, understood: Sequence[str], conversation_id: str | None) -> Self:
        """Return the JSON form of a reply."""
        usage = reply.usage
        return cls(
            question=reply.question,
            standalone=reply.standalone,
            searched=list(reply.searched),
            answer=reply.answer,
            citations=[CitationAnswer(**asdict(one)) for one in reply.citations],
            hits=[HitAnswer.of_hit(hit) for hit in reply.hits],
            refused=reply.refused,
            mode=reply.mode,
            generator=reply.generator,
            embedding_model=reply.model,
            generation=next(iter(reply.generations.values()), None),
            generations=dict(reply.generations),
            conversation_id=conversation_id,
            usage=UsageAnswer(
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                cost=usage.cost,
            ),
            unsupported=[UnsupportedAnswer(text=one.text, reason=one.reason) for one in reply.unsupported],
            filters=list(understood),
            notes=list(reply.notes),
        )


class SourcesEvent(BaseModel):
    """The first event of a stream: what was found."""

    hits: list[HitAnswer]


class DeltaEvent(BaseModel):
    """The next words of the answer, checked."""

    text: str


class ConversationAnswer(BaseModel):
    """A kept conversation; ``turns`` where it is asked for alone."""

    conversation_id: str
    title: str
    n_questions: int
    updated_at: datetime
    turns: list[TurnBody] | None = None

    @classmethod
    def of(cls, kept: Kept, turns: Sequence[Turn] | None = None) -> Self:
        """Return the JSON form of a conversation."""
        said = None if turns is None else [TurnBody(role=one.role, content=one.content) for one in turns]
        return cls(
            conversation_id=kept.conversation_id,
            title=kept.title,
            n_questions=kept.n_questions,
            updated_at=datetime.fromtimestamp(kept.updated_at, UTC),
            turns=said,
        )


class ConversationsAnswer(BaseModel):
    """The kept conversations, the one asked last first."""

    conversations: list[ConversationAnswer]
    next_cursor: str | None = Field(None, description="of the next part; null: that was all")
