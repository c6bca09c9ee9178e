"""A run's cells side by side: every measure with its interval, its failures, and what is tied with the best.

Computed from the tables of ``results``; how a board looks as text or page is decided in ``report``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_platform.errors import CallerError, UnknownName
from rag_platform.evaluation.results import Cell, Run
from rag_platform.evaluation.standing import CELL, Standing
from rag_platform.evaluation.statistics import mean_intervals

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "GROUPS",
    "Entry",
    "Leaderboard",
    "Row",
    "Summary",
    "breakdown",
    "leaderboard",
    "place_of",
    "standings",
]

GROUPS = ("kind", "language", "document")
"""What scores are broken down by."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Entry:
    """One measure of one cell.

    Attributes:
        value: Mean over the questions on which the cells are compared; NaN without any.
        ci_low: Lower end of its 95 % interval; ``ci_high`` the upper.
        n_queries: Questions that the mean is over.
        n_failed: Questions of this cell whose score failed.
        n_skipped: Questions that the measure is not about, or for which it cannot be had.
        worst: Mean over all that was asked, 0 where it failed.
        tied_with_best: Not significantly worse than the best cell.
        beats: Letters of the rows that are significantly worse.
    """

    value: float
    ci_low: float
    ci_high: float
    n_queries: int
    n_failed: int
    n_skipped: int
    worst: float
    tied_with_best: bool
    beats: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One cell: its state, what it took, and its measures.

    Attributes:
        cell: Encoder, reranker, variant.
        letter: By which other rows say that they are better.
        status: ``complete``, ``partial``, ``unavailable``, ``gate_failed`` or ``failed``.
        reason: Why it is not complete.
        gate_passed: Encoder and reranker passed the sanity gate, or have none; a complete cell that did not
            ran on record.
        seconds: A question: search, reranking and answer; NaN where nothing was asked.
        cost: Of all its answers, in US dollars; what the judge cost is no property of the cell.
        measures: By name; without those that were not tried.
        tied_with_best: In the main measure.
    """

    cell: Cell
    letter: str
    status: str
    reason: str
    gate_passed: bool
    seconds: float
    cost: float
    measures: Mapping[str, Entry]
    tied_with_best: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """One measure over the whole board.

    Attributes:
        best: The cell with the highest ``worst``; None without any.
        n_common: Questions on which the cells are compared.
        n_tied: Cells tied with the best, itself included.
        detectable: Difference from the best that this many questions would show in four of five cases, of
            a single comparison; NaN with less than two cells.
    """

    best: Cell | None
    n_common: int
    n_tied: int
    detectable: float


@dataclass(frozen=True)
class Leaderboard:
    """Rows in the order of the main measure, best first; cells that are not compared come last.

    Attributes:
        run: What ``run.json`` says.
        main: The measure that the rows are ordered by.
        measures: Those shown, the main one first.
        rows: One a cell.
        summaries: By measure.
    """

    run: Mapping[str, Any]
    main: str
    measures: tuple[str, ...]
    rows: tuple[Row, ...]
    summaries: Mapping[str, Summary]

    def value(self) -> dict[str, Any]:
        """Return the board for JSON; what is not known is null."""
        about = ("run_id", "name", "note", "created_at", "dataset", "generator", "judge")
        return {
            "run": {key: self.run[key] for key in about},
            "main_measure": self.main,
            "rows": [_row_value(row) for row in self.rows],
            "best": {name: self._best(name) for name in self.measures},
        }

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> Leaderboard:
        """Return the board of which this is the ``value``; of its run it knows what stands there."""
        rows = [_row_of(dict(row)) for row in value["rows"]]
        summaries = {
            name: Summary(
                Cell(**best["cell"]) if best["cell"] else None,
                best["n_common"],
                best["n_tied"],
                _number(best["detectable"]),
            )
            for name, best in value["best"].items()
        }
        return cls(value["run"], value["main_measure"], tuple(summaries), tuple(rows), summaries)

    def frame(self) -> pd.DataFrame:
        """Return a row a (cell, measure): the cell, its status, and the fields of ``Entry``."""
        import pandas as pd

        rows = [
            {**asdict(row.cell), "letter": row.letter, "status": row.status, "measure": name, **asdict(entry)}
            for row in self.rows
            for name, entry in row.measures.items()
        ]
        return pd.DataFrame(rows)

    def _best(self, measure: str) -> dict[str, Any]:
        summary = self.summaries[measure]
        found = next((row for row in self.rows if row.cell == summary.best), None)
        return {
            "cell": asdict(summary.best) if summary.best else None,
            "value": found.measures[measure].value if found else None,
            "n_common": summary.n_common,
            "n_tied": summary.n_tied,
            "detectable": _known(summary.detectable),
        }

    def _repr_html_(self) -> str:
        from rag_platform.evaluation.report.tables import board_html

        return board_html(self)


def leaderboard(run: Run, *, measure: str | None = None, measures: Sequence[str] = ()) -> Leaderboard:
    """Compare the cells of a run.

    Args:
        run: Whose tables are read.
        measure: Which orders the rows; None: the first of ``measures``, or of the run.
        measures: Which are shown; all when empty.

    Raises:
        UnknownName: The run has no scores of such a measure.
        CallerError: The run has no scores at all.
    """
    known = standings(run)
    for name in (*measures, *([measure] if measure else [])):
        if name not in known:
            raise UnknownName("measure", name, known)
    main = measure or next(iter(measures or known))
    shown = {name: known[name] for name in (main, *(measures or known))}
    order = _order(shown[main])
    letters = {row: _letter(place) for place, row in enumerate(order)}
    costs = run.answers().groupby(CELL)["cost"].sum().to_dict()
    listed = run.cells().to_dict("records")
    rows = []
    for at in order:
        measured = {name: _entry(one, at, letters) for name, one in shown.items() if _is_tried(one, at)}
        rows.append(_row(listed[at], letters[at], costs, measured, main))
    summaries = {name: _summary(one) for name, one in shown.items()}
    return Leaderboard(run.about, main, tuple(shown), tuple(rows), summaries)


def standings(run: Run) -> dict[str, Standing]:
    """Return the cells of a run in each of its measures, with the scores of each question.

    Raises:
        CallerError: The run has no scores at all.
    """
    scores = _scores(run)
    return _standings(run, scores, _measures(run, scores))


def breakdown(run: Run, measure: str, by: str = "kind") -> pd.DataFrame:
    """Return a measure of every cell for each group of questions.

    Args:
        run: Whose tables are read.
        measure: Its name.
        by: One of ``GROUPS``; a question for which the set tells none is in the group ``""``. Groups that
            the measure is not about (unanswerable questions have no ranking) are left out.

    Returns:
        A row a (cell, group), cells in the order of the board: ``embedding_model``, ``reranker``,
        ``variant``, ``group``, ``value``, ``ci_low``, ``ci_high``, ``n_queries``, ``n_failed``. Means are
        over the questions that the compared cells have in common.

    Raises:
        UnknownName: There is no such measure or group.
    """
    import pandas as pd

    if by not in GROUPS:
        raise UnknownName("group of questions", by, GROUPS)
    scores = _scores(run)
    if measure not in (known := _measures(run, scores)):
        raise UnknownName("measure", measure, known)
    found = _standings(run, scores, [measure])[measure]
    told = scores.drop_duplicates("query_id").set_index("query_id")[by]
    groups = np.array([told[query] for query in found.queries], dtype=object)
    about = sorted(set(groups[(found.scored | found.failed).any(axis=0)]))
    rows = []
    for at in filter(partial(_is_tried, found), _order(found)):
        for group in about:
            within = np.flatnonzero(groups == group)
            own = found.values[at, np.intersect1d(within, found.common)]
            interval = mean_intervals(own[None, ~np.isnan(own)])[0]
            rows.append(
                {
                    **asdict(found.cells[at]),
                    "group": group,
                    "value": interval.mean if interval.n else math.nan,
                    "ci_low": interval.low if interval.n else math.nan,
                    "ci_high": interval.high if interval.n else math.nan,
                    "n_queries": interval.n,
                    "n_failed": int(found.failed[at, within].sum()),
                }
            )
    return pd.DataFrame(rows)


def _scores(run: Run) -> pd.DataFrame:
    """Return the scores of the cells that have a state: a sweep that was killed may have written others."""
    return run.scores().merge(run.cells()[CELL], on=CELL)


def _measures(run: Run, scores: pd.DataFrame) -> list[str]:
    """Return the measures that were tried, in the run's order."""
    there = set(scores.loc[scores["status"] != "skipped", "measure"])
    known = [name for name in run.measures if name in there]
    known += sorted(there - set(known))
    if not known:
        raise CallerError(f"run {run.run_id} has no scores yet; go on with: rag sweep {run.dataset}")
    return known


