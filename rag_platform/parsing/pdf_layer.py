"""The text layer of a PDF page as printed lines: words put together from positioned glyphs.

No OCR, no judgement about the characters. MuPDF is asked for single characters, because its own lines
break inside Devanagari words (a producer that writes a word's text on its first glyph makes the pen jump)
and lose the spaces between them (it infers none in Indic scripts; LibreOffice draws them apart, in another
font). So where a gap is white, and where a space was drawn, is read from the page.

Lines come in the order of the page's content, which programs that set text keep, but where it runs across
the columns of the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from rag_platform.parsing.arrange import PlacedWord, Row, printed, reading_order
from rag_platform.parsing.fontmap.trace import framed
from rag_platform.parsing.layout import WIDE, Line
from rag_platform.parsing.spacing import without_letter_spacing

if TYPE_CHECKING:
    import pymupdf

__all__ = ["Layer", "layer_words", "read_layer", "text_flags"]

_SAME_LINE = 0.35
"""Baselines closer than this, in em, are one printed line."""
_WORD_GAP = 0.15
"""A white gap from this width on, in em, parts Devanagari words; justified text goes down to 0.2."""
_COVERED = 0.6
_SLACK = 0.05
_ACROSS = 2.0
"""Lines that the content draws in one column before it goes to the next; fewer run across the columns."""


@dataclass(frozen=True, slots=True)
class Layer:
    """What the text layer of a page says: its printed lines, and the text that each font writes."""

    lines: tuple[Line, ...]
    by_font: dict[str, str]


@dataclass
class _Word:
    """Characters without white between them, in the frame of their line."""

    text: str
    start: float
    end: float
    order: int
    spaced: bool
    baseline: float
    size: float
    turn: int


@dataclass
class _Row:
    """Stretches of text on one baseline, in the order of the content; boxes in the frame of ``turn``."""

    baseline: float
    size: float
    block: int
    turn: int
    top: float
    bottom: float
    slanted: bool
    spans: list[dict[str, Any]] = field(default_factory=list)
    words: list[_Word] = field(default_factory=list)

    @classmethod
    def of(cls, raw: dict[str, Any], block: int) -> _Row:
        """Make a row of a line of MuPDF's."""
        across, down = raw["dir"]
        turn = (0 if across >= 0 else 2) if abs(across) >= abs(down) else (1 if down > 0 else 3)
        spans = raw["spans"] if turn == 0 else [_turned(span, turn) for span in raw["spans"]]
        _, top, _, bottom = framed(raw["bbox"], turn)
        return cls(
            baseline=spans[-1]["origin"][1],
            size=max(span["size"] for span in spans) or 1.0,
            block=block,
            turn=turn,
            top=top,
            bottom=bottom,
            slanted=min(abs(across), abs(down)) > 0.01,
            spans=list(spans),
        )

    def takes(self, other: _Row) -> bool:
        """Say whether another row goes on on this one's baseline."""
        near = abs(self.baseline - other.baseline) < _SAME_LINE * max(self.size, other.size)
        return near and self.turn == other.turn and not self.slanted and not other.slanted

    def add(self, other: _Row) -> None:
        """Take another row in."""
        self.top, self.bottom = min(self.top, other.top), max(self.bottom, other.bottom)
        self.spans.extend(other.spans)


