"""Two runs beside each other, question by question, whatever differs between them: and what does differ.

Works across encoders, corpora and dates: questions are matched by id and must read the same in both runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from rag_platform.errors import CallerError, UnknownName
from rag_platform.evaluation.leaderboard import standings
from rag_platform.evaluation.results import Cell, Run
from rag_platform.evaluation.standing import CELL, cell_name
from rag_platform.evaluation.statistics import ALPHA, PairedDifference, holm, paired_difference

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Answered", "Change", "Comparison", "Difference", "compare", "differing"]

_LABELS = ("run_id", "name", "note")
_ALL = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """What one run made of a question."""

    value: float
    answer: str
    contexts: tuple[str, ...]
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A question on which the two runs differ in the main measure."""

    query_id: str
    query: str
    reference_answer: str
    a: Answered
    b: Answered

    @property
    def gain(self) -> float:
        """How much better B is."""
        return self.b.value - self.a.value


@dataclass(frozen=True, slots=True)
class Difference:
    """B minus A in one measure, over all questions or those of one kind.

    Attributes:
        measure: Its name.
        kind: Of question; empty: all.
        paired: B minus A; wins are questions where B is better.
        p_holm: Its p-value, corrected for all kinds of its measure; measures are not corrected for each
            other: which one decides is chosen before looking.
        n_failed: Questions that failed in A or B and are left out, so that neither gains by it.
    """

    measure: str
    kind: str
    paired: PairedDifference
    p_holm: float
    n_failed: int

    @property
    def is_significant(self) -> bool:
        """Whether runs that are alike would differ so much in less than 5 % of all comparisons."""
        return self.p_holm <= ALPHA


@dataclass(frozen=True)
class Comparison:
    """Run A and run B, one cell of each.

    Attributes:
        a: Of run A; ``b`` of run B.
        cell_a: Which cell of A; ``cell_b`` of B.
        main: The measure that questions are gained and lost by.
        differs: What ``run.json`` says otherwise: field -> A's and B's.
        differences: By measure, the main one first: over all questions, then by kind.
        changes: Questions with another value in ``main``, most lost first.
        n_reworded: Questions with the same id but other words: left out.
    """

    a: Run
    b: Run
    cell_a: Cell
    cell_b: Cell
    main: str
    differs: Mapping[str, tuple[str, str]]
    differences: tuple[Difference, ...]
    changes: tuple[Change, ...]
    n_reworded: int

    @property
    def gained(self) -> tuple[Change, ...]:
        """Questions on which B is better, most gained first."""
        return tuple(change for change in reversed(self.changes) if change.gain > 0)

    @property
    def lost(self) -> tuple[Change, ...]:
        """Questions on which B is worse, most lost first."""
        return tuple(change for change in self.changes if change.gain < 0)

    def value(self) -> dict[str, Any]:
        """Return the comparison for JSON."""
        return {
            "a": {"run_id": self.a.run_id, "name": self.a.name, **asdict(self.cell_a)},
            "b": {"run_id": self.b.run_id, "name": self.b.name, **asdict(self.cell_b)},
            "differs": {key: {"a": one, "b": other} for key, (one, other) in self.differs.items()},
            "main_measure": self.main,
            "differences": [_difference_value(one) for one in self.differences],
            "n_reworded": self.n_reworded,
            "gained": [{**asdict(change), "gain": change.gain} for change in self.gained],
            "lost": [{**asdict(change), "gain": change.gain} for change in self.lost],
        }

    def frame(self) -> pd.DataFrame:
        """Return a row a (measure, kind): mean difference, interval, p-values, n, wins, ties, losses."""
        import pandas as pd

        return pd.DataFrame([_difference_value(one) for one in self.differences])


def compare(
    a: Run,
    b: Run,
    *,
    cell_a: Cell | None = None,
    cell_b: Cell | None = None,
    measure: str | None = None,
) -> Comparison:
    """Compare a cell of run A with a cell of run B on the questions that both have.

    Args:
        a: The older run, as a rule.
        b: The newer one; differences are B minus A.
        cell_a: Which cell of A; None: its best.
        cell_b: Which cell of B; None: ``cell_a`` if that is given and B has it, else B's best.
        measure: By which the best is chosen and questions are gained and lost; None: the first in common.

    Raises:
        UnknownName: A run has no such cell or measure.
        CallerError: The runs have no measure or no question in common.
    """
    tables = {"a": a.scores(), "b": b.scores()}
    common = [name for name in a.measures if _tried(tables["a"], name) and _tried(tables["b"], name)]
    if not common:
        raise CallerError(f"{a.run_id} and {b.run_id} have no measure in common")
    if measure is not None and measure not in common:
        raise UnknownName("measure of both runs", measure, common)
    main = measure or common[0]
    first = _cell(a, main, cell_a)
    second = _cell(b, main, cell_b or (first if cell_a and first in _cells(b) else None))
    asked, others = _asked(a, first), _asked(b, second)
    reworded = {q for q in asked.keys() & others.keys() if asked[q]["query"] != others[q]["query"]}
    ours, theirs = (
        _by_measure(tables[side], cell, common, reworded) for side, cell in (("a", first), ("b", second))
    )
    kinds = _kinds(tables["b"])
    differences = tuple(
        one
        for name in (main, *(name for name in common if name != main))
        for one in _corrected(list(_differences(name, ours[name], theirs[name], kinds)))
    )
    if not differences:
        raise CallerError(f"{a.run_id} and {b.run_id} have no scored question in common")
    changes = _changes(ours[main], theirs[main], asked, others)
    ordered = tuple(sorted(changes, key=lambda one: (one.gain, one.query_id)))
    return Comparison(a, b, first, second, main, differing(a, b), differences, ordered, len(reworded))


