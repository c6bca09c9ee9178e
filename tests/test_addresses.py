"""Keys and addresses go where they belong, and nowhere into messages."""

from pathlib import Path

import pytest

from rag_platform.errors import UpstreamError
from rag_platform.index.qdrant import connect
from rag_platform.privacy import shown_address
from rag_platform.settings import Settings
from rag_platform.system import System


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://rag:geheim@localhost:8000/v1?key=geheim", "http://localhost:8000/v1"),
        ("https://example.org", "https://example.org"),
        ("", ""),
    ],
)
def test_addresses_are_shown_without_secrets(url: str, shown: str) -> None:
    assert shown_address(url) == shown


def test_an_address_of_qdrant_that_is_none_shows_no_password() -> None:
    with pytest.raises(UpstreamError) as caught:
        connect("http://u:geheim@host:abc")
    assert "geheim" not in str(caught.value)


def test_a_key_goes_to_the_provider_it_was_set_for_alone(tmp_path: Path) -> None:
    pytest.importorskip("litellm", reason="LiteLLM is not installed (extra remote)")
    settings = Settings.load(
        None,
        RAG_HOME=tmp_path,
        RERANKER_MODEL="cohere",
        RAG_RERANKER_API_KEY="key-of-cohere",
        EMBEDDING_MODEL="openai/own-model",
        RAG_EMBEDDING_API_KEY="key-of-own-server",
        RAG_EMBEDDING_BASE_URL="http://localhost:9/v1",
        RAG_SANITY_GATE="record",
    )
    system = System.from_settings(settings)
    assert held(system.reranker("cohere")) == "key-of-cohere"
    assert held(system.reranker("jina")) == ""
    assert held(system.bare_encoder("openai/own-model")) == "key-of-own-server"
    assert held(system.bare_encoder("litellm/voyage/voyage-3")) == ""


def held(model: object) -> object:
    inner = getattr(model, "_encoder", None) or getattr(model, "_reranker", model)
    return inner._key
