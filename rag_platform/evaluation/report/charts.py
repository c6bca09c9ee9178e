"""What the charts of a run show, as numbers, and as SVG that stands in a page without anything else.

The pictures as files (``plots``) show the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rag_platform.evaluation.leaderboard import Entry, Leaderboard, Row
from rag_platform.evaluation.results import Cell
from rag_platform.evaluation.standing import cell_name
from rag_platform.evaluation.variants import BASELINE_MARK
from rag_platform.text.markup import html_text

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "HIGH",
    "LOW",
    "TIED",
    "Grid",
    "Group",
    "Point",
    "front",
    "grids",
    "grouped",
    "interval_svg",
    "measured_rows",
    "points",
    "scatter_svg",
    "shade",
]

LOW, HIGH = (247, 251, 255), (8, 81, 156)
"""Colours of the lowest and the highest value, red green blue."""
TIED = "#08519c"
_DARK = 0.179
"""Luminance below which white text has more contrast than black; then each has 4.5 : 1 at least (WCAG 2)."""
_FEWEST_TICKS = 3
_LABEL, _WIDTH, _LINE = 430, 900, 22
"""Pixels: room for names, whole width, height of a row."""


@dataclass(frozen=True)
class Grid:
    """The heat map of one variant: a value an encoder and reranker, NaN where there is none."""

    variant: str
    models: tuple[str, ...]
    rerankers: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]


class Group(NamedTuple):
    """The value of a cell for one group of questions, NaN where none has a score."""

    value: float
    n_queries: int
    n_failed: int


@dataclass(frozen=True, slots=True)
class Point:
    """One cell in a chart of quality against what it takes.

    Attributes:
        letter: Of its row.
        name: Of the cell.
        x: Seconds or dollars a question.
        y: The main measure, failed scores counted as 0.
        is_front: No other cell is better and takes no more.
    """

    letter: str
    name: str
    x: float
    y: float
    is_front: bool


def measured_rows(board: Leaderboard) -> list[tuple[Row, Entry]]:
    """Return the rows that have a value in the main measure."""
    entries = [(row, row.measures[board.main]) for row in board.rows if board.main in row.measures]
    return [(row, entry) for row, entry in entries if not math.isnan(entry.value)]


def grids(board: Leaderboard) -> Iterator[Grid]:
    """Yield a heat map for each variant, encoders and rerankers in the order of the run.

    Baselines are single cells, and what has no value is no map: both stand in the table alone.
    """
    found = {row.cell: entry.worst for row, entry in measured_rows(board)}
    cells = [row.cell for row in board.rows]
    shown = {cell.variant for cell in found} or {cell.variant for cell in cells}
    for variant in sorted(name for name in shown if not name.startswith(BASELINE_MARK)):
        within = [cell for cell in cells if cell.variant == variant]
        models = _in_order(board.run["embedding_models"], {cell.embedding_model for cell in within})
        rerankers = _in_order(board.run["rerankers"], {cell.reranker for cell in within})
        by_name = {(cell.embedding_model, cell.reranker): found[cell] for cell in within if cell in found}
        values = tuple(tuple(by_name.get((m, r), math.nan) for r in rerankers) for m in models)
        yield Grid(variant, models, rerankers, values)


def grouped(found: pd.DataFrame) -> tuple[tuple[str, ...], dict[str, list[Group]]]:
    """Return the groups of a ``breakdown``, and what each cell, by its name, has in each."""
    names = tuple(dict.fromkeys(map(str, found["group"])))
    rows: dict[str, list[Group]] = {}
    for one in found.to_dict("records"):
        cell = cell_name(Cell(one["embedding_model"], one["reranker"], one["variant"]))
        rows.setdefault(cell, []).append(Group(float(one["value"]), one["n_queries"], one["n_failed"]))
    return tuple(name or "not told" for name in names), rows


def points(board: Leaderboard, x: Callable[[Row], float]) -> list[Point]:
    """Return the complete cells in a chart of the main measure against ``x``."""
    rows = [(row, x(row), entry.worst) for row, entry in measured_rows(board) if row.status == "complete"]
    rows = [one for one in rows if math.isfinite(one[1])]
    best = front([(x, y) for _, x, y in rows])
    return [Point(row.letter, cell_name(row.cell), x, y, at in best) for at, (row, x, y) in enumerate(rows)]


def front(places: Sequence[tuple[float, float]]) -> set[int]:
    """Return the Pareto front: those that no other one beats in y without a larger x, or in x with no less y.

    >>> sorted(front([(1.0, 0.5), (2.0, 0.9), (3.0, 0.9), (1.5, 0.4)]))
    [0, 1]
    """
    return {
        at
        for at, (x, y) in enumerate(places)
        if not any(a <= x and b >= y and (a < x or b > y) for a, b in places)
    }


def shade(value: float, low: float, high: float) -> tuple[str, str]:
    """Return background and text colour of a value between the lowest and the highest.

    >>> shade(0.5, 0.5, 1.0)
    ('#f7fbff', '#000')
    >>> shade(1.0, 0.5, 1.0)
    ('#08519c', '#fff')
    """
    if math.isnan(value):
        return "#eee", "#666"
    share = (value - low) / (high - low) if high > low else 0.0
    mixed = [round(a + (b - a) * share) for a, b in zip(LOW, HIGH, strict=True)]
    return "#" + "".join(f"{part:02x}" for part in mixed), "#fff" if _luminance(mixed) < _DARK else "#000"


def _luminance(colour: Sequence[int]) -> float:
    """Return the relative luminance of red, green and blue, by WCAG 2."""
    parts = (part / 255 for part in colour)
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def interval_svg(board: Leaderboard) -> str:
    """Return a line a cell: its mean, its 95 % interval, dark where it is tied with the best."""
    rows = measured_rows(board)
    low = min((entry.ci_low for _, entry in rows), default=0.0)
    high = max((entry.ci_high for _, entry in rows), default=1.0)
    place = _scale(low, high, _LABEL, _WIDTH - 20)
    lines = []
    for at, (row, entry) in enumerate(rows):
        y, kind = (at + 0.5) * _LINE, "best" if entry.tied_with_best else "other"
        name = html_text(f"{row.letter}  {cell_name(row.cell)}")
        lines.append(
            f'<text x="0" y="{y + 5:.0f}">{name}</text>'
            f'<line x1="{place(entry.ci_low):.1f}" x2="{place(entry.ci_high):.1f}" y1="{y}" y2="{y}" '
            f'class="{kind}" stroke-width="2"/>'
            f'<circle cx="{place(entry.value):.1f}" cy="{y}" r="4" class="{kind}">'
            f"<title>{entry.value:.3f} [{entry.ci_low:.3f}, {entry.ci_high:.3f}]</title></circle>"
        )
    height = len(rows) * _LINE
    lines.append(_axis(place, low, high, height))
    return _svg(lines, height + 30, f"{board.main} with 95 % intervals")


def scatter_svg(found: Sequence[Point], x_name: str, y_name: str) -> str:
    """Return quality against what it takes; the line joins the cells that none is better than at no more."""
    height, left = 320, 60
    right = max((point.x for point in found), default=1.0)
    low, high = min((p.y for p in found), default=0.0), max((p.y for p in found), default=1.0)
    across, up = _scale(0.0, right, left, _WIDTH - 40), _scale(low, high, height, 20)
    joined = sorted((point.x, point.y) for point in found if point.is_front)
    line = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in joined)
    drawn = [f'<polyline points="{line}" class="best" stroke-dasharray="4 3"/>']
    for point in found:
        x, y, kind = across(point.x), up(point.y), "best" if point.is_front else "other"
        told = html_text(f"{point.name}: {point.y:.3f}, {point.x:.4g} {x_name}")
        drawn.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="{kind}"><title>{told}</title></circle>'
            f'<text x="{x + 7:.1f}" y="{y + 4:.1f}">{html_text(point.letter)}</text>'
        )
    for value in (low, high):
        drawn.append(f'<text x="0" y="{up(value) + 4:.1f}">{value:.3f}</text>')
    drawn.append(_axis(across, 0.0, right, height + 10))
    drawn.append(f'<text x="{left}" y="{height + 46}">{html_text(x_name)}</text>')
    return _svg(drawn, height + 52, f"{y_name} against {x_name}")


def _in_order(told: Sequence[str], present: set[str]) -> tuple[str, ...]:
    return tuple(name for name in (*told, *sorted(present - set(told))) if name in present)


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """Return the function from values to pixels."""
    width = high - low or 1.0
    return lambda value: start + (value - low) / width * (end - start)


def _step(width: float) -> float:
    """Return a round distance between ticks, at least three of which fit into a width.

    >>> [_step(width) for width in (0.85, 0.25, 3.0, 0.0)]
    [0.1, 0.05, 1.0, 1.0]
    """
    if width <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(width))
    return next(size * part for part in (1.0, 0.5, 0.2, 0.1) if width / (size * part) >= _FEWEST_TICKS)


def _axis(place: Callable[[float], float], low: float, high: float, y: float) -> str:
    step = _step(high - low)
    first, last = math.ceil(round(low / step, 6)), math.floor(round(high / step, 6))
    ticks = [at * step for at in range(first, last + 1)]
    line = f'<line x1="{place(low):.1f}" x2="{place(high):.1f}" y1="{y}" y2="{y}"/>'
    marks = (
        f'<text x="{place(tick):.1f}" y="{y + 18}" text-anchor="middle">{tick:.3g}</text>' for tick in ticks
    )
    return line + "".join(marks)


def _svg(parts: Sequence[str], height: float, title: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" font-size="13">'
        f"<title>{html_text(title)}</title>{''.join(parts)}</svg>"
    )
