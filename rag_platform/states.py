"""What the platform tells of itself, as values: what became of documents, collections, models.

Nouns only, the same in this process and over HTTP; how they are found out stands in ``ingestion`` and
``listing``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rag_platform.entries import Entry
from rag_platform.errors import RagError
from rag_platform.types import Chunk, Document, Failure, Status, document_id

__all__ = [
    "CollectionState",
    "GenerationState",
    "GeneratorState",
    "Info",
    "Ingested",
    "ModelState",
    "Models",
    "StoredDocument",
]


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of one document.

    Attributes:
        collection_name: The corpus it belongs to.
        filename: Its path below that corpus's inbox.
        pages_extracted: Pages, slides, chapters or sections.
        chunks_created: Passages it was cut into.
        chunks_indexed: Passages of it in the published generation, as it is now; 0 where it is not yet in.
        document_id: Its identity; it survives edits.
        status: ``ok``, ``unchanged``, ``empty``, ``failed``, ``unsupported``, ``pending`` or ``deleted``.
        failure: Why it failed; None where it did not.
        generation: The published generation of the corpus; 0 without any.
    """

    collection_name: str
    filename: str
    pages_extracted: int
    chunks_created: int
    chunks_indexed: int
    document_id: str
    status: Status
    failure: Failure | None
    generation: int

    @classmethod
    def refused(cls, collection: str, source: str, error: RagError) -> Self:
        """Return what became of a file that could not even be taken into the inbox."""
        failure = Failure("inbox", error.code, str(error), error.retryable)
        return cls(collection, source, 0, 0, 0, document_id(collection, source), "failed", failure, 0)


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document with what was made of it; without pages or chunks where that stage has not run."""

    entry: Entry
    document: Document
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Info:
    """What a platform is set to, and how much it holds."""

    home: Path
    collection: str
    embedding_model: str
    reranker: str
    llm_provider: str
    n_collections: int
    n_documents: int


@dataclass(frozen=True, slots=True)
class GenerationState:
    """What is published of a collection by one embedding model; ``alias`` is the name that readers follow."""

    model: str
    generation: int
    points: int
    n_documents: int
    dim: int
    alias: str


@dataclass(frozen=True, slots=True)
class CollectionState:
    """A named corpus: how many documents it has, and its published generations, one an embedding model."""

    name: str
    n_documents: int
    generations: tuple[GenerationState, ...]


@dataclass(frozen=True, slots=True)
class ModelState:
    """A model of a catalogue.

    Attributes:
        dim: Vector size; None of what makes no vectors.
        max_tokens: What it reads of a text; None where nothing limits it.
        active: The settings use it.
        remedy: What is needed to load it here; None: nothing.
    """

    name: str
    dim: int | None
    max_tokens: int | None
    licence: str
    active: bool
    remedy: str | None


@dataclass(frozen=True, slots=True)
class GeneratorState:
    """Who may answer a question; ``remedy`` says what is missing, None where nothing is."""

    name: str
    active: bool
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class Models:
    """The models of every family."""

    embedding: tuple[ModelState, ...]
    rerankers: tuple[ModelState, ...]
    generators: tuple[GeneratorState, ...]
