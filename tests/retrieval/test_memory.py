"""What is kept of searches: never of another generation, another request or another model, and made once."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from points import COLLECTION, DIM, MODEL, Corpus, marked, vector_of

from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.calibration import CalibratedEncoder, Calibration
from rag_platform.embedding.embed import points_recipe
from rag_platform.errors import UpstreamError
from rag_platform.index.edge import EdgeIndex
from rag_platform.index.exact import ExactIndex
from rag_platform.protocols import Encoder, FloatArray
from rag_platform.retrieval.memory import SearchMemory
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.search import Searcher, SearchResult
from rag_platform.types import Condition, Prompt, document_id

TAX, SOAP, SCHOOL = "सम्पत्ति कर तिर्नुहोस्", "साबुनले हात धुनुहोस्", "भर्ना वैशाखमा खुल्छ"
HYBRID = SearchOptions(fusion="rrf")


class Slow:
    """An encoder that says what it was asked, takes its time, and may fail first."""

    name, dim, max_tokens = MODEL, DIM, 512

    def __init__(self, *, takes_s: float = 0.0, fails: int = 0, recipe: str = "slow/1") -> None:
        self.takes_s, self.fails, self.recipe = takes_s, fails, recipe
        self.encoded: list[str] = []

    def prompted(self, text: str, prompt: Prompt) -> str:
        return f"{prompt}: {text}"

    def count_tokens(self, text: str, prompt: Prompt) -> int:
        return len(text.split())

    def encode(self, texts: Sequence[str], prompt: Prompt) -> FloatArray:
        self.encoded += texts
        time.sleep(self.takes_s)
        if self.fails:
            self.fails -= 1
            raise UpstreamError("the embedding model answered 503")
        return np.stack([vector_of(document_id(COLLECTION, text)) for text in texts])


class Reversing:
    """A reranker that prefers short passages, or long ones."""

    name = "length"

    def __init__(self, sign: int) -> None:
        self.sign, self.recipe, self.calls = sign, f"length {sign}", 0

    def score(self, query: str, passages: Sequence[str]) -> FloatArray:
        self.calls += 1
        return np.array([self.sign * len(text) for text in passages], np.float32)


@pytest.fixture
def index() -> ExactIndex:
    index = ExactIndex()
    Corpus({"कर.txt": [TAX], "स्वास्थ्य.txt": [SOAP], "विद्यालय.txt": [SCHOOL]}).publish(
        index, recipe=points_recipe(Slow())
    )
    return index


def remembering(index: ExactIndex | EdgeIndex, encoder: Encoder, **given: int) -> Searcher:
    return Searcher(index, lambda name: encoder, memory=SearchMemory(**{"vectors": 8, "results": 8, **given}))


def ask(
    searcher: Searcher, query: str = TAX, *, collection: str | list[str] = COLLECTION, **options: object
) -> SearchResult:
    given = replace(HYBRID, **options)  # type: ignore[arg-type]
    return searcher.search(query, collection=collection, model=MODEL, options=given)


def test_the_same_search_is_made_once_and_says_so(index: ExactIndex) -> None:
    encoder = Slow()
    searcher = remembering(index, encoder)
    first, again = ask(searcher), ask(searcher)
    assert again.hits == first.hits
    assert again.explanation.terms == first.explanation.terms
    assert "dense" in first.explanation.milliseconds
    assert set(again.explanation.milliseconds) == {"memory"}
    counts = searcher.memory.results.counts
    assert (counts.misses, counts.hits, counts.entries) == (1, 1, 1)
    assert counts.n_bytes > sum(len(hit.chunk.text) for hit in first.hits)


def test_another_request_is_another_search(index: ExactIndex) -> None:
    encoder = Slow()
    searcher = remembering(index, encoder, results=50)
    changed: list[dict[str, object]] = [
        {},
        {"k": 1},
        {"mode": "lexical"},
        {"mode": "dense"},
        {"fusion": "weighted"},
        {"weights": (0.5, 0.5)},
        {"kinds": ["text"]},
        {"kinds": ["table"]},
        {"where": (Condition("source", "=", ("कर.txt",)),)},
        {"where": [Condition("source", "=", ["स्वास्थ्य.txt"])]},  # type: ignore[arg-type]
        {"threshold": 0.5},
        {"neighbours": 1},
        {"keywords": 2},
        {"distinct": True},
    ]
    alone = [ask(Searcher(index, lambda name: Slow()), **one) for one in changed]
    for _ in range(2):
        assert [ask(searcher, **one).hits for one in changed] == [one.hits for one in alone]
    assert searcher.memory.results.counts.misses == len(changed)
    assert searcher.memory.results.counts.hits == len(changed)
    assert encoder.encoded == [TAX]


def test_another_model_or_calibration_or_reranker_is_another_search(index: ExactIndex) -> None:
    """The question means are in no stored recipe, and may change while the service runs."""
    inner, mean = Slow(), np.full(DIM, 0.1, np.float32)

    def calibration(means: float, match: float) -> Calibration:
        one = np.full(DIM, means, np.float32)
        return Calibration(mean, {"ne": one, "en": one, "romanized": one}, 0.5, match)

    first = CalibratedEncoder(inner, calibration(0.1, 0.7))
    Corpus({"कर.txt": [TAX], "स्वास्थ्य.txt": [SOAP]}).publish(index, recipe=points_recipe(first))
    current: list[Encoder] = [first]
    memory = SearchMemory(vectors=8, results=8)
    searcher = Searcher(index, lambda name: current[0], memory=memory)
    scores = []
    for encoder in (first, CalibratedEncoder(inner, calibration(0.9, 0.7)), first):
        current[0] = encoder
        scores.append(ask(searcher).hits[0].scores["dense"])
    assert scores[0] == scores[2] != scores[1]
    assert (memory.results.counts.misses, inner.encoded) == (2, [TAX])
    current[0] = CalibratedEncoder(inner, calibration(0.1, 0.9))
    assert ask(searcher, fusion="calibrated").explanation.match == 0.9
    current[0] = first
    assert ask(searcher, fusion="calibrated").explanation.match == 0.7
    current[0] = Slow(recipe="slow/2")
    assert "another version" in ask(searcher).explanation.notes[0]


def test_another_reranker_is_another_search(index: ExactIndex) -> None:
    rerankers = {"short": Reversing(-1), "long": Reversing(1)}
    searcher = Searcher(index, lambda name: Slow(), None, rerankers.__getitem__, SearchMemory(results=8))
    firsts = {name: ask(searcher, reranker=name).hits[0].chunk.text for name in ("short", "long", "short")}
    assert firsts["short"] != firsts["long"]
    assert rerankers["short"].calls == 1


def test_a_new_generation_never_gets_an_old_result(tmp_path: Path) -> None:
    index, corpus = EdgeIndex(tmp_path), Corpus({"कर.txt": ["कर पाँच प्रतिशत"]})
    corpus.publish(index)
    searcher = remembering(index, Slow())
    seen = []
    for rate in ("छ", "सात"):
        seen.append(ask(searcher, "कर").hits[0].chunk.text)
        corpus.put("कर.txt", [f"कर {rate} प्रतिशत"])
        corpus.publish(index)
    result = ask(searcher, "कर")
    assert [*seen, result.hits[0].chunk.text] == ["कर पाँच प्रतिशत", "कर छ प्रतिशत", "कर सात प्रतिशत"]
    assert result.generation == 3


def test_several_collections_by_all_their_generations() -> None:
    index, one, other = ExactIndex(), Corpus({"क.txt": ["कर"]}, collection="a"), Corpus(collection="b")
    one.publish(index)
    other.put("ख.txt", ["पुरानो कर"])
    other.publish(index)
    searcher = remembering(index, Slow())

    def found(collection: str | list[str]) -> set[str]:
        return {hit.chunk.text for hit in ask(searcher, "कर", collection=collection).hits}

    assert found(["a", "b"]) == found(["b", "a"]) == {"कर", "पुरानो कर"}
    assert (found("a"), found("b")) == ({"कर"}, {"पुरानो कर"})
    other.put("ख.txt", ["नयाँ कर"])
    other.publish(index)
    assert (found(["a", "b"]), found("a"), found("b")) == ({"कर", "नयाँ कर"}, {"कर"}, {"नयाँ कर"})
    assert searcher.memory.results.counts.hits == 1


def test_searches_while_generations_are_published_are_never_old_and_never_mixed() -> None:
    index = ExactIndex()
    marked(1).publish(index)
    searcher, stop, seen = remembering(index, Slow()), threading.Event(), []

    def search() -> None:
        while not stop.is_set():
            result = ask(searcher, "साझा", k=20)
            assert {hit.chunk.text.split()[0] for hit in result.hits} == {f"संस्करण{result.generation}"}
            seen.append(result.generation)

    with ThreadPoolExecutor(6) as pool:
        running = [pool.submit(search) for _ in range(6)]
        for number in range(2, 12):
            assert marked(number).publish(index).generation == number
            time.sleep(0.02)
        stop.set()
        for one in running:
            one.result()
    assert len(set(seen)) > 3
    assert searcher.memory.results.counts.hits > 0
    assert ask(searcher, "साझा").generation == 11


def test_one_question_of_many_callers_is_encoded_once(index: ExactIndex) -> None:
    encoder, gate = Slow(takes_s=0.05), threading.Barrier(8)
    searcher = remembering(index, encoder, results=0)

    def search(k: int) -> SearchResult:
        gate.wait()
        return ask(searcher, k=k)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(search, (1, 2, 3, 1, 2, 3, 1, 2)))
    assert encoder.encoded == [TAX]
    assert results[0].hits == results[3].hits == results[6].hits
    assert searcher.memory.vectors.counts.misses == 1


def test_errors_are_not_kept(index: ExactIndex) -> None:
    encoder = Slow(fails=1)
    searcher = remembering(index, encoder)
    with pytest.raises(UpstreamError, match="503"):
        ask(searcher)
    assert ask(searcher).hits == ask(searcher).hits
    assert encoder.encoded == [TAX, TAX]


def test_what_memory_keeps_is_not_written_to_disk(index: ExactIndex, tmp_path: Path) -> None:
    disk, encoder = EmbeddingCache(tmp_path), Slow()
    memory = SearchMemory(vectors=8)
    ask(Searcher(index, lambda name: encoder, disk, memory=memory))
    assert not disk.path(encoder).exists()
    disk.put_many(encoder, [SOAP], encoder.encode([SOAP], "query"), "query")
    ask(Searcher(index, lambda name: encoder, disk, memory=memory), SOAP)
    assert encoder.encoded == [TAX, SOAP]
    ask(Searcher(index, lambda name: encoder, disk), SCHOOL)
    assert set(disk.get_many(encoder, [TAX, SOAP, SCHOOL], "query")) == {SOAP, SCHOOL}


def test_nothing_is_kept_where_it_is_switched_off(index: ExactIndex) -> None:
    encoder = Slow()
    searcher = remembering(index, encoder, vectors=0, results=0)
    assert [set(ask(searcher).explanation.milliseconds) > {"dense"} for _ in range(2)] == [True, True]
    assert encoder.encoded == [TAX, TAX]
    assert searcher.memory.results.counts.entries == searcher.memory.vectors.counts.entries == 0
