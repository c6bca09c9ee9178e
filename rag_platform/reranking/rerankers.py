"""The family of rerankers: how one is loaded, and whether one can be loaded here.

The models are data in ``catalogue``; each kind that runs them has a module.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

import numpy as np

from rag_platform.embedding.encoders import is_cached
from rag_platform.embedding.transformer import INSTALL_MODELS
from rag_platform.protocols import FloatArray, Reranker
from rag_platform.remote import INSTALL_REMOTE
from rag_platform.reranking.catalogue import RERANKERS, RerankerSpec, resolve
from rag_platform.reranking.hosted import HostedReranker
from rag_platform.reranking.listwise import ListwiseReranker
from rag_platform.reranking.transformer import CausalReranker, CrossEncoderReranker

__all__ = ["RERANKERS", "NoReranker", "RerankerSpec", "can_load", "load_reranker", "resolve"]


class NoReranker:
    """The reranker ``none``: every passage keeps its place."""

    name = "none"
    recipe = "none"

    def score(self, query: str, passages: Sequence[str]) -> FloatArray:
        """Return 0, -1, -2, ...: the order in which the passages came."""
        return -np.arange(len(passages), dtype=np.float32)


def load_reranker(
    name: str, *, device: str = "auto", batch_size: int = 32, api_key: str = "", base_url: str = ""
) -> Reranker:
    """Return the reranker of a name; its weights load, or its service is asked, when it is first needed.

    Args:
        name: A catalogue name in any case, ``cohere/MODEL``, ``jina/MODEL`` or ``llm/PROVIDER/MODEL``.
        device: Where a torch model runs.
        batch_size: Pairs in one forward pass of a torch model; causal models take a quarter.
        api_key: Key of a hosted one.
        base_url: Address of a hosted one; empty: its own.

    Raises:
        UnknownName: There is no such reranker.
        CallerError: ``llm`` without a model.
        InvalidSetting: No such kind of device.
    """
    spec = resolve(name)
    if spec.engine == "none":
        return NoReranker()
    if spec.engine == "hosted":
        return HostedReranker(spec, api_key=api_key, base_url=base_url)
    if spec.engine == "listwise":
        return ListwiseReranker(spec, api_key=api_key, base_url=base_url)
    if spec.engine == "causal":
        return CausalReranker(spec, device=device, batch_size=max(1, batch_size // 4))
    return CrossEncoderReranker(spec, device=device, batch_size=batch_size)


def can_load(spec: RerankerSpec) -> str | None:
    """Return None when a reranker can run here without a download, else what to do; loads nothing."""
    if spec.engine == "none":
        return None
    remote = spec.engine in ("hosted", "listwise")
    needed = ("litellm",) if remote else ("torch", "transformers")
    missing = [package for package in needed if importlib.util.find_spec(package) is None]
    if missing:
        return f"{', '.join(missing)} not installed: {INSTALL_REMOTE if remote else INSTALL_MODELS}"
    if remote:
        return None
    if not is_cached(spec.name, spec.revision):
        return f"not in the Hugging Face cache; where there is a network: hf download {spec.name}"
    return None
