"""Providers of language models as data, and who answers by a configured one.

Names, addresses and keys only: LiteLLM stands in ``chat_model``, settings are read in ``system``. A key
goes to the server that it is for and to no other.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import regex

from rag_platform.answering.gguf import Engine, Engines
from rag_platform.errors import InvalidSetting, UnknownName
from rag_platform.privacy import address_parts, host_and_path, shown_address

__all__ = ["PROVIDERS", "Access", "Connection", "Provider", "connect", "repaired"]

_CALL = regex.compile(r"/(?:chat/completions|completions|responses|embeddings|models|api/chat)$")


@dataclass(frozen=True, slots=True)
class Provider:
    """How a provider is called.

    Attributes:
        prefix: Of LiteLLM, before the model's name.
        model: The model where none is named.
        base_url: Where it is where no setting says otherwise; empty: LiteLLM knows.
        key: The setting with its key; empty: it has none of its own.
        needs_key: It refuses calls without a key.
        address: The setting with its address; empty: it has none of its own.
        needs_address: It can be anywhere, so its address must be given.
        root: Path that its address must not end with.
        is_file: Its model is a file, which the platform serves itself.
    """

    prefix: str
    model: str = ""
    base_url: str = ""
    key: str = ""
    needs_key: bool = False
    address: str = ""
    needs_address: bool = False
    root: str = ""
    is_file: bool = False


def _compatible(base_url: str, model: str) -> Provider:
    return Provider("openai/", model, base_url, needs_key=True)


PROVIDERS: dict[str, Provider] = {
    "ollama": Provider("ollama_chat/", address="OLLAMA_BASE_URL", root="/v1"),
    "vllm": Provider("hosted_vllm/", address="VLLM_BASE_URL"),
    "openai": Provider("openai/", key="OPENAI_API_KEY", needs_key=True, address="OPENAI_BASE_URL"),
    "openai_compatible": Provider(
        "openai/", key="OPENAI_API_KEY", address="OPENAI_BASE_URL", needs_address=True
    ),
    "azure": Provider(
        "azure/",
        key="RAG_AZURE_API_KEY",
        needs_key=True,
        address="RAG_AZURE_ENDPOINT",
        needs_address=True,
    ),
    "gemini": Provider("gemini/", key="GOOGLE_API_KEY", needs_key=True),
    "anthropic": Provider("anthropic/", key="ANTHROPIC_API_KEY", needs_key=True),
    "hf": Provider("openai/", needs_address=True),
    "hf_cloud": Provider("openai/", key="HF_TOKEN", needs_key=True, address="HF_BASE_URL"),
    "local": Provider("openai/", is_file=True),
    "groq": _compatible("https://api.groq.com/openai/v1", "llama-3.3-70b-versatile"),
    "deepseek": _compatible("https://api.deepseek.com/v1", "deepseek-chat"),
    "together": _compatible("https://api.together.xyz/v1", "meta-llama/Llama-3-70b"),
    "fireworks": _compatible(
        "https://api.fireworks.ai/inference/v1", "accounts/fireworks/models/llama-v3-70b"
    ),
    "mistral": _compatible("https://api.mistral.ai/v1", "mistral-large-latest"),
    "openrouter": _compatible("https://openrouter.ai/api/v1", "openai/gpt-4o"),
}
"""``hf`` is a server on this machine or network that serves a model of the hub; ``hf_cloud`` the hub's own;
``local`` a GGUF file. The last six are reached as any other OpenAI-compatible one; addresses and models are
those they document."""


@dataclass(frozen=True, slots=True)
class Access:
    """A key with the address that it is for, and a model; each may be empty."""

    key: str = field(default="", repr=False)
    base_url: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Connection:
    """Who is asked.

    Attributes:
        provider: A name in ``PROVIDERS``, or LiteLLM's of any other.
        model: As the provider calls it; of ``local`` the path of the file, without an engine nobody to ask.
        base_url: Empty: the provider's own.
        api_version: Of Azure.
        engine: Of ``local``.
    """

    provider: str
    model: str
    base_url: str = ""
    key: str = field(default="", repr=False)
    api_version: str = ""
    engine: Engine | None = field(default=None, repr=False)

    @property
    def called(self) -> str:
        """LiteLLM's name of the model."""
        known = PROVIDERS.get(self.provider)
        return f"{known.prefix if known else f'{self.provider}/'}{self.model}"

    @property
    def name(self) -> str:
        """The model's name in answers, recipes and messages."""
        return f"{self.provider}/{self.model}" if self.engine else self.called

    @property
    def address(self) -> str:
        """Host and path for recipes and messages, nothing before the host; of a file what tells it."""
        return self.engine.recipe if self.engine else host_and_path(self.base_url) or "own address"

    def to(self, model: str) -> Connection:
        """Return the same connection to another model."""
        return replace(self, model=model)

    def served(self, engines: Engines) -> Connection:
        """Return the same connection with somebody to ask, where its model is a file.

        Raises:
            InvalidSetting: There is no such file, or it is none.
            MissingDependency: The engine is not installed.
        """
        if self.provider not in PROVIDERS or not PROVIDERS[self.provider].is_file:
            return self
        file = Path(self.model)
        engine = engines.of(file)
        return replace(self, model=file.stem, key=engine.key, engine=engine)

    def url(self) -> str:
        """Return where it is asked, empty for the provider's own; a file is loaded now.

        Raises:
            UpstreamError: The file cannot be loaded.
        """
        return self.engine.base_url() if self.engine else self.base_url


