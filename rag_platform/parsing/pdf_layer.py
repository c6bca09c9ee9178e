"""The text layer of a PDF page as printed lines: words put together from positioned glyphs.

No OCR, no judgement about the characters. MuPDF is asked for single characters, because its own lines
break inside Devanagari words (a producer that writes a word's text on its first glyph makes the pen jump)
and lose the spaces between them (it infers none in Indic scripts; LibreOffice draws them apart, in another
font). So where a gap is white, and where a space was drawn, is read from the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rag_platform.parsing.layout import WIDE, Cell, Line

if TYPE_CHECKING:
    import pymupdf

__all__ = ["Fragment", "by_font", "layer_lines", "text_flags"]

_SAME_LINE = 0.35
"""Baselines closer than this, in em, are one printed line."""
_WORD_GAP = 0.15
"""A white gap from this width on, in em, parts Devanagari words; justified text goes down to 0.2."""
_COVERED = 0.6
_SLACK = 0.05


@dataclass
class Fragment:
    """One printed line with what each font wrote of it."""

    line: Line
    fonts: list[tuple[str, str]]


@dataclass
class _Word:
    text: str
    x0: float
    x1: float
    order: int
    spaced: bool


@dataclass
class _Row:
    """Stretches of text on one baseline, in the order of the page's content."""

    baseline: float
    size: float
    block: int
    box: list[float]
    spans: list[dict[str, Any]] = field(default_factory=list)

    def add(self, raw: dict[str, Any]) -> None:
        x0, y0, x1, y1 = raw["bbox"]
        self.box = [min(self.box[0], x0), min(self.box[1], y0), max(self.box[2], x1), max(self.box[3], y1)]
        self.spans.extend(raw["spans"])


