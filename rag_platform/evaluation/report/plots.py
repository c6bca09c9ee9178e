"""The charts of a run as PNG files, by matplotlib; Devanagari is shaped, and never shown as empty boxes.

What they show is computed in ``charts`` and ``leaderboard``.
"""

from __future__ import annotations

import functools
import io
import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rag_platform.errors import MissingDependency
from rag_platform.evaluation.compare import Comparison
from rag_platform.evaluation.leaderboard import Leaderboard, breakdown, leaderboard
from rag_platform.evaluation.report.charts import (
    HIGH,
    LOW,
    TIED,
    Grid,
    Point,
    grids,
    grouped,
    measured_rows,
    points,
    shade,
)
from rag_platform.evaluation.results import Run
from rag_platform.evaluation.standing import cell_name
from rag_platform.text.markup import excerpt, plain
from rag_platform.text.romanize import rough_latin

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FONTS", "Lettering", "plots"]

FONTS = (
    "Noto Sans Devanagari",
    "Mukta",
    "Lohit Devanagari",
    "Nirmala UI",
    "Kohinoor Devanagari",
    "Mangal",
    "Noto Serif Devanagari",
)
"""Fonts with Devanagari, the first that is installed is taken."""
_WORD = re.compile(r"[\u0900-\u0963\u0970-\u097f\u200c\u200d]+")
_SIGNS = str.maketrans("।॥०१२३४५६७८९", "..0123456789")
_LATIN = "DejaVu Sans"
_OTHER = "#999999"
_LABEL = 46
"""Characters of a question in a chart."""
_MOST_QUESTIONS = 30


class Lettering:
    """Which fonts draw text, and text as these can draw it.

    Without a Devanagari font, words are written in Latin letters.
    """

    def __init__(self, fonts: Sequence[str] = FONTS) -> None:
        try:
            from matplotlib import font_manager
            from matplotlib.ft2font import FT2Font
        except ImportError as error:
            raise MissingDependency(
                "plots need matplotlib 3.11 or newer; install it: pip install 'rag-platform[report]'"
            ) from error
        installed = {font.name: font.fname for font in font_manager.fontManager.ttflist}
        found = next((name for name in fonts if name in installed), None)
        self.families = [name for name in (found, _LATIN) if name]
        self._covered = {code for name in self.families for code in FT2Font(installed[name]).get_charmap()}

    def text(self, value: object) -> str:
        """Return text in which every character can be drawn."""
        line = " ".join(plain(value).split())
        if self._lacks(line):
            line = _WORD.sub(lambda found: self._word(found[0]), line).translate(_SIGNS)
        return "".join("?" if self._lacks(char) else char for char in line)

    def _word(self, word: str) -> str:
        return rough_latin(word) if self._lacks(word) else word

    def _lacks(self, text: str) -> bool:
        return any(ord(char) not in self._covered for char in text)


def plots(run: Run, *, measure: str | None = None, comparison: Comparison | None = None) -> dict[str, bytes]:
    """Return the charts of a run as PNG, by file name.

    Args:
        run: Which one.
        measure: By which cells are ordered and charts drawn; None: the run's first.
        comparison: With another run; its questions are a chart, too.

    Raises:
        MissingDependency: matplotlib is not installed.
        UnknownName: The run has no such measure.
    """
    lettering = Lettering()
    import matplotlib as mpl

    board = leaderboard(run, measure=measure)
    drawn: dict[str, Callable[[], Figure]] = {"intervals.png": lambda: _intervals(board, lettering)}
    for grid in grids(board):
        name = f"heat_map{'_' + grid.variant if grid.variant else ''}.png"
        drawn[name] = functools.partial(_heat_map, grid, board.main, lettering)
    drawn["time.png"] = lambda: _scatter(
        points(board, lambda row: row.seconds), "seconds a question", board.main, lettering
    )
    if any(row.cost for row in board.rows):
        drawn["cost.png"] = lambda: _scatter(
            points(board, lambda row: row.cost), "US dollars for all answers", board.main, lettering
        )
    drawn["kinds.png"] = lambda: _kinds(breakdown(run, board.main), board.main, lettering)
    if comparison is not None and comparison.changes:
        drawn["questions.png"] = lambda: _questions(comparison, lettering)
    with mpl.rc_context({"font.family": lettering.families, "text.parse_math": False, "font.size": 9}):
        return {name: _png(draw()) for name, draw in drawn.items()}


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _png(figure: Figure) -> bytes:
    written = io.BytesIO()
    figure.savefig(written, format="png", dpi=120)
    return written.getvalue()


