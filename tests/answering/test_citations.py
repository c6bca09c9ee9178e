"""Quotes are exact, fabrications are caught, true sentences pass; whatever the file is called."""

from __future__ import annotations

from dataclasses import replace

import pytest
from answering_texts import EACH, KINDS, PAGES, false_ones, hits, marked, true_ones
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.answering.citations import Citation, Verifier, source_text, verify
from rag_platform.answering.prompts import REFUSALS
from rag_platform.types import Chunk, Hit

HITS = hits()
ACT, _, WATER, _, SCHOOL, *_ = HITS
TREK = HITS[8]
FEE = "मोटरसाइकल दर्ता गर्न २,५०० रुपैयाँ शुल्क लाग्छ"


def stored(citation: Citation) -> str:
    chunk = HITS[citation.marker - 1].chunk
    return chunk.text[citation.start - chunk.start : citation.end - chunk.start]


def test_two_hundred_fabrications_are_caught() -> None:
    made = false_ones()
    missed = [said for said in made if not verify(said.text, HITS).unsupported]
    assert [sum(said.kind == kind for said in made) for kind in KINDS] == [EACH] * 5
    assert len(missed) <= 5, "\n".join(f"{said.kind}: {said.text}" for said in missed)


def test_true_sentences_pass() -> None:
    made = true_ones()
    refused = [said for said in made if verify(said.text, HITS).unsupported]
    assert len(refused) <= 0.02 * len(made), "\n".join(map(str, refused))


def test_every_quote_is_exact_in_the_stored_text() -> None:
    citations = [
        citation for said in (*true_ones(), *false_ones()) for citation in verify(said.text, HITS).citations
    ]
    assert len(citations) > 300
    assert all(citation.quote == stored(citation) and citation.quote for citation in citations)


@pytest.mark.parametrize("hit", HITS, ids=lambda hit: f"{hit.chunk.source} p{hit.chunk.page_first}")
def test_a_citation_names_document_page_and_span(hit: Hit) -> None:
    sentence = PAGES[hit.chunk.source][hit.chunk.page_first - 1].partition("।")[0].partition(". ")[0]
    end = "." if sentence.isascii() else "।"
    (citation,) = verify(f"{sentence.rstrip('.')} [{hit.rank}]{end}", HITS).citations
    assert (citation.source, citation.page) == (hit.chunk.source, hit.chunk.page_first)
    assert (citation.document_id, citation.chunk_id) == (hit.chunk.document_id, hit.chunk.chunk_id)
    assert (citation.start, citation.verified) == (hit.chunk.start, True)


def test_what_is_not_supported_is_marked_in_its_language() -> None:
    found = verify("मोटरसाइकल दर्ता गर्न ५,५०० रुपैयाँ शुल्क लाग्छ [1]।", HITS)
    assert found.text == "मोटरसाइकल दर्ता गर्न ५,५०० रुपैयाँ शुल्क लाग्छ [1] [अप्रमाणित]।"
    assert not found.citations[0].verified
    assert not found.refused
    english = verify("The permit is valid for 15 days [9].", HITS, language="en")
    assert english.text == "The permit is valid for 15 days [9] [unverified]."


def test_strict_leaves_it_out_or_refuses() -> None:
    wrong = "मोटरसाइकल दर्ता गर्न ५,५०० रुपैयाँ शुल्क लाग्छ [1]।"
    some = verify(f"{FEE} [1]। {wrong}", HITS, strict=True)
    assert (some.text.strip(), some.refused, len(some.unsupported)) == (f"{FEE} [1]।", False, 1)
    none = verify(wrong, HITS, strict=True)
    assert (none.text, none.refused, none.citations) == (REFUSALS["ne"], True, ())


def test_a_mark_of_no_source_is_taken_away_and_its_sentence_marked() -> None:
    found = verify(f"{FEE} [77]।", HITS)
    assert found.text == f"{FEE} [अप्रमाणित]।"
    assert found.unsupported[0].reason == "there is no source 77"
    assert found.citations == ()


def test_a_sentence_without_a_mark_gets_the_one_that_supports_it() -> None:
    found = verify(f"{FEE}।", HITS)
    assert found.text == f"{FEE} [1]।"
    assert found.citations[0].verified


@pytest.mark.parametrize("text", [f"{FEE}। [1]", f"{FEE} [१]।", f"{FEE} [1, 3]।", f"{FEE} [1][3]।"])
def test_marks_in_any_place_and_digits(text: str) -> None:
    found = verify(text, HITS)
    assert found.unsupported == ()
    assert (found.citations[0].marker, found.citations[0].verified) == (1, True)


