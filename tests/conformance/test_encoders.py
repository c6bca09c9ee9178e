"""Every encoder that can run here keeps the contract of ``protocols.Encoder``."""

import importlib.util
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from rag_platform.embedding.encoders import (
    EncoderSpec,
    PromptSpec,
    SentenceTransformerEncoder,
    load_encoder,
)
from rag_platform.errors import CallerError
from rag_platform.protocols import Encoder

TINY = Path(__file__).parents[1] / "embedding" / "tiny_bert.py"
TEXTS = [
    "नेपालको संविधान २०७२ असोज ३ गते जारी भएको हो।",
    "खोप",
    "The ward office is open from ten to five.",
    "विद्यालयमा नयाँ शैक्षिक सत्र वैशाखदेखि सुरु हुन्छ र भर्ना निःशुल्क छ।",
    "नागरिकता certificate का लागि फोटो चाहिन्छ।",
]
PROMPTS: tuple[Literal["query", "passage"], ...] = ("query", "passage")


def tiny_encoder(folder: Path) -> Encoder:
    pytest.importorskip(
        "sentence_transformers", reason="sentence-transformers is not installed (extra models)"
    )
    module_spec = importlib.util.spec_from_file_location("tiny_bert", TINY)
    assert module_spec is not None
    assert module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    spec = EncoderSpec(
        name="rag-test/tiny",
        engine="sentence-transformers",
        n_parameters=50_000,
        dim=module.DIM,
        max_tokens=module.MAX_TOKENS,
        query=PromptSpec("query: "),
        passage=PromptSpec(name="document"),
    )
    return SentenceTransformerEncoder(spec, path=module.build_tiny_bert(folder), device="cpu", batch_size=3)


@pytest.fixture(scope="module", params=["hashing", "intfloat/multilingual-e5-small", "rag-test/tiny"])
def encoder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    if request.param == "rag-test/tiny":
        return tiny_encoder(tmp_path_factory.mktemp("tiny"))
    return load_encoder(request.param)


def test_facts_are_there_and_constant(encoder: Encoder) -> None:
    facts = (encoder.name, encoder.dim, encoder.recipe, encoder.max_tokens)
    encoder.encode(TEXTS[:1], "query")
    assert (encoder.name, encoder.dim, encoder.recipe, encoder.max_tokens) == facts
    assert encoder.dim > 0
    assert encoder.max_tokens > 0
    assert encoder.name in encoder.recipe


@pytest.mark.parametrize("prompt", PROMPTS)
def test_rows_are_finite_unit_vectors(encoder: Encoder, prompt: Literal["query", "passage"]) -> None:
    vectors = encoder.encode(TEXTS, prompt)
    assert (vectors.shape, vectors.dtype) == ((len(TEXTS), encoder.dim), np.float32)
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1.0] * len(TEXTS), abs=1e-5)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_same_text_gives_the_same_vector(encoder: Encoder, prompt: Literal["query", "passage"]) -> None:
    assert np.array_equal(encoder.encode(TEXTS, prompt), encoder.encode(TEXTS, prompt))


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_batch_equals_single_calls_in_order(encoder: Encoder, prompt: Literal["query", "passage"]) -> None:
    single = np.concatenate([encoder.encode([text], prompt) for text in TEXTS])
    assert encoder.encode(TEXTS, prompt) == pytest.approx(single, abs=1e-5)
    assert encoder.encode(TEXTS[::-1], prompt) == pytest.approx(single[::-1], abs=1e-5)


def test_the_sides_differ_exactly_when_their_prompts_do(encoder: Encoder) -> None:
    differ = encoder.prompted(TEXTS[0], "query") != encoder.prompted(TEXTS[0], "passage")
    equal = np.array_equal(encoder.encode(TEXTS, "query"), encoder.encode(TEXTS, "passage"))
    assert differ != equal


def test_prompting_keeps_texts_apart(encoder: Encoder) -> None:
    for prompt in PROMPTS:
        assert len({encoder.prompted(text, prompt) for text in TEXTS}) == len(TEXTS)


def test_every_text_has_a_token_and_more_text_has_more(encoder: Encoder) -> None:
    for prompt in PROMPTS:
        assert encoder.count_tokens("खोप", prompt) >= 1
        assert encoder.count_tokens("खोप " * 20, prompt) > encoder.count_tokens("खोप", prompt)


def test_no_texts_give_no_rows(encoder: Encoder) -> None:
    for prompt in PROMPTS:
        vectors = encoder.encode([], prompt)
        assert (vectors.shape, vectors.dtype) == ((0, encoder.dim), np.float32)


@pytest.mark.parametrize("text", ["", "  \n", "\0सूचना"])
def test_what_cannot_be_read_is_refused(encoder: Encoder, text: str) -> None:
    with pytest.raises(CallerError):
        encoder.encode(["सूचना", text], "passage")


def test_texts_are_not_changed(encoder: Encoder) -> None:
    texts = list(TEXTS)
    encoder.encode(texts, "passage")
    assert texts == TEXTS
