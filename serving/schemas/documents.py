"""Documents: how they are handed over, listed and shown, and how their ingestion is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from rag_platform.entries import Entry, StageRecord
from rag_platform.states import Ingested, StoredDocument
from rag_platform.types import Chunk, Failure, Kind, Page, RegionKind, Status
from serving.schemas.search import Request

__all__ = [
    "ChunkAnswer",
    "ChunksAnswer",
    "DocumentAnswer",
    "DocumentsAnswer",
    "FailureAnswer",
    "IngestedAnswer",
    "JobAnswer",
    "PageAnswer",
    "PagesAnswer",
    "RegionAnswer",
    "StageAnswer",
    "StoredAnswer",
    "TextRequest",
    "UploadFields",
]

MAX_TEXT_CHARACTERS = 2_000_000

JobState = Literal["queued", "running", "done", "failed"]
_Word = str | int
Metadata = dict[str, _Word | list[_Word]]


def _metadata(written: object) -> object:
    """Read what a form holds: JSON objects, or ``name=value`` once or several times."""
    parts = written if isinstance(written, list) else [written]
    found: dict[str, Any] = {}
    for part in parts:
        if not isinstance(part, str):
            return written
        name, is_pair, value = part.partition("=")
        if part.lstrip().startswith("{"):
            found |= _object(part)
        elif is_pair:
            found[name.strip()] = value.strip()
        elif part.strip():
            raise ValueError(f'{part!r} is neither name=value nor a JSON object as {{"publisher": "..."}}')
    return found


def _object(written: str) -> dict[str, Any]:
    try:
        return dict(json.loads(written))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _listed(written: object) -> object:
    parts = written if isinstance(written, list) else [written]
    return [one.strip() for part in parts for one in str(part).split(",") if one.strip()]


class UploadFields(BaseModel):
    """The fields of an upload beside its files."""

    model_config = ConfigDict(extra="forbid")

    collection: str | None = Field(None, description="made where it does not exist")
    metadata: Annotated[Metadata, BeforeValidator(_metadata)] = Field(
        {}, description='said of all files: JSON as {"year": 2081}, or name=value, repeatable'
    )
    kinds: Annotated[list[Kind], BeforeValidator(_listed)] = Field(
        [], description="of text, table and image, comma-separated; empty: as the service is set"
    )
    language: str = Field("", description="OCR languages, as nep+eng; empty: chosen per page")
    password: str = Field("", description="tried on locked PDFs; stored nowhere", repr=False)
    force: bool = Field(False, description="do everything again, current or not")
    keep_folders: bool = Field(False, description="keep the folders that file names have, as ऐन/कर.pdf")
    wait: bool = Field(False, description="answer when the documents can be searched")


class TextRequest(Request):
    """A text that is in no file."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARACTERS)]
    name: str = Field("", max_length=1000, description="as of a file; the same again is a new version")
    collection: str | None = None
    metadata: Metadata = Field({}, description="said of it, as publisher, year")
    wait: bool = Field(False, description="answer when the text can be searched")


class FailureAnswer(BaseModel):
    """Why a document failed."""

    stage: str
    code: str
    detail: str
    retryable: bool = Field(description="it may pass later, without a change of the document")

    @classmethod
    def of(cls, failure: Failure) -> Self:
        """Return the JSON form of a failure."""
        return cls(
            stage=failure.stage, code=failure.code, detail=failure.message, retryable=failure.retryable
        )


class IngestedAnswer(BaseModel):
    """What became of one document so far."""

    collection_name: str
    filename: str
    pages_extracted: int
    chunks_created: int
    chunks_indexed: int
    document_id: str
    status: Status
    error: FailureAnswer | None
    generation: int

    @classmethod
    def of(cls, done: Ingested) -> Self:
        """Return the JSON form of an outcome."""
        return cls(
            collection_name=done.collection_name,
            filename=done.filename,
            pages_extracted=done.pages_extracted,
            chunks_created=done.chunks_created,
            chunks_indexed=done.chunks_indexed,
            document_id=done.document_id,
            status=done.status,
            error=FailureAnswer.of(done.failure) if done.failure else None,
            generation=done.generation,
        )


class JobAnswer(BaseModel):
    """A piece of ingestion; ``failed`` is no single document's fault, which stands with the document."""

    job_id: str
    status: JobState
    kind: Literal["ingest", "delete"]
    created_at: datetime
    finished_at: datetime | None
    error: str | None
    documents: list[IngestedAnswer]


