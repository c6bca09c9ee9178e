"""How a search is asked for and answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator

from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.search import SearchResult
from rag_platform.types import Around, Chunk, Condition, Fusion, Hit, Kind, Mode
from serving.schemas.state import ErrorAnswer

__all__ = [
    "NOT_BLANK",
    "BatchAnswer",
    "BatchItemAnswer",
    "BatchRequest",
    "HitAnswer",
    "Name",
    "PassageAnswer",
    "Question",
    "Request",
    "SearchAnswer",
    "SearchRequest",
    "SearchedBody",
]

MAX_SEARCHES = 64
"""Of one batch."""
MAX_QUERY_CHARACTERS = 4_000
"""Far beyond any question; the encoders read 512 to 8,192 tokens."""

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("the query is blank")
    return text


NOT_BLANK: dict[str, JsonValue] = {"minLength": 1, "pattern": r"\S"}
"""How the document says it."""
Question = Annotated[
    str, Field(max_length=MAX_QUERY_CHARACTERS, json_schema_extra=NOT_BLANK), AfterValidator(_not_blank)
]
Name = Annotated[str, Field(max_length=4_000)]
"""Of something: longer than any path. Only a text with a limit is checked for halves of characters."""


class Request(BaseModel):
    """A body that holds nothing unknown."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SearchedBody(Request):
    """Where and how is searched; what is left open is as in the settings."""

    k: Annotated[int, Field(ge=1, le=1000)] | None = None
    candidates: Annotated[int, Field(ge=1, le=1000)] | None = None
    mode: Mode | None = None
    fusion: Fusion | None = None
    weights: Annotated[list[Weight], Field(min_length=2, max_length=2)] | None = Field(
        None, description="weights of the dense and the lexical part"
    )
    kinds: Annotated[list[Kind], Field(min_length=1)] | None = Field(
        None, description="kinds of passages that are searched; all unless given"
    )
    filters: Annotated[list[Annotated[str, Field(max_length=1000)]], Field(max_length=100)] = Field(
        [], description="what passages must be like, as year=2081, published>=2080-04-01, ministry=शिक्षा"
    )
    collection: Name | None = None
    collections: Annotated[list[Name], Field(min_length=1, max_length=100)] | None = Field(
        None, description="several collections, searched together; instead of collection"
    )
    documents: Annotated[list[Name], Field(min_length=1, max_length=100)] | None = Field(
        None, description="only these documents, by id or source"
    )
    embedding_model: Name | None = None
    reranker: Name | None = Field(None, description="none, or the one that the service is set to")
    threshold: Annotated[float, Field(allow_inf_nan=False)] | None = None
    per_document: Annotated[int, Field(ge=0, le=1000)] = 0
    per_page: Annotated[int, Field(ge=0, le=1000)] = 0
    distinct: bool = Field(False, description="passages with nearly the same words are one hit")
    neighbours: Annotated[int, Field(ge=0, le=20)] = Field(0, description="passages before and after a hit")
    around: Around = Field("nothing", description="what else comes with a hit: all of its page or section")
    keywords: Annotated[int, Field(ge=0, le=50)] = Field(0, description="telling words of each hit")
    wordings: Annotated[list[Annotated[str, Field(max_length=MAX_QUERY_CHARACTERS)]], Field(max_length=8)] = (
        Field([], description="the question in other words, which are searched, too")
    )

    @model_validator(mode="after")
    def _weights_count(self) -> Self:
        if self.weights is not None and not any(self.weights):
            raise ValueError("weights are both 0: nothing would be searched")
        if self.collection is not None and self.collections is not None:
            raise ValueError("collection and collections are both given; give one of them")
        return self

    def options(self, defaults: SearchOptions, where: Sequence[Condition]) -> SearchOptions:
        """Return how it is searched: what the request leaves open is as in ``defaults``."""
        open_ones = ("k", "candidates", "mode", "fusion", "reranker")
        given: dict[str, Any] = {
            name: value for name in open_ones if (value := getattr(self, name)) is not None
        }
        if self.weights is not None:
            given["weights"] = tuple(self.weights)
        return replace(
            defaults,
            **given,
            kinds=self.kinds,
            where=where,
            threshold=self.threshold,
            per_document=self.per_document,
            per_page=self.per_page,
            distinct=self.distinct,
            neighbours=self.neighbours,
            around=self.around,
            keywords=self.keywords,
            wordings=self.wordings,
        )


class SearchRequest(SearchedBody):
    """A question to the published collections."""

    query: Question
    explain: bool = Field(False, description="say why these passages were found")


class PassageAnswer(BaseModel):
    """A passage as it is stored."""

    text: str
    source: str
    page_first: int
    page_last: int
    start: int
    end: int
    document_id: str
    chunk_id: str
    collection: str
    content_sha256: str
    ordinal: int
    token_count: int
    overlap: int
    language: str
    kind: Kind
    path: str
    header: str
    fields: dict[str, list[str | int]]

    @classmethod
    def of(cls, chunk: Chunk) -> PassageAnswer:
        """Return the JSON form of a passage."""
        return PassageAnswer(**{name: getattr(chunk, name) for name in PassageAnswer.model_fields})


class HitAnswer(PassageAnswer):
    """One passage found, with passages that came along with it."""

    rank: int
    score: float
    scores: dict[str, float]
    context: list[PassageAnswer]
    duplicates: list[PassageAnswer]
    keywords: list[str]

    @classmethod
    def of_hit(cls, hit: Hit) -> HitAnswer:
        """Return the JSON form of a hit."""
        return cls(
            **{name: getattr(hit.chunk, name) for name in PassageAnswer.model_fields},
            rank=hit.rank,
            score=hit.score,
            scores=dict(hit.scores),
            context=[PassageAnswer.of(one) for one in hit.context],
            duplicates=[PassageAnswer.of(one) for one in hit.duplicates],
            keywords=list(hit.keywords),
        )


class SearchAnswer(BaseModel):
    """Hits with what they were searched in."""

    query: str
    hits: list[HitAnswer]
    collection: str
    embedding_model: str
    generation: int
    generations: dict[str, int] = Field(description="the generation that was searched of each collection")
    mode: Mode
    filters: list[str] = Field(description="how each filter was understood")
    notes: list[str] = Field(description="what was done otherwise than asked, and why")
    explanation: dict[str, Any] | None = None

    @classmethod
    def of(cls, result: SearchResult, understood: Sequence[str], *, explain: bool) -> Self:
        """Return the JSON form of a search; ``understood`` says what its filters were taken for."""
        return cls(
            query=result.query,
            hits=[HitAnswer.of_hit(hit) for hit in result.hits],
            collection=result.collection,
            embedding_model=result.model,
            generation=result.generation,
            mode=result.mode,
            filters=list(understood),
            generations=dict(result.generations),
            notes=list(result.explanation.notes),
            explanation=asdict(result.explanation) if explain else None,
        )


class BatchRequest(Request):
    """Several searches; each is checked for itself."""

    searches: Annotated[
        list[dict[str, Any]],
        Field(
            min_length=1,
            max_length=MAX_SEARCHES,
            description="as the body of /v1/search each",
            json_schema_extra={"items": {"$ref": "#/components/schemas/SearchRequest"}},
        ),
    ]


class BatchItemAnswer(BaseModel):
    """What became of one search: its answer, or its error, with the status that it would have had alone."""

    status: int
    answer: SearchAnswer | None
    error: ErrorAnswer | None


class BatchAnswer(BaseModel):
    """The results, in the order of the searches."""

    results: list[BatchItemAnswer]