def differing(a: Run, b: Run) -> dict[str, tuple[str, str]]:
    """Return what two runs were made of that is not the same: field of ``run.json`` -> A's and B's."""
    fields = [key for key in a.about if key not in _LABELS]
    return {key: (_text(a.about[key]), _text(b.about[key])) for key in fields if a.about[key] != b.about[key]}


_Scored = dict[str, dict[str, float | None]]
"""Measure -> question -> score; None where it failed."""


def _tried(scores: pd.DataFrame, measure: str) -> bool:
    return bool(((scores["measure"] == measure) & (scores["status"] == "ok")).any())


def _cells(run: Run) -> list[Cell]:
    return [Cell(*key) for key in run.cells()[CELL].itertuples(index=False, name=None)]


def _cell(run: Run, measure: str, wanted: Cell | None) -> Cell:
    if wanted is not None:
        known = _cells(run)
        if wanted not in known:
            raise UnknownName(f"cell of {run.run_id}", cell_name(wanted), map(cell_name, known))
        return wanted
    found = standings(run)[measure]
    if found.best is None:
        raise CallerError(f"no cell of {run.run_id} is complete in {measure}; name one: MODEL|RERANKER")
    return found.cells[found.best]


def _of_cell(rows: pd.DataFrame, cell: Cell) -> pd.DataFrame:
    return rows[
        (rows["embedding_model"] == cell.embedding_model)
        & (rows["reranker"] == cell.reranker)
        & (rows["variant"] == cell.variant)
    ]


def _asked(run: Run, cell: Cell) -> dict[str, dict[Any, Any]]:
    return {str(row["query_id"]): dict(row) for row in _of_cell(run.answers(), cell).to_dict("records")}


def _by_measure(scores: pd.DataFrame, cell: Cell, measures: Sequence[str], left_out: set[str]) -> _Scored:
    own = _of_cell(scores, cell)
    own = own[(own["status"] != "skipped") & ~own["query_id"].isin(left_out)]
    found: _Scored = {measure: {} for measure in measures}
    columns = ["measure", "query_id", "value", "status"]
    for measure, query, value, status in own[columns].itertuples(index=False):
        if measure in found:
            found[measure][query] = value if status == "ok" else None
    return found


def _kinds(scores: pd.DataFrame) -> dict[str, str]:
    return dict(scores[["query_id", "kind"]].itertuples(index=False, name=None))


def _differences(
    measure: str,
    a: Mapping[str, float | None],
    b: Mapping[str, float | None],
    kinds: Mapping[str, str],
) -> Iterator[Difference]:
    """Yield a measure over all questions, then each kind of question, where there are several."""
    groups = [_ALL, *sorted({kind for kind in kinds.values() if kind})]
    for group in groups if len(groups) > 2 else [_ALL]:
        within = {query for query in a.keys() & b.keys() if group in (_ALL, kinds.get(query))}
        ours, theirs = _present(a, within), _present(b, within)
        if both := ours.keys() & theirs.keys():
            paired = paired_difference(theirs, ours)
            yield Difference(measure, group, paired, paired.p_value, len(within) - len(both))


def _present(values: Mapping[str, float | None], within: set[str]) -> dict[str, float]:
    return {query: value for query, value in values.items() if query in within and value is not None}


def _corrected(found: list[Difference]) -> Iterator[Difference]:
    p_values = holm([one.paired.p_value for one in found])
    return (replace(one, p_holm=p) for one, p in zip(found, p_values, strict=True))


def _changes(
    a: Mapping[str, float | None],
    b: Mapping[str, float | None],
    asked: Mapping[str, Mapping[Any, Any]],
    others: Mapping[str, Mapping[Any, Any]],
) -> Iterator[Change]:
    for query in a.keys() & b.keys():
        before, after = a[query], b[query]
        if before is None or after is None or abs(after - before) < 1e-12:
            continue
        told = others.get(query) or asked.get(query) or {}
        yield Change(
            query,
            str(told.get("query", "")),
            str(told.get("reference_answer", "")),
            _answered(before, asked.get(query)),
            _answered(after, others.get(query)),
        )


def _answered(value: float, row: Mapping[Any, Any] | None) -> Answered:
    if row is None:
        return Answered(value, "", (), ())
    found = zip(row["sources"], row["pages"], strict=True)
    places = tuple(f"{source}, page {page}" for source, page in found)
    return Answered(value, row["answer"], tuple(row["contexts"]), places)


def _difference_value(one: Difference) -> dict[str, Any]:
    values = asdict(one.paired)
    return {
        "measure": one.measure,
        "kind": one.kind,
        **values,
        "p_holm": one.p_holm,
        "significant": one.is_significant,
        "n_failed": one.n_failed,
    }


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_text(inner)}" for key, inner in value.items())
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
