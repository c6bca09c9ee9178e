"""``rag leaderboard``, ``report``, ``compare`` and ``gate``: what runs say; nothing is measured here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_platform.cli.options import EnvFile, Output, Verbose, open_settings
from rag_platform.cli.render import Format, Row, emit, say

if TYPE_CHECKING:
    from rag_platform.evaluation.compare import Comparison
    from rag_platform.evaluation.gate import Verdict
    from rag_platform.evaluation.leaderboard import Leaderboard
    from rag_platform.evaluation.results import Run

__all__ = ["BoardFormat", "compare", "gate", "leaderboard", "report"]

_COLUMNS = 5
"""Measures in a table unless some are asked for; the other formats have all of them."""
_SHOWN = 10
"""Questions gained and lost in a table; JSON has all of them."""


class BoardFormat(StrEnum):
    """How a leaderboard is written."""

    table = "table"
    json = "json"
    markdown = "markdown"
    latex = "latex"


Main = Annotated[
    str | None, typer.Option("--measure", metavar="MEASURE", help="By which cells are compared.")
]
CellOption = Annotated[
    str | None, typer.Option("--cell", metavar="MODEL|RERANKER[|VARIANT]", help="Which cell; the best.")
]


def leaderboard(
    run: Annotated[
        str | None, typer.Option("--run", metavar="ID", help="Which run, see `rag runs list`; the last.")
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option("--measure", metavar="MEASURES", help="Which, comma-separated; the first orders."),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="The published Nepali table beside ours.")
    ] = False,
    output: Annotated[
        BoardFormat, typer.Option("--format", help="How the data on stdout is written.")
    ] = BoardFormat.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Compare the cells of a run: means, 95 % intervals, failures, and what is tied with the best."""
    from rag_platform.evaluation.leaderboard import leaderboard as board_of
    from rag_platform.evaluation.published import SOURCE
    from rag_platform.evaluation.published import published as read_published
    from rag_platform.evaluation.report.tables import as_latex, as_markdown, caption, notes, text_rows

    measures = tuple(name.strip() for name in measure.split(",")) if measure else ()
    board = board_of(_run(_home(env_file, verbose), run), measures=measures)
    left_out = () if measures or output is not BoardFormat.table else board.measures[_COLUMNS:]
    if left_out:
        board = replace(board, measures=board.measures[:_COLUMNS])
        say(f"more measures, see --measure: {', '.join(left_out)}")
    others = read_published() if published else ()
    if output is BoardFormat.markdown:
        sys.stdout.write(as_markdown(board, others))
    elif output is BoardFormat.latex:
        sys.stdout.write(as_latex(board, others))
    else:
        value = board.value()
        if others:
            value["published"] = {"source": SOURCE, "rows": [asdict(cell) for cell in others]}
        emit(Format(output.value), value, text_rows(board, others))
        for line in (caption(board), *(notes(board) if output is BoardFormat.table else ())):
            say(line)
        _tell_best(board)


def report(
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="Which run; the last.")] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page that needs nothing else.")
    ] = None,
    plots: Annotated[
        Path | None, typer.Option("--plots", metavar="FOLDER", help="Write the charts as PNG files.")
    ] = None,
    against: Annotated[
        str | None, typer.Option("--against", metavar="RUN", help="An earlier run to compare with.")
    ] = None,
    measure: Main = None,
    output: Output = Format.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Write a report of a run: leaderboard, grid, intervals, time and cost, kinds of questions."""
    from rag_platform.evaluation.compare import compare as compare_runs
    from rag_platform.evaluation.report.page import as_page

    if html is None and plots is None:
        raise typer.BadParameter("name what to write: --html FILE, --plots FOLDER, or both")
    home = _home(env_file, verbose)
    found = _run(home, run)
    comparison = compare_runs(_run(home, against), found, measure=measure) if against else None
    files: dict[Path, bytes] = {}
    if html is not None:
        files[html] = "".join(as_page(found, measure=measure, comparison=comparison)).encode()
    if plots is not None:
        from rag_platform.evaluation.report.plots import plots as draw

        drawn = draw(found, measure=measure, comparison=comparison)
        files |= {plots / name: png for name, png in drawn.items()}
    for path, content in files.items():
        _write(path, content)
    emit(output, {"run_id": found.run_id, "files": [str(path) for path in files]}, [])


def compare(
    run_a: Annotated[str, typer.Argument(metavar="RUN_A", help="The earlier run.")],
    run_b: Annotated[str, typer.Argument(metavar="RUN_B", help="The later one; differences are B minus A.")],
    measure: Main = None,
    cell: CellOption = None,
    cell_b: Annotated[
        str | None, typer.Option("--cell-b", metavar="CELL", help="Of RUN_B, where it is another one.")
    ] = None,
    output: Output = Format.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Say what differs between two runs, by how much, and which questions were gained and lost.

    Without --cell the best cell of each is compared, whatever models, documents and dates they have.
    """
    from rag_platform.evaluation.compare import compare as compare_runs
    from rag_platform.evaluation.standing import cell_name, parse_cell

    home = _home(env_file, verbose)
    found = compare_runs(
        _run(home, run_a),
        _run(home, run_b),
        cell_a=parse_cell(cell) if cell else None,
        cell_b=parse_cell(cell_b) if cell_b else None,
        measure=measure,
    )
    say(f"A: {found.a.run_id}, {cell_name(found.cell_a)}")
    say(f"B: {found.b.run_id}, {cell_name(found.cell_b)}")
    emit(output, found.value(), _difference_rows(found))
    if output is Format.table:
        _tell_changes(found)


