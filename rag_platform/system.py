"""The composition root: ``Settings`` become a wired ``System``. The only place that reads settings."""

from __future__ import annotations

import threading
from functools import cached_property
from pathlib import Path
from typing import Self

from rag_platform.catalog import Catalog
from rag_platform.chunking.chunkers import load_chunker
from rag_platform.chunking.tokenizers import load_tokenizer
from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.calibration import CalibratedEncoder, find_calibration, load_calibration
from rag_platform.embedding.encoders import load_encoder, resolve
from rag_platform.errors import StorageError
from rag_platform.inbox import Inbox
from rag_platform.parsing.parse import ParseOptions
from rag_platform.parsing.pool import Limits
from rag_platform.protocols import Chunker, Encoder, Index, Tokenizer
from rag_platform.retrieval.search import Searcher
from rag_platform.settings import Settings
from rag_platform.storage import RawStore, TableStore

__all__ = ["System"]


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
        self._encoders: dict[str, Encoder] = {}
        self._lock = threading.Lock()
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
        return Searcher(self.index, self.encoder, self.cache)

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
        """Return the encoder of a catalogue name, loaded once, calibrated where that is known and wanted."""
        full = resolve(name).name
        with self._lock:
            if full not in self._encoders:
                bare = load_encoder(full, device=self.settings.device, batch_size=self.settings.batch_size)
                self._encoders[full] = self._calibrated(bare)
            return self._encoders[full]

    def _calibrated(self, bare: Encoder) -> Encoder:
        if self.settings.calibration == "off":
            return bare
        path = find_calibration(bare.name, self.home)
        return CalibratedEncoder(bare, load_calibration(path, bare.dim)) if path else bare

    @staticmethod
    def _create(folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot create {folder}: {error.strerror}; set RAG_HOME elsewhere") from error
