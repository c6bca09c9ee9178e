"""Text layers in reading order: columns, turned pages, letter-spaced words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pymupdf
import pytest
from parsing.files import Pdf, Placed, Read, layer_pdf

ENGLISH = "The reading room opens at ten in the morning."
WORDS = [
    "the",
    "ward",
    "office",
    "keeps",
    "records",
    "of",
    "every",
    "decision",
    "and",
    "shows",
    "them",
    "here",
]


def column(x: float, top: float, n_lines: int, mark: str, n_letters: int = 38) -> list[Placed]:
    """Return lines of prose; the first word of each says which line it is."""
    lines = []
    for at in range(n_lines):
        text, turn = f"{mark}{chr(ord('a') + at)}", at
        while len(text) + len(WORDS[turn % len(WORDS)]) < n_letters:
            text, turn = f"{text} {WORDS[turn % len(WORDS)]}", turn + 1
        lines.append((x, top - 14 * at, text))
    return lines


def across(*columns: Sequence[Placed]) -> list[Placed]:
    """Return columns as programs draw them that go down the page row by row."""
    return [line for row in zip(*columns, strict=True) for line in row]


def marks(text: str) -> list[str]:
    return [word for word in text.split() if word[0] in "LMR" and len(word) == 2]


def test_two_columns_drawn_row_by_row_are_read_one_after_the_other(pdf: Pdf, read: Read) -> None:
    title = (60, 760, "A heading over both columns of the page that is as wide as they are together")
    lines = [title, *across(column(60, 700, 8, "L"), column(320, 700, 8, "R"))]
    text = read(pdf(lines)).pages[0].text

    assert text.startswith(title[2])
    assert marks(text) == [side + letter for side in "LR" for letter in "abcdefgh"]


def test_three_columns_and_a_heading_between(pdf: Pdf, read: Read) -> None:
    def three(top: float) -> list[Placed]:
        return across(*(column(x, top, 6, mark, 24) for x, mark in ((40, "L"), (220, "M"), (400, "R"))))

    heading = (
        40,
        600,
        "A heading that goes over all of the three columns and parts the upper from the lower",
    )
    text = read(pdf([*three(700), heading, *three(570)])).pages[0].text
    upper, lower = text.split(heading[2])

    assert marks(upper) == [side + letter for side in "LMR" for letter in "abcdef"]
    assert marks(lower) == [side + letter for side in "LMR" for letter in "abcdef"]


def test_columns_drawn_one_after_the_other_and_tables_stay_as_they_are(pdf: Pdf, read: Read) -> None:
    in_turn = [*column(60, 700, 8, "L"), *column(320, 700, 8, "R")]
    cells = [(x, 500 - 14 * at, f"{100 * at + x}") for at in range(6) for x in (60, 200, 320, 450)]
    text = read(pdf([*in_turn, *cells])).pages[0].text

    assert marks(text) == [side + letter for side in "LR" for letter in "abcdefgh"]
    assert "| 160 | 300 | 420 | 550 |" in text


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_pages_and_texts_that_stand_on_their_side(tmp_path: Path, read: Read, turn: int) -> None:
    nepali = "विद्यार्थीलाई छात्रवृत्ति वितरण गरिनेछ।"
    path = tmp_path / "turned.pdf"
    with pymupdf.open(stream=layer_pdf([[(60, 700, ENGLISH), (60, 680, nepali)]])) as document:
        document[0].set_rotation(turn)
        document.save(str(path))
    assert read(path).pages[0].text == f"{ENGLISH} {nepali}"

    with pymupdf.open() as document:
        page = document.new_page()
        for at, line in enumerate(("First line of the page", "and its second line.")):
            step = 16 * at
            start = {90: (200 + step, 600), 180: (500, 400 - step), 270: (300 - step, 100)}[turn]
            page.insert_text(start, line, rotate=turn)
        document.save(str(path))
    assert read(path).pages[0].text == "First line of the page\nand its second line."


def test_letter_spaced_headings_are_words(pdf: Pdf, read: Read) -> None:
    # Six points a character, and twelve of white after each letter.
    spaced = [(60, 700, "नि"), (84, 700, "य"), (102, 700, "मा"), (126, 700, "व"), (144, 700, "ली")]
    labels = [(60 + 12 * at, 650, label) for at, label in enumerate("कखगघ")]
    typed = (60, 600, "N O T I C E of the ward")
    text = read(pdf([*spaced, *labels, typed, (60, 500, ENGLISH)])).pages[0].text

    assert text.split("\n\n")[:3] == ["नियमावली", "क ख ग घ", "NOTICE of the ward"]
