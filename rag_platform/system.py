"""The composition root: ``Settings`` become a wired ``System``. The only place that reads settings."""

from __future__ import annotations

import contextlib
import copy
import threading
from functools import cached_property
from pathlib import Path
from typing import Self

from rag_platform.answering.ask import Asker
from rag_platform.answering.chat_model import ChatModel
from rag_platform.answering.extractive import ExtractiveGenerator
from rag_platform.answering.gguf import Engines
from rag_platform.answering.nearness import Nearness, nearness
from rag_platform.answering.pages import PageFinder
from rag_platform.answering.prompts import PromptGenerator
from rag_platform.answering.providers import Access, Connection, connect
from rag_platform.answering.refusal import CalibratedGate
from rag_platform.catalog import Catalog
from rag_platform.chunking.chunkers import load_chunker
from rag_platform.chunking.tokenizers import load_tokenizer
from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.calibration import (
    CalibratedEncoder,
    Calibration,
    find_calibration,
    load_calibration,
)
from rag_platform.embedding.catalogue import EncoderSpec, resolve
from rag_platform.embedding.encoders import EndpointEncoder, can_load, load_encoder
from rag_platform.embedding.loaded import Loaded
from rag_platform.errors import CallerError, MissingDependency, StorageError, UnknownName
from rag_platform.inbox import Inbox
from rag_platform.parsing.parse import ParseOptions
from rag_platform.parsing.pool import Limits
from rag_platform.profiles import named_models
from rag_platform.protocols import Chunker, Encoder, Generator, Index, Reranker, Tokenizer
from rag_platform.question_log import QuestionLog
from rag_platform.reranking.rerankers import load_reranker
from rag_platform.reranking.rerankers import resolve as resolve_reranker
from rag_platform.retrieval.memory import SearchMemory
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.search import Searcher
from rag_platform.sanity import GatedEncoder, GatedReranker
from rag_platform.settings import Settings
from rag_platform.storage import RawStore, TableStore
from rag_platform.webhooks import Webhooks

__all__ = ["System", "parse_options", "search_options"]


