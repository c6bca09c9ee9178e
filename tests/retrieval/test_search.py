"""The searcher: modes, scores, refusals, one snapshot a request, new generations without a pause."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from points import COLLECTION, DIM, MODEL, Corpus, marked, publish_marked, vector_of
from qdrant_client import QdrantClient

from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.calibration import CalibratedEncoder, Calibration
from rag_platform.embedding.embed import points_recipe
from rag_platform.errors import CallerError, DimensionMismatch, NotPublished
from rag_platform.index import qdrant
from rag_platform.index.edge import EdgeIndex
from rag_platform.index.exact import ExactIndex
from rag_platform.index.qdrant import QdrantIndex
from rag_platform.protocols import Encoder, FloatArray, Index
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.search import Searcher
from rag_platform.types import Condition, Prompt, document_id

SOAP, HANDS, TAX, SCHOOL = "साबुनले हात धुनुहोस्", "हात सफा राख्नुहोस्", "सम्पत्ति कर तिर्नुहोस्", "भर्ना वैशाखमा खुल्छ"

LEXICAL = SearchOptions(mode="lexical")


class Pointing:
    """An encoder whose query vector is that of the chunk the query names."""

    name, dim, recipe, max_tokens = MODEL, DIM, "pointing/1", 512

    def __init__(self, corpus: Corpus) -> None:
        self.by_text = {one.text: vector_of(one.chunk_id) for one in corpus.expected.values()}
        self.encoded: list[str] = []

    def prompted(self, text: str, prompt: Prompt) -> str:
        return f"{prompt}: {text}"

    def count_tokens(self, text: str, prompt: Prompt) -> int:
        return len(text.split())

    def encode(self, texts: Sequence[str], prompt: Prompt) -> FloatArray:
        assert prompt == "query"
        self.encoded += texts
        return np.stack([self.by_text.get(text, self.by_text[TAX]) for text in texts])


@pytest.fixture
def corpus() -> Corpus:
    return Corpus({"स्वास्थ्य.txt": [SOAP, HANDS], "कर.txt": [TAX], "विद्यालय.txt": [SCHOOL]})


@pytest.fixture
def encoder(corpus: Corpus) -> Pointing:
    return Pointing(corpus)


@pytest.fixture
def index(corpus: Corpus) -> ExactIndex:
    index = ExactIndex()
    corpus.publish(index)
    return index


@pytest.fixture
def searcher(index: ExactIndex, encoder: Pointing) -> Searcher:
    return Searcher(index, lambda name: encoder)


def no_encoder(name: str) -> Encoder:
    raise AssertionError(f"{name} was loaded")


def test_kinds_are_searched_alone_and_unknown_ones_refused() -> None:
    corpus = Corpus({"शुल्क.docx": [TAX, "| कर | रु. ५० |"]})
    index = ExactIndex()
    corpus.publish(index)
    searcher = Searcher(index, no_encoder)
    tables = SearchOptions(mode="lexical", kinds=("table",))
    result = searcher.search("कर", collection=COLLECTION, model=MODEL, options=tables)
    assert [(hit.chunk.kind, hit.chunk.text) for hit in result.hits] == [("table", "| कर | रु. ५० |")]
    for where, n in (
        ([Condition("source", "=", ("शुल्क.docx",))], 1),
        ([Condition("kind", "=", ("text",))], 0),
    ):
        result = searcher.search(
            "कर",
            collection=COLLECTION,
            model=MODEL,
            options=SearchOptions(mode="lexical", kinds=("table",), where=where),
        )
        assert len(result.hits) == n
    with pytest.raises(CallerError, match="kinds are empty"):
        searcher.search("कर", collection=COLLECTION, model=MODEL, options=SearchOptions(kinds=()))
    odd = SearchOptions(kinds=("picture",))  # type: ignore[arg-type]
    with pytest.raises(CallerError, match="picture"):
        searcher.search("कर", collection=COLLECTION, model=MODEL, options=odd)


def test_dense(searcher: Searcher) -> None:
    result = searcher.search(TAX, collection=COLLECTION, model=MODEL, options=SearchOptions(mode="dense"))
    assert (result.query, result.collection, result.model) == (TAX, COLLECTION, MODEL)
    assert (result.generation, result.mode) == (1, "dense")
    assert [hit.rank for hit in result.hits] == [1, 2, 3, 4]
    best = result.hits[0]
    assert (best.chunk.text, best.chunk.source, best.chunk.page_first) == (TAX, "कर.txt", 1)
    assert best.score == pytest.approx(1.0)
    assert best.scores == {"dense": best.score, "dense_rank": 1}


def test_lexical_needs_no_encoder(index: ExactIndex) -> None:
    result = Searcher(index, no_encoder).search("हात", collection=COLLECTION, model=MODEL, options=LEXICAL)
    assert {hit.chunk.text for hit in result.hits} == {SOAP, HANDS}
    assert [hit.scores["lexical_rank"] for hit in result.hits] == [1, 2]
    assert all(hit.score == hit.scores["lexical"] > 0 for hit in result.hits)


def test_hybrid_fuses_both(searcher: Searcher) -> None:
    result = searcher.search(TAX, collection=COLLECTION, model=MODEL)
    best = result.hits[0]
    assert best.chunk.text == TAX
    assert best.score == 0.7 / (60 + 1) + 0.3 / (60 + 1)
    assert (best.scores["dense_rank"], best.scores["lexical_rank"]) == (1, 1)
    found_by_dense_only = [hit for hit in result.hits if "lexical" not in hit.scores]
    assert found_by_dense_only
    for hit in found_by_dense_only:
        assert hit.score == 0.7 / (60 + hit.scores["dense_rank"])


def test_weights(searcher: Searcher) -> None:
    def best(dense: float, lexical: float) -> str:
        options = SearchOptions(weights=(dense, lexical))
        found = searcher.search("भर्ना", collection=COLLECTION, model=MODEL, options=options)
        return found.hits[0].chunk.text

    assert best(1.0, 0.0) == TAX  # where the double points when it does not know a query
    assert best(0.7, 0.3) == SCHOOL  # found by both
    assert best(0.0, 1.0) == SCHOOL


def test_a_query_without_terms_or_matches_is_dense_only(searcher: Searcher) -> None:
    for query in ("xyzzy", "?!"):
        result = searcher.search(query, collection=COLLECTION, model=MODEL)
        assert result.hits
        assert all("lexical" not in hit.scores for hit in result.hits)
    assert searcher.search("xyzzy", collection=COLLECTION, model=MODEL, options=LEXICAL).hits == ()


def test_k_and_candidates(searcher: Searcher) -> None:
    def n_hits(k: int, candidates: int = 20) -> int:
        asked = searcher.search(
            TAX,
            collection=COLLECTION,
            model=MODEL,
            options=SearchOptions(k=k, candidates=candidates, mode="dense"),
        )
        return len(asked.hits)

    assert [n_hits(2), n_hits(1000)] == [2, 4]
    assert n_hits(3, candidates=1) == 3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"query": ""}, "blank"),
        ({"query": " \u200b\n"}, "blank"),
        ({"collection": "nepali_doc"}, "Did you mean 'nepali_docs'"),
        ({"collection": []}, "no collection"),
        ({"model": "intfloat/multilingual-e5-smal"}, "Did you mean 'intfloat/multilingual-e5-small'"),
        ({"options": SearchOptions(reranker="bge")}, "reranker"),
    ],
)
def test_mistakes_of_the_caller(index: ExactIndex, changed: dict[str, object], message: str) -> None:
    given = {"query": TAX, "collection": COLLECTION, "model": MODEL, **changed}
    with pytest.raises(CallerError, match=message):
        Searcher(index, lambda name: Constant()).search(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": 1001}, "k is 1001"),
        ({"candidates": -1}, "candidates is -1"),
        ({"per_page": -1}, "per_page is -1"),
        ({"mode": "hybrd"}, "Did you mean 'hybrid'"),
        ({"fusion": "calibratd"}, "Did you mean 'calibrated'"),
        ({"around": "chapter"}, "around"),
        ({"weights": (0, 0)}, "not both 0"),
        ({"weights": (-1, 1)}, "0 or more"),
        ({"weights": (float("nan"), 1)}, "0 or more"),
        ({"threshold": float("nan")}, "threshold is nan"),
    ],
)
def test_options_out_of_range(searcher: Searcher, changed: dict[str, object], message: str) -> None:
    with pytest.raises(CallerError, match=message):
        searcher.search(TAX, collection=COLLECTION, model=MODEL, options=SearchOptions(**changed))  # type: ignore[arg-type]


def test_nothing_published_at_all() -> None:
    with pytest.raises(NotPublished, match="rag ingest"):
        Searcher(ExactIndex(), no_encoder).search(TAX, collection=COLLECTION, model=MODEL)


def test_an_encoder_of_another_size(index: ExactIndex, encoder: Pointing) -> None:
    encoder.by_text = {TAX: np.ones(4, np.float32)}
    with pytest.raises(DimensionMismatch, match="size 8"):
        Searcher(index, lambda name: encoder).search(TAX, collection=COLLECTION, model=MODEL)


def test_the_query_is_read_as_texts_are_stored(searcher: Searcher, encoder: Pointing) -> None:
    searcher.search(f"\ufeff {TAX}\u200b\r\n", collection=COLLECTION, model=MODEL)
    assert encoder.encoded == [TAX]


def test_query_vectors_are_cached_where_there_is_a_cache(
    index: ExactIndex, encoder: Pointing, tmp_path: Path
) -> None:
    cached = Searcher(index, lambda name: encoder, EmbeddingCache(tmp_path))
    first = cached.search(TAX, collection=COLLECTION, model=MODEL)
    assert cached.search(TAX, collection=COLLECTION, model=MODEL).hits == first.hits
    assert encoder.encoded == [TAX]


MAKERS: dict[str, Callable[[Path], Index]] = {
    "edge": EdgeIndex,
    "qdrant": lambda root: QdrantIndex(QdrantClient(":memory:"), root),
    "exact": lambda root: ExactIndex(),
}


@pytest.mark.parametrize("engine", MAKERS)
def test_a_new_generation_is_found_at_once(engine: str, corpus: Corpus, tmp_path: Path) -> None:
    index = MAKERS[engine](tmp_path)
    corpus.publish(index)
    searcher = Searcher(index, no_encoder)

    def found() -> tuple[int, set[str]]:
        result = searcher.search("कर", collection=COLLECTION, model=MODEL, options=LEXICAL)
        return result.generation, {hit.chunk.source for hit in result.hits}

    assert found() == (1, {"कर.txt"})
    opened = searcher.reader(COLLECTION, MODEL)
    assert searcher.reader(COLLECTION, MODEL) is opened
    corpus.put("नयाँ कर.txt", ["नयाँ कर दर"])
    corpus.remove("कर.txt")
    corpus.publish(index)
    assert found() == (2, {"नयाँ कर.txt"})
    assert opened.manifest.generation == 1


def test_another_process_is_followed_within_the_look_up_time(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = QdrantClient(":memory:")
    publisher, index = QdrantIndex(client, tmp_path / "a"), QdrantIndex(client, tmp_path / "b")
    corpus.publish(publisher)
    searcher = Searcher(index, no_encoder)

    def generation() -> int:
        return searcher.search("कर", collection=COLLECTION, model=MODEL, options=LEXICAL).generation

    assert generation() == 1
    for number in range(2, 5):  # the first generation is gone from the server now
        corpus.put("नयाँ.txt", [f"कर {number}"])
        corpus.publish(publisher)
    monkeypatch.setattr(qdrant, "_LOOK_EVERY_S", 0.0)
    assert generation() == 4


def test_a_generation_that_vanished_is_opened_anew(corpus: Corpus, tmp_path: Path) -> None:
    client = QdrantClient(":memory:")
    publisher, index = QdrantIndex(client, tmp_path / "a"), QdrantIndex(client, tmp_path / "b")
    corpus.publish(publisher)
    searcher = Searcher(index, no_encoder)
    ask = {"collection": COLLECTION, "model": MODEL, "options": LEXICAL}
    assert searcher.search("कर", **ask).generation == 1  # type: ignore[arg-type]
    for number in range(2, 5):
        corpus.put("नयाँ.txt", [f"कर {number}"])
        corpus.publish(publisher)
    assert searcher.search("कर", **ask).generation == 4  # type: ignore[arg-type]


def search_beside(index: Index, publish: Callable[[list[int]], int]) -> tuple[int, list[int]]:
    """Search in eight threads while ``publish`` runs, which is given the generations seen so far.

    Returns:
        Its last edition, and the generations seen.
    """
    searcher, stop = Searcher(index, lambda name: Constant()), threading.Event()
    seen: list[int] = []
    errors: list[BaseException] = []

    def search() -> None:
        while not stop.is_set():
            try:
                result = searcher.search(
                    "साझा", collection=COLLECTION, model=MODEL, options=SearchOptions(k=20)
                )
                editions = {hit.chunk.text.split()[0] for hit in result.hits}
                assert len(result.hits) == 20
                assert editions == {f"संस्करण{result.generation}"}
                seen.append(result.generation)
            except BaseException as error:
                errors.append(error)
                return

    threads = [threading.Thread(target=search) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        last = publish(seen)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors, errors[0]
    assert searcher.search("साझा", collection=COLLECTION, model=MODEL).generation == last
    return last, seen


@pytest.mark.slow
def test_searches_go_on_while_another_process_publishes(tmp_path: Path) -> None:
    index = EdgeIndex(tmp_path)
    marked(1).publish(index)

    def publish(seen: list[int]) -> int:
        script = Path(__file__).with_name("publish_generations.py")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, script, tmp_path, "4"],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        return int(done.stdout)

    last, seen = search_beside(index, publish)
    print(f"{last} generations, {len(seen)} searches of {len(set(seen))} of them")
    assert len(set(seen)) >= last - 1


def test_searches_go_on_while_this_process_publishes() -> None:
    index = ExactIndex()
    marked(1).publish(index)

    def publish(seen: list[int]) -> int:
        def until(number: int) -> bool:
            deadline = time.monotonic() + 30
            while number not in seen and time.monotonic() < deadline:
                time.sleep(0.01)
            return number == 4

        return publish_marked(index, until)

    last, seen = search_beside(index, publish)
    assert set(seen) == set(range(1, last + 1))


class Constant:
    """An encoder that always points the same way."""

    name, dim, recipe, max_tokens = MODEL, DIM, "constant/1", 512

    def prompted(self, text: str, prompt: Prompt) -> str:
        return text

    def count_tokens(self, text: str, prompt: Prompt) -> int:
        return 1

    def encode(self, texts: Sequence[str], prompt: Prompt) -> FloatArray:
        return np.stack([vector_of(document_id(COLLECTION, "")) for _ in texts])


def test_several_collections_are_one_ranking() -> None:
    """The larger collection's words are rarer: BM25 does not compare, the share of the best score does."""
    index = ExactIndex()
    filler = [f"वडा नम्बर {n} को बैठक बस्यो।" for n in range(60)]
    Corpus({"क.txt": ["सम्पत्ति धेरै छ।", *filler]}, collection="a").publish(index)
    Corpus({"ख.txt": ["सम्पत्ति कर तिर्नुहोस्।", "बैठक बस्यो।"]}, collection="b").publish(index)
    searcher = Searcher(index, lambda name: Constant())
    for mode, fusion in (
        ("lexical", "rrf"),
        ("hybrid", "rrf"),
        ("hybrid", "weighted"),
        ("hybrid", "calibrated"),
    ):
        for k in (1, 2, 5):
            options = SearchOptions(k=k, candidates=k, mode=mode, fusion=fusion)  # type: ignore[arg-type]
            result = searcher.search("सम्पत्ति कर", collection=["a", "b"], model=MODEL, options=options)
            assert len(result.hits) == k or mode == "lexical"
            assert result.generations == {"a": 1, "b": 1}
    best = searcher.search("सम्पत्ति कर", collection=["a", "b"], model=MODEL, options=LEXICAL).hits[0]
    assert (best.chunk.collection, best.chunk.source) == ("b", "ख.txt")


def test_a_calibration_that_came_after_the_publish_is_not_used(corpus: Corpus, encoder: Pointing) -> None:
    mean = np.full(DIM, 0.1, np.float32)
    centred = CalibratedEncoder(
        encoder, Calibration(mean, {"ne": mean, "en": mean, "romanized": mean}, 0.5, 0.7)
    )
    index = ExactIndex()
    corpus.publish(index, recipe=points_recipe(encoder))
    result = Searcher(index, lambda name: centred).search(TAX, collection=COLLECTION, model=MODEL)
    assert result.explanation.fusion == "rrf"
    assert "not centred" in result.explanation.notes[0]
    assert result.hits[0].scores["dense"] == pytest.approx(1.0)
    corpus.publish(index, recipe=points_recipe(centred))
    assert (
        Searcher(index, lambda name: centred)
        .search(TAX, collection=COLLECTION, model=MODEL)
        .explanation.notes
        == ()
    )
    other = Searcher(index, lambda name: encoder).search(TAX, collection=COLLECTION, model=MODEL)
    assert "another version or calibration" in other.explanation.notes[0]
