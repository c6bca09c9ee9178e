"""What the tools of the MCP server answer: small, typed, enough to cite. Shapes only, no behaviour."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, Field

from rag_platform.types import Chunk, Hit, Kind, Mode, Status

__all__ = [
    "AnswerGiven",
    "CitationGiven",
    "CollectionListed",
    "CollectionsListed",
    "DocumentListed",
    "DocumentText",
    "DocumentsListed",
    "Ingestion",
    "ModelListed",
    "ModelsListed",
    "PageText",
    "PassageFound",
    "PassagesFound",
    "Turn",
]


class Turn(BaseModel):
    """One message of the conversation so far."""

    role: Literal["user", "assistant"]
    content: str = Field(max_length=24_000)


class PassageFound(BaseModel):
    """A passage of a document, exactly as it is stored."""

    rank: int
    score: float
    text: str
    source: str = Field(description="path of the document in its collection")
    page_first: int
    page_last: int
    collection: str
    document_id: str = Field(description="for get_document")
    chunk_id: str
    kind: Kind
    path: str = Field(description="headings above the passage, joined by ' > '")
    around: list[str] = Field(description="passages before and after it, where they were asked for")

    @classmethod
    def of(cls, hit: Hit) -> Self:
        """Return a hit as agents read it."""
        chunk: Chunk = hit.chunk
        return cls(
            rank=hit.rank,
            score=hit.score,
            text=chunk.indexed_text,
            source=chunk.source,
            page_first=chunk.page_first,
            page_last=chunk.page_last,
            collection=chunk.collection,
            document_id=chunk.document_id,
            chunk_id=chunk.chunk_id,
            kind=chunk.kind,
            path=chunk.path,
            around=[one.text for one in hit.context],
        )


class PassagesFound(BaseModel):
    """The passages that answer a question best, best first."""

    query: str
    passages: list[PassageFound]
    mode: Mode
    embedding_model: str
    generations: dict[str, int] = Field(description="the generation that was searched of each collection")
    filters: list[str] = Field(description="how each filter was understood")
    notes: list[str] = Field(description="what was done otherwise than asked, and why")


class CitationGiven(BaseModel):
    """What a mark [n] of an answer points to; the quote is the stored text, never a model's copy."""

    marker: int
    source: str
    page: int
    document_id: str
    chunk_id: str
    start: int
    end: int
    quote: str
    verified: bool = Field(description="code found what the sentence says in what it cites")


class AnswerGiven(BaseModel):
    """An answer from the documents with its citations, or a refusal."""

    answer: str
    refused: bool = Field(description="the documents do not answer; `answer` says so")
    citations: list[CitationGiven]
    searched: str = Field(description="the stand-alone question that was searched")
    sources: list[PassageFound] = Field(description="what was found; the mark [n] is for the n-th")
    unsupported: list[str] = Field(description="sentences that what they cite does not support")
    mode: str = Field(description="extractive, retrieve or tools: how the answer was made")
    generator: str
    embedding_model: str
    generations: dict[str, int]
    notes: list[str]


class PageText(BaseModel):
    """One page, slide, chapter or section as it was read."""

    page: int
    label: str
    text: str
    origin: str = Field(description="text_layer, font_map, legacy_font, ocr or markup")
    suspect: bool = Field(description="the text is probably wrong")


class DocumentListed(BaseModel):
    """A document and its state."""

    document_id: str
    collection: str
    source: str
    status: Status
    format: str
    pages: int
    passages: int
    error: str | None = Field(description="why it could not be read")


class DocumentText(DocumentListed):
    """The text of a document, as many pages as fit."""

    text: list[PageText]
    next_page: int | None = Field(description="first_page of the next call; null: that was all")


class DocumentsListed(BaseModel):
    """Documents by collection and source."""

    documents: list[DocumentListed]
    total: int
    next_offset: int | None = Field(description="offset of the next call; null: that was all")


class CollectionListed(BaseModel):
    """A named corpus."""

    name: str
    default: bool
    documents: int
    generations: dict[str, int] = Field(description="published generation of each embedding model")


class CollectionsListed(BaseModel):
    """Every collection, published or not."""

    collections: list[CollectionListed]


class ModelListed(BaseModel):
    """A model and what it is for."""

    name: str
    role: Literal["embedding", "reranker", "generator"]
    active: bool
    loadable: bool
    remedy: str | None = Field(description="what to do where it cannot be loaded")


class ModelsListed(BaseModel):
    """The models of this service."""

    models: list[ModelListed]


class Ingestion(BaseModel):
    """What became of one file, under the names of the command line's ingest."""

    collection_name: str
    filename: str
    document_id: str
    status: Status
    pages_extracted: int
    chunks_created: int
    chunks_indexed: int
    generation: int
    error: str | None
