"""The pluggable families as contracts. Implementations live in their stage, never here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rag_platform.types import AnalyzerOptions, Answer, Chunk, Condition, Passage, Prompt, Scored, Span

__all__ = [
    "Chunker",
    "CollectionReader",
    "Encoder",
    "FloatArray",
    "Generator",
    "Index",
    "KnowsAlone",
    "Lexicon",
    "Manifest",
    "PointBatch",
    "PointLoader",
    "Reranker",
    "StoredPoint",
    "Tokenizer",
]

FloatArray = NDArray[np.float32]


class Tokenizer(Protocol):
    """Counts tokens of a text, without prefix and special tokens."""

    @property
    def name(self) -> str:
        """What is counted, with its version; part of the chunk recipe."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens of ``text``."""
        ...


class Chunker(Protocol):
    """Cuts a document's text into passages."""

    @property
    def recipe(self) -> str:
        """Name, version and options as one string: equal recipes cut equally."""
        ...

    @property
    def size(self) -> int:
        """Tokens of a passage at most."""
        ...

    def split(self, text: str, *, reserve: int = 0) -> Sequence[Span]:
        """Return the spans of the passages in order, none blank, none cutting a grapheme.

        Args:
            text: What is cut.
            reserve: Tokens to leave free in each passage, for the header of a table.
        """
        ...


class Encoder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """Catalogue name, for instance ``intfloat/multilingual-e5-small``."""
        ...

    @property
    def dim(self) -> int:
        """Size of a vector."""
        ...

    @property
    def recipe(self) -> str:
        """Name, revision, weights, prompts and options as one string: equal recipes encode equally."""
        ...

    @property
    def max_tokens(self) -> int:
        """The model's limit, prefix and special tokens included."""
        ...

    def prompted(self, text: str, prompt: Prompt) -> str:
        """Return the exact text the model reads, for cache keys; prompts are applied by ``encode`` itself."""
        ...

    def count_tokens(self, text: str, prompt: Prompt) -> int:
        """Return the model's own token count of the prompted text, special tokens included."""
        ...

    def encode(self, texts: Sequence[str], prompt: Prompt) -> FloatArray:
        """Return ``(len(texts), dim)`` float32, rows L2-normalised, in the order of ``texts``."""
        ...


class Reranker(Protocol):
    """Judges passages against a question, both read together."""

    @property
    def name(self) -> str:
        """Catalogue name, for instance ``BAAI/bge-reranker-v2-m3``."""
        ...

    @property
    def recipe(self) -> str:
        """Name, revision, template and options as one string: equal recipes score equally."""
        ...

    def score(self, query: str, passages: Sequence[str]) -> FloatArray:
        """Return ``(len(passages),)`` float32 in the order of ``passages``, higher is better.

        Scores of one call compare with each other; their unit is the model's own (a logit, a probability).
        """
        ...


class Generator(Protocol):
    """Answers a question from passages."""

    @property
    def name(self) -> str:
        """``extractive``, ``none``, or LiteLLM's name of a model."""
        ...

    @property
    def recipe(self) -> str:
        """Name, prompts and options as one string: equal recipes are asked equally."""
        ...

    def answer(self, question: str, passages: Sequence[Passage]) -> Answer:
        """Return the answer that the passages support, or a refusal."""
        ...


@runtime_checkable
class KnowsAlone(Protocol):
    """A generator that can answer without any passage, for comparison with retrieval."""

    def answer_alone(self, question: str) -> Answer:
        """Return what it knows by itself, or that it does not know."""
        ...


@dataclass(frozen=True, slots=True)
class Manifest:
    """What one published generation holds.

    Attributes:
        collection: The named corpus.
        model: The embedding model's catalogue name.
        generation: Counts from 1.
        points: Number of chunks.
        dim: Vector size.
        recipe: Fingerprint of encoder, analyzer and index settings; another recipe means a rebuild.
        documents: ``document_id`` -> fingerprint of its embedded chunks.
        address: Where the points are: a shard folder, or the name of a Qdrant collection.
        alias: The stable name that readers follow.
    """

    collection: str
    model: str
    generation: int
    points: int
    dim: int
    recipe: str
    documents: Mapping[str, str]
    address: str
    alias: str


@dataclass(frozen=True, slots=True)
class PointBatch:
    """Chunks with their vectors, ``vectors`` being ``(len(chunks), dim)`` float32, L2-normalised."""

    chunks: Sequence[Chunk]
    vectors: FloatArray


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """A point as the index stores it, for audits and tests."""

    chunk: Chunk
    vector: FloatArray