def test_a_second_source_that_does_not_say_it_is_not_verified() -> None:
    found = verify(f"{FEE} [1][3]।", HITS)
    assert [(one.marker, one.verified) for one in found.citations] == [(1, True), (3, False)]


@pytest.mark.parametrize(
    ("excerpt", "is_there"),
    [
        ("सवारी धनीले खरिद गरेको पैँतीस दिनभित्र सवारी साधन दर्ता गर्नुपर्छ", True),
        ("सवारी धनीले … सवारी साधन दर्ता गर्नुपर्छ", True),
        ("सवारी धनीले खरिद गरेको पैँतीस दिनपछि सवारी साधन दर्ता गर्नुपर्छ", False),
    ],
)
def test_words_in_quotation_marks_stand_in_the_source(excerpt: str, is_there: bool) -> None:
    found = verify(f"अध्यादेशमा “{excerpt}” भनिएको छ [1]।", HITS)
    assert ("these words are not" not in "".join(one.reason for one in found.unsupported)) is is_there


def test_another_script_is_checked_by_its_numbers_alone() -> None:
    same = verify("Registering a motorcycle costs 2,500 rupees [1].", HITS, language="en")
    other = verify("Registering a motorcycle costs 9,500 rupees [1].", HITS, language="en")
    assert "another script" in same.unsupported[0].reason
    assert "9500" in other.unsupported[0].reason


def test_headings_rows_and_refusals_are_no_claims() -> None:
    text = f"## दर्ता शुल्क\n\nविवरण यस्तो छ:\n\n{FEE} [1]।"
    found = verify(text, HITS)
    assert (found.text, found.unsupported) == (text, ())
    refused = verify(REFUSALS["ne"], HITS)
    assert (refused.text, refused.refused) == (REFUSALS["ne"], True)


def test_nothing_is_a_refusal() -> None:
    assert verify("", HITS).text == REFUSALS["ne"]
    assert verify(" ", [], language="en").refused


def test_chunks_around_a_hit_are_cited_where_they_are() -> None:
    first, second = HITS[0].chunk, HITS[1].chunk
    hit = replace(HITS[0], context=(second,))
    (citation,) = verify("अनुमतिपत्रको दस्तुर १,५०० रुपैयाँ छ [1]।", [hit]).citations
    assert (citation.chunk_id, citation.page, citation.verified) == (second.chunk_id, 2, True)
    assert citation.quote == second.text[citation.start - second.start : citation.end - second.start]
    assert source_text(hit) == f"{first.text}\n\n{second.text}"


def test_chunks_that_overlap_are_read_once() -> None:
    chunk = HITS[0].chunk
    cut, overlap = len(chunk.text) // 2, 10
    halves = [
        replace(chunk, text=chunk.text[:cut], end=chunk.start + cut),
        replace(chunk, text=chunk.text[cut - overlap :], start=chunk.start + cut - overlap, ordinal=1),
    ]
    assert source_text(Hit(1, 1.0, halves[1], context=(halves[0],))) == chunk.text


def test_a_header_of_a_table_counts_for_its_rows() -> None:
    row: Chunk = replace(ACT.chunk, text="| जीप | १२,००० |\n| बस | १८,००० |", header="| सवारी | शुल्क |")
    found = verify("जीपको शुल्क १२,००० छ [1]।", [replace(ACT, chunk=row)])
    assert found.unsupported == ()
    assert found.citations[0].quote == "| जीप | १२,००० |"


@given(st.data())
def test_pieces_make_no_difference(data: st.DataObject) -> None:
    text = (
        f"{FEE} [1]। {marked('बैठकमा ४८ जना सदस्य उपस्थित थिए।', 3)}\n\n- The permit is valid for 14 days. [9]"
    )
    cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1), max_size=6)))
    verifier = Verifier(HITS)
    parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    said = "".join(verifier.feed(part) for part in parts) + verifier.finish()
    whole = verify(text, HITS)
    assert (said, tuple(verifier.citations)) == (whole.text, whole.citations)


def test_a_sentence_leaves_only_when_its_mark_is_known() -> None:
    verifier = Verifier(HITS)
    assert verifier.feed(f"{FEE}।") == ""
    assert verifier.feed(" [1") == ""
    assert verifier.feed("] बैठक") == f"{FEE} [1]। "
