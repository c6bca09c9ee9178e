from __future__ import annotations

import pytest
from parsing.fontmap.typeset import FONTS, as_cff, font_bytes, shifted, without_tables

from rag_platform.parsing.fontmap.fonts import Font
from rag_platform.parsing.fontmap.harvest import harvested, main
from rag_platform.parsing.fontmap.outlines import dictionary, packed
from rag_platform.parsing.fontmap.script import REPH


def test_the_shape_is_the_same_whatever_tables_are_left() -> None:
    program = font_bytes("lohit")
    whole, bare = Font("a", program, "ttf"), Font("b", without_tables(program, "GSUB", "cmap"), "ttf")
    glyphs = range(1, 700)
    assert [whole.outline(glyph) for glyph in glyphs] == [bare.outline(glyph) for glyph in glyphs]
    assert sum(not whole.outline(glyph) for glyph in glyphs) < 30


def test_a_blank_glyph_is_not_an_unknown_one() -> None:
    font = Font("a", font_bytes("lohit"), "ttf")
    space = next(glyph for glyph, text in font.characters.items() if text == " ")
    assert font.blank(space)
    assert not font.blank(99_999)
    assert font.outline(99_999) == font.outline(space) == ""


def test_other_points_are_another_shape() -> None:
    program = font_bytes("lohit")
    whole, moved = Font("a", program, "ttf"), Font("b", shifted(program), "ttf")
    inked = [glyph for glyph in range(1, 700) if whole.outline(glyph)]
    assert all(whole.outline(glyph) != moved.outline(glyph) for glyph in inked)


def test_cff_glyphs_have_shapes_too() -> None:
    font = Font("a", as_cff(font_bytes("lohit")), "cid")
    shapes = {font.outline(glyph) for glyph in range(300, 340)}
    assert len(shapes) == 40
    assert "" not in shapes


@pytest.mark.parametrize("name", list(FONTS))
def test_the_shipped_dictionary_knows_the_free_fonts(name: str) -> None:
    known = harvested([Font(name, font_bytes(name), "ttf")])
    shipped = dictionary()
    agreed = [shipped.get(key) == text for key, text in known.items()]
    assert len(agreed) > 250
    assert sum(agreed) > 0.98 * len(agreed)


def test_the_shipped_dictionary_holds_strings_of_devanagari_and_signs_only() -> None:
    known = dictionary()
    assert len(known) > 5000
    assert {"क", "क्ष", "्र", REPH, "ि", "।"} <= set(known.values())
    assert all(len(key) == 8 and 0 < len(text) <= 8 for key, text in known.items())
    assert not any("\ue000" <= character <= "\uf8ff" for text in known.values() for character in text)


def test_an_outline_with_two_meanings_keeps_the_plain_one_or_none(tmp_path) -> None:
    class Rules:
        def __init__(self, texts: dict[int, str]) -> None:
            self.texts = texts

    class Drawn:
        def __init__(self, texts: dict[int, str]) -> None:
            self.inverted = Rules(texts)

        def outline(self, glyph: int) -> str:
            return f"shape{glyph:03}"

    fonts = [Drawn({1: "३", 2: "क्ष", 3: "ः"}), Drawn({1: "3", 2: "क्ष", 3: ":"}), Drawn({2: "क्स"})]
    assert harvested(fonts) == {"shape001": "३"}  # type: ignore[arg-type]


def test_a_dictionary_can_be_made_anew(tmp_path) -> None:
    font = tmp_path / "Lohit.ttf"
    font.write_bytes(font_bytes("lohit"))
    out = tmp_path / "outlines.tsv.gz"
    main([str(out), str(font)])
    known = harvested([Font("a", font.read_bytes(), "ttf")])
    assert packed(known, ["x"])[:2] == out.read_bytes()[:2] == b"\x1f\x8b"
    assert len(known) > 300
