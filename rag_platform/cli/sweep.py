"""``rag sweep``: a set over a grid of models; the work is the library's and Dagster's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_platform.cli.evaluate import step_progress
from rag_platform.cli.options import EnvFile, Output, Verbose, open_settings, open_system
from rag_platform.cli.render import Format, Row, emit, say

if TYPE_CHECKING:
    from jobs.sweep import Swept
    from rag_platform.evaluation.results import Run
    from rag_platform.settings import Settings
    from rag_platform.sweeping.planning import SweepPlan
    from rag_platform.sweeping.request import SweepRequest
    from rag_platform.system import System

__all__ = ["carry_out", "sweep"]

_SHOWN = ("nDCG@10", "R@10", "hit@1")
_OF_ANSWERS = ("F1", "answered")
"""Shown beside them where a cell searches nothing."""


def sweep(
    dataset: Annotated[
        str | None,
        typer.Argument(help="Folder or name of a set, or a CSV file of questions; nepali_starter."),
    ] = None,
    documents: Annotated[
        Path | None, typer.Option("--documents", help="Folder of the documents of a CSV file of questions.")
    ] = None,
    embedders: Annotated[
        str | None, typer.Option("--embedders", "--embeddings", help="Embedding models, comma-separated.")
    ] = None,
    rerankers: Annotated[
        str | None,
        typer.Option("--rerankers", help="Rerankers, comma-separated; none among them: no reranking."),
    ] = None,
    generator: Annotated[
        str | None, typer.Option("--generator", help="extractive, none, or PROVIDER/MODEL.")
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option("--variant", metavar="NAME:SETTING=VALUE", help="Measured beside; repeatable."),
    ] = None,
    variants: Annotated[
        str | None, typer.Option("--variants", help="File of variants, or `ablations`: the usual ones.")
    ] = None,
    baselines: Annotated[
        bool, typer.Option("--baselines", help="BM25 alone, vectors alone, answers without search.")
    ] = False,
    config: Annotated[
        str | None, typer.Option("--config", help="File of a sweep, or `reference`: the published setup.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option("--metrics", help="Of the judge, comma-separated; DeepEval's five.")
    ] = None,
    judge_repeats: Annotated[
        int, typer.Option("--judge-repeats", min=1, max=20, help="Judge everything so often: how sure is it?")
    ] = 1,
    plan: Annotated[bool, typer.Option("--plan", help="Say what would be done, and stop.")] = False,
    budget: Annotated[
        float | None, typer.Option("--budget", min=0, help="US dollars that language models may cost now.")
    ] = None,
    max_calls: Annotated[
        int | None, typer.Option("--max-calls", min=0, help="Calls of language models at most.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Of the run; another name is another run.")
    ] = None,
    note: Annotated[str | None, typer.Option("--note", help="Words about the run.")] = None,
    output: Output = Format.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Measure a set over a grid of models: every step once, resumable, one run a set of inputs.

    Cells whose models cannot run here are marked with the reason, the others go on. Exit code 1 when no cell
    could be measured.
    """
    from rag_platform.evaluation.variants import parse_variants, read_variants
    from rag_platform.sweeping.configured import find_config, read_config
    from rag_platform.sweeping.request import SweepRequest

    file = find_config(config) if config else None
    said = dict(read_config(file)) if file else {}
    settings = open_settings(
        env_file,
        verbose,
        **said.pop("settings", {}),
        RAG_SWEEP_EMBEDDERS=embedders or _listed(said.pop("embedders", None)),
        RAG_SWEEP_RERANKERS=rerankers or _listed(said.pop("rerankers", None)),
    )
    said.pop("variants", None)
    flags = {
        "dataset": dataset,
        "documents": str(documents) if documents else None,
        "generator": generator,
        "name": name,
        "note": note,
        "baselines": baselines or None,
        "metrics": [one.strip() for one in metrics.split(",")] if metrics else None,
        "judge_repeats": judge_repeats,
        "budget": budget,
        "max_calls": max_calls,
    }
    wanted: dict[str, Any] = {
        "dataset": settings.sweep_dataset,
        **said,
        **{key: value for key, value in flags.items() if value is not None},
    }
    named = {
        **(read_variants(file) if file else {}),
        **(read_variants(find_config(variants)) if variants else {}),
        **parse_variants(variant or ()),
    }
    carry_out(settings, SweepRequest(**wanted, variants=named), output, only_plan=plan)


def _listed(names: Sequence[str] | None) -> str | None:
    return ",".join(names) if names else None


