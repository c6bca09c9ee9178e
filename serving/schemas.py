"""Bodies of requests and answers. Strict: an unknown field or a wrong type is refused, never guessed.

No behaviour here beyond validation and the way from the library's values to JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from rag_platform.retrieval.search import SearchResult
from rag_platform.types import Hit, Kind, Mode

__all__ = [
    "CollectionAnswer",
    "CollectionsAnswer",
    "ErrorAnswer",
    "GenerationAnswer",
    "HealthAnswer",
    "HitAnswer",
    "NotReadyAnswer",
    "ReadyAnswer",
    "SearchAnswer",
    "SearchRequest",
]

MAX_QUERY_CHARACTERS = 4_000
"""Far beyond any question; the encoders read 512 to 8,192 tokens."""

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("the query is blank")
    return text


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class SearchRequest(_Request):
    """A question to the published collection; everything but ``query`` has the settings' default."""

    query: Annotated[str, Field(max_length=MAX_QUERY_CHARACTERS), AfterValidator(_not_blank)]
    k: Annotated[int, Field(ge=1, le=1000)] | None = None
    candidates: Annotated[int, Field(ge=1, le=1000)] | None = None
    mode: Mode | None = None
    weights: Annotated[list[Weight], Field(min_length=2, max_length=2)] | None = Field(
        None, description="weights of the dense and the lexical part"
    )
    kinds: Annotated[list[Kind], Field(min_length=1)] | None = Field(
        None, description="kinds of passages that are searched; all unless given"
    )
    filters: Annotated[list[Annotated[str, Field(max_length=1000)]], Field(max_length=100)] = Field(
        [], description="what passages must be like, as year=2081, published>=2080-04-01, ministry=शिक्षा"
    )
    collection: str | None = None
    embedding_model: str | None = None

    @model_validator(mode="after")
    def _weights_count(self) -> Self:
        if self.weights is not None and not any(self.weights):
            raise ValueError("weights are both 0: nothing would be searched")
        return self


class HitAnswer(BaseModel):
    """One passage found."""

    rank: int
    score: float
    text: str
    source: str
    page_first: int
    page_last: int
    start: int
    end: int
    document_id: str
    chunk_id: str
    language: str
    kind: Kind
    path: str
    header: str
    fields: dict[str, list[str | int]]
    scores: dict[str, float]

    @classmethod
    def of(cls, hit: Hit) -> Self:
        """Return the JSON form of a hit."""
        chunk = hit.chunk
        return cls(
            rank=hit.rank,
            score=hit.score,
            text=chunk.text,
            source=chunk.source,
            page_first=chunk.page_first,
            page_last=chunk.page_last,
            start=chunk.start,
            end=chunk.end,
            document_id=chunk.document_id,
            chunk_id=chunk.chunk_id,
            language=chunk.language,
            kind=chunk.kind,
            path=chunk.path,
            header=chunk.header,
            fields={name: list(values) for name, values in chunk.fields.items()},
            scores=dict(hit.scores),
        )


class SearchAnswer(BaseModel):
    """Hits with what they were searched in."""

    query: str
    hits: list[HitAnswer]
    collection: str
    embedding_model: str
    generation: int
    mode: Mode
    filters: list[str] = Field(description="how each filter was understood")

    @classmethod
    def of(cls, result: SearchResult, understood: Sequence[str]) -> Self:
        """Return the JSON form of a search; ``understood`` says what its filters were taken for."""
        return cls(
            query=result.query,
            hits=[HitAnswer.of(hit) for hit in result.hits],
            collection=result.collection,
            embedding_model=result.model,
            generation=result.generation,
            mode=result.mode,
            filters=list(understood),
        )


class GenerationAnswer(BaseModel):
    """The published generation of one embedding model."""

    embedding_model: str
    generation: int
    points: int
    documents: int
    dim: int
    alias: str


class CollectionAnswer(BaseModel):
    """A named corpus and what of it is published."""

    name: str
    generations: list[GenerationAnswer]


class CollectionsAnswer(BaseModel):
    """Every collection, published or not."""

    collections: list[CollectionAnswer]


class HealthAnswer(BaseModel):
    """The process answers."""

    status: Literal["ok"]
    version: str


class ReadyAnswer(BaseModel):
    """Searches can be answered."""

    status: Literal["ready"]
    collection: str
    embedding_model: str
    generation: int
    points: int


class ErrorAnswer(BaseModel):
    """Every error has this form; ``code`` is stable."""

    detail: str
    code: str


class NotReadyAnswer(ErrorAnswer):
    """What is missing before searches can be answered."""

    missing: list[str]
