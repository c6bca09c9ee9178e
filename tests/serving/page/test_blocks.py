"""Passages laid out: paragraphs, headings and tables, with their marks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rag_platform.text.analyze import analyze
from serving.page.blocks import Block, blocks
from serving.page.highlight import Piece, excerpt, pieces

TERMS = frozenset(analyze("दस्तुर"))
TABLE = "| सेवा | दस्तुर |\n| --- | --- |\n| नाता प्रमाणित | १०० |\n| क \\| ख | |"


def plain(*texts: str) -> list[tuple[Piece, ...]]:
    return [(Piece(text, False),) for text in texts]


def test_a_table_is_a_table_with_its_header_and_marks() -> None:
    before, table = blocks(pieces(f"शुल्क यस्तो छ:\n\n{TABLE}", TERMS))
    assert before == Block(tuple(plain("शुल्क यस्तो छ:")[0]))
    assert table.head == (*plain("सेवा"), (Piece("दस्तुर", True),))
    assert table.rows == (tuple(plain("नाता प्रमाणित", "१००")), (*plain("क | ख"), ()))


def test_rows_without_their_header_are_a_table_too() -> None:
    (table,) = blocks([Piece("| नाता | १०० |\n| बसाइँ | २०० |", False)])
    assert (table.head, len(table.rows)) == ((), 2)


def test_headings_of_markdown_lose_their_signs() -> None:
    heading, text = blocks([Piece("## दफा ३. शुल्क\nसय रुपैयाँ।", False)])
    assert (heading.heading, heading.pieces) == (True, (Piece("दफा ३. शुल्क", False),))
    assert text.pieces == (Piece("सय रुपैयाँ।", False),)


def test_an_excerpt_cuts_no_row() -> None:
    text = "\n".join(["| सेवा | दस्तुर |", "| --- | --- |", *(f"| काम {n} | {n} रुपैयाँ |" for n in range(60))])
    shown = "".join(piece.text for piece in excerpt(pieces(text, frozenset(analyze("काम 30"))), 200))
    rows = [row for row in shown.split("\n") if row != "…"]
    assert all(row in text.split("\n") for row in rows)


@given(st.text(alphabet="कर दस्तुर|-#\\\n <>", max_size=120))
def test_no_word_is_lost(text: str) -> None:
    found = blocks(pieces(text, TERMS))
    cells = [cell for block in found for row in (block.head, *block.rows) for cell in row]
    shown = "".join(p.text for part in (*cells, *(block.pieces for block in found)) for p in part)
    assert [c for c in shown if c in "करदसत"] == [c for c in text if c in "करदसत"]
