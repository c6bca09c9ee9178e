"""Many searches at once: the same results as one by one, encoded together, and none stops another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from points import COLLECTION, DIM, MODEL, Corpus, vector_of

from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.calibration import CalibratedEncoder, Calibration
from rag_platform.embedding.embed import points_recipe
from rag_platform.errors import CallerError, RagError, UnknownName, UpstreamError
from rag_platform.index.exact import ExactIndex
from rag_platform.protocols import Encoder, FloatArray
from rag_platform.retrieval.batch import Wanted, search_together
from rag_platform.retrieval.memory import SearchMemory
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.search import Searcher, SearchResult
from rag_platform.types import Prompt, document_id

TAX, SOAP, SCHOOL = "सम्पत्ति कर तिर्नुहोस्", "साबुनले हात धुनुहोस्", "भर्ना वैशाखमा खुल्छ"
HYBRID = SearchOptions(fusion="rrf")


class Counting:
    """An encoder that keeps what it was asked together, reads ten words, and may be out of reach."""

    name, dim, max_tokens, recipe = MODEL, DIM, 10, "counting/1"

    def __init__(self, *, down: bool = False) -> None:
        self.calls: list[list[str]] = []
        self.down = down

    def prompted(self, text: str, prompt: Prompt) -> str:
        return f"{prompt}: {text}"

    def count_tokens(self, text: str, prompt: Prompt) -> int:
        return len(text.split())

    def encode(self, texts: Sequence[str], prompt: Prompt) -> FloatArray:
        self.calls.append(list(texts))
        if self.down:
            raise UpstreamError("the embedding model answered 503")
        if any(len(text.split()) > self.max_tokens for text in texts):
            raise CallerError("a question is too long")
        return np.stack([vector_of(document_id(COLLECTION, text)) for text in texts])


@pytest.fixture
def index() -> ExactIndex:
    index = ExactIndex()
    Corpus({"कर.txt": [TAX], "स्वास्थ्य.txt": [SOAP], "विद्यालय.txt": [SCHOOL]}).publish(
        index, recipe=points_recipe(Counting())
    )
    return index


def wanted(query: str, collection: str = COLLECTION, **options: object) -> Wanted:
    return Wanted(query, [collection], MODEL, replace(HYBRID, **options))  # type: ignore[arg-type]


def plain(found: SearchResult | RagError) -> object:
    """Return what two searches of the same must have in common."""
    assert isinstance(found, SearchResult)
    return found.query, found.hits, dict(found.generations)


@pytest.mark.parametrize("kept", [0, 2, 100])
def test_results_are_those_of_single_searches_and_encoded_together(index: ExactIndex, kept: int) -> None:
    encoder = Counting()
    searcher = Searcher(index, lambda name: encoder, memory=SearchMemory(vectors=kept, results=kept))
    asked = [
        wanted(TAX),
        wanted("kar tirnuhos"),
        wanted(SOAP, k=1),
        wanted(TAX),
        wanted("भर्ना", mode="lexical"),
    ]
    together = search_together(searcher, asked)
    assert len(encoder.calls) == 1
    assert sorted(encoder.calls[0]) == sorted({TAX, "kar tirnuhos", "कर तिर्नुहोस्", SOAP})
    alone = Searcher(index, lambda name: Counting())
    for one, found in zip(asked, together, strict=True):
        single = alone.search(one.query, collection=COLLECTION, model=MODEL, options=one.options)
        assert plain(found) == plain(single)


def test_what_is_remembered_is_not_encoded_again(index: ExactIndex) -> None:
    encoder = Counting()
    searcher = Searcher(index, lambda name: encoder, memory=SearchMemory(vectors=100, results=100))
    search_together(searcher, [wanted(TAX), wanted(SOAP)])
    search_together(searcher, [wanted(TAX, k=1), wanted(SOAP), wanted(SCHOOL)])
    assert [sorted(texts) for texts in encoder.calls] == [sorted([TAX, SOAP]), [SCHOOL]]


def test_without_memory_vectors_are_kept_on_disk(index: ExactIndex, tmp_path: Path) -> None:
    encoder = Counting()
    disk = EmbeddingCache(tmp_path)
    searcher = Searcher(index, lambda name: encoder, disk)
    for _ in range(2):
        search_together(searcher, [wanted(TAX), wanted(SOAP)], disk)
    assert len(encoder.calls) == 1


def test_a_search_that_fails_stops_no_other(index: ExactIndex) -> None:
    searcher = Searcher(index, lambda name: Counting())
    long = "शब्द " * 11
    found = search_together(
        searcher, [wanted(" "), wanted(TAX), wanted(TAX, "कर"), wanted(long), wanted(SOAP, k=0)]
    )
    assert [type(one) for one in found] == [CallerError, SearchResult, UnknownName, CallerError, CallerError]
    assert "too long" in str(found[3])


def test_a_model_out_of_reach_is_asked_once(index: ExactIndex) -> None:
    encoder: Encoder = Counting(down=True)
    found = search_together(
        Searcher(index, lambda name: encoder), [wanted(TAX), wanted(SOAP), wanted("भर्ना", mode="lexical")]
    )
    assert [type(one) for one in found] == [UpstreamError, UpstreamError, SearchResult]
    assert len(encoder.calls) == 1  # type: ignore[attr-defined]


def test_calibrated_vectors_are_centred_as_alone() -> None:
    mean, one = np.full(DIM, 0.1, np.float32), np.full(DIM, 0.3, np.float32)
    calibration = Calibration(mean, {"ne": one, "en": one, "romanized": one}, 0.5, 0.7)
    encoder, index = CalibratedEncoder(Counting(), calibration), ExactIndex()
    Corpus({"कर.txt": [TAX], "स्वास्थ्य.txt": [SOAP]}).publish(index, recipe=points_recipe(encoder))
    (found,) = search_together(Searcher(index, lambda name: encoder), [wanted(TAX)])
    single = Searcher(index, lambda name: encoder)
    assert plain(found) == plain(single.search(TAX, collection=COLLECTION, model=MODEL, options=HYBRID))
