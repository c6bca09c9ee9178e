"""One ``Settings`` from environment and ``.env``: names, defaults and what they mean.

How they are written in a file, and which names are slips, stands in ``settings_file``. Read at the
composition root (``system``) only: a function takes what it needs, never ``Settings``. Keys of other programs
in a shared ``.env`` are ignored; a misspelt key of ours is an error.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from rag_platform.errors import InvalidSetting
from rag_platform.settings_defaults import FULL_PROFILE, SWEEP_EMBEDDERS, SWEEP_RERANKERS
from rag_platform.settings_file import described, gathered, parted, told, written
from rag_platform.types import DEFAULT_COLLECTION, DEFAULT_KINDS, Fusion, Kind, Mode

__all__ = ["Settings", "example"]

_HEADINGS = {
    "RAG_HOME": "Where things are",
    "RAG_OCR": "Extraction",
    "RAG_CHUNKER": "Chunking",
    "EMBEDDING_MODEL": "Embedding and reranking",
    "TOP_K_RETRIEVAL": "Search",
    "RAG_PARTITIONS": "Orchestration",
    "RAG_HOST": "Serving",
    "RAG_API_KEYS": "Guards of the services",
    "RAG_LOG_FORMAT": "Watching and caching",
    "RAG_MCP_PORT": "Tools for AI agents",
    "LLM_PROVIDER": "Answering",
    "EVAL_PROVIDER": "Evaluation",
}


def _setting(name: str, default: Any, description: str, **limits: Any) -> Any:  # noqa: ANN401
    return Field(default, validation_alias=name, description=description, **limits)


def _secret(name: str, description: str, default: Any = "") -> Any:  # noqa: ANN401
    return Field(default, validation_alias=name, description=description, repr=False)


class Settings(BaseSettings):
    """Every setting of the platform; the name in the environment is the field's alias."""

    model_config = SettingsConfigDict(extra="ignore", frozen=True, env_ignore_empty=True)

    # Where things are
    home: Path = _setting("RAG_HOME", Path(".rag"), "folder that holds everything the platform stores")
    profile: Literal["default", "full"] = _setting(
        "RAG_PROFILE", "default", "full: the reference system's own model defaults"
    )
    collection_name: str = _setting("COLLECTION_NAME", DEFAULT_COLLECTION, "default collection")
    qdrant_url: str = _setting(
        "QDRANT_URL",
        "",
        "Qdrant server, http:// or https://; empty: the embedded engine",
        pattern="^(https?://.+)?$",
    )
    qdrant_api_key: str = _secret("QDRANT_API_KEY", "key of the Qdrant server")

    # Extraction
    ocr: Literal["auto", "always", "never"] = _setting("RAG_OCR", "auto", "which PDF pages are OCRed")
    tesseract_languages: str = _setting(
        "TESSERACT_LANGUAGES", "", "OCR languages, for instance nep+eng; empty: chosen per page"
    )
    ocr_timeout_s: float = _setting("RAG_OCR_TIMEOUT_S", 120.0, "time limit of one page's OCR", gt=0)
    parse_timeout_s: float = _setting(
        "RAG_PARSE_TIMEOUT_S",
        3600.0,
        "time limit of one document's extraction, OCR of all pages included",
        gt=0,
    )
    parse_memory_mb: int = _setting(
        "RAG_PARSE_MEMORY_MB", 4096, "memory limit of one document's extraction", ge=512
    )
    kinds: Annotated[tuple[Kind, ...], NoDecode] = _setting(
        "RAG_KINDS",
        DEFAULT_KINDS,
        "kinds that are ingested, comma-separated: text, table, image (OCR of pictures in documents)",
        min_length=1,
    )
    pdf_passwords: Annotated[tuple[str, ...], NoDecode] = _secret(
        "RAG_PDF_PASSWORDS", "passwords tried on locked PDFs, comma-separated, a comma in one as \\,", ()
    )
    workers: int = _setting("RAG_WORKERS", 0, "processes that parse at once; 0: one a core", ge=0)

    # Chunking
    chunker: str = _setting(
        "RAG_CHUNKER",
        "recursive",
        "how text is cut: recursive (paragraphs, else lines, sentences, words), sentences, words",
    )
    chunk_size: int = _setting("CHUNK_SIZE", 256, "tokens of a chunk", ge=16, le=8192)
    overlap_ratio: float = _setting(
        "OVERLAP_RATIO", 0.15, "share of a chunk repeated in the next", ge=0, lt=1
    )

    # Embedding
    embedding_model: str = _setting(
        "EMBEDDING_MODEL", "intfloat/multilingual-e5-small", "model that search uses"
    )
    embedders: Annotated[tuple[str, ...], NoDecode] = _setting(
        "RAG_EMBEDDERS", (), "models that ingest embeds, comma-separated; empty: EMBEDDING_MODEL"
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = _setting("RAG_DEVICE", "auto", "where torch models run")
    batch_size: int = _setting("RAG_BATCH_SIZE", 32, "texts encoded at once", ge=1)
    calibration: Literal["auto", "off"] = _setting(
        "RAG_CALIBRATION", "auto", "auto: vectors are centred where the model has a calibration"
    )
    embedding_dim: int = _setting(
        "RAG_EMBEDDING_DIM", 0, "vector size, of a model that offers several; 0: its own", ge=0
    )
    embedding_base_url: str = _setting(
        "RAG_EMBEDDING_BASE_URL",
        "",
        "server of openai/MODEL or litellm/PROVIDER/MODEL; empty: the provider's",
    )
    embedding_api_key: str = _secret("RAG_EMBEDDING_API_KEY", "key of that server")
    backend: Literal["torch", "onnx", "openvino"] = _setting(
        "RAG_BACKEND", "torch", "what runs embedding models of the hub"
    )
    models_in_memory: int = _setting(
        "RAG_MODELS_IN_MEMORY", 2, "embedding models, and rerankers, kept loaded at once", ge=1
    )
    sanity_gate: Literal["refuse", "record"] = _setting(
        "RAG_SANITY_GATE",
        "refuse",
        "what happens to a model that ranks five plain Nepali questions wrongly: it is refused, or it runs"
        " and the failure is recorded",
    )
    reranker_model: str = _setting(
        "RERANKER_MODEL",
        "",
        "reranker, also cohere/MODEL, jina/MODEL or llm/PROVIDER/MODEL; empty: none",
    )
    reranker_base_url: str = _setting(
        "RAG_RERANKER_BASE_URL", "", "server of a hosted reranker; empty: the provider's own"
    )
    reranker_api_key: str = _secret("RAG_RERANKER_API_KEY", "key of a hosted reranker")

    # Search
    top_k_retrieval: int = _setting("TOP_K_RETRIEVAL", 20, "candidates", ge=1, le=1000)
    top_k_rerank: int = _setting("TOP_K_RERANK", 5, "final results", ge=1, le=1000)
    dense_weight: float = _setting("DENSE_WEIGHT", 0.7, "weight of the dense part in fusion", ge=0)
    sparse_weight: float = _setting("SPARSE_WEIGHT", 0.3, "weight of the lexical part in fusion", ge=0)
    mode: Mode = _setting("RAG_MODE", "hybrid", "which parts a search uses")
    fusion: Fusion = _setting(
        "RAG_FUSION", "calibrated", "how parts are fused: calibrated, weighted (scores), rrf (ranks)"
    )
    hnsw_ef: int = _setting("RAG_HNSW_EF", 256, "search width of the vector index", ge=8)

    # Orchestration
    partitions: str = _setting("RAG_PARTITIONS", "document", "how documents map to partition keys")
    quiet_s: float = _setting("RAG_QUIET_S", 5.0, "seconds a dropped file must be quiet", ge=0)

    keep_deleted_days: float = _setting(
        "RAG_KEEP_DELETED_DAYS",
        30.0,
        "days after which tables and bytes of a deleted document are purged",
        ge=0,
    )

    # Serving
    host: str = _setting("RAG_HOST", "127.0.0.1", "address of the HTTP service")
    port: int = _setting("RAG_PORT", 8080, "port of the HTTP service", ge=1, le=65535)
    open_to_all: bool = _setting(
        "RAG_OPEN_TO_ALL",
        False,
        "let the services listen beyond this machine without asking for keys",
    )
    upload_mb: int = _setting("RAG_UPLOAD_MB", 100, "megabytes of one upload, all its files together", ge=1)
    uploads: Literal["service", "sensor"] = _setting(
        "RAG_UPLOADS",
        "service",
        "who ingests an upload that nobody waits for: the HTTP service, or the sensor of the inbox",
    )
    conversation_days: float = _setting(
        "RAG_CONVERSATION_DAYS",
        0.0,
        "days that a conversation is kept after its last question; 0: for ever",
        ge=0,
    )
    webhook_urls: Annotated[tuple[str, ...], NoDecode] = _setting(
        "RAG_WEBHOOK_URLS", (), "addresses that are told of each new generation, comma-separated"
    )
    webhook_secret: str = _secret(
        "RAG_WEBHOOK_SECRET", "what signs these messages; empty: they are not signed"
    )

    # Guards
    api_keys: Literal["auto", "required", "off"] = _setting(
        "RAG_API_KEYS",
        "auto",
        "whether callers need a key; auto: not where only this machine reaches the service",
    )
    requests_per_minute: int = _setting(
        "RAG_REQUESTS_PER_MINUTE",
        100,
        "requests of one key a minute; without keys of one address, this machine excepted; 0: no limit",
        ge=0,
    )
    max_in_flight: int = _setting(
        "RAG_MAX_IN_FLIGHT", 1024, "requests under way at once; more are told to come back", ge=1
    )
    deadline_s: float = _setting("RAG_DEADLINE_S", 120.0, "seconds that one request may take", gt=0)
    client_timeout_s: float = _setting(
        "RAG_CLIENT_TIMEOUT_S",
        20.0,
        "seconds that a client may keep the service waiting for what it sends or takes",
        gt=0,
    )
    shutdown_s: float = _setting(
        "RAG_SHUTDOWN_S", 30.0, "seconds that answers under way are given when a service is stopped", ge=0
    )
    cors_origins: Annotated[tuple[str, ...], NoDecode] = _setting(
        "RAG_CORS_ORIGINS", (), "pages of other sites that may call, as https://example.org, comma-separated"
    )

    # Watching and caching
    log_format: Literal["text", "json"] = _setting(
        "RAG_LOG_FORMAT", "text", "how the services write their log"
    )
    slow_query_ms: float = _setting(
        "RAG_SLOW_QUERY_MS", 2000.0, "milliseconds after which a question is logged as slow; 0: none is", ge=0
    )
    question_log: bool = _setting(
        "RAG_QUESTION_LOG", False, "keep what is asked, for `rag questions from-log`"
    )
    query_cache: int = _setting("RAG_QUERY_CACHE", 1024, "vectors of questions kept in memory; 0: none", ge=0)
    result_cache: int = _setting(
        "RAG_RESULT_CACHE", 1024, "results of a generation kept in memory; 0: none", ge=0
    )

    # Tools for AI agents
    mcp_port: int = _setting("RAG_MCP_PORT", 8000, "port of `rag mcp`", ge=1, le=65535)
    mcp_hosts: Annotated[tuple[str, ...], NoDecode] = _setting(
        "RAG_MCP_HOSTS",
        (),
        "names beside localhost and RAG_HOST by which services without keys may be called, comma-separated",
    )
    mcp_folders: Annotated[tuple[str, ...], NoDecode] = _setting(
        "RAG_MCP_FOLDERS",
        (),
        "folders from which MCP clients may ingest files, comma-separated; empty: they may not ingest",
    )

    # Answering
    llm_provider: str = _setting(
        "LLM_PROVIDER",
        "",
        "ollama, vllm, openai, openai_compatible, azure, gemini, anthropic, hf (a local server), hf_cloud,"
        " local (a GGUF file), groq, deepseek, together, fireworks, mistral, openrouter; empty: no model,"
        " sentences of hits",
    )
    ollama_base_url: str = _setting("OLLAMA_BASE_URL", "http://localhost:11434", "Ollama server")
    ollama_model: str = _setting("OLLAMA_MODEL", "gemma4", "model of the Ollama server")
    vllm_base_url: str = _setting("VLLM_BASE_URL", "http://localhost:8000/v1", "vLLM server")
    vllm_model: str = _setting("VLLM_MODEL", "google/gemma-4-E4B-it", "model of the vLLM server")
    openai_api_key: str = _secret("OPENAI_API_KEY", "key of OpenAI or a compatible provider")
    openai_base_url: str = _setting("OPENAI_BASE_URL", "", "base URL of a compatible provider")
    openai_model: str = _setting("OPENAI_MODEL", "gpt-4o-mini", "model of that provider")
    google_api_key: str = _secret("GOOGLE_API_KEY", "key of Gemini")
    gemini_model: str = _setting("GEMINI_MODEL", "gemini-2.5-flash", "Gemini model")
    hf_token: str = _secret("HF_TOKEN", "Hugging Face token")
    hf_base_url: str = _setting("HF_BASE_URL", "https://router.huggingface.co/v1", "Hugging Face router")
    hf_model_name: str = _setting("HF_MODEL_NAME", "Qwen/Qwen3.6-35B-A3B", "Hugging Face model")
    anthropic_api_key: str = _secret("ANTHROPIC_API_KEY", "key of Anthropic")
    anthropic_model: str = _setting("ANTHROPIC_MODEL", "claude-opus-4-6", "Anthropic model")
    local_model: str = _setting("RAG_LOCAL_MODEL", "", "GGUF file that LLM_PROVIDER=local serves")
    local_context: int = _setting(
        "RAG_LOCAL_CONTEXT", 8192, "tokens of prompt and answer together; 0: what the file says", ge=0
    )
    local_threads: int = _setting(
        "RAG_LOCAL_THREADS", 0, "threads that compute; 0: as many as the engine takes", ge=0
    )
    azure_openai_api_key: str = _secret("RAG_AZURE_API_KEY", "key of Azure OpenAI")
    azure_openai_endpoint: str = _setting(
        "RAG_AZURE_ENDPOINT", "", "address of Azure OpenAI, https://NAME.openai.azure.com"
    )
    azure_openai_deployment: str = _setting("RAG_AZURE_DEPLOYMENT", "", "deployment of Azure OpenAI")
    azure_openai_api_version: str = _setting(
        "RAG_AZURE_API_VERSION", "2024-10-21", "version of Azure OpenAI's interface"
    )
    llm_api_key: str = _secret(
        "LLM_API_KEY", "key of LLM_BASE_URL, and of a provider that has none of its own"
    )
    llm_base_url: str = _setting("LLM_BASE_URL", "", "base URL that goes before the provider's")
    llm_models: Annotated[tuple[str, ...], NoDecode] = _setting(
        "RAG_LLM_MODELS",
        (),
        "models of the provider that a request may name beside the default, comma-separated",
    )
    model_profiles: str = _setting(
        "RAG_MODEL_PROFILES",
        "",
        "TOML file with named chat and embedding models (docs/answers.md, docs/models.md); empty: none",
    )
    llm_timeout_s: float = _setting("RAG_LLM_TIMEOUT_S", 60.0, "seconds that a provider may be silent", gt=0)
    llm_max_tokens: int = _setting("RAG_LLM_MAX_TOKENS", 1024, "tokens of an answer at most", ge=16)
    llm_temperature: float = _setting("LLM_TEMPERATURE", 0.3, "temperature", ge=0, le=2)
    use_tools: bool = _setting("USE_TOOLS", True, "tool calling where a provider is configured")
    query_expansion: int = _setting(
        "RAG_QUERY_EXPANSION",
        0,
        "other wordings of a question that the model writes to search, too",
        ge=0,
        le=4,
    )
    query_expansion_s: float = _setting(
        "RAG_QUERY_EXPANSION_S", 4.0, "seconds that the model may take for them", gt=0
    )

    # Evaluation
    eval_provider: str = _setting(
        "EVAL_PROVIDER",
        "",
        "judge: openai, openai_compatible, anthropic, gemini, ollama, vllm, huggingface",
    )
    eval_model: str = _setting("EVAL_MODEL", "", "judge model")
    eval_api_key: str = _secret("EVAL_API_KEY", "key of the judge's provider")
    eval_base_url: str = _setting("EVAL_BASE_URL", "", "base URL of the judge's provider")
    eval_concurrency: int = _setting(
        "RAG_EVAL_CONCURRENCY",
        1,
        "judgements at once; so many calls a killed sweep may have to repeat",
        ge=1,
        le=64,
    )
    eval_instructions: Literal["deepeval", "nepali"] = _setting(
        "RAG_EVAL_INSTRUCTIONS",
        "deepeval",
        "what the judge is told: DeepEval's English prompts, or beside them how Nepali is read",
    )
    eval_timeout_s: float = _setting("RAG_EVAL_TIMEOUT_S", 120.0, "time limit of one call of the judge", gt=0)
    sweep_dataset: str = _setting(
        "RAG_SWEEP_DATASET", "nepali_starter", "set that the sweep's assets measure"
    )
    sweep_embedders: Annotated[tuple[str, ...], NoDecode] = _setting(
        "RAG_SWEEP_EMBEDDERS", SWEEP_EMBEDDERS, "embedding models of the sweep, comma-separated", min_length=1
    )
    sweep_rerankers: Annotated[tuple[str, ...], NoDecode] = _setting(
        "RAG_SWEEP_RERANKERS",
        SWEEP_RERANKERS,
        "rerankers of the sweep, comma-separated; none: the order of the search",
        min_length=1,
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take values from ``load`` alone, which has already merged and checked every source."""
        return (init_settings,)

    @classmethod
    def load(cls, env_file: Path | None = Path(".env"), **overrides: object) -> Self:
        """Read settings: overrides before environment before ``.env`` before the profile's defaults.

        Args:
            env_file: The file to read beside the environment; one that does not exist is no error
                unless it was named on purpose (anything but the default).
            **overrides: Values by environment name (``CHUNK_SIZE=128``), from command line flags;
                None means not given.

        Raises:
            InvalidSetting: A misspelt key of ours, an unknown ``RAG_...`` key, or a bad value.
        """
        if env_file is not None and env_file != Path(".env") and not env_file.is_file():
            raise InvalidSetting(f"the settings file {env_file} does not exist; check --env-file")
        given = {name: str(value) for name, value in overrides.items() if value is not None}
        merged = gathered(env_file, given, cls.names())
        if merged.get("RAG_PROFILE") == "full":
            merged = {**FULL_PROFILE, **merged}
        lists = {str(f.validation_alias) for f in cls.model_fields.values() if NoDecode in f.metadata}
        values = {name: parted(value) if name in lists else value for name, value in merged.items()}
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            lines = [f"{e['loc'][0]}={e['input']!r}: {e['msg']}" for e in error.errors()]
            raise InvalidSetting("; ".join(lines) + ". See .env.example for the allowed values.") from None

    @classmethod
    def names(cls) -> list[str]:
        """Return the environment names of all settings, in order."""
        return [str(field.validation_alias) for field in cls.model_fields.values()]

    def environment(self) -> dict[str, str]:
        """Return every setting as an environment variable, for processes that are started from here."""
        given = {
            str(field.validation_alias): written(getattr(self, name))
            for name, field in type(self).model_fields.items()
        }
        return {name: value for name, value in given.items() if value}

    @classmethod
    def sweep_grid(cls, env_file: Path = Path(".env")) -> tuple[tuple[str, ...], tuple[str, ...], str]:
        """Return embedders and rerankers of the sweep, and the file of named models.

        Nothing else is read: partitions are made of them.
        """
        given = told(env_file)
        embedders, rerankers = (given.get(f"RAG_SWEEP_{name}") for name in ("EMBEDDERS", "RERANKERS"))
        return (
            tuple(parted(embedders)) if embedders else SWEEP_EMBEDDERS,
            tuple(parted(rerankers)) if rerankers else SWEEP_RERANKERS,
            given.get("RAG_MODEL_PROFILES") or "",
        )

    @classmethod
    def embedding_names(cls, env_file: Path = Path(".env")) -> tuple[tuple[str, ...], str]:
        """Return the embedding models that are named, and the file of named models; nothing else is read."""
        given = told(env_file)
        listed = parted(given.get("RAG_EMBEDDERS") or "")
        names = filter(None, (given.get("EMBEDDING_MODEL"), *listed))
        return tuple(dict.fromkeys(names)), given.get("RAG_MODEL_PROFILES") or ""

    @property
    def root(self) -> Path:
        """The folder of ``RAG_HOME``, wherever this process goes."""
        return self.home.expanduser().absolute()

    @property
    def active_embedders(self) -> tuple[str, ...]:
        """The models that ingest embeds."""
        return self.embedders or (self.embedding_model,)


def example() -> str:
    """Return the text of ``.env.example``: every setting, commented out, with default and meaning."""
    return described(Settings.model_fields.values(), _HEADINGS)


if __name__ == "__main__":
    sys.stdout.write(example())
