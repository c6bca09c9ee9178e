import logging
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("openai", reason="openai is not installed (extra remote)")

from local_server import LocalServer, serving

from rag_platform.embedding.catalogue import resolve
from rag_platform.embedding.encoders import can_load, load_encoder
from rag_platform.embedding.endpoint import EndpointEncoder
from rag_platform.errors import (
    CallerError,
    ChunkTooLong,
    DimensionMismatch,
    InvalidSetting,
    UnknownName,
    UpstreamError,
)
from rag_platform.system import System

KEY = "secret-41c7e"
TEXTS = ["वडा कार्यालय बिहान दस बजे खुल्छ।", "खोप", "The ward office opens at ten."]
# LiteLLM keeps clients and an event loop for the life of the process
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def vector(text: str, dim: int) -> list[float]:
    """Return a direction of its own for each text."""
    return np.random.default_rng(zlib.crc32(text.encode())).normal(size=dim).tolist()


def embedding(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Answer as an OpenAI-compatible server does, the last text first."""
    dim = body.get("dimensions") or 8
    items = [
        {"object": "embedding", "index": i, "embedding": vector(text, dim)}
        for i, text in enumerate(body["input"])
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "model": body["model"], "data": items[::-1], "usage": usage}


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with serving(embedding) as local:
        yield local


def encoder(url: str, name: str = "openai/office/model", **options: Any) -> EndpointEncoder:
    return EndpointEncoder(
        resolve(name), base_url=f"{url}/v1", api_key=KEY, **{"first_wait_s": 0.01, **options}
    )


def test_rows_are_unit_vectors_in_the_order_of_the_texts(server: LocalServer) -> None:
    model = encoder(server.url, batch_size=2)
    found = model.encode(TEXTS, "passage")
    expected = np.array([vector(text, 8) for text in TEXTS])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert found == pytest.approx(expected, abs=1e-6)
    assert (found.dtype, model.dim) == (np.float32, 8)
    probe, *asked = server.requests[-1:] + server.requests[:-1]
    assert probe[1]["input"] == ["आयाम"]
    assert [body["input"] for _, body, _ in asked] == [TEXTS[:2], TEXTS[2:]]
    assert {(path, key) for path, _, key in server.requests} == {("/v1/embeddings", f"Bearer {KEY}")}
    assert asked[0][1]["model"] == "office/model"
    assert model.encode([], "query").shape == (0, 8)


def test_a_server_of_a_catalogue_model_gets_its_prompts(server: LocalServer) -> None:
    model = encoder(server.url, "openai/Qwen/Qwen3-Embedding-0.6B")
    assert (model.dim, model.max_tokens) == (1024, 32768)
    with pytest.raises(DimensionMismatch, match="8"):
        model.encode(["खोप"], "query")
    with pytest.raises(DimensionMismatch):
        model.encode(["खोप"], "passage")
    task = "Given a web search query, retrieve relevant passages that answer the query"
    assert [body["input"] for body in server.bodies()] == [[f"Instruct: {task}\nQuery:खोप"], ["खोप"]]
    e5 = encoder(server.url, "openai/multilingual-e5-large")
    assert e5.prompted("खोप", "query") == "query: खोप"
    assert e5.prompted("खोप", "passage") == "passage: खोप"
    with pytest.raises(CallerError, match="come with its weights"):
        resolve("openai/jinaai/jina-embeddings-v3")


def test_the_size_asked_for_is_asked_for_and_checked(server: LocalServer) -> None:
    model = encoder(server.url, dim=4)
    assert model.encode(TEXTS, "query").shape == (3, 4)
    assert [body["dimensions"] for body in server.bodies()] == [4]
    assert model.recipe != encoder(server.url).recipe
    with (
        serving(lambda path, body: embedding(path, body | {"dimensions": 0})) as stubborn,
        pytest.raises(DimensionMismatch),
    ):
        encoder(stubborn.url, dim=4).encode(TEXTS, "query")


def test_text_that_is_too_long_is_not_sent(server: LocalServer) -> None:
    e5 = encoder(server.url, "openai/intfloat/multilingual-e5-base")
    bundled = load_encoder("multilingual-e5-small")  # the same tokenizer and prefixes
    for prompt in ("query", "passage"):
        assert e5.count_tokens(TEXTS[0], prompt) == bundled.count_tokens(TEXTS[0], prompt)
    with pytest.raises(ChunkTooLong, match="reads 512"):
        e5.encode(["वडा " * 600], "passage")
    with pytest.raises(CallerError, match="reads 8191"):
        encoder(server.url).encode(["वडा " * 1000], "query")
    with pytest.raises(CallerError, match="blank"):
        encoder(server.url).encode(["\n"], "query")
    assert not server.requests


def test_a_busy_server_is_asked_again_and_a_refusal_is_not() -> None:
    answers = iter([(429, {"error": {"message": "slow down"}}), (500, {"error": {"message": "oops"}})])
    with serving(lambda path, body: next(answers, None) or embedding(path, body)) as local:
        assert encoder(local.url, dim=8).encode(TEXTS, "query").shape == (3, 8)
        assert len(local.requests) == 3
    with serving(lambda path, body: (400, {"error": {"message": "no such model"}})) as local:
        with pytest.raises(UpstreamError, match=r"answered 400 \(attempt 1 of 5\).*no such model.*name"):
            encoder(local.url).encode(TEXTS, "query")
        assert len(local.requests) == 1
    with pytest.raises(UpstreamError, match=r"gave no answer.*base URL"):
        encoder(local.url).encode(TEXTS, "query")


@pytest.mark.parametrize("name", ["openai/office/model", "litellm/openai/office/model"])
def test_the_key_is_in_no_error_log_or_recipe(name: str, caplog: pytest.LogCaptureFixture) -> None:
    refused = 401, {"error": {"message": f"invalid key {KEY}"}}
    with (
        caplog.at_level(logging.DEBUG),
        serving(lambda path, body: refused) as local,
        pytest.raises(UpstreamError, match="RAG_EMBEDDING_API_KEY") as caught,
    ):
        encoder(local.url, name).encode(TEXTS, "query")
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert KEY not in caplog.text
    with_user = EndpointEncoder(resolve(name), base_url=f"http://me:{KEY}@localhost:1/v1", api_key=KEY)
    assert KEY not in with_user.recipe
    assert "localhost:1/v1" in with_user.recipe


def test_an_answer_that_lacks_a_text_is_not_used() -> None:
    def short(path: str, body: dict[str, Any]) -> dict[str, Any]:
        whole = embedding(path, body)
        return whole | {"data": whole["data"][1:]}

    with serving(short) as local, pytest.raises(UpstreamError, match="2 vectors for 3 texts"):
        encoder(local.url).encode(TEXTS, "query")


def test_a_provider_is_told_the_side() -> None:
    pytest.importorskip("litellm", reason="litellm is not installed (extra remote)")
    with serving(embedding) as local:
        model = encoder(local.url, "litellm/jina_ai/jina-embeddings-v3", dim=16)
        for prompt in ("query", "passage"):
            assert model.encode(TEXTS, prompt).shape == (3, 16)
        bodies = local.bodies()
    assert [body["task"] for body in bodies] == ["retrieval.query", "retrieval.passage"]
    assert bodies[0]["input"] == TEXTS
    assert bodies[0]["dimensions"] == 16


def test_names_of_apis(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve("openai/text-embedding-3-small").dim == 1536
    assert resolve("litellm/cohere/embed-multilingual-v3.0").engine == "endpoint"
    assert load_encoder("openai/x", base_url="http://localhost:1").name == "openai/x"
    assert can_load(resolve("openai/x")) is None
    for name in ("openai/", "litellm/openai", "other/x"):
        with pytest.raises(UnknownName):
            resolve(name)


def test_a_key_goes_to_its_own_server_only(server: LocalServer, make_system: Any) -> None:
    monkey = {"OPENAI_API_KEY": KEY, "RAG_SANITY_GATE": "record"}
    foreign: System = make_system(RAG_EMBEDDING_BASE_URL=f"{server.url}/v1", **monkey)
    foreign.encoder("openai/x").encode(TEXTS, "query")
    assert {key for _, _, key in server.requests} == {"Bearer none"}
    server.requests.clear()
    own: System = make_system(OPENAI_BASE_URL=f"{server.url}/v1", **monkey)
    own.encoder("openai/x").encode(TEXTS, "query")
    assert {key for _, _, key in server.requests} == {f"Bearer {KEY}"}


def test_sizes_that_a_model_does_not_offer_are_refused() -> None:
    assert load_encoder("Qwen3-Embedding-0.6B", dim=256).dim == 256
    assert (
        load_encoder("Qwen3-Embedding-0.6B", dim=1024).recipe == load_encoder("Qwen3-Embedding-0.6B").recipe
    )
    assert load_encoder("multilingual-e5-small", dim=384).dim == 384
    for name, dim in (("multilingual-e5-small", 256), ("gte-multilingual-base", 64), ("bge-m3", 2048)):
        with pytest.raises(InvalidSetting, match=f"RAG_EMBEDDING_DIM is {dim}"):
            load_encoder(name, dim=dim)
