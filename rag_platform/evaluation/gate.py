"""Is a result good enough, and no worse than before? A verdict with the interval that it rests on.

Judges results that are there; nothing is measured here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import compress
from pathlib import Path
from typing import Any

from rag_platform.errors import CallerError, UnknownName
from rag_platform.evaluation.leaderboard import standings
from rag_platform.evaluation.results import Cell, Run, runs
from rag_platform.evaluation.standing import Standing, cell_name
from rag_platform.evaluation.statistics import mean_interval, paired_difference

__all__ = [
    "MAX_DROP",
    "Check",
    "Measured",
    "Verdict",
    "gate",
    "load_measured",
    "measured",
    "parse_minimum",
    "since_last",
]

MAX_DROP = 0.02
"""Mean drop that is let pass unless another is named: below what a set of some 80 questions can show."""


@dataclass(frozen=True)
class Measured:
    """A result that is judged.

    Attributes:
        name: What a person calls it.
        means: By measure; a failed score counts as 0.
        intervals: 95 %, of the same.
        n_failed: Failed scores by measure.
        scores: Measure -> question -> score, 0 where it failed; empty where only means are known.
        failed: Measure -> questions that failed.
    """

    name: str
    means: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    n_failed: Mapping[str, int]
    scores: Mapping[str, Mapping[str, float]]
    failed: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was asked of a result.

    Attributes:
        measure: Its name.
        rule: ``min`` or ``max-drop``.
        value: The mean, or how much lower than the baseline it is.
        low: Lower end of the 95 % interval of ``value``; ``high`` the upper.
        limit: The smallest mean, or the largest drop, that passes.
        n: Questions that it rests on; 0 where only means are known.
        n_failed: Failed scores among them: they count as 0.
        passed: Whether it holds.
        note: What must be known to read it.
    """

    measure: str
    rule: str
    value: float
    low: float
    high: float
    limit: float
    n: int
    n_failed: int
    passed: bool
    note: str


