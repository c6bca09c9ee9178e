"""Which ranked passages are shown: limits of documents and pages, one of several alike, a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from points import Corpus

from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.select import select
from rag_platform.types import Chunk, Scored

HAND, SOAP, TAX, FEE = (
    "खाना खानुअघि साबुनपानीले हात धुनुहोस्।",
    "खाना खानुअघि साबुनपानीले हात धुनुहोस् !",
    "सम्पत्ति कर असार मसान्तभित्र तिर्नुहोस्।",
    "नागरिकता प्रतिलिपिको दस्तुर पचास रुपैयाँ हो।",
)


def chunks() -> list[Chunk]:
    corpus = Corpus({"स्वास्थ्य.txt": [HAND, SOAP], "कर.txt": [TAX, FEE]})
    made = [replace(chunk, page_first=1, page_last=1) for chunk in corpus.expected.values()]
    return sorted(made, key=lambda chunk: [HAND, SOAP, TAX, FEE].index(chunk.text))


def texts(options: SearchOptions, order: Sequence[int] = (0, 1, 2, 3)) -> list[str]:
    made = chunks()
    ranked = [Scored(made[i].chunk_id, 1.0 - place / 10) for place, i in enumerate(order)]
    return [one.chunk.text for one in select(ranked, {c.chunk_id: c for c in made}, options)]


def test_the_best_are_shown_in_their_order() -> None:
    assert texts(SearchOptions(k=3), (2, 0, 3, 1)) == [TAX, HAND, FEE]


def test_at_most_so_many_of_a_document() -> None:
    assert texts(SearchOptions(per_document=1)) == [HAND, TAX]


def test_at_most_so_many_of_a_page() -> None:
    assert texts(SearchOptions(per_page=1)) == [HAND, TAX]
    assert texts(SearchOptions(per_page=2)) == [HAND, SOAP, TAX, FEE]


def test_nothing_below_the_threshold() -> None:
    assert texts(SearchOptions(threshold=0.9)) == [HAND, SOAP]


def test_passages_alike_are_one_hit_that_names_the_others() -> None:
    made = chunks()
    ranked = [Scored(chunk.chunk_id, 1.0) for chunk in made]
    shown = select(ranked, {c.chunk_id: c for c in made}, SearchOptions(k=3, distinct=True))
    assert [(one.chunk.text, [other.text for other in one.duplicates]) for one in shown] == [
        (HAND, [SOAP]),
        (TAX, []),
        (FEE, []),
    ]


def test_a_twin_beyond_the_last_place_is_still_named() -> None:
    made = chunks()
    ranked = [Scored(made[i].chunk_id, 1.0) for i in (0, 2, 1)]
    shown = select(ranked, {c.chunk_id: c for c in made}, SearchOptions(k=1, distinct=True))
    assert [[other.text for other in one.duplicates] for one in shown] == [[SOAP]]