class System:
    """Everything the platform needs, wired once; safe to share between threads."""

    def __init__(self, settings: Settings, *, index: Index | None = None) -> None:
        self.settings = settings
        self.home = settings.root
        first_time = not (self.home / "catalog.sqlite").exists()
        self.catalog = Catalog(self.home / "catalog.sqlite", default_collection=settings.collection_name)
        self.inbox = Inbox(self.home / "inbox", root_collection=self.catalog.collections()[0])
        self.raw = RawStore(self.home / "raw")
        self.tables = TableStore(self.home / "tables")
        self.cache = EmbeddingCache(self.home / "cache")
        self.memory = SearchMemory(vectors=settings.query_cache, results=settings.result_cache)
        self.question_log = QuestionLog.of(self.home) if settings.question_log else None
        self.webhooks = Webhooks(
            self.home / "webhooks.sqlite", settings.webhook_urls, settings.webhook_secret
        )
        self.profiles = named_models(settings.model_profiles)
        self.engines = Engines(context=settings.local_context, threads=settings.local_threads)
        self._opened = contextlib.ExitStack()
        self._opened.callback(self.engines.close)
        self._index = index
        self._encoders = Loaded[Encoder](settings.models_in_memory)
        self._rerankers = Loaded[Reranker](settings.models_in_memory)
        self._calibrations: dict[str, tuple[tuple[Path, int], Calibration]] = {}
        self._calibrations_lock = threading.Lock()
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
            self._opened.callback(client.close)
            return QdrantIndex(client, root, hnsw_ef=ef)
        from rag_platform.index.edge import EdgeIndex

        return EdgeIndex(root, hnsw_ef=ef)

    @cached_property
    def searcher(self) -> Searcher:
        """Searches the latest published generations."""
        return Searcher(self.index, self.encoder, self.cache, self.reranker, self.memory)

    @cached_property
    def asker(self) -> Asker:
        """Answers questions from what the searcher finds."""
        return Asker(
            self.searcher,
            self.generator,
            use_tools=self.settings.use_tools,
            gate=CalibratedGate(),
            page_of=PageFinder(self.catalog, self.tables),
            load_near=self.nearness,
            expand=self.settings.query_expansion,
            expand_s=self.settings.query_expansion_s,
        )

    def generator(self, name: str = "", *, temperature: float | None = None) -> Generator:
        """Return who answers a request.

        Args:
            name: ``extractive``, ``prompt``, a profile of ``RAG_MODEL_PROFILES``, or a model of the
                provider that ``RAG_LLM_MODELS`` allows; empty: the provider's model, ``extractive`` where
                none is configured.
            temperature: 0 to 2; None: the settings'.

        Raises:
            CallerError: The temperature is out of range; ``UnknownName``: no such model is allowed.
            InvalidSetting: The provider is not configured wholly.
        """
        settings = self.settings
        if name in ("extractive", "prompt") or not (name or settings.llm_provider):
            return PromptGenerator() if name == "prompt" else ExtractiveGenerator()
        if name in self.profiles.chat:
            return self.chat_model(name, temperature=temperature)
        default = self.chat_model(temperature=temperature) if settings.llm_provider else None
        if default is None or name not in ("", default.model, *settings.llm_models):
            known = (default.model, *settings.llm_models) if default else ()
            names = ("extractive", "prompt", *self.profiles.chat, *known)
            raise UnknownName("model (RAG_LLM_MODELS allows)", name, names)
        if name in ("", default.model):
            return default
        return self.chat_model(model=name, temperature=temperature)

    def chat_model(
        self, provider: str = "", model: str = "", *, temperature: float | None = None
    ) -> ChatModel:
        """Return any model of any provider, for whoever owns the settings; empty: the settings' own.

        Raises:
            CallerError: The temperature is out of range.
            InvalidSetting: A key, an address or a model is missing.
            UnknownName: There is no such provider.
        """
        settings = self.settings
        profile = self.profiles.chat.get(provider or settings.llm_provider)
        usual = settings.llm_temperature
        if profile is not None and profile.temperature is not None:
            usual = profile.temperature
        heat = usual if temperature is None else temperature
        if not 0 <= heat <= 2:
            raise CallerError(f"the temperature is {heat}, allowed is 0 to 2")
        return self.chat(self.connection(provider, model), temperature=heat)

    def chat(self, connection: Connection, *, temperature: float) -> ChatModel:
        """Return who answers at a connection, within the limits of the settings."""
        settings = self.settings
        return ChatModel(
            connection,
            temperature=temperature,
            max_tokens=settings.llm_max_tokens,
            timeout_s=settings.llm_timeout_s,
        )

    def connection(self, provider: str = "", model: str = "") -> Connection:
        """Return how a model of a provider is reached; empty: the settings' own.

        Raises:
            InvalidSetting: A key, an address, a model or its file is missing.
            MissingDependency: Its file needs an engine that is not installed.
            UnknownName: There is no such provider.
        """
        settings, named = self.settings, provider or self.settings.llm_provider
        if named in self.profiles.chat:
            profile = self.profiles.chat[named].connection
            return (profile.to(model) if model else profile).served(self.engines)
        found = connect(
            named,
            own=_access(settings, named),
            generic=Access(settings.llm_api_key, settings.llm_base_url),
            model=model,
            api_version=settings.azure_openai_api_version if named == "azure" else "",
        )
        return found.served(self.engines)

    @property
    def search_options(self) -> SearchOptions:
        """How a question is searched where it asks for nothing else."""
        return search_options(self.settings)

    @property
    def parse_options(self) -> ParseOptions:
        """How files are read."""
        return parse_options(self.settings)

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

    def embedding(self, name: str = "") -> EncoderSpec:
        """Return what is known of an embedding model: of the catalogue, behind an API, or of a profile.

        Args:
            name: In any of its spellings; empty: the model that search uses.

        Raises:
            CallerError: There is no such model, or no server can give it its prompts.
        """
        return resolve(name or self.settings.embedding_model, self.profiles.encoders)

    def embedders(self) -> list[str]:
        """Return the names of the models that ingest embeds."""
        return [self.embedding(name).name for name in self.settings.active_embedders]

    def published_models(self) -> list[str]:
        """Return the models of published generations; one whose profile is gone can do no more work."""
        models = dict.fromkeys(manifest.model for manifest in self.index.published())
        return [name for name in models if self._knows(name)]

    def _knows(self, model: str) -> bool:
        try:
            self.embedding(model)
        except UnknownName:
            return False
        return True

    def nearness(self, model: str) -> Nearness | None:
        """Return what compares sentences by an embedding model, None where that is not calibrated.

        One that is not is not loaded for it.
        """
        name = self.embedding(model).name
        if self.calibration_of(name) is None:
            return None
        return nearness(self.encoder(name), self.cache, self.memory)

    def encoder(self, name: str) -> Encoder:
        """Return the encoder of a name behind the sanity gate, calibrated where that is known and wanted.

        The few used last stay loaded.
        """
        bare = self.bare_encoder(name)
        path = self.calibration_of(bare.name)
        return self._calibrated(bare, path) if path else bare

    def calibration_of(self, name: str) -> Path | None:
        """Return where the calibration of a model stands; None: it has none, or none is wanted."""
        return None if self.settings.calibration == "off" else find_calibration(name, self.home)

    def warm_up(self) -> None:
        """Load the embedding model that search uses, so that the first question need not wait for it.

        Raises:
            MissingDependency: It is not here; a service starts no download.
        """
        spec = self.embedding()
        if remedy := can_load(spec):
            raise MissingDependency(f"the embedding model {spec.name} cannot be loaded: {remedy}")
        self.encoder(spec.name).encode(["नेपाल"], "query")

    def bare_encoder(self, name: str) -> Encoder:
        """Return the encoder of a name behind the sanity gate, its vectors as the model says them."""
        full = self.embedding(name).name
        return self._encoders.get(full, lambda: self._gated_encoder(full))

    def _gated_encoder(self, full: str) -> Encoder:
        settings = self.settings
        if full in self.profiles.embedding:
            profile = self.profiles.embedding[full]
            endpoint = EndpointEncoder(
                profile.spec,
                base_url=profile.base_url,
                api_key=profile.key,
                dim=profile.dim,
                batch_size=settings.batch_size,
                setting=profile.setting or f"RAG_MODEL_PROFILES, [embedding.{full}]",
            )
            return GatedEncoder(endpoint, settings.sanity_gate)
        # A key and an address are those of one model, or of one's own server: no other provider gets them.
        own = full.startswith("openai/") or full == self.embedding().name
        base_url = settings.embedding_base_url if own else ""
        key = settings.embedding_api_key if own else ""
        if full.startswith("openai/") and not base_url:
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

    def _calibrated(self, bare: Encoder, path: Path) -> Encoder:
        """Return the encoder with its calibration as it stands now: a running service sees a new one."""
        changed = path.stat().st_mtime_ns
        with self._calibrations_lock:
            known = self._calibrations.get(bare.name)
            if known is None or known[0] != (path, changed):
                known = self._calibrations[bare.name] = ((path, changed), load_calibration(path, bare.dim))
        return CalibratedEncoder(bare, known[1])

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
        own = (
            full == resolve_reranker(settings.reranker_model or "none").name
        )  # no other provider gets its key
        reranker = load_reranker(
            full,
            device=settings.device,
            batch_size=settings.batch_size,
            api_key=settings.reranker_api_key if own else "",
            base_url=settings.reranker_base_url if own else "",
        )
        return reranker if full == "none" else GatedReranker(reranker, settings.sanity_gate)

    def close(self) -> None:
        """Let go of models, servers and of the catalog's file; nothing can be asked afterwards."""
        self.webhooks.close()
        self.release_models()
        self._opened.close()
        self.catalog.close()

    @staticmethod
    def _create(folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot create {folder}: {error.strerror}; set RAG_HOME elsewhere") from error


def parse_options(settings: Settings) -> ParseOptions:
    """Return how these settings read files."""
    return ParseOptions(
        ocr=settings.ocr,
        languages=settings.tesseract_languages,
        ocr_timeout_s=settings.ocr_timeout_s,
        kinds=settings.kinds,
        workers=settings.workers,
        passwords=settings.pdf_passwords,
    )


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


def _access(settings: Settings, provider: str) -> Access:
    """Return what the settings say of a provider: its own key, address and model."""
    return {
        "ollama": Access("", settings.ollama_base_url, settings.ollama_model),
        "vllm": Access("", settings.vllm_base_url, settings.vllm_model),
        "openai": Access(settings.openai_api_key, settings.openai_base_url, settings.openai_model),
        "openai_compatible": Access(settings.openai_api_key, settings.openai_base_url, settings.openai_model),
        "azure": Access(
            settings.azure_openai_api_key, settings.azure_openai_endpoint, settings.azure_openai_deployment
        ),
        "gemini": Access(settings.google_api_key, "", settings.gemini_model),
        "anthropic": Access(settings.anthropic_api_key, "", settings.anthropic_model),
        "local": Access(model=settings.local_model),
        "hf": Access("", "", settings.hf_model_name),
        "hf_cloud": Access(settings.hf_token, settings.hf_base_url, settings.hf_model_name),
    }.get(provider, Access())
