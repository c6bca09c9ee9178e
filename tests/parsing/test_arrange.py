from __future__ import annotations

from rag_platform.parsing.arrange import printed, reading_order
from rag_platform.parsing.fontmap.trace import TracedLine, TracedWord
from rag_platform.parsing.grids import page_text

TEXTS: dict[int, str] = {}


def line(baseline: float, *cells: tuple[float, str], size: float = 10, turn: int = 0) -> TracedLine:
    """Return a line of cells; their words are half an em a letter wide, a quarter apart."""
    words = []
    for start, text in cells:
        x = start
        for word in text.split():
            TEXTS[len(TEXTS)] = word
            width = len(word) * size / 2
            words.append(TracedWord([len(TEXTS) - 1], x, x + width, baseline, size, turn, len(TEXTS)))
            x += width + size / 4
    return TracedLine(words)


def read(*lines: TracedLine, upright: int = 0) -> str:
    return page_text(
        list(
            printed(
                reading_order((line.words for line in lines), upright), lambda word: TEXTS[word.glyphs[0]]
            )
        )
    ).text


def test_lines_go_down_the_page_whatever_the_order_of_drawing() -> None:
    assert read(line(60, (50, "दुई")), line(48, (50, "एक")), line(72, (50, "तीन"))) == "एक\nदुई\nतीन"


def test_wide_white_begins_a_paragraph() -> None:
    lines = [line(at, (50, "क")) for at in (50, 62, 74, 98, 110)]
    assert read(*lines) == "क\nक\nक\n\nक\nक"


PROSE = "aaaa bbbb cccc dddd eeee"


def test_columns_of_prose_are_read_one_after_the_other() -> None:
    title = line(30, (50, "शीर्षक " + "लामो " * 20))
    rows = [line(50 + 12 * at, (50, f"{PROSE} L{at}"), (250, f"{PROSE} R{at}")) for at in range(6)]
    text = read(title, *rows)
    marks = [word for word in text.split() if word[0] in "LR"]
    assert marks == [f"{side}{at}" for side in "LR" for at in range(6)]
    assert text.startswith("शीर्षक")


def test_rows_of_a_table_stay_rows() -> None:
    rows = [line(50 + 12 * at, (50, f"{at}."), (90, "नाम"), (250, "१२३"), (350, "४५६")) for at in range(8)]
    assert read(*rows).splitlines()[3] == "| 2. | नाम | १२३ | ४५६ |", "the header, its rule, 1. and 2."


def test_cells_of_other_sizes_stand_in_one_row() -> None:
    text = read(
        line(50, (50, "जम्मा"), size=12), line(46, (150, "२३"), size=7), line(50, (300, "४५"), size=12)
    )
    assert text == "जम्मा २३ ४५"


def test_lines_in_the_upright_direction_come_first() -> None:
    sideways, upright = line(50, (50, "छेउ"), turn=3), line(300, (50, "माथि"))
    assert read(sideways, upright).split() == ["माथि", "छेउ"]
    assert read(sideways, upright, upright=3).split() == ["छेउ", "माथि"]


def test_no_lines_are_no_text() -> None:
    assert read() == ""
