"""Every index through one suite; the exact one is the oracle of what search finds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from points import COLLECTION, DIM, MODEL, Corpus, chunks_of, stored, vector_of
from qdrant_client import QdrantClient

from rag_platform.errors import CallerError, DimensionMismatch, NotPublished, StorageError
from rag_platform.index import lexical, shard
from rag_platform.index.edge import EdgeIndex
from rag_platform.index.exact import ExactIndex
from rag_platform.index.lexical import query_terms
from rag_platform.index.qdrant import QdrantIndex
from rag_platform.protocols import Index, PointBatch
from rag_platform.text.romanize import phonetic_key
from rag_platform.types import Condition, Scored, document_id

MAKERS: dict[str, Callable[[Path], Index]] = {
    "edge": EdgeIndex,
    "qdrant": lambda root: QdrantIndex(QdrantClient(":memory:"), root),
    "exact": lambda root: ExactIndex(),
}

TEXTS = {
    "कर.txt": ["सम्पत्ति कर असारभित्र तिर्नुहोस्।", "ढिला तिरे दश प्रतिशत जरिवाना लाग्छ।"],
    "विद्यालय/भर्ना.md": ["कक्षा एकको भर्ना वैशाखमा खुल्छ।"],
    "health.txt": ["Boil water before drinking.", "Wash your hands with soap.", "Rest well."],
    "संविधान.pdf": ["नेपालको संविधान २०७२ असोज ३ गते जारी भयो।", "संविधानले मौलिक हकको ग्यारेन्टी गर्छ।"],
    "खाली.txt": [],
}


@pytest.fixture(params=MAKERS)
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Index:
    return MAKERS[request.param](tmp_path / "collections")


@pytest.fixture
def corpus() -> Corpus:
    return Corpus(TEXTS)


def test_nothing_is_published_at_first(index: Index) -> None:
    assert index.current(COLLECTION, MODEL) is None
    assert index.version(COLLECTION, MODEL) is None
    assert index.published() == []
    with pytest.raises(NotPublished, match="nepali_docs"):
        index.open(COLLECTION, MODEL)


def test_a_generation_holds_exactly_the_documents(index: Index, corpus: Corpus) -> None:
    manifest = corpus.publish(index)
    assert (manifest.collection, manifest.model, manifest.generation) == (COLLECTION, MODEL, 1)
    assert (manifest.points, manifest.dim, manifest.recipe) == (8, DIM, "r1")
    assert manifest.documents == corpus.documents
    assert index.current(COLLECTION, MODEL) == manifest
    assert index.published() == [manifest]
    assert sorted(corpus.loaded) == sorted(corpus.documents)

    reader = index.open(COLLECTION, MODEL)
    points = list(reader.points())
    assert reader.manifest == manifest
    assert reader.count() == 8
    assert [point.chunk.chunk_id for point in points] == sorted(corpus.expected)
    assert {point.chunk.chunk_id: point.chunk for point in points} == corpus.expected
    for point in points:
        np.testing.assert_allclose(point.vector, vector_of(point.chunk.chunk_id), atol=1e-6)


def test_publishing_the_same_again_does_nothing(index: Index, corpus: Corpus) -> None:
    first, version = corpus.publish(index), index.version(COLLECTION, MODEL)
    assert corpus.publish(index) == first
    assert corpus.loaded == []
    assert index.version(COLLECTION, MODEL) == version


def test_a_changed_document_touches_its_own_points_only(index: Index, corpus: Corpus) -> None:
    corpus.publish(index)
    before = stored(index.open(COLLECTION, MODEL))
    version = index.version(COLLECTION, MODEL)
    old = {one.chunk_id for one in chunks_of("कर.txt", TEXTS["कर.txt"])}
    corpus.put("कर.txt", ["सम्पत्ति कर पुसभित्र तिर्नुहोस्।"])
    manifest = corpus.publish(index)

    assert (manifest.generation, manifest.points) == (2, 7)
    assert corpus.loaded == [document_id(COLLECTION, "कर.txt")]
    after = stored(index.open(COLLECTION, MODEL))
    assert before.keys() - after.keys() == old
    assert len(after.keys() - before.keys()) == 1
    assert all(after[key] == before[key] for key in after.keys() & before.keys())
    assert index.version(COLLECTION, MODEL) != version


def test_deleted_and_renamed_documents(index: Index, corpus: Corpus) -> None:
    corpus.publish(index)
    corpus.remove("health.txt")
    corpus.remove("संविधान.pdf")
    corpus.put("ऐन/संविधान.pdf", TEXTS["संविधान.pdf"])
    assert corpus.publish(index).points == 5
    reader = index.open(COLLECTION, MODEL)
    assert {point.chunk.chunk_id: point.chunk for point in reader.points()} == corpus.expected
    assert {point.chunk.source for point in reader.points()} == {
        "कर.txt",
        "विद्यालय/भर्ना.md",
        "ऐन/संविधान.pdf",
    }
    assert reader.lexical(query_terms("soap hands"), limit=10) == []


def test_an_empty_collection_is_published_and_emptied(index: Index, corpus: Corpus) -> None:
    assert Corpus().publish(index).points == 0
    empty = index.open(COLLECTION, MODEL)
    assert empty.count() == 0
    assert list(empty.points()) == []
    assert empty.dense(np.ones(DIM, np.float32), limit=5) == []
    assert empty.lexical(query_terms("संविधान"), limit=5) == []
    assert empty.fetch(["00000000-0000-0000-0000-000000000000"]) == {}

    assert corpus.publish(index).points == 8
    assert Corpus().publish(index).points == 0
    assert index.open(COLLECTION, MODEL).count() == 0
    assert Corpus().publish(index).generation == 3


def test_chunks_without_a_term_are_stored(index: Index) -> None:
    corpus = Corpus({"चिन्ह.txt": ["—!?", "***"]})
    corpus.publish(index)
    reader = index.open(COLLECTION, MODEL)
    assert {point.chunk.chunk_id: point.chunk for point in reader.points()} == corpus.expected
    assert reader.lexical(query_terms("संविधान"), limit=5) == []
    assert reader.lexical(query_terms("—!?"), limit=5) == []
    assert len(reader.dense(np.ones(DIM, np.float32), limit=5)) == 2


def test_a_rebuild_equals_the_changes(index: Index, corpus: Corpus) -> None:
    corpus.publish(index)
    corpus.put("कर.txt", ["कर छुट छ।", "दर्ता गर्नुहोस्।", "धन्यवाद।"])
    corpus.remove("health.txt")
    corpus.publish(index)
    corpus.put("नयाँ.txt", ["नयाँ सूचना।"])
    corpus.publish(index)
    changed = stored(index.open(COLLECTION, MODEL))
    manifest = corpus.publish(index, rebuild=True)
    assert manifest.generation == 4
    assert sorted(corpus.loaded) == sorted(corpus.documents)
    assert stored(index.open(COLLECTION, MODEL)) == changed


def test_another_recipe_builds_everything_anew(index: Index, corpus: Corpus) -> None:
    corpus.publish(index, recipe="r1")
    manifest = corpus.publish(index, recipe="r2")
    assert (manifest.generation, manifest.recipe) == (2, "r2")
    assert sorted(corpus.loaded) == sorted(corpus.documents)


@pytest.mark.parametrize("engine", ["edge", "qdrant"])  # the exact one meets one analyzer only
def test_another_analyzer_builds_everything_anew(
    engine: str, tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = MAKERS[engine](tmp_path)
    corpus.publish(index)
    monkeypatch.setattr(lexical, "RECIPE", "another analyzer")
    seen = index.current(COLLECTION, MODEL)
    assert seen is not None
    assert seen.recipe != "r1"
    assert corpus.publish(index).generation == 2
    assert sorted(corpus.loaded) == sorted(corpus.documents)
    assert corpus.publish(index).generation == 2


def test_an_open_reader_keeps_its_generation(index: Index, corpus: Corpus) -> None:
    corpus.publish(index)
    reader = index.open(COLLECTION, MODEL)
    before = stored(reader)
    corpus.remove("health.txt")
    corpus.put("कर.txt", ["कर छुट छ।"])
    corpus.publish(index)
    assert stored(reader) == before
    assert reader.count() == reader.manifest.points == 8
    assert len(reader.lexical(query_terms("soap"), limit=5)) == 1
    assert index.open(COLLECTION, MODEL).lexical(query_terms("soap"), limit=5) == []


def test_collections_and_models_are_apart(index: Index, corpus: Corpus) -> None:
    corpus.publish(index)
    other = Corpus({"notes.txt": ["मेरो टिपोट"]}, collection="टिपोट")
    other.publish(index)
    index.publish(COLLECTION, "hashing", dim=DIM, recipe="h", documents=corpus.documents, load=corpus.load)
    assert [(one.collection, one.model, one.points) for one in index.published()] == [
        (COLLECTION, "hashing", 8),
        (COLLECTION, MODEL, 8),
        ("टिपोट", MODEL, 1),
    ]
    assert index.open("टिपोट", MODEL).count() == 1


def test_fetch_returns_what_is_there(index: Index, corpus: Corpus) -> None:
    corpus.publish(index)
    reader = index.open(COLLECTION, MODEL)
    some = sorted(corpus.expected)[2:5]
    absent = "00000000-0000-0000-0000-000000000000"
    assert reader.fetch([*some, absent]) == {key: corpus.expected[key] for key in some}
    assert reader.fetch([]) == {}


def test_limits(index: Index, corpus: Corpus) -> None:
    corpus.publish(index)
    reader = index.open(COLLECTION, MODEL)
    query = vector_of("00000000-0000-0000-0000-000000000007")
    assert len(reader.dense(query, limit=3)) == 3
    everything = reader.dense(query, limit=100)
    assert len({scored.chunk_id for scored in everything}) == 8
    assert [scored.score for scored in everything] == sorted((s.score for s in everything), reverse=True)
    assert len(reader.lexical(query_terms("संविधान कर soap"), limit=2)) == 2
    found = reader.lexical(query_terms("संविधान कर soap"), limit=100)
    assert len(found) == 4
    assert all(scored.score > 0 for scored in found)
    assert reader.lexical(query_terms("अनुपस्थितशब्द"), limit=100) == []


def test_other_sizes_are_refused(index: Index, corpus: Corpus) -> None:
    corpus.publish(index)
    before = stored(index.open(COLLECTION, MODEL))
    with pytest.raises(DimensionMismatch, match=r"size 8 .* size 4"):
        index.publish(COLLECTION, MODEL, dim=4, recipe="r1", documents={"a": "1"}, load=corpus.load)
    with pytest.raises(DimensionMismatch, match="size 8"):
        index.open(COLLECTION, MODEL).dense(np.ones(4, np.float32), limit=1)
    corpus.put("नयाँ.txt", ["नयाँ सूचना।"])
    with pytest.raises(DimensionMismatch, match="expected"):
        index.publish(
            COLLECTION,
            MODEL,
            dim=DIM,
            recipe="r1",
            documents=corpus.documents,
            load=lambda ids: [PointBatch(corpus.chunks[ids[0]], np.ones((1, 4), np.float32))],
        )
    assert stored(index.open(COLLECTION, MODEL)) == before


def test_a_failing_loader_leaves_the_old_generation(index: Index, corpus: Corpus) -> None:
    first = corpus.publish(index)
    before = stored(index.open(COLLECTION, MODEL))
    corpus.put("नयाँ.txt", ["एक", "दुई"])

    def broken(document_ids: Sequence[str]) -> Iterator[PointBatch]:
        yield from list(corpus.load(document_ids))[:1]
        raise StorageError("the table is damaged")

    with pytest.raises(StorageError, match="the table is damaged"):
        index.publish(COLLECTION, MODEL, dim=DIM, recipe="r1", documents=corpus.documents, load=broken)
    assert index.current(COLLECTION, MODEL) == first
    assert stored(index.open(COLLECTION, MODEL)) == before
    assert corpus.publish(index).points == 10


def test_a_chunk_that_comes_twice_is_not_published(index: Index, corpus: Corpus) -> None:
    with pytest.raises(StorageError, match="nothing was published"):
        index.publish(
            COLLECTION,
            MODEL,
            dim=DIM,
            recipe="r1",
            documents=corpus.documents,
            load=lambda ids: [*corpus.load(ids), *corpus.load(ids[-1:] + ids[:-1])],
        )
    assert index.current(COLLECTION, MODEL) is None


def test_a_document_nobody_asked_for_is_a_fault(index: Index, corpus: Corpus) -> None:
    stranger = chunks_of("other.txt", ["x"])
    batch = PointBatch(stranger, vector_of(stranger[0].chunk_id)[None])
    with pytest.raises(ValueError, match="not asked for"):
        index.publish(
            COLLECTION, MODEL, dim=DIM, recipe="r1", documents=corpus.documents, load=lambda ids: [batch]
        )


@pytest.mark.parametrize("engine", ["edge", "qdrant"])
def test_search_equals_the_exact_one(engine: str, tmp_path: Path) -> None:
    # Twenty documents of exactly the constant average length: then all BM25 forms agree. A word of up to four
    # letters is two terms, itself and its one piece.
    n_words = int(lexical.AVERAGE_LENGTH) // 2
    rng = np.random.default_rng(7)
    words = ["कर", "घर", "ऐन", "सभा", "हक", "वडा", "नगर", "बजेट", "पानी", "बाटो", "नदी", "गाउँ"]
    share = 1 / np.arange(1, len(words) + 1)
    texts = {f"{n}.txt": [" ".join(rng.choice(words, n_words, p=share / share.sum()))] for n in range(20)}
    corpus, index, exact = Corpus(texts), MAKERS[engine](tmp_path), ExactIndex()
    corpus.publish(index)
    corpus.put("5.txt", ["गाउँ " * n_words])
    corpus.publish(index)
    corpus.publish(exact)
    reader, oracle = index.open(COLLECTION, MODEL), exact.open(COLLECTION, MODEL)
    for n in range(10):
        query = vector_of(f"00000000-0000-0000-0000-00000000001{n}")
        _assert_same(reader.dense(query, limit=20), oracle.dense(query, limit=20))
        text = " ".join(rng.choice(words, 3))
        _assert_same(reader.lexical(query_terms(text), limit=20), oracle.lexical(query_terms(text), limit=20))


def _assert_same(found: list[Scored], expected: list[Scored]) -> None:
    scores = {one.chunk_id: one.score for one in expected}
    assert {one.chunk_id for one in found} == scores.keys()
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-5)
    assert [scores[one.chunk_id] for one in found] == pytest.approx([one.score for one in found], abs=1e-5)


def test_the_lexicon_counts_what_is_published(index: Index, corpus: Corpus) -> None:
    corpus.publish(index)
    lexicon = index.open(COLLECTION, MODEL).lexicon
    assert lexicon.n_chunks == 8
    assert [lexicon.frequency(term) for term in ("संबिधान", "कर", "soap", "अनुपस्थित")] == [2, 1, 1, 0]
    assert lexicon.candidates(phonetic_key("sambidhan")) == [("संविधान", 2), ("संविधानले", 1)][:1]
    assert lexicon.candidates(phonetic_key("xyzzy")) == []
    corpus.put("कर.txt", ["कर र संविधान", "कर"])
    corpus.remove("health.txt")
    corpus.publish(index)
    lexicon = index.open(COLLECTION, MODEL).lexicon
    assert lexicon.n_chunks == 5
    assert [lexicon.frequency(term) for term in ("संबिधान", "कर", "soap")] == [3, 2, 0]
    assert lexicon.candidates(phonetic_key("sambidhan")) == [("संविधान", 3)]
    assert lexicon.candidates(phonetic_key("dhila")) == []


def test_no_score_reaches_the_ideal_and_the_engines_share_its_weights(index: Index, corpus: Corpus) -> None:
    corpus.put("छोटो.txt", ["कर " * 2_000])
    corpus.publish(index)
    reader = index.open(COLLECTION, MODEL)
    terms = {"कर": 2.0, "soap": 0.5, "अनुपस्थित": 1.0}
    n, absent = 9, math.log(1 + 9.5 / 0.5)
    kar, soap = math.log(1 + (n - 2 + 0.5) / 2.5), math.log(1 + (n - 1 + 0.5) / 1.5)

    def idf(term: str) -> float:
        return lexical.inverse_document_frequency(reader.lexicon.n_chunks, reader.lexicon.frequency(term))

    assert lexical.ideal(terms, idf) == pytest.approx(2 * kar + 0.5 * soap + absent)
    assert lexical.ideal({}, idf) == 0
    best, second = reader.lexical(terms, limit=2)
    assert corpus.expected[best.chunk_id].source == "छोटो.txt"
    assert 0 < second.score < best.score < 2 * kar
    if isinstance(index, ExactIndex):  # which has another average length
        return
    weights = dict(zip(*dataclasses.astuple(lexical.document_weights("कर " * 2_000)), strict=True))
    assert best.score == pytest.approx(2 * kar * weights[lexical.term_index("कर")], rel=1e-5)


def test_weights_of_terms_count(index: Index, corpus: Corpus) -> None:
    corpus.publish(index)
    reader = index.open(COLLECTION, MODEL)
    both = reader.lexical({"soap": 1.0, "boil": 0.1}, limit=5)
    assert [corpus.expected[one.chunk_id].ordinal for one in both] == [1, 0]
    one, tenth = reader.lexical({"soap": 1.0}, limit=5), reader.lexical({"soap": 0.1}, limit=5)
    assert one[0].score == pytest.approx(10 * tenth[0].score, rel=1e-5)
    assert reader.lexical({}, limit=5) == []
    assert reader.lexical({"soap": 0.0}, limit=5) == []


def test_neighbours(index: Index) -> None:
    corpus = Corpus({"अर्को.txt": ["छिमेकी होइन"]})
    corpus.put("ऐन.pdf", [f"दफा {n}" for n in range(12)])
    key = document_id(COLLECTION, "ऐन.pdf")
    corpus.chunks[key][4:6] = [dataclasses.replace(one, path="भाग १") for one in corpus.chunks[key][4:6]]
    corpus.publish(index)
    reader = index.open(COLLECTION, MODEL)
    assert reader.of_document(key) == corpus.chunks[key]
    assert reader.of_document(key, first=9) == corpus.chunks[key][9:]
    assert reader.of_document(key, first=2, last=4) == corpus.chunks[key][2:5]
    assert reader.of_document(key, where=[Condition("path", "=", ("भाग १",))]) == corpus.chunks[key][4:6]
    page = [Condition("page_first", "<=", (7,)), Condition("page_last", ">=", (7,))]
    assert reader.of_document(key, where=page) == corpus.chunks[key][6:7]
    assert reader.of_document(document_id(COLLECTION, "नभएको.txt")) == []


TABLES = {
    "शुल्क.docx": ["सेवा शुल्क यस प्रकार छ।", "| दर्ता | रु. ५० |", "| नवीकरण | रु. ३० |"],
    "सूचना.txt": ["दर्ता वडामा हुन्छ।"],
}


CONDITIONS: list[tuple[list[Any], set[str]]] = [
    (["kind", "=", "text"], {"ऐन", "ऐन दफा", "नियम", "notice", "मिश्रित"}),
    (["kind", "=", "table", "image"], {"| तालिका |"}),
    (["kind", "=", "image"], set()),
    (["kind", "!=", "text"], {"| तालिका |"}),
    (["kind", "=", 1], set()),
    (["kind", "<", 1], set()),
    (["source", "=", "ऐन.pdf"], {"ऐन", "ऐन दफा"}),
    (["source", "=", "ऐन"], set()),
    (["document_id", "=", document_id(COLLECTION, "नियम.txt")], {"नियम"}),
    (["language", "!=", "ne"], {"notice"}),
    (["page_first", "=", 2], {"ऐन दफा"}),
    (["ordinal", ">=", 1], {"ऐन दफा"}),
    (["page_last", "=", "2"], set()),
    (["path", "=", "भाग १"], {"ऐन", "ऐन दफा"}),
    (["path", "=", "भाग १ > दफा २"], {"ऐन दफा"}),
    (["path", "=", "दफा २"], set()),
    (["path", "=", "भाग"], set()),
    (["path", "!=", "भाग १"], {"नियम", "notice", "| तालिका |", "मिश्रित"}),
    (["मन्त्रालय", "=", "शिक्षा"], {"ऐन", "ऐन दफा", "notice"}),
    (["मन्त्रालय", "=", "शिक्षा", "अर्थ"], {"ऐन", "ऐन दफा", "notice", "नियम"}),
    (["मन्त्रालय", "!=", "शिक्षा"], {"नियम", "| तालिका |", "मिश्रित"}),
    (["year", "=", 2075], {"ऐन", "ऐन दफा", "नियम"}),
    (["year", "=", "2075"], {"मिश्रित"}),
    (["year", "=", "2075", 2081], {"मिश्रित", "नियम"}),
    (["year", "!=", 2075], {"notice", "| तालिका |", "मिश्रित"}),
    (["year", "<", 2075], {"notice"}),
    (["year", "<=", 2075], {"notice", "ऐन", "ऐन दफा", "नियम"}),
    (["year", ">", 2075], {"नियम"}),
    (["year", ">=", 2081], {"नियम"}),
    (["मन्त्रालय", ">", 1], set()),
    (["a b.c[0]", ">", 1], {"notice"}),
    (["a b.c[0]", "=", -5], {"| तालिका |"}),
    (['quoted " name', "=", 'क " ख'], {"notice"}),
    (["unknown", "=", "x"], set()),
    (["unknown", ">", 0], set()),
    (["unknown", "!=", "x"], {"ऐन", "ऐन दफा", "नियम", "notice", "| तालिका |", "मिश्रित"}),
]


@pytest.fixture
def known() -> Corpus:
    """A corpus with fields of all types, one name with words here and numbers there, and odd names."""
    corpus = Corpus()
    fields = {"मन्त्रालय": ("शिक्षा", "युवा"), "year": (2075,)}
    corpus.put("ऐन.pdf", ["ऐन", "ऐन दफा"], fields=fields, path="भाग १")
    key = document_id(COLLECTION, "ऐन.pdf")
    corpus.chunks[key][1] = dataclasses.replace(corpus.chunks[key][1], path="भाग १ > दफा २")
    corpus.put("नियम.txt", ["नियम"], fields={"मन्त्रालय": ("अर्थ",), "year": (2075, 2081)}, path="भाग १०")
    odd = {"a b.c[0]": (7,), 'quoted " name': ('क " ख',), "year": (2050,), "मन्त्रालय": ("शिक्षा",)}
    corpus.put("en.txt", ["notice"], fields=odd, language="en")
    corpus.put("तालिका.docx", ["| तालिका |"], fields={"a b.c[0]": (-5,)})
    corpus.put("मिश्रित.txt", ["मिश्रित"], fields={"year": ("2075",), "kind": ("image",), "path": ("भाग १", 1)})
    return corpus


def test_conditions_hold_before_ranking(index: Index, known: Corpus) -> None:
    known.publish(index)
    known.put("एक.txt", ["साझा"])
    known.publish(index)  # also what was copied keeps its tags
    known.remove("एक.txt")
    known.publish(index)
    reader = index.open(COLLECTION, MODEL)
    for (name, operator, *values), texts in CONDITIONS:
        where = [Condition(name, operator, tuple(values))]
        wanted = {key for key, chunk in known.expected.items() if chunk.text in texts}
        assert len(wanted) == len(texts)
        found = reader.dense(vector_of(next(iter(known.expected))), limit=9, where=where)
        assert {scored.chunk_id for scored in found} == wanted, where
        for key in known.expected:  # one is asked for, and it fits although others are nearer
            nearest = reader.dense(vector_of(key), limit=1, where=where)
            assert len(nearest) == min(1, len(wanted)), where
            assert not wanted or nearest[0].chunk_id in wanted, where
        found = reader.lexical(query_terms("ऐन नियम notice तालिका मिश्रित"), limit=9, where=where)
        assert {scored.chunk_id for scored in found} == wanted, where


def test_all_conditions_hold_together(index: Index, known: Corpus) -> None:
    known.publish(index)
    reader = index.open(COLLECTION, MODEL)
    where = [
        Condition("मन्त्रालय", "=", ("शिक्षा",)),
        Condition("year", ">=", (2051,)),
        Condition("path", "!=", ("भाग १ > दफा २",)),
    ]
    found = reader.lexical(query_terms("ऐन नियम notice"), limit=9, where=where)
    assert [known.expected[one.chunk_id].text for one in found] == ["ऐन"]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (Condition("year", "~", (1,)), "operator"),  # type: ignore[arg-type]
        (Condition("year", "=", ()), "no value"),
        (Condition("year", "<", (1, 2)), "no single number"),
        (Condition("year", ">", ("2081",)), "'2081' compares no single number"),
        (Condition('a"b', ">", (1,)), "quote"),
    ],
)
def test_conditions_that_mean_nothing_are_refused(index: Index, condition: Condition, message: str) -> None:
    Corpus(TEXTS).publish(index)
    reader = index.open(COLLECTION, MODEL)
    with pytest.raises(CallerError, match=message):
        reader.lexical(query_terms("कर"), limit=1, where=[condition])
    with pytest.raises(CallerError, match=message):
        reader.dense(np.ones(DIM, np.float32), limit=1, where=[condition])


def test_the_embedded_engine_indexes_numbers_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard, "MOST_NUMBERS", 2)
    corpus, index = Corpus(), EdgeIndex(tmp_path)
    for n in range(4):
        corpus.put(f"{n}.txt", [f"वडा {n}"], fields={f"number{n}": (n,)})
        corpus.publish(index)
    reader = index.open(COLLECTION, MODEL)
    for n in range(4):
        found = reader.lexical(query_terms("वडा"), limit=9, where=[Condition(f"number{n}", ">=", (n,))])
        assert [corpus.expected[one.chunk_id].text for one in found] == [f"वडा {n}"]


def test_a_chunk_is_found_by_the_header_of_its_table(index: Index) -> None:
    corpus = Corpus(TABLES)
    corpus.publish(index)
    found = index.open(COLLECTION, MODEL).lexical(query_terms("सेवा"), limit=4)
    texts = {corpus.expected[scored.chunk_id].text for scored in found}
    assert texts == set(TABLES["शुल्क.docx"])
