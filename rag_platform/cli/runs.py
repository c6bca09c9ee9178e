"""``rag runs``: the sweeps that were made, what they were, and their tables for other programs."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_platform.cli.options import EnvFile, Output, Verbose, open_settings
from rag_platform.cli.render import Format, Row, emit, say

if TYPE_CHECKING:
    from rag_platform.evaluation.results import Run

__all__ = ["Table", "export", "list_runs", "runs", "show", "write_tables"]

runs = typer.Typer(name="runs", help="Sweeps that were made.", no_args_is_help=True)
RunName = Annotated[str, typer.Argument(metavar="RUN", help="Its id, the beginning of it, or its name.")]


class Table(StrEnum):
    """How tables are written."""

    csv = "csv"
    parquet = "parquet"
    jsonl = "jsonl"


@runs.command("list")
def list_runs(output: Output = Format.table, env_file: EnvFile = None, verbose: Verbose = False) -> None:
    """List all sweeps, newest first."""
    from rag_platform.evaluation.results import runs as all_runs

    rows = [_row(run) for run in all_runs(_home(env_file, verbose))]
    emit(output, {"runs": rows}, rows)
    if not rows:
        say("nothing was swept yet; start with: rag sweep nepali_starter")


@runs.command()
def show(
    run: RunName, output: Output = Format.table, env_file: EnvFile = None, verbose: Verbose = False
) -> None:
    """Show what a sweep was, and the state of its cells."""
    found = _load(run, env_file, verbose)
    cells = found.cells().to_dict("records")
    shown = ("embedding_model", "reranker", "variant", "status", "reason", "n_questions")
    rows: list[Row] = [{name: cell[name] for name in shown} for cell in cells]
    if output is Format.table:
        emit(output, {}, [{"about": name, "value": _text(value)} for name, value in found.about.items()])
    emit(output, {**found.about, "cells": cells}, rows)


@runs.command()
def export(
    run: RunName,
    folder: Annotated[Path, typer.Option("--to", help="Folder for the files; made when it is not there.")],
    form: Annotated[Table, typer.Option("--as", help="How tables are written.")] = Table.csv,
    output: Output = Format.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Write run.json and the tables of scores, answers and cells of a sweep to a folder."""
    found = _load(run, env_file, verbose)
    names = write_tables(found, folder, form)
    emit(output, {"run_id": found.run_id, "files": [str(folder / name) for name in names]}, [])


def write_tables(run: Run, folder: Path, form: Table = Table.csv) -> list[str]:
    """Write a run to a folder, say so, and return the names of the files."""
    from rag_platform.evaluation.exports import Form, write_export

    names = write_export(run, folder, Form(form))
    say(f"written to {folder}: {', '.join(names)}")
    return names


def _row(run: Run) -> Row:
    states = run.cells()["status"].tolist()
    return {
        "run_id": run.run_id,
        "name": run.name,
        "created_at": run.created_at,
        "dataset": run.dataset,
        "cells": len(states),
        "complete": states.count("complete"),
        "generator": run.generator,
        "judge": run.judge,
        "note": run.note,
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _load(name: str, env_file: Path | None, verbose: bool) -> Run:
    from rag_platform.evaluation.results import Run

    return Run.load(_home(env_file, verbose), name)


def _home(env_file: Path | None, verbose: bool) -> Path:
    return open_settings(env_file, verbose).root