@dataclass(frozen=True)
class Verdict:
    """What a gate says: ``passed`` when every check holds."""

    result: str
    baseline: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every check holds."""
        return all(check.passed for check in self.checks)

    def value(self) -> dict[str, Any]:
        """Return the verdict for JSON."""
        checks = [asdict(check) for check in self.checks]
        return {"passed": self.passed, "result": self.result, "baseline": self.baseline, "checks": checks}

    @property
    def reason(self) -> str:
        """What does not hold, in one line; empty when all does."""
        return "; ".join(_said(check) for check in self.checks if not check.passed)


def gate(
    result: Measured,
    *,
    minimums: Mapping[str, float] | None = None,
    baseline: Measured | None = None,
    max_drop: float = MAX_DROP,
    measures: Sequence[str] = (),
) -> Verdict:
    """Judge a result: every mean at least its minimum, and no mean lower than the baseline's by too much.

    A drop is judged by its mean, not by its significance: a small set would let any regression pass. The
    interval tells whether it may be chance.

    Args:
        result: What is judged.
        minimums: Measure -> smallest mean that passes.
        baseline: What it must not fall behind.
        max_drop: Largest mean drop that passes.
        measures: Those compared with the baseline; when empty those of ``minimums``, else the first.

    Raises:
        CallerError: Nothing is asked.
        UnknownName: The result or the baseline lacks a measure.
    """
    minimums = minimums or {}
    if not minimums and baseline is None:
        raise CallerError(
            "nothing to check: name a minimum (--min nDCG@10=0.8) or a baseline (--baseline RUN)"
        )
    checks = [_minimum(result, name, limit) for name, limit in minimums.items()]
    if baseline is not None:
        compared = measures or tuple(minimums) or tuple(result.means)[:1]
        checks += [_drop(result, baseline, name, max_drop) for name in compared]
    return Verdict(result.name, baseline.name if baseline else "", tuple(checks))


def since_last(
    home: Path,
    run: Run,
    *,
    minimums: Mapping[str, float] | None = None,
    max_drop: float = MAX_DROP,
) -> Verdict | None:
    """Judge a run against the newest earlier run of the same questions; None where there is nothing to ask.

    Args:
        home: Where runs are.
        run: What is judged, by its best cell.
        minimums: Measure -> smallest mean that passes.
        max_drop: Largest mean drop in the first measure that passes.

    Raises:
        CallerError: The run has no complete cell.
        UnknownName: A measure of ``minimums`` is not there.
    """
    earlier = [
        one
        for one in runs(home)
        if one.dataset_fingerprint == run.dataset_fingerprint
        and one.created_at < run.created_at
        and one.is_complete
        and run.measures[:1] == one.measures[:1]
    ]
    if not earlier and not minimums:
        return None
    return gate(
        measured(run),
        minimums=minimums,
        baseline=measured(earlier[0]) if earlier else None,
        max_drop=max_drop,
        measures=run.measures[:1],
    )


def measured(run: Run, cell: Cell | None = None, measure: str | None = None) -> Measured:
    """Return a run's cell as something to judge; None: the best in ``measure``, or in the run's first.

    Raises:
        UnknownName: The run has no such cell or measure.
        CallerError: No cell is complete.
    """
    found = standings(run)
    main = found[_known(run, measure, found) if measure else next(iter(found))]
    if cell is None and main.best is None:
        raise CallerError(f"no cell of {run.run_id} is complete; go on with: rag sweep {run.dataset}")
    wanted = cell or main.cells[main.best or 0]
    if wanted not in main.cells:
        raise UnknownName(f"cell of {run.run_id}", cell_name(wanted), map(cell_name, main.cells))
    at = main.cells.index(wanted)
    failed = {name: frozenset(compress(one.queries, one.failed[at])) for name, one in found.items()}
    scores = {name: _scores(one, at) | dict.fromkeys(failed[name], 0.0) for name, one in found.items()}
    intervals = {name: mean_interval(list(values.values())) for name, values in scores.items() if values}
    return Measured(
        name=f"{run.run_id} ({cell_name(wanted)})",
        means={name: one.mean for name, one in intervals.items()},
        intervals={name: (one.low, one.high) for name, one in intervals.items()},
        n_failed={name: len(queries) for name, queries in failed.items()},
        scores=scores,
        failed=failed,
    )


def load_measured(
    home: Path, result: str, *, cell: Cell | None = None, measure: str | None = None
) -> Measured:
    """Return a result: a run by its id or folder, an exported one by its, the JSON of ``evaluate retrieval``.

    Raises:
        CallerError: The file holds something else.
        UnknownName: There is no such run.
        DamagedFile: A table of the run is not what was written.
    """
    path = Path(result).expanduser()
    if path.name != "run.json" and _is_file(path):
        return _from_json(path)
    return measured(Run.load(home, result), cell, measure)


def parse_minimum(written: str) -> tuple[str, float]:
    """Return measure and limit of ``nDCG@10=0.8``.

    >>> parse_minimum("nDCG@10=0.8")
    ('nDCG@10', 0.8)

    Raises:
        CallerError: It is written otherwise.
    """
    name, equals, limit = written.rpartition("=")
    try:
        value = float(limit)
    except ValueError:
        value = math.nan
    if not equals or not name.strip() or not math.isfinite(value):
        raise CallerError(f"{written!r} is no minimum; write MEASURE=NUMBER, for instance nDCG@10=0.8")
    return name.strip(), value


def _known(run: Run, measure: str, found: Mapping[str, Standing]) -> str:
    if measure not in found:
        raise UnknownName(f"measure of {run.run_id}", measure, found)
    return measure


def _scores(found: Standing, at: int) -> dict[str, float]:
    values = zip(found.queries, found.values[at].tolist(), strict=True)
    return {query: value for query, value in values if not math.isnan(value)}


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name too long for a file
        return False


def _from_json(path: Path) -> Measured:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        means = {str(name): float(mean) for name, mean in value["measures"].items()}
        intervals = {name: (float(ends[0]), float(ends[1])) for name, ends in value["intervals"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise CallerError(
            f"{path} is not what `rag evaluate retrieval --format json` writes:"
            f" {type(error).__name__}: {error}"
        ) from error
    return Measured(str(path), means, intervals, dict.fromkeys(means, 0), {}, {})


def _minimum(result: Measured, measure: str, limit: float) -> Check:
    _has(result, measure)
    value, (low, high) = result.means[measure], result.intervals[measure]
    n = len(result.scores.get(measure, ()))
    n_failed = result.n_failed[measure]
    return Check(measure, "min", value, low, high, limit, n, n_failed, value >= limit, _failures(n_failed))


def _drop(result: Measured, baseline: Measured, measure: str, max_drop: float) -> Check:
    """Compare by question where both have scores by question, else by means and the wider interval."""
    for one in (result, baseline):
        _has(one, measure)
    n_failed = result.n_failed[measure]
    ours, theirs = result.scores.get(measure), baseline.scores.get(measure)
    if not ours or not theirs:
        drop = baseline.means[measure] - result.means[measure]
        (low, high), (base_low, base_high) = result.intervals[measure], baseline.intervals[measure]
        spread = [math.hypot(baseline.means[measure] - base_low, high - result.means[measure])]
        spread.append(math.hypot(base_high - baseline.means[measure], result.means[measure] - low))
        ends = drop - spread[0], drop + spread[1]
        note = "means only: the questions are not paired, so the interval is wider than it need be"
        return Check(measure, "max-drop", drop, *ends, max_drop, 0, n_failed, drop <= max_drop + 1e-12, note)
    sure = {query: value for query, value in theirs.items() if query not in baseline.failed[measure]}
    paired = paired_difference(sure, ours)
    notes = [_failures(n_failed)]
    if paired.mean > 0:
        notes.append("may be chance" if paired.p_value > 0.05 else f"p = {paired.p_value:.4f}")
    passed = paired.mean <= max_drop + 1e-12
    note = "; ".join(filter(None, notes))
    return Check(
        measure, "max-drop", paired.mean, paired.low, paired.high, max_drop, paired.n, n_failed, passed, note
    )


def _has(result: Measured, measure: str) -> None:
    if measure not in result.means:
        raise UnknownName(f"measure of {result.name}", measure, result.means)


def _failures(n_failed: int) -> str:
    return f"{n_failed} failed scores count as 0" if n_failed else ""


def _said(check: Check) -> str:
    what = "is" if check.rule == "min" else "dropped by"
    bound = "at least" if check.rule == "min" else "at most"
    return (
        f"{check.measure} {what} {check.value:.3f} [{check.low:.3f}, {check.high:.3f}],"
        f" {bound} {check.limit:g} passes"
    )