def _intervals(board: Leaderboard, lettering: Lettering) -> Figure:
    """Draw a line a cell, dark where it is tied with the best."""
    rows = measured_rows(board)
    figure, axes = _figure(9, 1.2 + 0.28 * len(rows))
    for at, (_, entry) in enumerate(rows):
        colour = TIED if entry.tied_with_best else _OTHER
        axes.plot([entry.ci_low, entry.ci_high], [at, at], color=colour, linewidth=2)
        axes.plot([entry.value], [at], "o", color=colour, markersize=5)
    axes.set_yticks(range(len(rows)), [lettering.text(cell_name(row.cell)) for row, _ in rows])
    axes.invert_yaxis()
    axes.set_xlabel(lettering.text(f"{board.main}, 95 % interval; dark: tied with the best"))
    return figure


def _heat_map(grid: Grid, measure: str, lettering: Lettering) -> Figure:
    models = [lettering.text(name) for name in grid.models]
    return _heat(grid.values, models, [lettering.text(n) for n in grid.rerankers], lettering.text(measure))


def _kinds(found: pd.DataFrame, measure: str, lettering: Lettering) -> Figure:
    """Draw every cell by every kind of question."""
    kinds, rows = grouped(found)
    values = [[group.value for group in row] for row in rows.values()]
    names, heads = ([lettering.text(name) for name in some] for some in (rows, kinds))
    return _heat(values, names, heads, lettering.text(measure))


def _heat(
    values: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str], title: str
) -> Figure:
    """Draw a table coloured by value, the values written into it."""
    from matplotlib.colors import LinearSegmentedColormap

    figure, axes = _figure(4 + 1.5 * len(columns), 1.2 + 0.32 * len(rows))
    ends = [tuple(part / 255 for part in colour) for colour in (LOW, HIGH)]
    colours = LinearSegmentedColormap.from_list("values", ends).with_extremes(bad="#eeeeee")
    there = [value for row in values for value in row if not math.isnan(value)] or [0.0]
    axes.imshow(values, cmap=colours, aspect="auto", vmin=min(there), vmax=max(there))
    for y, row in enumerate(values):
        for x, value in enumerate(row):
            shown = "none" if math.isnan(value) else f"{value:.3f}"
            colour = shade(value, min(there), max(there))[1]
            axes.text(x, y, shown, ha="center", va="center", color=colour)
    axes.set_xticks(range(len(columns)), columns, rotation=15, ha="right")
    axes.set_yticks(range(len(rows)), rows)
    axes.set_title(title)
    return figure


def _scatter(found: Sequence[Point], x_name: str, y_name: str, lettering: Lettering) -> Figure:
    """Draw quality against what it takes, the Pareto front joined."""
    figure, axes = _figure(8, max(5, 0.5 + 0.18 * len(found)))  # as high as its legend
    joined = sorted((point.x, point.y) for point in found if point.is_front)
    axes.plot([x for x, _ in joined], [y for _, y in joined], "--", color=TIED, linewidth=1)
    for point in found:
        colour = TIED if point.is_front else _OTHER
        label = lettering.text(f"{point.letter}  {point.name}")
        axes.plot([point.x], [point.y], "o", color=colour, label=label)
        axes.annotate(point.letter, (point.x, point.y), xytext=(5, 4), textcoords="offset points")
    axes.set_xlabel(x_name)
    axes.set_ylabel(lettering.text(y_name))
    if found:
        figure.legend(loc="outside right upper", fontsize=7)
    return figure


def _questions(comparison: Comparison, lettering: Lettering) -> Figure:
    """Draw the questions that were gained and lost most."""
    most = sorted(comparison.changes, key=lambda change: -abs(change.gain))[:_MOST_QUESTIONS]
    most.sort(key=lambda change: change.gain)
    figure, axes = _figure(9, 1.2 + 0.28 * len(most))
    colours = [TIED if change.gain > 0 else "#b2182b" for change in most]
    axes.barh(range(len(most)), [change.gain for change in most], color=colours)
    labels = [lettering.text(excerpt(change.query or change.query_id, _LABEL)) for change in most]
    axes.set_yticks(range(len(most)), labels)
    axes.axvline(0, color="#222222", linewidth=0.8)
    axes.set_xlabel(lettering.text(f"{comparison.main}: {comparison.b.run_id} minus {comparison.a.run_id}"))
    return figure
