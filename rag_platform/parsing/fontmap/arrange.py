"""Traced lines in reading order, cut at the gutters of columns, and put together as text.

Rows go down the page; where a gutter of white runs down many rows of prose, the left column comes first.
Knows no fonts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from rag_platform.parsing.fontmap.trace import TracedLine, TracedWord
from rag_platform.parsing.layout import WIDE, Cell, Line

__all__ = ["Row", "printed", "reading_order"]

_WIDE = 1.8
"""White from this width on, in em, may be a gutter or the edge of a cell."""
_PARAGRAPH = 1.4
"""A pitch this many times the usual one begins a paragraph."""
_LEVEL = 0.6
_COLUMN_ROWS = 5
_FULL = 0.55
"""Prose fills its column: the share of rows that reach over most of it."""


@dataclass(slots=True)
class Row:
    """Words that are read one after the other, on one baseline.

    Attributes:
        block: Rows of one block belong to one paragraph or table.
    """

    words: list[TracedWord]
    block: int = 0

    @property
    def start(self) -> float:
        """Left edge in the frame of the line."""
        return self.words[0].start

    @property
    def end(self) -> float:
        """Right edge in the frame of the line."""
        return max(word.end for word in self.words)

    @property
    def baseline(self) -> float:
        """Baseline of the first word."""
        return self.words[0].baseline

    @property
    def size(self) -> float:
        """Largest em."""
        return max(word.size for word in self.words)


def reading_order(lines: Iterable[TracedLine], upright: int = 0) -> list[Row]:
    """Return the rows of a page in reading order.

    Args:
        lines: As traced.
        upright: The direction, in quarter turns, that is upright on the page as shown: read first.
    """
    by_turn: dict[int, list[Row]] = {}
    for line in lines:
        if line.words:
            by_turn.setdefault(line.words[0].turn, []).append(Row(list(line.words)))
    ordered: list[Row] = []
    for turn in sorted(by_turn, key=lambda turn: (turn != upright, turn)):
        rows = sorted(by_turn[turn], key=lambda row: (round(row.baseline, 1), row.start))
        ordered.extend(_columns(list(_levelled(rows))))
    _number_blocks(ordered)
    return ordered


def _levelled(rows: Sequence[Row]) -> Iterator[Row]:
    """Join rows that stand beside each other on nearly one height: cells of a table in different sizes."""
    held: Row | None = None
    for row in rows:
        if (
            held is not None
            and row.baseline - held.baseline < _LEVEL * max(held.size, row.size)
            and not _over(held, row)
        ):
            held = Row(sorted(held.words + row.words, key=lambda word: word.start))
            continue
        if held is not None:
            yield held
        held = row
    if held is not None:
        yield held


def _over(one: Row, other: Row) -> bool:
    """Say whether words of two rows stand above each other."""
    return any(a.start < b.end and b.start < a.end for a in one.words for b in other.words)


def _columns(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield rows, those of two-column stretches cut in two."""
    at = 0
    while at < len(rows):
        gutter, end = _gutter(rows, at)
        if gutter is None:
            yield rows[at]
            at += 1
            continue
        halves = [_halves(row, gutter) for row in rows[at:end]]
        for side in (0, 1):
            yield from _columns([half[side] for half in halves if half[side] is not None])  # type: ignore[misc]
        at = end


def _gutter(rows: Sequence[Row], at: int) -> tuple[float | None, int]:
    """Find the white that runs down from a row between two columns of prose, and where it ends."""
    gaps = _gaps(rows[at])
    if not gaps:
        return None, at
    for left, right in gaps:
        end = at + 1
        while end < len(rows):
            narrowed = _narrowed(rows[end], left, right)
            if narrowed is None:
                break
            left, right = narrowed
            end += 1
        if end - at >= _COLUMN_ROWS and _prose(rows[at:end], left, right):
            return (left + right) / 2, end
    return None, at


def _gaps(row: Row) -> list[tuple[float, float]]:
    gaps = []
    reach = row.words[0].end
    for word in row.words[1:]:
        if word.start - reach > _WIDE * row.size:
            gaps.append((reach, word.start))
        reach = max(reach, word.end)
    return gaps


def _narrowed(row: Row, left: float, right: float) -> tuple[float, float] | None:
    """Return what a row leaves of a gutter; None where it writes across."""
    for word in row.words:
        if word.end <= (left + right) / 2:
            left = max(left, word.end)
        elif word.start >= (left + right) / 2:
            right = min(right, word.start)
        else:
            return None
    return (left, right) if right - left > 0.8 * row.size else None


def _prose(rows: Sequence[Row], left: float, right: float) -> bool:
    """Say whether both sides of a gutter are filled with lines, not cells."""
    for side in (0, 1):
        halves = [half for row in rows if (half := _halves(row, (left + right) / 2)[side]) is not None]
        if len(halves) < 0.6 * len(rows) or len(halves) < _COLUMN_ROWS:
            return False
        start, end = min(half.start for half in halves), max(half.end for half in halves)
        wide = [half for half in halves if half.end - half.start > 0.8 * (end - start) and not _gaps(half)]
        if len(wide) < _FULL * len(halves) or end - start < 10 * median(half.size for half in halves):
            return False
    return True


def _halves(row: Row, gutter: float) -> tuple[Row | None, Row | None]:
    left = [word for word in row.words if word.end <= gutter]
    right = [word for word in row.words if word.end > gutter]
    return Row(left) if left else None, Row(right) if right else None


def _number_blocks(rows: Sequence[Row]) -> None:
    """Begin a block at white that is wider than the usual pitch, and at jumps."""
    pitches = [after.baseline - before.baseline for before, after in pairwise(rows)]
    usual = [
        pitch for pitch, row in zip(pitches, rows, strict=False) if 0.3 * row.size < pitch < 3 * row.size
    ]
    pitch = median(usual) if usual else 0.0
    block = 0
    for (before, after), step in zip(pairwise(rows), pitches, strict=True):
        limit = _PARAGRAPH * max(pitch, after.size)
        if step < -0.5 * after.size or step > limit or before.words[0].turn != after.words[0].turn:
            block += 1
        after.block = block


def printed(rows: Iterable[Row], spelt: Callable[[TracedWord], str]) -> Iterator[Line]:
    """Yield rows as printed lines."""
    for row in rows:
        cells = tuple(_cells(row, spelt))
        if cells:
            text, top = " ".join(cell.text for cell in cells), row.baseline - row.size
            turn = row.words[0].turn
            yield Line(text, row.start, row.end, top, row.baseline, row.block, cells, turn)


def _cells(row: Row, spelt: Callable[[TracedWord], str]) -> Iterator[Cell]:
    parts: list[str] = []
    start = reach = 0.0
    for word in row.words:
        text = spelt(word)
        if not text:
            continue
        if parts and word.start - reach > WIDE * row.size:
            yield Cell(" ".join(parts), start, reach)
            parts = []
        start, reach = (start, max(reach, word.end)) if parts else (word.start, word.end)
        parts.append(text)
    if parts:
        yield Cell(" ".join(parts), start, reach)
