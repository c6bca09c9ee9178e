"""Words with boxes in reading order, cut at the gutters of columns, and put together as printed lines.

Rows go down the page; where a gutter of white runs down many rows of prose, the left column comes first.
Knows no fonts and no routes: whoever traced the words says how they are spelt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Generic, Protocol, TypeVar

from rag_platform.parsing.layout import WIDE, Cell, Line

__all__ = ["PlacedWord", "Row", "printed", "reading_order"]

_NARROW = 1.0
"""White from this width on, in em, may be a gutter; one narrower than ``WIDE`` must run down more rows."""
_PARAGRAPH = 1.4
"""A pitch this many times the usual one begins a paragraph."""
_LEVEL = 0.6
_COLUMN_ROWS = 5
_NARROW_ROWS = 10
_FULL = 0.55
"""Prose fills its column: the share of rows that reach over most of it."""
_INKED = 0.6
"""Share of its rows that prose fills, columns with their gutters too; cells leave more white."""
_MORE_COLUMNS = 2
"""Columns beside the first two; a row that is parted more often is one of cells."""
_MOST = 0.6
_COLUMN = 10
"""A column of prose is at least so many em wide."""


class PlacedWord(Protocol):
    """What stands somewhere on a page without white in it.

    In points, in the frame of its direction, which is ``turn`` quarter turns from upright.
    """

    @property
    def start(self) -> float:
        """Where it begins."""
        ...

    @property
    def end(self) -> float:
        """Where it ends."""
        ...

    @property
    def baseline(self) -> float:
        """Where its line stands."""
        ...

    @property
    def size(self) -> float:
        """Its em."""
        ...

    @property
    def turn(self) -> int:
        """Its direction."""
        ...


W = TypeVar("W", bound=PlacedWord)


@dataclass(slots=True)
class Row(Generic[W]):
    """Words that are read one after the other, on one baseline.

    Attributes:
        words: From left to right.
        block: Rows of one block belong to one paragraph or table.
        column: Rows of one column of the page share it; empty where there are none.
        start, end: Edges in the frame of the line.
        size: Largest em.
        inked: Share of the row that words fill.
        n_wide: Times that wide white parts it.
    """

    words: list[W]
    block: int = 0
    column: tuple[int, ...] = ()

    start: float = field(init=False)
    end: float = field(init=False)
    size: float = field(init=False)
    inked: float = field(init=False)
    n_wide: int = field(init=False)

    def __post_init__(self) -> None:
        self.start = self.words[0].start
        self.end = max(word.end for word in self.words)
        self.size = max(word.size for word in self.words)
        width = sum(word.end - word.start for word in self.words)
        self.inked = width / max(self.end - self.start, 0.1)
        self.n_wide = len(_gaps(self, WIDE))

    @property
    def baseline(self) -> float:
        """Baseline of the first word."""
        return self.words[0].baseline


def reading_order(lines: Iterable[Sequence[W]], upright: int = 0) -> list[Row[W]]:
    """Return the rows of a page in reading order.

    Args:
        lines: Words that stand on one baseline.
        upright: The direction, in quarter turns, that is upright on the page as shown: read first.
    """
    by_turn: dict[int, list[Row[W]]] = {}
    for words in lines:
        if words:
            by_turn.setdefault(words[0].turn, []).append(Row(list(words)))
    ordered: list[Row[W]] = []
    for turn in sorted(by_turn, key=lambda turn: (turn != upright, turn)):
        rows = sorted(by_turn[turn], key=lambda row: (round(row.baseline, 1), row.start))
        ordered.extend(_columns(list(_levelled(rows))))
    _number_blocks(ordered)
    return ordered


def _levelled(rows: Sequence[Row[W]]) -> Iterator[Row[W]]:
    """Join rows that stand beside each other on nearly one height: cells of a table in different sizes."""
    held: Row[W] | None = None
    for row in rows:
        if (
            held is not None
            and row.baseline - held.baseline < _LEVEL * max(held.size, row.size)
            and not _over(held, row)
        ):
            held = _joined(held, row)
            continue
        if held is not None:
            yield held
        held = row
    if held is not None:
        yield held


def _joined(one: Row[W], other: Row[W]) -> Row[W]:
    return Row(sorted(one.words + other.words, key=lambda word: word.start))


def _over(one: Row[W], other: Row[W]) -> bool:
    """Say whether words of two rows stand above each other."""
    return any(a.start < b.end and b.start < a.end for a in one.words for b in other.words)


def _columns(rows: Sequence[Row[W]], within: tuple[int, ...] = ()) -> Iterator[Row[W]]:
    """Yield rows, those of stretches in columns cut in two at each gutter."""
    at = 0
    refused: dict[float, int] = {}
    while at < len(rows):
        gutter, end = _gutter(rows, at, refused)
        if gutter is None:
            yield Row(rows[at].words, column=within)
            at += 1
            continue
        for side, halves in enumerate(_sides(rows[at:end], gutter)):
            yield from _columns(halves, (*within, at, side))
        at = end


def _sides(rows: Sequence[Row[W]], gutter: float) -> tuple[list[Row[W]], list[Row[W]]]:
    """Cut rows in two."""
    left = [[word for word in row.words if word.end <= gutter] for row in rows]
    right = [[word for word in row.words if word.end > gutter] for row in rows]
    return [Row(words) for words in left if words], [Row(words) for words in right if words]


def _gutter(
    rows: Sequence[Row[W]], at: int, refused: dict[float, int], deeper: int = _MORE_COLUMNS
) -> tuple[float | None, int]:
    """Find the white that runs down from a row between two columns of prose, and where it ends.

    Args:
        rows: Of a page, or of one of its columns.
        at: Position of the row.
        refused: Grows by white that parts no prose, and the row until which it need not be looked at again.
        deeper: How many times the columns may be columns themselves.
    """
    around = rows[at : at + _COLUMN_ROWS]
    if median(row.inked for row in around) < _INKED or median(row.n_wide for row in around) > _MORE_COLUMNS:
        return None, at
    for left, right in _gaps(_with_neighbour(rows, at), _NARROW):
        if any(left < white < right and at < until for white, until in refused.items()):
            continue
        end = at + 1
        while end < len(rows):
            narrowed = _narrowed(rows[end], left, right)
            if narrowed is None:
                break
            left, right = narrowed
            end += 1
        is_wide = right - left > WIDE * rows[at].size
        if end - at < (_COLUMN_ROWS if is_wide else _NARROW_ROWS):
            continue
        gutter = (left + right) / 2
        sides = _sides(rows[at:end], gutter)
        if all(len(side) >= _MOST * max(map(len, sides)) and _is_prose(side, deeper) for side in sides):
            return gutter, end
        refused[gutter] = min(end, at + _NARROW_ROWS)
    return None, at


def _with_neighbour(rows: Sequence[Row[W]], at: int) -> Row[W]:
    """Return a row with the next one where that stands beside it, half a line lower."""
    row = rows[at]
    if at + 1 == len(rows) or rows[at + 1].baseline - row.baseline > 1.5 * row.size:
        return row
    after = rows[at + 1]
    return _joined(row, after) if after.start > row.end or after.end < row.start else row


def _gaps(row: Row[W], width: float) -> list[tuple[float, float]]:
    """Return where the white of a row is at least so many em wide."""
    gaps = []
    reach = row.words[0].end
    for word in row.words[1:]:
        if word.start - reach > width * row.size:
            gaps.append((reach, word.start))
        reach = max(reach, word.end)
    return gaps


def _narrowed(row: Row[W], left: float, right: float) -> tuple[float, float] | None:
    """Return what a row leaves of a gutter; None where it writes across."""
    for word in row.words:
        if word.end <= (left + right) / 2:
            left = max(left, word.end)
        elif word.start >= (left + right) / 2:
            right = min(right, word.start)
        else:
            return None
    return (left, right) if right - left > 0.8 * row.size else None


def _is_prose(rows: Sequence[Row[W]], deeper: int) -> bool:
    """Say whether rows fill their column with lines, not cells; or with columns that do."""
    if len(rows) < _COLUMN_ROWS:
        return False
    start, end = min(row.start for row in rows), max(row.end for row in rows)
    if end - start < _COLUMN * median(row.size for row in rows):
        return False
    full = [row for row in rows if row.end - row.start > 0.8 * (end - start) and not row.n_wide]
    if len(full) >= _FULL * len(rows) or not deeper:
        return len(full) >= _FULL * len(rows)
    first = next((at for at, row in enumerate(rows) if _gaps(row, _NARROW)), 0)
    gutter, last = _gutter(rows, first, {}, deeper - 1)
    return gutter is not None and last - first >= _MOST * len(rows)


def _number_blocks(rows: Sequence[Row[W]]) -> None:
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


def printed(rows: Iterable[Row[W]], spelt: Callable[[W], str]) -> Iterator[Line]:
    """Yield rows as printed lines."""
    for row in rows:
        cells = tuple(_cells(row, spelt))
        if cells:
            text, top = " ".join(cell.text for cell in cells), row.baseline - row.size
            turn = row.words[0].turn
            yield Line(text, row.start, row.end, top, row.baseline, row.block, cells, turn)


def _cells(row: Row[W], spelt: Callable[[W], str]) -> Iterator[Cell]:
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
