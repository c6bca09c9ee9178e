"""Printed tables: runs of lines that wide white parts into cells, put into columns by where the cells stand.

Works on lines whose source has split them into cells; text becomes Markdown rows, the first the header.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rag_platform.parsing.blocks import cell_text, table_lines
from rag_platform.parsing.layout import Cell, Line, paragraphs
from rag_platform.types import Region

__all__ = ["PageText", "page_text"]

_MIN_CELLS = 3
"""Two cells a line may be two columns of prose, a label and its value, a sum beside its sentence."""
_MIN_ROWS = 2
_DISTINCT = 0.6
"""Share of a table's rows whose cells stand in columns of their own; below, it is only spaced-out text."""


@dataclass(frozen=True, slots=True)
class PageText:
    """A page's text with its tables as regions."""

    text: str
    regions: tuple[Region, ...]


def page_text(lines: Sequence[Line]) -> PageText:
    """Return lines as text: prose in paragraphs, tables as Markdown, in the order given."""
    parts: list[str] = []
    regions: list[Region] = []
    at = 0
    for is_table, run in _runs(lines):
        text = _markdown(run) if is_table else paragraphs(run)
        if not text:
            continue
        if parts:
            parts.append("\n\n")
            at += 2
        if is_table and text.startswith("| "):
            regions.append(Region(at, at + len(text), "table"))
        parts.append(text)
        at += len(text)
    # A soft hyphen that is drawn inside a line is a hyphen.
    return PageText("".join(parts).replace("\u00ad", "-"), tuple(regions))


def _runs(lines: Sequence[Line]) -> Iterator[tuple[bool, list[Line]]]:
    """Yield stretches of lines, and whether each is a table; too short a table is prose."""
    prose: list[Line] = []
    for many, group in groupby(lines, key=lambda line: len(line.cells) >= _MIN_CELLS):
        run = list(group)
        if many and len(run) >= _MIN_ROWS:
            if prose:
                yield False, prose
                prose = []
            yield True, run
        else:
            prose.extend(run)
    if prose:
        yield False, prose


def _markdown(rows: Sequence[Line]) -> str:
    columns = _columns(rows)
    placed = [_placed(row, columns) for row in rows]
    distinct = sum(len(cells) == len(row.cells) for cells, row in zip(placed, rows, strict=True))
    if len(columns) < _MIN_CELLS or distinct < _DISTINCT * len(rows):
        return "\n".join(row.text.strip() for row in rows)
    return "\n".join(
        table_lines(
            [[cell_text(cells.get(number, [])) for number in range(len(columns))] for cells in placed]
        )
    )


def _columns(rows: Sequence[Line]) -> list[tuple[float, float]]:
    """Return the spans that cells of these rows stand in, from left to right.

    Rows with most cells show the columns; headings and totals that reach over several do not blur them.
    """
    most = max(len(row.cells) for row in rows)
    shown = sorted((cell.x0, cell.x1) for row in rows if len(row.cells) == most for cell in row.cells)
    columns: list[tuple[float, float]] = []
    for start, end in shown:
        if columns and start < columns[-1][1]:
            columns[-1] = (columns[-1][0], max(columns[-1][1], end))
        else:
            columns.append((start, end))
    return columns


def _placed(row: Line, columns: Sequence[tuple[float, float]]) -> dict[int, list[str]]:
    placed: dict[int, list[str]] = {}
    for cell in row.cells:
        placed.setdefault(_nearest(cell, columns), []).append(cell.text)
    return placed


def _nearest(cell: Cell, columns: Sequence[tuple[float, float]]) -> int:
    def shared(number: int) -> tuple[float, float]:
        start, end = columns[number]
        over = min(cell.x1, end) - max(cell.x0, start)
        return over, -abs(cell.x0 + cell.x1 - start - end)

    return max(range(len(columns)), key=shared)