def gate(
    result: Annotated[
        str,
        typer.Argument(
            metavar="RESULT", help="A run, a folder of `rag runs export`, or JSON of `rag evaluate`."
        ),
    ],
    minimum: Annotated[
        list[str] | None,
        typer.Option("--min", metavar="MEASURE=NUMBER", help="Smallest mean that passes; repeatable."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="RESULT", help="What it must not fall behind.")
    ] = None,
    max_drop: Annotated[
        float | None, typer.Option("--max-drop", min=0, help="Largest mean drop that passes; 0.02.")
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option("--measure", metavar="MEASURES", help="Compared with the baseline; those of --min."),
    ] = None,
    cell: CellOption = None,
    output: Output = Format.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Fail, with exit code 1, when a result is too low or has fallen behind another one."""
    from rag_platform.evaluation.gate import MAX_DROP, load_measured, parse_minimum
    from rag_platform.evaluation.gate import gate as judge
    from rag_platform.evaluation.standing import parse_cell

    if baseline is None and (max_drop is not None or measure):
        raise typer.BadParameter("--max-drop and --measure compare with something: name it with --baseline")
    home = _home(env_file, verbose)
    wanted = parse_cell(cell) if cell else None
    minimums = dict(map(parse_minimum, minimum or ()))
    compared = tuple(name.strip() for name in measure.split(",")) if measure else ()
    by = next(iter((*compared, *minimums)), None)
    verdict = judge(
        load_measured(home, result, cell=wanted, measure=by),
        minimums=minimums,
        baseline=load_measured(home, baseline, cell=wanted, measure=by) if baseline else None,
        max_drop=MAX_DROP if max_drop is None else max_drop,
        measures=compared,
    )
    emit(output, verdict.value(), _check_rows(verdict))
    say("passed" if verdict.passed else f"failed: {verdict.reason}")
    if not verdict.passed:
        raise typer.Exit(1)


def _home(env_file: Path | None, verbose: bool) -> Path:
    return open_settings(env_file, verbose).root


def _run(home: Path, run_id: str | None) -> Run:
    from rag_platform.evaluation.results import Run, last_used

    return Run.load(home, run_id) if run_id else last_used(home)


def _write(path: Path, content: bytes) -> None:
    """Write a file as others may read it, and say its name."""
    from rag_platform.storage import storage_errors

    with storage_errors("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    sys.stdout.write(f"{path}\n")


def _tell_best(board: Leaderboard) -> None:
    from rag_platform.evaluation.standing import cell_name

    for name in board.measures:
        if best := board.summaries[name].best:
            say(f"best in {name}: {cell_name(best)}, {board.summaries[name].n_tied - 1} others tied with it")


def _difference_rows(found: Comparison) -> list[Row]:
    """Return the main measure by kind and the others over all; JSON has them by kind, too."""
    return [
        {
            "measure": one.measure,
            "kind": one.kind or "all",
            "B - A": f"{one.paired.mean:+.3f} [{one.paired.low:+.3f}, {one.paired.high:+.3f}]",
            "p (Holm)": f"{one.p_holm:.4f}",
            "n": one.paired.n,
            "better": one.paired.wins,
            "same": one.paired.ties,
            "worse": one.paired.losses,
            "failed": one.n_failed,
        }
        for one in found.differences
        if one.measure == found.main or not one.kind
    ]


def _tell_changes(found: Comparison) -> None:
    """Say on stderr what differs in the making, and which questions changed most."""
    from rag_platform.text.markup import excerpt

    for key, (one, other) in found.differs.items():
        say(f"differs: {key}: {excerpt(one, 100)} -> {excerpt(other, 100)}")
    if found.n_reworded:
        say(f"left out: {found.n_reworded} questions that have the same id but other words")
    for name, changes in (("lost", found.lost), ("gained", found.gained)):
        say(f"{len(changes)} questions {name} in {found.main}{', the first:' if changes[_SHOWN:] else ''}")
        for change in changes[:_SHOWN]:
            values = f"{change.a.value:.3f} -> {change.b.value:.3f}"
            say(f"  {values} {change.query_id}: {excerpt(change.query, 80)}")


def _check_rows(verdict: Verdict) -> Sequence[Row]:
    return [
        {
            "measure": check.measure,
            "rule": check.rule,
            "value": f"{check.value:.3f} [{check.low:.3f}, {check.high:.3f}]",
            "limit": check.limit,
            "n": check.n or "not told",
            "passed": "yes" if check.passed else "NO",
            "note": check.note,
        }
        for check in verdict.checks
    ]
