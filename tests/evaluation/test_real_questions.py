"""Questions drafted by a real language model behind a real server: it is far too small to write good ones.

What is proved is that it is asked, answers in the schemas, and that everything it says is checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("litellm", reason="litellm is not installed (extra judge)")

from question_corpus import corpus_of
from real_model import QUIET, running

from rag_platform.answering.gguf import Engine
from rag_platform.evaluation.judge import JudgeEndpoint
from rag_platform.evaluation.judge.calls import JudgeModel
from rag_platform.evaluation.memo import Memo
from rag_platform.evaluation.questions import generate

pytestmark = [pytest.mark.slow, *QUIET]
TEXTS = {"water.txt": "The water committee meets on 12 Falgun. Each house gets water for two hours a day."}
REFUSALS = (
    "the model saw no such question",
    "speaks of the passage",
    "has no answer",
    "its evidence does not stand in the passage",
    "copies more than 7 words",
    "was asked already",
    "does not answer it",
    "another passage answers it as well",
    "a passage answers it",
    "gave no usable answer",
)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with running() as found:
        yield found


def test_a_real_model_is_asked_and_what_it_says_is_checked(engine: Engine, tmp_path: Path) -> None:
    memo = Memo(tmp_path / "memo.sqlite")
    model = JudgeModel(JudgeEndpoint("openai/smollm2", engine.base_url(), engine.key), memo, max_tokens=200)
    kinds = ["lookup", "unanswerable"]
    made = generate(corpus_of(TEXTS), model, kinds=kinds, n=2)
    assert 2 <= made.calls <= 4, "a draft of each kind, and a check of each that has the form"
    assert made.usage.tokens > 200 * made.calls
    assert len(made.drafted) + len(made.refused) == 2
    assert all(any(reason in one.reason for reason in REFUSALS) for one in made.refused)
    assert all(label.quote in TEXTS["water.txt"] for one in made.drafted for label in one.case.labels)
    again = generate(corpus_of(TEXTS), model, kinds=kinds, n=2)
    assert (again.calls, again.drafted, again.refused) == (0, made.drafted, made.refused)