def _standings(run: Run, scores: pd.DataFrame, measures: Sequence[str]) -> dict[str, Standing]:
    states = run.cells()
    cells = [Cell(*key) for key in states[CELL].itertuples(index=False, name=None)]
    complete = [cell for cell, status in zip(cells, states["status"], strict=True) if status == "complete"]
    by_measure = dict(iter(scores[scores["measure"].isin(measures)].groupby("measure")))
    return {name: Standing.of(by_measure[name], cells, complete) for name in measures}


def _order(found: Standing) -> list[int]:
    """Return the rows, best first: compared cells, then others with a score, then the rest; ties by name."""

    def key(row: int) -> tuple[bool, float, Cell]:
        worst = float(found.worst[row])
        return row not in found.eligible, math.inf if math.isnan(worst) else -worst, found.cells[row]

    return sorted(range(len(found.cells)), key=key)


def _is_tried(found: Standing, at: int) -> bool:
    return bool(found.scored[at].any() or found.failed[at].any())


def _entry(found: Standing, at: int, letters: Mapping[int, str]) -> Entry:
    one = found.intervals[at]
    mean, low, high = (one.mean, one.low, one.high) if one.n else (math.nan, math.nan, math.nan)
    worse = sorted(map(int, np.flatnonzero(found.beats[at])), key=list(letters).index)
    return Entry(
        value=mean,
        ci_low=low,
        ci_high=high,
        n_queries=one.n,
        n_failed=int(found.failed[at].sum()),
        n_skipped=int(found.skipped[at].sum()),
        worst=float(found.worst[at]),
        tied_with_best=at in found.tied,
        beats=tuple(letters[row] for row in worse),
    )


