"""One measure of all cells of a run: scores by question, what may be compared, and who is tied with the best.

Numbers only; what a board looks like is decided in ``leaderboard``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from rag_platform.errors import CallerError
from rag_platform.evaluation.results import Cell
from rag_platform.evaluation.statistics import (
    ALPHA,
    Interval,
    all_pairs,
    mean_intervals,
    minimum_detectable_difference,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CELL", "Standing", "cell_name", "parse_cell"]

CELL = ["embedding_model", "reranker", "variant"]
"""The columns that name a cell."""
_ENOUGH = 0.5
"""Share of a cell's questions that must have a score, or it shrinks no other cell's common questions and is
not called the best: with three of eighty answers left, all cells would be compared on three."""


def cell_name(cell: Cell) -> str:
    """Return how a cell is written: ``model|reranker``, and ``|variant`` where it has one."""
    return "|".join(filter(None, (cell.embedding_model, cell.reranker, cell.variant)))


def parse_cell(written: str) -> Cell:
    """Return the cell that ``cell_name`` wrote.

    >>> parse_cell("hashing|none")
    Cell(embedding_model='hashing', reranker='none', variant='')

    Raises:
        CallerError: It is written otherwise.
    """
    parts = [part.strip() for part in written.split("|")]
    if len(parts) not in (2, 3) or not all(parts[:2]):
        raise CallerError(f"{written!r} is no cell; write MODEL|RERANKER or MODEL|RERANKER|VARIANT")
    return Cell(*parts)


@dataclass(frozen=True)
class Standing:
    """The cells in one measure.

    Attributes:
        cells: A row of the arrays each.
        queries: A column each.
        values: ``(n_cells, n_queries)`` float64, NaN where there is no score.
        failed: Of the same shape: whether the score failed.
        skipped: Of the same shape: whether the measure is not about it, or cannot be had.
        complete: Rows of the cells that ran to the end.
    """

    cells: tuple[Cell, ...]
    queries: tuple[str, ...]
    values: NDArray[np.float64]
    failed: NDArray[np.bool_]
    skipped: NDArray[np.bool_]
    complete: frozenset[int]

    @classmethod
    def of(cls, scores: pd.DataFrame, cells: Sequence[Cell], complete: Collection[Cell]) -> Standing:
        """Return the standing in a measure.

        Args:
            scores: Rows of ``results.SCORES`` of this measure alone, each (cell, question) once.
            cells: All cells of the run, those without scores included.
            complete: Those that ran to the end.
        """
        columns, queries = scores["query_id"].factorize(sort=True)
        at = {cell: row for row, cell in enumerate(cells)}
        rows = np.empty(len(scores), np.intp)
        for key, places in scores.groupby(CELL).indices.items():
            rows[places] = at[Cell(*cast("tuple[str, str, str]", key))]
        shape = len(cells), len(queries)
        values, failed, skipped = np.full(shape, np.nan), np.zeros(shape, bool), np.zeros(shape, bool)
        status = scores["status"].to_numpy()
        values[rows, columns] = np.where(status == "ok", scores["value"].to_numpy(float), np.nan)
        failed[rows, columns], skipped[rows, columns] = status == "failed", status == "skipped"
        done = frozenset(at[cell] for cell in complete)
        return cls(tuple(cells), tuple(map(str, queries)), values, failed, skipped, done)

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Where there is a score."""
        return ~np.isnan(self.values)

    @cached_property
    def eligible(self) -> tuple[int, ...]:
        """Rows of the cells that are compared: complete, with a score for most of what was asked."""
        n_scored = self.scored.sum(axis=1)
        enough = (n_scored > 0) & (n_scored >= _ENOUGH * (n_scored + self.failed.sum(axis=1)))
        return tuple(row for row in range(len(self.cells)) if row in self.complete and enough[row])

    @cached_property
    def common(self) -> NDArray[np.intp]:
        """Columns of the questions on which cells are compared: those that all of them have."""
        if not self.eligible:
            return np.arange(len(self.queries))
        return np.flatnonzero(self.scored[list(self.eligible)].all(axis=0))

    @cached_property
    def worst(self) -> NDArray[np.float64]:
        """``(n_cells,)`` means over all that was asked, 0 where it failed: no cell is below that."""
        values = np.where(self.failed, 0.0, self.values)
        n = (~np.isnan(values)).sum(axis=1)
        return np.where(n > 0, np.nansum(values, axis=1) / np.maximum(n, 1), np.nan)

    @property
    def best(self) -> int | None:
        """Row of the cell that is highest even if all that failed counts as 0."""
        return max(self.eligible, key=lambda row: float(self.worst[row]), default=None)

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        """Each cell's mean on the common questions; of a cell that is not compared on those that it has."""
        own = self.values[:, self.common]
        found = dict(zip(self.eligible, mean_intervals(own[list(self.eligible)]), strict=True))
        for row in set(range(len(self.cells))) - found.keys():
            found[row] = mean_intervals(own[row : row + 1, ~np.isnan(own[row])])[0]
        return tuple(found[row] for row in range(len(self.cells)))

    @cached_property
    def beats(self) -> NDArray[np.bool_]:
        """``(n_cells, n_cells)``: whether the row's cell is significantly better than the column's."""
        found = np.zeros((len(self.cells), len(self.cells)), bool)
        rows = np.array(self.eligible, np.intp)
        values = self.values[np.ix_(rows, self.common)]
        if self.common.size and self.eligible:
            means = values.mean(axis=1)
            found[np.ix_(rows, rows)] = (all_pairs(values) <= ALPHA) & (means[:, None] > means[None, :])
        return found

    @property
    def tied(self) -> frozenset[int]:
        """Rows of the cells that are not significantly worse than the best, itself included."""
        if self.best is None:
            return frozenset()
        return frozenset(row for row in self.eligible if not self.beats[self.best, row])

    @property
    def detectable(self) -> float:
        """Difference from the best that shows in four of five sets: the middle of all."""
        if self.best is None or len(self.eligible) < 2:
            return math.nan
        values = self.values[:, self.common]
        others = (row for row in self.eligible if row != self.best)
        best = values[self.best].tolist()
        return float(np.median([minimum_detectable_difference(best, values[row].tolist()) for row in others]))
