"""Loads a generator by its name; the prompts and the work stand beside it."""

from __future__ import annotations

from rag_platform.answering.extractive import ExtractiveGenerator
from rag_platform.answering.litellm_generator import LiteLLMGenerator
from rag_platform.answering.prompts import PromptGenerator
from rag_platform.errors import UnknownName
from rag_platform.protocols import Generator
from rag_platform.remote import load_litellm

__all__ = ["GENERATORS", "load_generator"]

GENERATORS = ("extractive", "none", "prompt")
"""Names beside ``provider/model`` of LiteLLM; ``none`` measures retrieval alone, ``prompt`` shows
what a model would be asked."""


def load_generator(
    name: str,
    *,
    api_key: str = "",
    base_url: str = "",
    temperature: float = 0.0,
    timeout_s: float = 60.0,
    first_wait_s: float = 0.5,
) -> Generator | None:
    """Return a generator, None for ``none``.

    Args:
        name: ``extractive``, ``none``, ``prompt``, or ``provider/model`` of LiteLLM.
        api_key: Key of the provider.
        base_url: Its address; empty: the provider's own.
        temperature: Of the model.
        timeout_s: Seconds that one call may take.
        first_wait_s: Seconds before a busy provider is asked again.

    Raises:
        MissingDependency: LiteLLM is not installed.
        UnknownName: It is neither.
    """
    if name == "none":
        return None
    if name == "extractive":
        return ExtractiveGenerator()
    if name == "prompt":
        return PromptGenerator()
    if "/" not in name.strip("/"):
        raise UnknownName("generator (or provider/model of LiteLLM)", name, GENERATORS)
    load_litellm()
    return LiteLLMGenerator(
        name,
        api_key=api_key,
        base_url=base_url,
        temperature=temperature,
        timeout_s=timeout_s,
        first_wait_s=first_wait_s,
    )
