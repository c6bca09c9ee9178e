"""Printed tables become Markdown where cells stand in columns; prose beside them stays prose."""

from __future__ import annotations

from rag_platform.parsing.grids import page_text
from rag_platform.parsing.layout import Cell, Line


def row(top: float, *cells: tuple[str, float, float]) -> Line:
    made = tuple(Cell(*cell) for cell in cells)
    text = " ".join(cell.text for cell in made)
    return Line(text, made[0].x0, made[-1].x1, top, top + 12, 0, made)


def prose(top: float, text: str) -> Line:
    return Line(text, 50, 500, top, top + 12, 1)


TABLE = [
    row(40, ("शीर्षक", 50, 100), ("विनियोजन", 200, 260), ("खर्च", 320, 350)),
    row(60, ("शिक्षा", 50, 90), ("१,२०,०००", 205, 260), ("९८,५००", 310, 350)),
    row(80, ("स्वास्थ्य", 50, 95), ("८०,०००", 215, 260), ("७९,०००", 310, 350)),
]
MARKDOWN = "\n".join(
    [
        "| शीर्षक | विनियोजन | खर्च |",
        "| --- | --- | --- |",
        "| शिक्षा | १,२०,००० | ९८,५०० |",
        "| स्वास्थ्य | ८०,००० | ७९,००० |",
    ]
)


def test_cells_in_columns_become_a_table_between_paragraphs() -> None:
    found = page_text([prose(0, "बजेटको सारांश यस प्रकार छ।"), *TABLE, prose(120, "माथिको रकम रुपैयाँमा छ।")])
    assert found.text == f"बजेटको सारांश यस प्रकार छ।\n\n{MARKDOWN}\n\nमाथिको रकम रुपैयाँमा छ।"
    (region,) = found.regions
    assert (found.text[region.start : region.end], region.kind) == (MARKDOWN, "table")


def test_a_missing_cell_leaves_its_column_empty() -> None:
    short = row(70, ("खानेपानी", 50, 95), ("४०,०००", 215, 260), ("—", 330, 340), ("टिप्पणी", 400, 440))
    wide = row(90, ("जम्मा", 50, 90), ("२,४०,०००", 205, 260), ("१,७७,५००", 310, 350), ("ठीक", 400, 430))
    gap = row(110, ("सडक", 50, 80), ("१०", 240, 260), ("बाँकी", 400, 440))
    last = page_text([short, wide, gap]).text.splitlines()[-1]
    assert last == "| सडक | १० |  | बाँकी |"


def test_one_row_of_cells_is_no_table() -> None:
    found = page_text([prose(0, "पहिलो।"), TABLE[0], prose(80, "दोस्रो।")])
    assert found.regions == ()
    assert "|" not in found.text


def test_rows_whose_cells_stand_in_no_columns_keep_their_lines() -> None:
    scattered = [
        row(0, ("क", 50, 200), ("ख", 210, 220), ("ग", 230, 400)),
        row(20, ("घ", 60, 215), ("ङ", 225, 240), ("च", 250, 390)),
    ]
    found = page_text(scattered)
    assert (found.text, found.regions) == ("क ख ग\nघ ङ च", ())
