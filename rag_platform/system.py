"""The composition root: ``Settings`` become a wired ``System``. The only place that reads settings."""

from __future__ import annotations

import copy
from functools import cached_property
from pathlib import Path
from typing import Self

from rag_platform.answering.ask import Asker
from rag_platform.answering.extractive import ExtractiveGenerator
from rag_platform.catalog import Catalog
from rag_platform.chunking.chunkers import load_chunker
from rag_platform.chunking.tokenizers import load_tokenizer
from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.calibration import CalibratedEncoder, find_calibration, load_calibration
from rag_platform.embedding.encoders import load_encoder, resolve
from rag_platform.embedding.loaded import Loaded
from rag_platform.errors import StorageError
from rag_platform.inbox import Inbox
from rag_platform.parsing.parse import ParseOptions
from rag_platform.parsing.pool import Limits
from rag_platform.protocols import Chunker, Encoder, Generator, Index, Reranker, Tokenizer
from rag_platform.reranking.rerankers import load_reranker
from rag_platform.reranking.rerankers import resolve as resolve_reranker
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.search import Searcher
from rag_platform.sanity import GatedEncoder, GatedReranker
from rag_platform.settings import Settings
from rag_platform.storage import RawStore, TableStore

__all__ = ["System", "search_options"]


class System:
    """Everything the platform needs, wired once; safe to share between threads."""

    def __init__(self, settings: Settings, *, index: Index | None = None) -> None:
        self.settings = settings
        self.home = settings.home.expanduser().absolute()
        first_time = not (self.home / "catalog.sqlite").exists()
        self.catalog = Catalog(self.home / "catalog.sqlite", default_collection=settings.collection_name)
        self.inbox = Inbox(self.home / "inbox", root_collection=self.catalog.collections()[0])
        self.raw = RawStore(self.home / "raw")
        self.tables = TableStore(self.home / "tables")
        self.cache = EmbeddingCache(self.home / "cache")
        self._index = index
        self._encoders = Loaded[Encoder](settings.models_in_memory)
        self._rerankers = Loaded[Reranker](settings.models_in_memory)
        if first_time:
            # Only now: an inbox that goes missing later is a fault, not an empty inbox.
            self._create(self.inbox.root)

    @classmethod
    def from_settings(cls, settings: Settings | None = None, *, index: Index | None = None) -> Self:
        """Wire a system from settings, read from the environment when none are given."""
        return cls(settings or Settings.load(), index=index)

    @cached_property
    def index(self) -> Index:
        """The embedded engine, or the Qdrant server of ``QDRANT_URL``."""
        if self._index is not None:
            return self._index
        root, ef = self.home / "collections", self.settings.hnsw_ef
        if self.settings.qdrant_url:
            from rag_platform.index.qdrant import QdrantIndex, connect

            client = connect(self.settings.qdrant_url, self.settings.qdrant_api_key)
            return QdrantIndex(client, root, hnsw_ef=ef)
        from rag_platform.index.edge import EdgeIndex

        return EdgeIndex(root, hnsw_ef=ef)

    @cached_property
    def searcher(self) -> Searcher:
        """Searches the latest published generations."""
        return Searcher(self.index, self.encoder, self.cache, self.reranker)

    @cached_property
    def asker(self) -> Asker:
        """Answers questions from what the searcher finds."""
        return Asker(self.searcher, self.generator, use_tools=self.settings.use_tools)

    def generator(self, name: str = "") -> Generator:
        """Return who answers: of a name, or the one of the settings."""
        return ExtractiveGenerator()

    @property
    def search_options(self) -> SearchOptions:
        """How a question is searched where it asks for nothing else."""
        return search_options(self.settings)

    @property
    def parse_options(self) -> ParseOptions:
        """How files are read."""
        settings = self.settings
        return ParseOptions(
            ocr=settings.ocr,
            languages=settings.tesseract_languages,
            ocr_timeout_s=settings.ocr_timeout_s,
            kinds=settings.kinds,
            workers=settings.workers,
            passwords=settings.pdf_passwords,
        )

    @property
    def parse_limits(self) -> Limits:
        """What the extraction of one file may take."""
        return Limits(self.settings.parse_timeout_s, self.settings.parse_memory_mb)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """What counts the tokens of a chunk, the same for every embedding model."""
        return load_tokenizer("xlm-r")

    @cached_property
    def chunker(self) -> Chunker:
        """How text is cut."""
        settings = self.settings
        return load_chunker(
            settings.chunker,
            tokenizer=self.tokenizer,
            size=settings.chunk_size,
            overlap_ratio=settings.overlap_ratio,
        )

    def encoder(self, name: str) -> Encoder:
        """Return the encoder of a name behind the sanity gate, calibrated where that is known and wanted.

        The few used last stay loaded.
        """
        full = resolve(name).name
        return self._encoders.get(full, lambda: self._calibrated(self._gated_encoder(full)))

    def _gated_encoder(self, full: str) -> Encoder:
        settings = self.settings
        base_url, key = settings.embedding_base_url, settings.embedding_api_key
        if full.startswith("openai/") and not base_url:  # a key never goes to another server than its own
            base_url, key = settings.openai_base_url, key or settings.openai_api_key
        encoder = load_encoder(
            full,
            device=settings.device,
            batch_size=settings.batch_size,
            backend=settings.backend,
            dim=settings.embedding_dim,
            base_url=base_url,
            api_key=key,
        )
        return encoder if full == "hashing" else GatedEncoder(encoder, settings.sanity_gate)

    def _calibrated(self, bare: Encoder) -> Encoder:
        if self.settings.calibration == "off":
            return bare
        path = find_calibration(bare.name, self.home)
        return CalibratedEncoder(bare, load_calibration(path, bare.dim)) if path else bare

    def with_password(self, password: str) -> Self:
        """Return this very system, but for a password that is tried first on locked PDFs."""
        other = copy.copy(self)
        passwords = (password, *self.settings.pdf_passwords)
        other.settings = self.settings.model_copy(update={"pdf_passwords": passwords})
        return other

    def release_models(self) -> None:
        """Let go of every loaded encoder and reranker; one that is asked for again is loaded again."""
        self._encoders.clear()
        self._rerankers.clear()

    def reranker(self, name: str) -> Reranker:
        """Return the reranker of a name behind the sanity gate; the few used last stay loaded."""
        full = resolve_reranker(name).name
        return self._rerankers.get(full, lambda: self._gated_reranker(full))

    def _gated_reranker(self, full: str) -> Reranker:
        settings = self.settings
        reranker = load_reranker(
            full,
            device=settings.device,
            batch_size=settings.batch_size,
            api_key=settings.reranker_api_key,
            base_url=settings.reranker_base_url,
        )
        return reranker if full == "none" else GatedReranker(reranker, settings.sanity_gate)

    def close(self) -> None:
        """Let go of models and of the catalog's file; nothing can be asked afterwards."""
        self.release_models()
        self.catalog.close()

    @staticmethod
    def _create(folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot create {folder}: {error.strerror}; set RAG_HOME elsewhere") from error


def search_options(settings: Settings) -> SearchOptions:
    """Return how these settings search."""
    return SearchOptions(
        k=settings.top_k_rerank,
        candidates=settings.top_k_retrieval,
        mode=settings.mode,
        fusion=settings.fusion,
        weights=(settings.dense_weight, settings.sparse_weight),
        reranker=settings.reranker_model or "none",
    )
