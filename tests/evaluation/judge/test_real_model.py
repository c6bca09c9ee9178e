"""The judge over a real language model behind a real server: its words mean nothing, that it runs does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from real_model import QUIET, running

pytest.importorskip("deepeval", reason="deepeval is not installed (extra judge)")
pytest.importorskip("litellm", reason="litellm is not installed (extra judge)")

from rag_platform.answering.gguf import Engine
from rag_platform.evaluation.judge import Judge, JudgeCase, JudgeEndpoint, load_judge

pytestmark = [pytest.mark.slow, *QUIET]
CASE = JudgeCase(
    "When does the library open?",
    "The library opens at nine.",
    ("The library opens at nine in the morning.",),
    "At nine.",
)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with running() as found:
        yield found


@pytest.fixture
def judge(engine: Engine, tmp_path: Path) -> Judge:
    endpoint = JudgeEndpoint("openai/smollm2", engine.base_url(), engine.key)
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
