"""A question in several wordings, and several searches of one generation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from points import COLLECTION, MODEL, Corpus
from qdrant_client import QdrantClient

from rag_platform.errors import CallerError
from rag_platform.index.edge import EdgeIndex
from rag_platform.index.exact import ExactIndex
from rag_platform.index.qdrant import QdrantIndex
from rag_platform.protocols import Encoder, Index
from rag_platform.retrieval.memory import SearchMemory
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.result import SearchResult
from rag_platform.retrieval.search import Searcher

FEE, SOAP, FORM = "महसुल तिर्नुहोस्", "साबुन किन्नुहोस्", "फारम महसुल साबुन"
ENGINES: dict[str, Callable[[Path], Index]] = {
    "edge": EdgeIndex,
    "qdrant": lambda root: QdrantIndex(QdrantClient(":memory:"), root),
    "exact": lambda root: ExactIndex(),
}


def no_encoder(name: str) -> Encoder:
    raise AssertionError(name)


@pytest.fixture
def corpus() -> Corpus:
    return Corpus({"क.txt": [FEE], "ख.txt": [SOAP], "ग.txt": [FORM]})


def search(searcher: Searcher, query: str, **more: object) -> SearchResult:
    options = SearchOptions(mode="lexical", **more)  # type: ignore[arg-type]
    return searcher.search(query, collection=COLLECTION, model=MODEL, options=options)


def opened(corpus: Corpus, memory: SearchMemory | None = None) -> Searcher:
    index = ExactIndex()
    corpus.publish(index)
    return Searcher(index, no_encoder, memory=memory)


def test_rankings_of_several_wordings_are_joined_by_rank(corpus: Corpus) -> None:
    searcher = opened(corpus)
    alone = {word: [hit.chunk.text for hit in search(searcher, word).hits] for word in ("महसुल", "साबुन")}
    assert alone == {"महसुल": [FEE, FORM], "साबुन": [SOAP, FORM]}
    result = search(searcher, "महसुल", wordings=["साबुन"])
    assert result.hits[0].chunk.text == FORM
    assert [hit.score for hit in result.hits] == pytest.approx([2 / (60 + 2), 1 / (60 + 1), 1 / (60 + 1)])
    assert result.hits[0].scores["lexical_rank"] == 2.0
    assert result.explanation.fusion == "rrf"
    assert result.explanation.notes == ("searched in other words, too, and joined by rank: साबुन",)
    assert "महसुल" in result.query


def test_a_threshold_is_of_scores_and_holds_in_each_ranking(corpus: Corpus) -> None:
    searcher = opened(corpus)
    lowest = search(searcher, "महसुल").hits[1].score
    result = search(searcher, "महसुल", wordings=["साबुन"], threshold=lowest + 0.001)
    assert {hit.chunk.text for hit in result.hits} == {FEE, SOAP}


def test_other_wordings_are_another_search_in_memory(corpus: Corpus) -> None:
    searcher = opened(corpus, SearchMemory(results=10))
    first, other = search(searcher, "महसुल"), search(searcher, "महसुल", wordings=["साबुन"])
    assert first.hits != other.hits
    assert search(searcher, "महसुल", wordings=("साबुन",)).hits == other.hits
    assert searcher.memory.results.counts.hits == 1


@pytest.mark.parametrize("wordings", [["  "], ["क"] * 9])
def test_blank_or_too_many_wordings_are_refused(corpus: Corpus, wordings: list[str]) -> None:
    with pytest.raises(CallerError, match="other wordings"):
        search(opened(corpus), "महसुल", wordings=wordings)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_snapshot_keeps_the_generation_of_its_first_search(
    engine: str, corpus: Corpus, tmp_path: Path
) -> None:
    index = ENGINES[engine](tmp_path)
    corpus.publish(index)
    searcher = Searcher(index, no_encoder)
    snapshot = searcher.snapshot(collection=COLLECTION, model=MODEL)
    lexical = SearchOptions(mode="lexical")
    assert snapshot.search("महसुल", lexical).generation == 1
    corpus.put("घ.txt", ["नयाँ महसुल"])
    corpus.publish(index)
    kept = snapshot.search("नयाँ महसुल", lexical)
    assert (kept.generation, {hit.chunk.source for hit in kept.hits}) == (1, {"क.txt", "ग.txt"})
    assert search(searcher, "नयाँ महसुल").generation == 2
    fresh = searcher.snapshot(collection=[COLLECTION, COLLECTION], model=MODEL)
    assert fresh.search("नयाँ महसुल", lexical).hits[0].chunk.source == "घ.txt"


def test_a_snapshot_that_a_server_let_go_of_goes_on_with_the_latest(corpus: Corpus, tmp_path: Path) -> None:
    client = QdrantClient(":memory:")
    publisher, index = QdrantIndex(client, tmp_path / "क"), QdrantIndex(client, tmp_path / "ख")
    corpus.publish(publisher)
    snapshot = Searcher(index, no_encoder).snapshot(collection=COLLECTION, model=MODEL)
    lexical = SearchOptions(mode="lexical")
    assert snapshot.search("महसुल", lexical).generation == 1
    for number in range(2, 5):
        corpus.put("घ.txt", [f"महसुल {number}"])
        corpus.publish(publisher)
    assert [snapshot.search("महसुल", lexical).generation for _ in range(2)] == [4, 4]


def test_a_snapshot_of_nothing_is_refused(corpus: Corpus) -> None:
    with pytest.raises(CallerError, match="no collection"):
        opened(corpus).snapshot(collection=[], model=MODEL)
