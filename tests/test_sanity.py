"""The gate, on the bundled model with its own and with wrong prefixes, and on models that know nothing."""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from rag_platform import sanity
from rag_platform.bundled import engine
from rag_platform.embedding.encoders import load_encoder
from rag_platform.errors import GateFailed
from rag_platform.protocols import FloatArray
from rag_platform.sanity import (
    PAIRS,
    GatedEncoder,
    GatedReranker,
    GateResult,
    check_encoder,
    check_reranker,
    gate_of,
)
from rag_platform.system import System
from rag_platform.types import Prompt

E5 = "intfloat/multilingual-e5-small"


@pytest.fixture(autouse=True)
def _asked_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sanity, "_RESULTS", {})


class Prefixed:
    """multilingual-e5-small with chosen prefixes: what a wrong catalogue entry would make of it."""

    name, dim, max_tokens = E5, 384, 512

    def __init__(self, query: str, passage: str) -> None:
        self.sides = {"query": query, "passage": passage}
        self.recipe = f"{query} {passage}"
        self.n_calls = 0

    def prompted(self, text: str, prompt: Prompt) -> str:
        return f"{self.sides[prompt]}: {text}"

    def count_tokens(self, text: str, prompt: Prompt) -> int:
        return int(engine().token_count(text))

    def encode(self, texts: Sequence[str], prompt: Prompt) -> FloatArray:
        self.n_calls += 1
        side = engine().query if self.sides[prompt] == "query" else engine().passage
        return np.asarray(side(list(texts)), dtype=np.float32)


class Scored:
    """A reranker that scores by a function."""

    name = "rag-test/scored"

    def __init__(self, score: Any) -> None:
        self.recipe, self._score = f"scored {id(score)}", score

    def score(self, query: str, passages: Sequence[str]) -> FloatArray:
        return np.array([self._score(query, passage) for passage in passages], dtype=np.float32)


RIGHT = {pair.query: pair.right for pair in PAIRS}


def test_the_bundled_model_passes_with_its_own_prefixes() -> None:
    assert check_encoder(load_encoder(E5)) == GateResult(True, 5, ())


@pytest.mark.parametrize(
    ("query", "passage"), [("query", "query"), ("passage", "passage"), ("passage", "query")]
)
def test_wrong_prefixes_are_refused_with_what_was_seen(query: str, passage: str) -> None:
    gated = GatedEncoder(Prefixed(query, passage), "refuse")
    with pytest.raises(
        GateFailed, match=r"ranks [0-4] of 5 .*'नेपालको राजधानी कहाँ हो\?'.*RAG_SANITY_GATE"
    ) as caught:
        gated.encode(["सूचना"], "passage")
    assert not caught.value.retryable
    assert caught.value.code == "gate_failed"


def test_a_failure_may_be_recorded_instead(caplog: pytest.LogCaptureFixture) -> None:
    wrong = Prefixed("query", "query")
    gated = GatedEncoder(wrong, "record")
    with caplog.at_level(logging.WARNING):
        vectors = gated.encode(["सूचना"], "passage")
    assert np.array_equal(vectors, wrong.encode(["सूचना"], "passage"))
    result = gate_of(gated)
    assert result is not None
    assert not result.passed
    assert result.n_right == 5 - len(result.seen) < 5
    assert "plain Nepali questions right" in caplog.text


def test_it_is_asked_once_a_process_and_only_when_used() -> None:
    model = Prefixed("query", "passage")
    gated = GatedEncoder(model, "refuse")
    assert (gated.name, gated.dim, gated.max_tokens, gated.recipe) == (E5, 384, 512, model.recipe)
    assert gated.prompted("क", "query") == "query: क"
    assert gated.count_tokens("सूचना", "query") > 1
    assert gated.encode([], "query").shape[0] == 0
    assert model.n_calls == 1
    gated.encode(["सूचना"], "query")
    assert model.n_calls == 4  # two for the gate
    GatedEncoder(model, "refuse").encode(["सूचना"], "query")
    assert model.n_calls == 5


def test_no_score_that_ignores_the_question_passes() -> None:
    ignorant = [
        lambda query, passage: len(passage),
        lambda query, passage: -len(passage),
        lambda query, passage: 0.5,
        lambda query, passage: hash(passage) % 1000,
    ]
    for score in ignorant:
        assert check_reranker(Scored(score)).n_right < 5


def test_a_reranker_that_knows_passes_and_its_negative_is_refused() -> None:
    right = GatedReranker(Scored(lambda query, passage: float(RIGHT.get(query) == passage)), "refuse")
    assert right.score("के?", ["क", "ख"]).tolist() == [0.0, 0.0]
    assert gate_of(right) == GateResult(True, 5, ())
    wrong = GatedReranker(Scored(lambda query, passage: -float(RIGHT.get(query) == passage)), "refuse")
    with pytest.raises(GateFailed, match="ranks 0 of 5"):
        wrong.score("के?", ["क"])


def test_a_system_gates_every_model_but_the_exempt(make_system: Any) -> None:
    system: System = make_system(RAG_SANITY_GATE="record")
    assert gate_of(system.encoder("hashing")) is None
    assert gate_of(system.reranker("none")) is None
    assert gate_of(system.encoder(E5)) == GateResult(True, 5, ())
    assert isinstance(system.reranker("bge-reranker-v2-m3"), GatedReranker)
