"""An index made with a part of the analyzer left out: its questions are read as its passages were."""

from __future__ import annotations

from pathlib import Path

import pytest
from points import COLLECTION, MODEL, Corpus

from rag_platform.index import lexical
from rag_platform.index.edge import EdgeIndex
from rag_platform.index.exact import ExactIndex
from rag_platform.index.manifest import own_recipe
from rag_platform.protocols import Index
from rag_platform.retrieval.question import Question
from rag_platform.text.analyze import RECIPE
from rag_platform.types import AnalyzerOptions

TEXTS = {
    "कर.txt": ["सङ्घीय सरकारले कर उठाउँछ।", "गाउँपालिकाको शुल्क २०८१ सालमा बढ्यो।"],
    "health.txt": ["Boil Water for three minutes.", "हातहरू साबुनले धुनुहोस्।"],
}
OPTIONS = [
    AnalyzerOptions(),
    AnalyzerOptions(fold=False),
    AnalyzerOptions(stem=False),
    AnalyzerOptions(spelling=False),
    AnalyzerOptions(pieces=False),
    AnalyzerOptions(fold=False, stem=False, spelling=False, pieces=False),
]


def found(index: Index, query: str) -> list[str]:
    """Return the texts that a question finds by its words, best first."""
    reader = index.open(COLLECTION, MODEL)
    terms = Question.of(query).meaning(reader.lexicon).terms
    scored = reader.lexical(terms, limit=9)
    chunks = reader.fetch([one.chunk_id for one in scored])
    return [chunks[one.chunk_id].text for one in scored]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda one: "-".join(one.left_out) or "all")
def test_both_engines_read_questions_as_passages(options: AnalyzerOptions, tmp_path: Path) -> None:
    corpus = Corpus(TEXTS)
    edge, exact = EdgeIndex(tmp_path, analyzer=options), ExactIndex(options)
    for index in (edge, exact):
        corpus.publish(index)
        assert index.open(COLLECTION, MODEL).lexicon.analyzer == options
    texts = [text for some in TEXTS.values() for text in some]
    for text in texts:
        assert found(edge, text)[0] == found(exact, text)[0] == text, "its own words find it"
    by_edge, by_exact = ({text: found(one, text) for text in texts} for one in (edge, exact))
    assert {key: set(some) for key, some in by_edge.items()} == {k: set(v) for k, v in by_exact.items()}


@pytest.mark.parametrize(
    ("options", "lost"),
    [
        (AnalyzerOptions(), set()),
        (AnalyzerOptions(fold=False), {"संघीय", "2081", "boil"}),
        (AnalyzerOptions(stem=False), {"हात"}),
        (AnalyzerOptions(pieces=False), set()),
        (AnalyzerOptions(spelling=False, pieces=False), {"सुल्क"}),
    ],
    ids=lambda one: "-".join(one.left_out) or "all" if isinstance(one, AnalyzerOptions) else "",
)
def test_what_a_part_of_the_analyzer_is_for(options: AnalyzerOptions, lost: set[str], tmp_path: Path) -> None:
    index = EdgeIndex(tmp_path, analyzer=options)
    Corpus(TEXTS).publish(index)
    asked = ("संघीय", "2081", "boil", "हात", "सुल्क")
    assert {query for query in asked if not found(index, query)} == lost


def test_another_analyzer_builds_anew_and_the_whole_one_is_what_it_was(tmp_path: Path) -> None:
    assert own_recipe() == own_recipe(AnalyzerOptions())
    assert f"bm25/2 k1=1.2 b=0.75 avg=480.0 blake2b-32 | {RECIPE}" == lexical.RECIPE
    corpus, part = Corpus(TEXTS), AnalyzerOptions(pieces=False)
    first = corpus.publish(EdgeIndex(tmp_path))
    assert corpus.publish(EdgeIndex(tmp_path)) == first
    other = corpus.publish(EdgeIndex(tmp_path, analyzer=part))
    assert (other.generation, other.recipe) == (2, first.recipe)
    assert sorted(corpus.loaded) == sorted(corpus.documents), "every passage has other terms"
    corpus.put("कर.txt", ["कर असारभित्र तिर्नुहोस्।"])
    changed = corpus.publish(EdgeIndex(tmp_path, analyzer=part))
    assert changed.generation == 3
    lexicon = EdgeIndex(tmp_path, analyzer=part).open(COLLECTION, MODEL).lexicon
    assert (lexicon.frequency("कर"), lexicon.frequency("~कर"), lexicon.n_chunks) == (1, 0, 3)


def test_a_passage_of_usual_length_has_fewer_terms_without_pieces() -> None:
    words = " ".join(["कर"] * 150)
    weight = lexical.document_weights(words, AnalyzerOptions(pieces=False)).values[0]
    assert weight == pytest.approx(150 / (150 + 1.2)), "150 words are the average, so nothing is damped"