class _Glyphs:
    """What is drawn where: asked only on pages that leave gaps open, because it costs as much as the text."""

    def __init__(self, page: pymupdf.Page) -> None:
        self._page = page
        self._by_turn: dict[int, dict[int, list[tuple[float, float, float]]]] = {}

    def cover(self, left: float, right: float, row: _Row) -> bool:
        """Say whether ink covers most of a gap; a space is drawn, but is no ink."""
        if row.turn not in self._by_turn:
            self._by_turn[row.turn] = self._drawn(row.turn)
        by_height = self._by_turn[row.turn]
        at = int(row.baseline // 8)
        covered = sum(
            min(right, x1) - max(left, x0)
            for height in (at - 1, at, at + 1)
            for x0, x1, baseline in by_height.get(height, ())
            if abs(baseline - row.baseline) < _SAME_LINE * row.size and x1 > left and x0 < right
        )
        return covered > _COVERED * (right - left)

    def _drawn(self, turn: int) -> dict[int, list[tuple[float, float, float]]]:
        """Return where the page's glyphs begin and end, by height, in the frame of a direction."""
        drawn: dict[int, list[tuple[float, float, float]]] = {}
        for span in self._page.get_texttrace():
            for code, glyph, origin, box in span["chars"]:
                # Glyph -1 stands for further characters of the glyph before it.
                if glyph >= 0 and not chr(code).isspace():
                    start, _, end, _ = framed(box, turn)
                    _, _, _, baseline = framed((*origin, *origin), turn)
                    drawn.setdefault(int(baseline // 8), []).append((start, end, baseline))
        return drawn


def text_flags() -> int:
    """Return how MuPDF is to read text: ligatures as letters, unknown glyphs as U+FFFD, no pictures."""
    import pymupdf

    unwanted = (
        pymupdf.TEXT_PRESERVE_IMAGES | pymupdf.TEXT_PRESERVE_LIGATURES | pymupdf.TEXT_CID_FOR_UNKNOWN_UNICODE
    )
    return int(pymupdf.TEXTFLAGS_RAWDICT & ~unwanted)


def read_layer(page: pymupdf.Page) -> Layer:
    """Return what the text layer of a page says; text in the page's main direction comes first."""
    rows = _worded(page)
    lines = [line for of_turn in _by_turn(rows) for line in _lines(of_turn)]
    return Layer(tuple(lines), _by_font(rows))


def layer_words(page: pymupdf.Page) -> list[tuple[str, PlacedWord]]:
    """Return the words that ``read_layer`` makes lines of, in their order, with where each stands."""
    ordered = (row for of_turn in _by_turn(_worded(page)) for row in _ordered(of_turn))
    return [(word.text, word) for row in ordered for word in row.words]


def _worded(page: pymupdf.Page) -> list[_Row]:
    """Return the rows of a page with their words."""
    glyphs = _Glyphs(page)
    rows = list(_rows(page))
    for row in rows:
        row.words = list(_joined(row, glyphs))
    return [row for row in rows if row.words]


def _by_turn(rows: Sequence[_Row]) -> list[list[_Row]]:
    """Group rows by their direction, the page's main one first."""
    n_words = {turn: sum(len(row.words) for row in rows if row.turn == turn) for turn in range(4)}
    turns = sorted(range(4), key=lambda turn: -n_words[turn])
    return [[row for row in rows if row.turn == turn] for turn in turns]


def _ordered(rows: Sequence[_Row]) -> list[Row[_Word]]:
    """Return rows of one direction as they are read: as the content has them, or column by column."""
    return _by_column(rows) or [Row(row.words, row.block) for row in rows]


def _by_column(rows: Sequence[_Row]) -> list[Row[_Word]] | None:
    """Return rows of one direction column by column, where the content runs across the columns."""
    ordered = reading_order((row.words for row in rows), rows[0].turn if rows else 0)
    return ordered if _runs_across(rows, ordered) else None


def _by_font(rows: Iterable[_Row]) -> dict[str, str]:
    written: dict[str, list[str]] = {}
    for row in rows:
        for span in row.spans:
            written.setdefault(span["font"], []).append("".join(char["c"] for char in span["chars"]))
    return {font: " ".join(texts) for font, texts in written.items()}


def _turned(span: dict[str, Any], turn: int) -> dict[str, Any]:
    """Return a span with its boxes in the frame of its direction."""
    _, _, _, baseline = framed((*span["origin"], *span["origin"]), turn)
    chars = [{**char, "bbox": framed(char["bbox"], turn)} for char in span["chars"]]
    return {**span, "origin": (0.0, baseline), "chars": chars}


def _rows(page: pymupdf.Page) -> Iterator[_Row]:
    held: _Row | None = None
    for number, block in enumerate(page.get_text("rawdict", flags=text_flags())["blocks"]):
        for raw in block.get("lines", ()):
            if not raw["spans"]:
                continue
            row = _Row.of(raw, number)
            if held is not None and held.takes(row):
                held.add(row)
                continue
            if held is not None:
                yield held
            held = row
    if held is not None:
        yield held


def _lines(rows: Sequence[_Row]) -> Iterator[Line]:
    """Yield rows of one direction as printed lines: as the content has them, or column by column."""
    by_column = _by_column(rows)
    if by_column is not None:
        yield from printed(by_column, _text)
        return
    for row in rows:
        for line in printed([Row(row.words, row.block)], _text):
            yield Line(line.text, line.x0, line.x1, row.top, row.bottom, line.block, line.cells, line.turn)


def _text(word: _Word) -> str:
    return word.text


def _runs_across(rows: Iterable[_Row], ordered: Iterable[Row[_Word]]) -> bool:
    """Say whether the content jumps from column to column with nearly every line."""
    column = {id(word): row.column for row in ordered for word in row.words}
    drawn = [found for row in rows for found, _ in groupby(column[id(word)] for word in row.words) if found]
    runs = [found for found, _ in groupby(drawn)]
    return len(drawn) < _ACROSS * len(runs) and len(set(runs)) < len(runs)


def _joined(row: _Row, glyphs: _Glyphs) -> Iterator[_Word]:
    """Yield the words of a row from left to right, put together where no space parts them."""
    words, spaces = _words(row, glyphs)
    if any(after.start < before.start - row.size for before, after in pairwise(words)):
        words.sort(key=lambda word: word.start)
    return without_letter_spacing(list(_put_together(words, spaces, row, glyphs)))


def _put_together(
    words: Iterable[_Word], spaces: Sequence[float], row: _Row, glyphs: _Glyphs
) -> Iterator[_Word]:
    held: _Word | None = None
    for word in words:
        if held is None:
            held = word
        elif _apart(held, word, spaces, row, glyphs):
            yield held
            held = word
        else:
            held.text += word.text
            held.end, held.order = max(held.end, word.end), word.order
    if held is not None:
        yield held


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
                words.append(_Word(text, x0, x1, len(words), spaced, row.baseline, row.size, row.turn))
                fresh = spaced = False
            else:
                words[-1].text += text
                words[-1].end = max(words[-1].end, x1)
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
    return bool(abs(char["bbox"][0] - word.end) > _WORD_GAP * row.size)


def _gap(word: _Word, text: str, x0: float, row: _Row, glyphs: _Glyphs) -> bool:
    if x0 - word.end < _WORD_GAP * row.size or (text < "\u0900" and word.text[-1] < "\u0900"):
        return False  # in Latin, MuPDF has put a space of its own
    return not glyphs.cover(word.end, x0, row)


def _apart(held: _Word, word: _Word, spaces: Sequence[float], row: _Row, glyphs: _Glyphs) -> bool:
    if word.spaced and word.order == held.order + 1:
        return True
    slack = _SLACK * row.size
    if any(held.end - slack <= space <= word.start + slack for space in spaces):
        return True
    gap = word.start - held.end
    return gap > WIDE * row.size or (
        gap > _WORD_GAP * row.size and not glyphs.cover(held.end, word.start, row)
    )