class _Glyphs:
    """What is drawn where: asked only on pages that leave gaps open, because it costs as much as the text."""

    def __init__(self, page: pymupdf.Page) -> None:
        self._page = page
        self._by_height: dict[int, list[tuple[float, float, float]]] | None = None

    def cover(self, left: float, right: float, row: _Row) -> bool:
        """Say whether ink covers most of a gap; a space is drawn, but is no ink."""
        if self._by_height is None:
            self._by_height = {}
            for span in self._page.get_texttrace():
                for code, glyph, (_, baseline), (x0, _, x1, _) in span["chars"]:
                    # Glyph -1 stands for further characters of the glyph before it.
                    if glyph >= 0 and not chr(code).isspace():
                        self._by_height.setdefault(int(baseline // 8), []).append((x0, x1, baseline))
        at = int(row.baseline // 8)
        covered = sum(
            min(right, x1) - max(left, x0)
            for height in (at - 1, at, at + 1)
            for x0, x1, baseline in self._by_height.get(height, ())
            if abs(baseline - row.baseline) < _SAME_LINE * row.size and x1 > left and x0 < right
        )
        return covered > _COVERED * (right - left)


def text_flags() -> int:
    """Return how MuPDF is to read text: ligatures as letters, unknown glyphs as U+FFFD, no pictures."""
    import pymupdf

    unwanted = (
        pymupdf.TEXT_PRESERVE_IMAGES | pymupdf.TEXT_PRESERVE_LIGATURES | pymupdf.TEXT_CID_FOR_UNKNOWN_UNICODE
    )
    return int(pymupdf.TEXTFLAGS_RAWDICT & ~unwanted)


def layer_lines(page: pymupdf.Page) -> Iterator[Fragment]:
    """Yield the printed lines of a page's text layer in the order of its content."""
    glyphs = _Glyphs(page)
    for row in _rows(page):
        cells = _cells(row, glyphs)
        text = " ".join(cell.text for cell in cells)
        if text.strip():
            x0, y0, x1, y1 = row.box
            fonts = [(span["font"], "".join(char["c"] for char in span["chars"])) for span in row.spans]
            yield Fragment(Line(text, x0, x1, y0, y1, row.block, cells), fonts)


def by_font(fragments: Iterable[Fragment]) -> dict[str, str]:
    """Return the text that each font writes."""
    written: dict[str, list[str]] = {}
    for fragment in fragments:
        for font, text in fragment.fonts:
            written.setdefault(font, []).append(text)
    return {font: " ".join(texts) for font, texts in written.items()}


def _rows(page: pymupdf.Page) -> Iterator[_Row]:
    held: _Row | None = None
    for number, block in enumerate(page.get_text("rawdict", flags=text_flags())["blocks"]):
        for raw in block.get("lines", ()):
            if not raw["spans"]:
                continue
            row = _Row(
                baseline=raw["spans"][-1]["origin"][1],
                size=max(span["size"] for span in raw["spans"]) or 1.0,
                block=number,
                box=list(raw["bbox"]),
            )
            upright = abs(raw["dir"][1]) < 0.01 and raw["dir"][0] > 0
            if held is not None and not (upright and _near(held, row)):
                yield held
                held = None
            held = held or row
            held.add(raw)
            if not upright:
                yield held
                held = None
    if held is not None:
        yield held


def _near(held: _Row, row: _Row) -> bool:
    return abs(held.baseline - row.baseline) < _SAME_LINE * max(held.size, row.size)


def _cells(row: _Row, glyphs: _Glyphs) -> tuple[Cell, ...]:
    """Return the text of a row, in one piece or parted where white is wide."""
    words, spaces = _words(row, glyphs)
    if any(after.x0 < before.x0 - row.size for before, after in pairwise(words)):
        words.sort(key=lambda word: word.x0)
    cells: list[Cell] = []
    parts: list[str] = []
    start, reach, order = 0.0, float("-inf"), -1
    for word in words:
        if parts and word.x0 - reach > WIDE * row.size:
            cells.append(Cell("".join(parts), start, reach))
            parts = []
        elif parts and _apart(word, reach, order, spaces, row, glyphs):
            parts.append(" ")
        start = word.x0 if not parts else start
        parts.append(word.text)
        reach, order = max(reach, word.x1), word.order
    return (*cells, Cell("".join(parts), start, reach)) if parts else ()


def _words(row: _Row, glyphs: _Glyphs) -> tuple[list[_Word], list[float]]:
    """Return the words of a row in stream order, and where spaces were drawn."""
    words: list[_Word] = []
    spaces: list[float] = []
    fresh, spaced = True, False
    for span in row.spans:
        fresh = fresh or bool(words and span["chars"] and _jumps(words[-1], span["chars"][0], row))
        for char in _without_echoes(span["chars"]):
            text, (x0, _, x1, _) = char["c"], char["bbox"]
            if text.isspace() and text != "\u00a0":
                fresh = spaced = True
                if not char["synthetic"]:
                    spaces.append((x0 + x1) / 2)
            elif fresh or _gap(words[-1], text, x0, row, glyphs):
                words.append(_Word(text, x0, x1, len(words), spaced))
                fresh = spaced = False
            else:
                words[-1].text += text
                words[-1].x1 = max(words[-1].x1, x1)
    return words, spaces


def _without_echoes(chars: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Drop letters that MuPDF writes twice where a word's stated text (ActualText) overlaps a glyph's own.

    Both copies have no width and stand on one spot, and no syllable holds a letter twice without a halant.
    """
    before = None
    for char in chars:
        at = (char["c"], char["bbox"][0], char["bbox"][2])
        if not (at == before and at[1] == at[2] and at[0].isalpha()):
            yield char
        before = at


def _jumps(word: _Word, char: dict[str, Any], row: _Row) -> bool:
    """Say whether a new span begins elsewhere than where the last word ended."""
    return bool(abs(char["bbox"][0] - word.x1) > _WORD_GAP * row.size)


def _gap(word: _Word, text: str, x0: float, row: _Row, glyphs: _Glyphs) -> bool:
    if x0 - word.x1 < _WORD_GAP * row.size or (text < "\u0900" and word.text[-1] < "\u0900"):
        return False  # in Latin, MuPDF has put a space of its own
    return not glyphs.cover(word.x1, x0, row)


def _apart(word: _Word, reach: float, order: int, spaces: list[float], row: _Row, glyphs: _Glyphs) -> bool:
    if word.spaced and word.order == order + 1:
        return True
    slack = _SLACK * row.size
    if any(reach - slack <= space <= word.x0 + slack for space in spaces):
        return True
    return word.x0 - reach > _WORD_GAP * row.size and not glyphs.cover(reach, word.x0, row)