def carry_out(
    settings: Settings, request: SweepRequest, output: Format, *, only_plan: bool = False
) -> Run | None:
    """Sweep, write the board, and return the run; only the plan, and None, where no more is wanted."""
    from rag_platform.evaluation.sweep import grid
    from rag_platform.sweeping.planning import plan_sweep
    from rag_platform.sweeping.wiring import Bench, check_request

    system = open_system(settings)
    bench = Bench(system, request)
    within = grid(settings.sweep_embedders, settings.sweep_rerankers, [""], system.profiles.encoders)
    cells = request.cells([(cell.embedding_model, cell.reranker) for cell in within])
    check_request(bench)
    run = bench.run(cells)
    found = plan_sweep(bench, cells, run)
    _tell_plan(found, run)
    if only_plan:
        emit(output, {"run_id": run.run_id, "plan": asdict(found)}, _plan_rows(found))
        return None
    swept = _run(system, request)
    run = swept.run
    for line in _left_out(run, swept.stopped):
        say(line)
    if swept.deviations:
        moves = ", ".join(f"{name} {value:.3f}" for name, value in swept.deviations.items())
        say(f"judged {request.judge_repeats} times, a score moves by (standard deviation): {moves}")
    value, rows = _board(run)
    about = {"work": dict(swept.done), "stopped": swept.stopped, "judge_deviation": dict(swept.deviations)}
    emit(output, {**value, **about}, rows)
    if not any(row["status"] in ("complete", "partial") for row in rows):
        raise typer.Exit(1)
    return run


def _run(system: System, request: SweepRequest) -> Swept:
    from jobs.instance import instance_for
    from jobs.sweep import sweep as run_sweep

    settings = system.settings
    with step_progress() as tell, instance_for(settings) as instance:
        return run_sweep(
            system, instance, request, settings.sweep_embedders, settings.sweep_rerankers, tell=tell
        )


def _tell_plan(plan: SweepPlan, run: Run) -> None:
    """Say on stderr what lies ahead."""
    left = plan.cells - plan.finished
    say(f"run {run.run_id}: {plan.cells} cells, {plan.finished} of them finished before")
    if left:
        about = "about " if plan.is_guess else ""
        say(
            f"to do at most: {plan.documents} documents to read, {plan.ocr_pages} pages of them maybe by OCR,"
            f" {about}{plan.embeddings} passages and {plan.questions} questions to embed, {plan.searches}"
            f" searches, {plan.rerank_pairs} pairs to rerank, {plan.generations} answers,"
            f" {plan.judge_calls} calls of the judge"
        )
        cost = "unknown: a price is missing" if plan.cost is None else f"{plan.cost:.2f} US dollars at most"
        if plan.judge_calls or plan.cost != 0:
            say(f"cost: {cost}")
    for model, reason in plan.unavailable.items():
        say(f"cannot run here: {model}: {reason}")


def _plan_rows(plan: SweepPlan) -> list[Row]:
    values = asdict(plan)
    unavailable = values.pop("unavailable")
    rows: list[Row] = [
        {"work": key.replace("_", " "), "n": "" if v is None else v} for key, v in values.items()
    ]
    return [*rows, {"work": "models that cannot run here", "n": len(unavailable)}]


def _left_out(run: Run, stopped: str) -> list[str]:
    lines = []
    if not run.judge:
        lines.append(
            "no judge is set (EVAL_PROVIDER, EVAL_MODEL): measures that need one were left out, the others"
            " are complete"
        )
    if stopped:
        lines.append(f"stopped: {stopped}; repeat the command with a larger one to go on")
    return lines


def _board(run: Run) -> tuple[dict[str, Any], list[Row]]:
    """Return the run's board for JSON, and a row a cell."""
    from rag_platform.evaluation.leaderboard import leaderboard

    states = run.cells()
    if not states["status"].isin(["complete", "partial"]).any():
        about = ("embedding_model", "reranker", "variant", "status", "reason")
        cells: list[Row] = [{name: row[name] for name in about} for row in states.to_dict("records")]
        return {"run": {"run_id": run.run_id}, "rows": cells}, cells
    board = leaderboard(run)
    silent = any(row.measures and not {*_SHOWN} & row.measures.keys() for row in board.rows)
    wanted = (*_SHOWN, *_OF_ANSWERS) if silent else _SHOWN
    shown = [name for name in wanted if name in board.measures]
    rows: list[Row] = []
    for one in board.rows:
        cell: Row = {"embedding_model": one.cell.embedding_model, "reranker": one.cell.reranker}
        if any(row.cell.variant for row in board.rows):
            cell["variant"] = one.cell.variant
        for measure in shown:
            entry = one.measures.get(measure)
            cell[measure] = f"{entry.value:.3f} [{entry.ci_low:.3f}, {entry.ci_high:.3f}]" if entry else ""
        rows.append({**cell, "status": one.status, "tied with best": "yes" if one.tied_with_best else ""})
    return board.value(), rows