def _summary(found: Standing) -> Summary:
    best = None if found.best is None else found.cells[found.best]
    return Summary(best, len(found.common), len(found.tied), found.detectable)


def _row(
    state: Mapping[Any, Any],
    letter: str,
    costs: Mapping[Any, float],
    measured: Mapping[str, Entry],
    main: str,
) -> Row:
    cell = Cell(*(state[name] for name in CELL))
    took = state["seconds_retrieve"] + state["seconds_rerank"] + state["seconds_generate"]
    n = int(state["n_questions"])
    return Row(
        cell=cell,
        letter=letter,
        status=state["status"],
        reason=state["reason"],
        gate_passed=bool(state["gate_passed"]),
        seconds=took / n if n else math.nan,
        cost=float(costs.get((cell.embedding_model, cell.reranker, cell.variant), 0.0)),
        measures=measured,
        tied_with_best=main in measured and measured[main].tied_with_best,
    )


def _letter(place: int) -> str:
    """Return the letter of a place, from 0: a to z, then aa, ab ...

    >>> [_letter(place) for place in (0, 25, 26, 53)]
    ['a', 'z', 'aa', 'bb']
    """
    turn, letter = divmod(place, len(_LETTERS))
    return (_letter(turn - 1) if turn else "") + _LETTERS[letter]


def place_of(letter: str) -> int:
    """Return the place of a letter, from 0.

    >>> [place_of(letter) for letter in ("a", "z", "aa", "bb")]
    [0, 25, 26, 53]
    """
    place = 0
    for one in letter:
        place = place * len(_LETTERS) + _LETTERS.index(one) + 1
    return place - 1


def _row_value(row: Row) -> dict[str, Any]:
    measures = {
        name: {key: _known(value) for key, value in asdict(entry).items()}
        for name, entry in row.measures.items()
    }
    state = {key: _known(value) for key, value in asdict(replace(row, measures={})).items() if key != "cell"}
    return {**asdict(row.cell), **state, "measures": measures}


def _row_of(value: dict[str, Any]) -> Row:
    cell = Cell(**{key: value.pop(key) for key in ("embedding_model", "reranker", "variant")})
    measures = {name: _entry_of(one) for name, one in value.pop("measures").items()}
    seconds, cost = _number(value.pop("seconds")), _number(value.pop("cost"))
    return Row(cell, measures=measures, seconds=seconds, cost=cost, **value)


def _entry_of(value: Mapping[str, Any]) -> Entry:
    numbers = {key: _number(one) for key, one in value.items() if key != "beats"}
    return Entry(**numbers, beats=tuple(value["beats"]))


def _number(value: Any) -> Any:  # noqa: ANN401
    """Return a number as it was before ``_known``."""
    return math.nan if value is None else value


def _known(value: object) -> object:
    """Return a value for JSON, which has no NaN and no infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
