from __future__ import annotations

import pymupdf
import pytest
from parsing.fontmap.typeset import PdfFont, Run, font_bytes, pdf

from rag_platform.parsing.fontmap.fonts import Glyphs, open_renamed
from rag_platform.parsing.fontmap.trace import TracedLine, framed, trace


def traced(document: pymupdf.Document) -> list[TracedLine]:
    copy, fonts = open_renamed(document)
    return trace(copy[0], Glyphs(), fonts)


def drawn(content: str) -> pymupdf.Document:
    document = pymupdf.open()
    page = document.new_page(width=300, height=200)
    page.insert_text((10, 20), " ", fontname="helv")
    xref = document.get_new_xref()
    document.update_object(xref, "<<>>")
    document.update_stream(xref, content.encode())
    page.set_contents(xref)
    return document


def words(lines: list[TracedLine]) -> list[list[int]]:
    return [[len(word.glyphs) for word in line.words] for line in lines]


def test_words_of_a_line_stand_by_x_whatever_the_order_of_drawing() -> None:
    lines = traced(drawn("BT /helv 10 Tf 1 0 0 1 100 100 Tm (cde) Tj 1 0 0 1 20 100 Tm (ab) Tj ET"))
    assert words(lines) == [[2, 3]]
    assert [round(word.start) for word in lines[0].words] == [20, 100]


def test_the_same_glyph_again_on_its_spot_is_only_bold() -> None:
    bold = "BT /helv 10 Tf 1 0 0 1 20 100 Tm (abc) Tj 1 0 0 1 20.3 100 Tm (abc) Tj ET"
    assert words(traced(drawn(bold))) == [[3]]
    assert words(traced(drawn(bold.replace("20.3", "23")))) == [[6]]


def test_a_space_that_leaves_no_white_parts_nothing() -> None:
    squeezed = "BT /helv 10 Tf 1 0 0 1 20 100 Tm (ab) Tj ( ) Tj 1 0 0 1 31.2 100 Tm (cd) Tj ET"
    assert words(traced(drawn(squeezed))) == [[4]]
    assert words(traced(drawn(squeezed.replace("31.2", "33")))) == [[2, 2]]


def test_white_without_a_space_parts_words() -> None:
    assert words(traced(drawn("BT /helv 10 Tf 1 0 0 1 20 100 Tm [(ab) -250 (cd) -60 (ef)] TJ ET"))) == [
        [2, 4]
    ]


def test_a_word_drawn_in_pieces_is_one() -> None:
    pieces = "BT /helv 10 Tf 1 0 0 1 31.12 100 Tm (cd) Tj 1 0 0 1 20 100 Tm (ab) Tj ET"
    assert words(traced(drawn(pieces))) == [[4]]


def test_invisible_text_is_not_traced() -> None:
    assert traced(drawn("BT 3 Tr /helv 10 Tf 1 0 0 1 20 100 Tm (abc) Tj ET")) == []


def test_lines_are_apart_by_their_baselines() -> None:
    content = "BT /helv 10 Tf 1 0 0 1 20 100 Tm (ab) Tj 1 0 0 1 40 102 Tm (cd) Tj 1 0 0 1 20 88 Tm (ef) Tj ET"
    assert words(traced(drawn(content))) == [[2, 2], [2]]


@pytest.mark.parametrize(
    ("matrix", "turn"), [("1 0 0 1", 0), ("0 1 -1 0", 3), ("-1 0 0 -1", 2), ("0 -1 1 0", 1)]
)
def test_boxes_of_turned_lines(matrix: str, turn: int) -> None:
    (line,) = traced(drawn(f"BT /helv 10 Tf {matrix} 100 100 Tm (abc) Tj ET"))
    (word,) = line.words
    assert word.turn == turn
    start, top, end, bottom = framed(word.box, turn)
    assert (start, end) == pytest.approx((word.start, word.end))
    assert top < word.baseline < bottom
    x0, y0, x1, y1 = word.box
    assert x0 - 1e-6 <= 100 <= x1 + 1e-6
    assert y0 - 1e-6 <= 100 <= y1 + 1e-6


def test_marks_without_width_do_not_open_gaps() -> None:
    document = pdf([[Run(PdfFont(font_bytes("lohit")), "निर्देशिकाहरूलाई", 60, 80)]])
    assert [len(line.words) for line in traced(document)] == [1]
