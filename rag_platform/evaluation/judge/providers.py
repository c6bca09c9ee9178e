"""The judge's providers as data, and LiteLLM's name and address of a configured one."""

from __future__ import annotations

from dataclasses import dataclass

from rag_platform.errors import InvalidSetting, UnknownName
from rag_platform.privacy import host_and_path

__all__ = ["PROVIDERS", "JudgeEndpoint", "Provider", "judge_endpoint"]


@dataclass(frozen=True, slots=True)
class Provider:
    """How LiteLLM calls a provider.

    Attributes:
        prefix: Before the model's name.
        base_url: Where it is unless said otherwise; empty: LiteLLM knows.
        needs_base_url: It can be anywhere, so its address must be given.
        needs_key: It refuses calls without a key.
    """

    prefix: str
    base_url: str = ""
    needs_base_url: bool = False
    needs_key: bool = False


PROVIDERS: dict[str, Provider] = {
    "openai": Provider("openai/", needs_key=True),
    "openai_compatible": Provider("openai/", needs_base_url=True),
    "anthropic": Provider("anthropic/", needs_key=True),
    "gemini": Provider("gemini/", needs_key=True),
    "ollama": Provider("ollama_chat/", base_url="http://localhost:11434"),
    "vllm": Provider("hosted_vllm/", needs_base_url=True),
    "huggingface": Provider("openai/", base_url="https://router.huggingface.co/v1", needs_key=True),
}


@dataclass(frozen=True, slots=True)
class JudgeEndpoint:
    """Who judges: LiteLLM's name of the model, its address (empty: its own), its key."""

    model: str
    base_url: str = ""
    api_key: str = ""

    def __repr__(self) -> str:
        return f"JudgeEndpoint({self.name!r})"

    @property
    def name(self) -> str:
        """Model and address without what stands before the host, for recipes and messages."""
        return "@".join(filter(None, (self.model, host_and_path(self.base_url))))


def judge_endpoint(
    provider: str, model: str, *, api_key: str = "", base_url: str = ""
) -> JudgeEndpoint | None:
    """Return the configured judge, None where none is configured.

    Args:
        provider: ``EVAL_PROVIDER``: a name in ``PROVIDERS``; empty: no judge.
        model: ``EVAL_MODEL``.
        api_key: ``EVAL_API_KEY``.
        base_url: ``EVAL_BASE_URL``.

    Raises:
        InvalidSetting: Model, key or address is missing.
        UnknownName: There is no such provider.
    """
    if not provider:
        if model:
            raise InvalidSetting(
                f"EVAL_MODEL is {model!r} without EVAL_PROVIDER; name one: {', '.join(PROVIDERS)}"
            )
        return None
    if provider not in PROVIDERS:
        raise UnknownName("judge provider (EVAL_PROVIDER)", provider, PROVIDERS)
    known = PROVIDERS[provider]
    for name, is_missing in (
        ("EVAL_MODEL", not model),
        ("EVAL_BASE_URL", known.needs_base_url and not base_url),
        ("EVAL_API_KEY", known.needs_key and not api_key),
    ):
        if is_missing:
            raise InvalidSetting(f"EVAL_PROVIDER={provider} needs {name}")
    return JudgeEndpoint(f"{known.prefix}{model}", (base_url or known.base_url).rstrip("/"), api_key)