class Lexicon(Protocol):
    """What a generation knows of its words."""

    @property
    def n_chunks(self) -> int:
        """Return the number of chunks that are counted: all of the generation."""
        ...

    @property
    def analyzer(self) -> AnalyzerOptions:
        """Return how the generation's passages became terms; its questions become terms by the same."""
        ...

    def frequency(self, term: str) -> int:
        """Return the number of chunks with an analyzed term."""
        ...

    def candidates(self, key: str) -> Sequence[tuple[str, int]]:
        """Return the words filed under a phonetic key, each with the number of chunks that hold it."""
        ...


class CollectionReader(Protocol):
    """One published generation, open for reading; immutable and safe to share between threads."""

    @property
    def manifest(self) -> Manifest:
        """What this generation holds."""
        ...

    def dense(self, vector: FloatArray, *, limit: int, where: Sequence[Condition] = ()) -> list[Scored]:
        """Return the nearest chunks by cosine, best first; ``vector`` is ``(dim,)`` float32.

        Args:
            vector: What is searched.
            limit: Number of chunks at most.
            where: Only chunks for which all of these hold; what does not is not ranked.
        """
        ...

    @property
    def lexicon(self) -> Lexicon:
        """What this generation knows of its words."""
        ...

    def lexical(
        self, terms: Mapping[str, float], *, limit: int, where: Sequence[Condition] = ()
    ) -> list[Scored]:
        """Return the chunks with the best BM25 score, best first, never a score of 0.

        Args:
            terms: Analyzed terms with their weights, of ``index.lexical.query_terms`` or expansions.
            limit: Number of chunks at most.
            where: Only chunks for which all of these hold. Term weights stay those of all chunks.
        """
        ...

    def fetch(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Return the stored chunks of these ids."""
        ...

    def of_document(
        self, document_id: str, *, first: int = 0, last: int | None = None, where: Sequence[Condition] = ()
    ) -> list[Chunk]:
        """Return chunks of one document in order.

        Args:
            document_id: One of the manifest's documents; of another there are none.
            first: The lowest ordinal.
            last: The highest ordinal; None: up to the end.
            where: Only chunks for which all of these hold: of a page (``page_first <= 7``,
                ``page_last >= 7``), below a path.
        """
        ...

    def count(self) -> int:
        """Return the number of points really stored."""
        ...

    def points(self) -> Iterator[StoredPoint]:
        """Yield every point, ordered by chunk id."""
        ...


class Index(Protocol):
    """Publishes generations of (collection, model) and opens the current one."""

    def current(self, collection: str, model: str) -> Manifest | None:
        """Return the manifest of the published generation, or None before the first."""
        ...

    def version(self, collection: str, model: str) -> str | None:
        """Return a token that changes whenever another generation is published, None before the first.

        Cheap enough for every request.
        """
        ...

    def published(self) -> list[Manifest]:
        """Return the current manifest of every published (collection, model)."""
        ...

    def open(self, collection: str, model: str) -> CollectionReader:
        """Open the published generation.

        Raises:
            NotPublished: There is none yet.
        """
        ...

    def publish(
        self,
        collection: str,
        model: str,
        *,
        dim: int,
        recipe: str,
        documents: Mapping[str, str],
        load: PointLoader,
        rebuild: bool = False,
    ) -> Manifest:
        """Make the published generation hold exactly ``documents`` and return its manifest.

        Builds beside, verifies counts, then switches. Does nothing when the current generation already
        holds exactly these fingerprints under this recipe and ``rebuild`` is false.

        Args:
            collection: The named corpus.
            model: The embedding model's catalogue name.
            dim: Vector size.
            recipe: Fingerprint of encoder and settings; the index adds its own version and analyzer.
            documents: ``document_id`` -> fingerprint of its embedded chunks: the whole live set.
            load: Yields the points of the given documents, a document possibly over several batches.
            rebuild: Build from nothing even where a copy with changes would do.

        Raises:
            DimensionMismatch: The current generation has another vector size.
            Busy: Another process publishes this (collection, model).
            StorageError: No space or no permission; the old generation still serves.
        """
        ...


class PointLoader(Protocol):
    """Reads the points of some documents from the embeddings tables."""

    def __call__(self, document_ids: Sequence[str]) -> Iterable[PointBatch]:
        """Yield the points of these documents in bounded batches."""
        ...
