"""From chunks to judged places: what counts, at which rank, whatever the chunker."""

from __future__ import annotations

import pytest

from rag_platform.errors import InvalidDataset
from rag_platform.evaluation.datasets import Case, Label
from rag_platform.evaluation.labels import ranked_units, units_of
from rag_platform.evaluation.ranking import parse_measure
from rag_platform.types import Chunk, Document, Hit, Page

PAGES = ("पहिलो पृष्ठमा कर तिर्ने मिति छ।", "दोस्रो पृष्ठमा जरिबानाको दर छ।\nदर दश प्रतिशत हो।", "तेस्रो पृष्ठ छोटो छ।")
DOCUMENT = Document("ऐन.pdf", "0" * 64, "pdf", tuple(Page(n, text, "ocr") for n, text in enumerate(PAGES, 1)))
OTHER = Document("सूचना.txt", "1" * 64, "txt", (Page(1, "कर तिर्ने मिति भदौ मसान्त हो।", "markup"),))
DOCUMENTS = {document.source: document for document in (DOCUMENT, OTHER)}


def chunk(document: Document, start: int, end: int) -> Chunk:
    text = document.text[start:end]
    fields = (document.document_id, document.collection, document.source, document.content_sha256)
    return Chunk(f"{document.source}:{start}", *fields, 0, text, start, end, 1, 1, len(text), 0, "text", "ne")


def hits(*chunks: Chunk) -> list[Hit]:
    return [Hit(rank, 1 / rank, one) for rank, one in enumerate(chunks, start=1)]


def whole(document: Document) -> Chunk:
    return chunk(document, 0, len(document.text))


def case(*labels: Label) -> Case:
    return Case("प्र-१", "कर कहिले तिर्ने?", labels, where="cases.jsonl, line 1")


def ranked(found: list[Hit], *labels: Label) -> list[str]:
    units = units_of(case(*labels), DOCUMENTS)
    return [one.unit for one in ranked_units(found, units, DOCUMENTS)]


def page_of(number: int) -> Chunk:
    span = DOCUMENT.page_spans[number - 1]
    return chunk(DOCUMENT, span.start, span.end)


def test_a_document_counts_once_at_its_first_chunk() -> None:
    found = hits(page_of(3), page_of(1), whole(OTHER), page_of(2))
    assert ranked(found, Label("सूचना.txt")) == ["ऐन.pdf", "सूचना.txt"]


def test_a_folder_stands_for_the_documents_in_it() -> None:
    below = Document("ऐन/documents/क.txt", "2" * 64, "txt", (Page(1, "क", "markup"),))
    units = units_of(case(Label("ऐन/documents/")), DOCUMENTS)
    found = ranked_units(hits(whole(OTHER), whole(below)), units, DOCUMENTS)
    assert [one.unit for one in found] == ["सूचना.txt", "ऐन/documents/"]


def test_pages_are_places_of_their_own() -> None:
    found = hits(page_of(1), whole(OTHER), page_of(1), page_of(2))
    assert ranked(found, Label("ऐन.pdf", page=2)) == ["ऐन.pdf#p1", "सूचना.txt#p1", "ऐन.pdf#p2"]


def test_a_chunk_over_two_judged_pages_takes_a_rank_for_each() -> None:
    found = hits(whole(DOCUMENT))
    labels = (Label("ऐन.pdf", page=2), Label("ऐन.pdf", page=3))
    assert ranked(found, *labels) == ["ऐन.pdf#p2", "ऐन.pdf#p3"]
    units = units_of(case(*labels), DOCUMENTS)
    ndcg = parse_measure("nDCG@10").of(ranked_units(found, units, DOCUMENTS), {u.unit_id: 1 for u in units})
    assert ndcg == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("start", "end", "counts"),
    [
        (10, 20, True),  # the place itself
        (0, 60, True),  # all of it in a long chunk
        (13, 16, True),  # a short chunk inside
        (15, 40, True),  # half of the place
        (16, 40, False),  # less than half of the place, and of the chunk
        (8, 12, True),  # half of the chunk
        (7, 12, False),  # less than half of the chunk
        (20, 30, False),  # beside it
    ],
)
def test_half_of_the_shorter_must_be_shared(start: int, end: int, counts: bool) -> None:
    (unit,) = units_of(case(Label("ऐन.pdf", span=(10, 20))), DOCUMENTS)
    assert unit.counts(chunk(DOCUMENT, start, end)) is counts
    assert not unit.counts(chunk(OTHER, 10, 20))


def test_a_quote_is_found_whatever_the_white_space() -> None:
    (unit,) = units_of(case(Label("ऐन.pdf", quote="दर छ। दर  दश प्रतिशत")), DOCUMENTS)
    assert unit.span is not None
    assert DOCUMENT.text[unit.span.start : unit.span.end] == "दर छ।\nदर दश प्रतिशत"
    assert not unit.is_page


def test_unjudged_chunks_are_places_of_their_own_where_text_is_judged() -> None:
    found = hits(chunk(DOCUMENT, 0, 9), chunk(DOCUMENT, 9, 20), page_of(2))
    names = ranked(found, Label("ऐन.pdf", page=2, quote="दर दश प्रतिशत हो।"))
    start = DOCUMENT.text.index("दर दश")
    assert names == ["ऐन.pdf#0-9", "ऐन.pdf#9-20", f"ऐन.pdf#{start}-{start + len('दर दश प्रतिशत हो।')}"]


def test_one_set_of_labels_scores_any_cut() -> None:
    """The same ranking of the same text, cut finely and coarsely, is worth the same."""
    labels = [Label("ऐन.pdf", page=2)]
    middle = DOCUMENT.page_spans[1].start + 20
    fine = hits(
        page_of(1), chunk(DOCUMENT, page_of(2).start, middle), chunk(DOCUMENT, middle, page_of(2).end)
    )
    coarse = hits(page_of(1), page_of(2))
    assert ranked(fine, *labels) == ranked(coarse, *labels) == ["ऐन.pdf#p1", "ऐन.pdf#p2"]


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (Label("ऐन.pdf", page=4), "'ऐन.pdf' has 3 pages, so there is no page 4"),
        (Label("ऐन.pdf", quote="पृष्ठ"), "stands 3 times on 'ऐन.pdf'; quote more"),
        (Label("ऐन.pdf", page=1, quote="जरिबाना"), "stands 0 times on page 1 of 'ऐन.pdf'; quote the words"),
        (Label("सूचना.txt", span=(0, 99)), "has 29 characters, so there is no span"),
    ],
)
def test_a_label_that_names_no_place_is_refused(label: Label, message: str) -> None:
    with pytest.raises(InvalidDataset, match=f"cases.jsonl, line 1: .*{message}"):
        units_of(case(label), DOCUMENTS)


def test_the_same_place_twice_is_refused() -> None:
    with pytest.raises(InvalidDataset, match="the same place"):
        units_of(case(Label("सूचना.txt"), Label("सूचना.txt", grade=2)), DOCUMENTS)