class StageAnswer(BaseModel):
    """The last outcome of one stage for a document."""

    fingerprint: str = Field(description="changes with the input and with how the stage works")
    n_rows: int
    measures: dict[str, int | float | str]
    error: FailureAnswer | None

    @classmethod
    def of(cls, record: StageRecord) -> Self:
        """Return the JSON form of an outcome."""
        return cls(
            fingerprint=record.fingerprint,
            n_rows=record.n_rows,
            measures=dict(record.measures),
            error=FailureAnswer.of(record.failure) if record.failure else None,
        )


class DocumentAnswer(BaseModel):
    """A document and its state."""

    document_id: str
    collection: str
    source: str
    status: Status
    format: str
    content_sha256: str
    n_bytes: int
    n_pages: int
    n_chunks: int
    updated_at: datetime
    error: FailureAnswer | None
    claimed: str | None = Field(description="the version of the file that was last taken up")
    stages: dict[str, StageAnswer]

    @classmethod
    def of(cls, entry: Entry) -> Self:
        """Return the JSON form of a document."""
        return cls(
            document_id=entry.document_id,
            collection=entry.collection,
            source=entry.source,
            status=entry.status,
            format=entry.format,
            content_sha256=entry.content_sha256,
            n_bytes=entry.n_bytes,
            n_pages=entry.n_pages,
            n_chunks=entry.n_chunks,
            updated_at=datetime.fromtimestamp(entry.updated_at, UTC),
            error=FailureAnswer.of(entry.failure) if entry.failure else None,
            claimed=entry.claimed,
            stages={name: StageAnswer.of(record) for name, record in entry.stages.items()},
        )


class DocumentsAnswer(BaseModel):
    """Documents by collection and source."""

    documents: list[DocumentAnswer]
    next_cursor: str | None = Field(None, description="of the next part; null: that was all")


class RegionAnswer(BaseModel):
    """A heading, table or picture's text on a page: code points of the page's text."""

    model_config = ConfigDict(from_attributes=True)

    start: int
    end: int
    kind: RegionKind
    level: int


class PageAnswer(BaseModel):
    """A page as it was read."""

    page_no: int
    label: str
    text: str
    origin: str
    confidence: float
    score: float
    suspect: bool
    reason: str
    regions: list[RegionAnswer]

    @classmethod
    def of(cls, page: Page) -> Self:
        """Return the JSON form of a page."""
        return cls(**{name: getattr(page, name) for name in cls.model_fields})


class ChunkAnswer(BaseModel):
    """A passage as it is searched."""

    chunk_id: str
    ordinal: int
    text: str
    start: int
    end: int
    page_first: int
    page_last: int
    token_count: int
    overlap: int
    kind: Kind
    language: str
    path: str
    header: str
    fields: dict[str, list[str | int]]

    @classmethod
    def of(cls, chunk: Chunk) -> Self:
        """Return the JSON form of a passage."""
        plain = {name: getattr(chunk, name) for name in cls.model_fields if name != "fields"}
        return cls(**plain, fields={name: list(values) for name, values in chunk.fields.items()})


class PagesAnswer(BaseModel):
    """Pages of a document in order."""

    document_id: str
    content_sha256: str
    pages: list[PageAnswer]
    next_cursor: str | None = Field(description="of the next part; null: that was all")


class ChunksAnswer(BaseModel):
    """Passages of a document in order."""

    document_id: str
    content_sha256: str
    chunks: list[ChunkAnswer]
    next_cursor: str | None = Field(description="of the next part; null: that was all")


class StoredAnswer(DocumentAnswer):
    """A document with its pages and passages."""

    metadata: Mapping[str, str] = Field(description="what the file says of itself")
    pages: list[PageAnswer]
    chunks: list[ChunkAnswer]

    @classmethod
    def of_stored(cls, stored: StoredDocument) -> Self:
        """Return the JSON form of a document with what was made of it."""
        return cls(
            **DocumentAnswer.of(stored.entry).model_dump(),
            metadata=dict(stored.document.metadata),
            pages=[PageAnswer.of(page) for page in stored.document.pages],
            chunks=[ChunkAnswer.of(chunk) for chunk in stored.chunks],
        )