def connect(
    provider: str, *, own: Access, generic: Access, model: str = "", api_version: str = ""
) -> Connection:
    """Return the connection to a provider.

    The generic address goes before the provider's, but for a file. The generic key goes there, and to a
    provider without a key of its own; the provider's own key goes to its own address alone.

    Args:
        provider: A name in ``PROVIDERS``.
        own: What the settings say of this provider.
        generic: ``LLM_API_KEY`` and ``LLM_BASE_URL``.
        model: Instead of the provider's.
        api_version: Of Azure.

    Raises:
        InvalidSetting: A key, an address or a model is missing.
        UnknownName: There is no such provider.
    """
    if provider not in PROVIDERS:
        raise UnknownName("provider (LLM_PROVIDER)", provider, PROVIDERS)
    known = PROVIDERS[provider]
    if known.is_file:
        generic = Access()
    elsewhere = bool(generic.base_url)
    base_url = generic.base_url or own.base_url or known.base_url
    key = generic.key if elsewhere else own.key or generic.key
    named = model or own.model or known.model
    where = known.key or "LLM_API_KEY"
    for what, setting, is_missing in (
        ("an address", known.address or "LLM_BASE_URL", known.needs_address and not base_url),
        ("a key", "LLM_API_KEY" if elsewhere else where, known.needs_key and not elsewhere and not key),
        ("a model", "RAG_LOCAL_MODEL" if known.is_file else "--model", not named),
    ):
        if is_missing:
            raise InvalidSetting(f"LLM_PROVIDER={provider} needs {what}: set {setting}")
    return Connection(provider, named, repaired(base_url, root=known.root), key, api_version)


def repaired(base_url: str, *, root: str = "") -> str:
    """Return an address as a base URL, where the address of a call was pasted.

    >>> repaired(" https://api.groq.com/openai/v1/chat/completions ")
    'https://api.groq.com/openai/v1'
    >>> repaired("localhost:11434/v1/", root="/v1")
    'http://localhost:11434'

    Args:
        base_url: As it was set.
        root: Path that must not stand at its end.

    Raises:
        InvalidSetting: It is no address.
    """
    url = base_url.strip().strip("\"'")
    if not url:
        return ""
    if "://" not in url:
        url = f"http://{url}" if regex.match(r"(?:localhost|[\d.]+|\[)", url) else f"https://{url}"
    parts = address_parts(url)
    if parts is None:
        raise InvalidSetting(
            f"the address {shown_address(base_url)!r} of a provider is none; write https://HOST/v1"
        )
    path = _CALL.sub("", parts.path.rstrip("/"))
    if root:
        path = path.removesuffix(root)
    return f"{parts.scheme}://{parts.netloc}{path}".rstrip("/")
