from __future__ import annotations

import pymupdf
import pytest
from parsing.fontmap.typeset import PdfFont, Run, as_cff, font_bytes, pdf, type3

from rag_platform.errors import ParseError
from rag_platform.parsing.fontmap.fonts import Font, open_renamed
from rag_platform.parsing.fontmap.reader import FontMapReader


def test_the_copy_tells_fonts_of_one_name_apart() -> None:
    program = font_bytes("lohit")
    other = font_bytes("annapurna")
    runs = [Run(PdfFont(program), "नेपाल", 60, 80), Run(PdfFont(other), "नेपाल", 60, 120)]
    copy, fonts = open_renamed(pdf([runs]))
    assert {font.name for font in fonts.values()} == {"Kalam"}
    assert {font.program for font in fonts.values()} == {program, other}
    assert {span["font"] for span in copy[0].get_texttrace()} == set(fonts)


def test_one_program_used_twice_is_one_font() -> None:
    program = font_bytes("lohit")
    runs = [Run(PdfFont(program), "नेपाल", 60, 80), Run(PdfFont(program), "सरकार", 60, 120)]
    _, fonts = open_renamed(pdf([runs]))
    assert len(fonts) == 2
    assert len(set(fonts.values())) == 1


def test_fonts_that_are_not_embedded_keep_their_names() -> None:
    document = pymupdf.open()
    document.new_page().insert_text((72, 72), "Act")
    copy, fonts = open_renamed(document)
    assert fonts == {}
    assert copy[0].get_texttrace()[0]["font"] == "Helvetica"


def test_drawing_procedures_have_fingerprints() -> None:
    document = type3({"a": "0 0 500 500 re f", "b": "0 0 300 500 re f", "c": "0 0 500 500 re f"}, "abc")
    _, fonts = open_renamed(document)
    (font,) = fonts.values()
    shapes = [font.outline(ord(letter)) for letter in "abc"]
    assert shapes[0] == shapes[2] != shapes[1]
    assert all(len(shape) == 8 for shape in shapes)
    assert FontMapReader(document).page(1).text == "abc"


def test_names_of_cff_glyphs_are_read() -> None:
    font = Font("a", as_cff(font_bytes("annapurna")), "cff")
    assert any("\u0900" <= text[0] <= "\u097f" for text in font.characters.values())


@pytest.mark.parametrize("program", [b"", b"not a font", b"\x00\x01\x00\x00" + bytes(200)])
def test_what_is_no_font_knows_nothing(program: bytes) -> None:
    font = Font("a", program, "ttf")
    assert font.inverted is None
    assert font.characters == {}
    assert font.outline(3) == ""
    assert not font.blank(3)


def test_only_pdf_has_such_fonts() -> None:
    picture = pymupdf.Pixmap(pymupdf.csGRAY, pymupdf.IRect(0, 0, 9, 9))
    document = pymupdf.open(stream=picture.tobytes("png"), filetype="png")
    with pytest.raises(ParseError, match="no PDF"):
        FontMapReader(document)
