"""Telling words of a passage, and figures of a collection."""

from __future__ import annotations

from points import COLLECTION, MODEL, Corpus

from rag_platform.index.exact import ExactIndex
from rag_platform.retrieval.keywords import keywords
from rag_platform.retrieval.statistics import statistics

TEA = "चियाको खेती भिरालो जग्गामा हुन्छ। चियाका पात टिपेर चिया बनाइन्छ।"
COMMON = [f"वडा नम्बर {n} मा बैठक हुन्छ र निर्णय हुन्छ।" for n in range(1, 10)]


def corpus() -> Corpus:
    return Corpus({"चिया.txt": [TEA], "बैठक.txt": COMMON})


def test_words_that_a_passage_repeats_and_others_lack() -> None:
    index = ExactIndex()
    corpus().publish(index)
    reader = index.open(COLLECTION, MODEL)
    found = keywords(TEA, reader.lexicon, 4)
    assert found[0] == "चिया"  # three times, each time with another ending
    assert "हुन्छ" not in found
    assert len(found) == 4
    assert keywords("१२३ ।।", reader.lexicon, 4) == ()
    assert keywords(TEA, reader.lexicon, 0) == ()


def test_a_collection_in_figures() -> None:
    index = ExactIndex()
    corpus().publish(index)
    found = statistics(index.open(COLLECTION, MODEL))
    assert (found.collection, found.model, found.generation) == (COLLECTION, MODEL, 1)
    assert (found.n_documents, found.n_chunks) == (2, 10)
    assert sum(found.languages.values()) == 10
    assert found.kinds == {"text": 10}
    assert found.n_tokens == round(found.tokens["mean"] * 10)
    assert found.tokens["median"] <= found.tokens["p95"] <= found.tokens["max"]
