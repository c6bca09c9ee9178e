"""Chat completions as OpenAI's clients ask for them and read them; what else they send is tolerated."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rag_platform.answering.reply import ReplyMode
from rag_platform.errors import CallerError
from serving.schemas.ask import CitationAnswer, UnsupportedAnswer
from serving.schemas.search import Name

__all__ = [
    "ChatAnswer",
    "ChatChoice",
    "ChatChunk",
    "ChatDelta",
    "ChatMessage",
    "ChatRequest",
    "ChunkChoice",
    "FromDocuments",
    "MessageBody",
    "StreamOptions",
    "TokenUsage",
]

MAX_MESSAGES = 1_000


class _Tolerant(BaseModel):
    """A body of which only what stands here is read."""

    model_config = ConfigDict(extra="ignore")


class MessageBody(_Tolerant):
    """A message; of its role only ``user`` and ``assistant`` are read."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = Field(None, description="text, or parts of type text")

    def text(self) -> str:
        """Return what is said.

        Raises:
            CallerError: A part is no text.
        """
        if not isinstance(self.content, list):
            return self.content or ""
        for part in self.content:
            if part.get("type") not in ("text", "input_text") or not isinstance(part.get("text"), str):
                raise CallerError(
                    f"a part of the type {str(part.get('type'))!r} cannot be read here, only text; hand"
                    " pictures and files over as documents: POST /v1/documents"
                )
        return "\n".join(part["text"] for part in self.content)


class StreamOptions(_Tolerant):
    """What a stream tells beside the answer."""

    include_usage: bool | None = Field(None, description="the last chunk says what the language model took")


class ChatRequest(_Tolerant):
    """A conversation whose last message is the question."""

    messages: Annotated[list[MessageBody], Field(min_length=1, max_length=MAX_MESSAGES)]
    model: str = Field(max_length=400, description="rag, rag/COLLECTION, rag:GENERATOR, see /v1/models")
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    n: int | None = Field(None, description="1: there is one answer")
    tools: list[Any] | None = Field(None, description="refused: the service calls its own tools alone")
    functions: list[Any] | None = Field(None, description="refused, as tools")
    tool_choice: Any = Field(None, description="none: tools are there and not to be used")
    response_format: dict[str, Any] | None = Field(None, description="of type text")
    k: Annotated[int, Field(ge=1, le=1000)] | None = Field(None, description="passages, as in /v1/ask")
    filters: Annotated[list[Annotated[str, Field(max_length=1000)]], Field(max_length=100)] = Field(
        [], description="what passages must be like, as in /v1/ask"
    )
    documents: Annotated[list[Name], Field(min_length=1, max_length=100)] | None = Field(
        None, description="only these documents, as in /v1/ask"
    )
    strict: bool = Field(False, description="leave out what the documents do not support")

    def check(self) -> None:
        """Refuse what would silently not be done.

        Raises:
            CallerError: It is asked for.
        """
        if self.n not in (None, 1):
            raise CallerError(f"n is {self.n}; there is one answer to a question: leave n out")
        if (self.tools or self.functions) and self.tool_choice != "none":
            raise CallerError(
                "tools of the caller are not called here: the service searches by itself; leave tools and"
                " functions out"
            )
        kind = (self.response_format or {}).get("type", "text")
        if kind != "text":
            raise CallerError(f"response_format is {str(kind)!r}; answers are text: leave it out")


class TokenUsage(BaseModel):
    """What the language model took; 0 where none was asked."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class FromDocuments(BaseModel):
    """What clients of OpenAI do not know, and ``/v1/ask`` tells."""

    refused: bool = Field(description="the documents do not answer, and the answer says so")
    standalone: str = Field(description="what was searched: a follow-up with its topic")
    searched: list[str] = Field(description="all that was searched, as in /v1/ask")
    mode: ReplyMode
    generator: str
    embedding_model: str
    generations: dict[str, int]
    unsupported: list[UnsupportedAnswer]
    notes: list[str]


class ChatMessage(BaseModel):
    """The answer, with its sources below it."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class ChatChoice(BaseModel):
    """The one answer."""

    index: Literal[0] = 0
    message: ChatMessage
    logprobs: None = None
    finish_reason: Literal["stop"] = "stop"


class ChatAnswer(BaseModel):
    """A whole answer."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[ChatChoice]
    usage: TokenUsage
    citations: list[CitationAnswer]
    rag: FromDocuments


class ChatDelta(BaseModel):
    """What a chunk adds."""

    role: Literal["assistant"] | None = None
    content: str | None = None


class ChunkChoice(BaseModel):
    """The next words of the one answer."""

    index: Literal[0] = 0
    delta: ChatDelta
    logprobs: None = None
    finish_reason: Literal["stop"] | None = None


class ChatChunk(BaseModel):
    """A part of a streamed answer; ``citations`` and ``rag`` come with the one that ends it."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: TokenUsage | None = None
    citations: list[CitationAnswer] | None = None
    rag: FromDocuments | None = None
