"""``sweep_cells`` and ``leaderboard``: a set measured over a grid of embedding models and rerankers.

The grid is that of the settings; ``sweep_assets`` makes the same assets over another one. Which work a cell
needs, and what is shared, is decided in the library.

The lineage goes to the partitions of ``collections`` for the grid's models, and no closer: a partition there
is a model with all its collections, so the evaluation's own is no key, and Dagster maps a dimension of a grid
only to a definition with exactly its keys (``StaticPartitionMapping`` to no grid, mappings of one's own
not in the UI), so a cell cannot depend on its own model alone.
"""

# No postponed annotations here: Dagster reads the type of ``context`` from the function itself.
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from assets.collections import collections
from assets.metadata import Metadata, annotate
from assets.partitions import MODELS, SINGLE_RUN
from assets.platform import Platform
from rag_platform.evaluation.judge.cases import DEEPEVAL_METRICS
from rag_platform.evaluation.leaderboard import Leaderboard
from rag_platform.evaluation.leaderboard import leaderboard as board_of
from rag_platform.evaluation.report.tables import metadata as board_metadata
from rag_platform.evaluation.results import Cell, Run, last_used
from rag_platform.evaluation.sweep import Report, grid
from rag_platform.profiles import named_models
from rag_platform.settings import Settings
from rag_platform.sweeping.request import SweepRequest
from rag_platform.sweeping.wiring import Bench, open_sweep

__all__ = ["SWEEP", "LeaderboardConfig", "SweepConfig", "key_of", "sweep_assets", "sweep_partitions"]


class SweepConfig(dg.Config):
    """What is measured; the models are the partitions."""

    dataset: str = ""
    """Folder or name of a set, or a CSV file of questions; empty: RAG_SWEEP_DATASET."""
    documents: str = ""
    """Folder of the documents of a CSV file."""
    generator: str = "extractive"
    """What answers: extractive, none, or LiteLLM's name of a model."""
    variants: dict[str, dict[str, str]] = {}  # noqa: RUF012 - a default of a pydantic model is copied
    """What else is measured: name -> setting or search option -> value."""
    baseline: bool = True
    """Cells without a variant are measured, too."""
    baselines: bool = False
    """BM25 alone, vectors alone, and answers without search are measured, too."""
    name: str = ""
    """A person's name for the run; another name is another run."""
    note: str = ""
    """A person's words."""
    metrics: list[str] = list(DEEPEVAL_METRICS)  # noqa: RUF012
    """What the judge is asked for."""
    judge_repeats: int = 1
    """Times that everything is judged."""
    budget: float | None = None
    """What language models may cost, in US dollars."""
    max_calls: int | None = None
    """Their calls at most."""

    def request(self, platform: Platform) -> SweepRequest:
        """Return it as the library has it."""
        values: dict[str, Any] = {name: getattr(self, name) for name in type(self).model_fields}
        return SweepRequest(**{**values, "dataset": self.dataset or platform.system.settings.sweep_dataset})


class LeaderboardConfig(dg.Config):
    """Which run is shown."""

    run_id: str = ""
    """Its id or name; empty: the one that was worked on last."""


def sweep_partitions(embedders: Sequence[str], rerankers: Sequence[str]) -> dg.MultiPartitionsDefinition:
    """Return the grid as partitions; a name's ``/`` is ``--`` in its key.

    Args:
        embedders: As ``grid`` names them.
        rerankers: As ``grid`` names them.
    """
    return dg.MultiPartitionsDefinition(
        {
            name: dg.StaticPartitionsDefinition(list(map(key_of, names)))
            for name, names in (("embedding_model", embedders), ("reranker", rerankers))
        }
    )


def key_of(model: str) -> str:
    """Return the partition key of an embedding model or reranker."""
    return model.replace("/", "--")


def sweep_assets(embedders: Sequence[str], rerankers: Sequence[str]) -> list[dg.AssetsDefinition]:
    """Return ``sweep_cells`` and ``leaderboard`` over a grid, of models as ``grid`` names them."""
    with warnings.catch_warnings():  # also where assets are made at work, not at import: see partitions
        warnings.simplefilter("ignore", dg.BetaWarning)
        return _sweep_assets(embedders, rerankers)


def _sweep_assets(embedders: Sequence[str], rerankers: Sequence[str]) -> list[dg.AssetsDefinition]:
    names = {key_of(name): name for name in (*embedders, *rerankers)}

    known = MODELS.get_partition_keys()
    models = dg.SpecificPartitionsPartitionMapping([name for name in embedders if name in known])

    @dg.asset(
        deps=[dg.AssetDep(collections, partition_mapping=models)],
        partitions_def=sweep_partitions(embedders, rerankers),
        backfill_policy=SINGLE_RUN,
        group_name="evaluation",
        kinds={"parquet"},
        pool="sweep",
    )
    def sweep_cells(
        context: dg.AssetExecutionContext, config: SweepConfig, platform: dg.ResourceParam[Platform]
    ) -> dg.MaterializeResult[None]:
        """Scores and answers of a set, question by question; a cell whose model cannot run says why."""
        request = config.request(platform)
        keys = [str(key) for key in context.partition_keys]
        parts = [key.split("|") for key in keys]
        pairs = [(names[model], names[reranker]) for model, reranker in parts]
        cells = request.cells(pairs)
        bench = Bench(platform.system, request, tell=platform.tell)
        sweep = open_sweep(bench, cells)
        report = sweep.over(cells)
        platform.reports.append(report)
        for cell, (status, reason) in report.states.items():
            if status != "complete":
                context.log.warning("%s: %s: %s", cell.slug, status, reason)
        found = (_cell_metadata(sweep.run, report, *pair) for pair in pairs)
        annotate(context, dict(zip(keys, found, strict=True)))
        return dg.MaterializeResult(metadata=_run_metadata(sweep.run, report))

    @dg.asset(deps=[sweep_cells], group_name="evaluation", kinds={"parquet"})
    def leaderboard(
        config: LeaderboardConfig, platform: dg.ResourceParam[Platform]
    ) -> dg.MaterializeResult[None]:
        """The cells of a run side by side, as far as they are there; its numbers are plotted over runs."""
        home = platform.system.home
        run = Run.load(home, config.run_id) if config.run_id else last_used(home)
        if not len(run.scores()):
            return dg.MaterializeResult(metadata={"run_id": run.run_id, "cells": "none could be measured"})
        return dg.MaterializeResult(metadata=_board_metadata(run, board_of(run)))

    return [sweep_cells, leaderboard]


def _cell_metadata(run: Run, report: Report, model: str, reranker: str) -> Metadata:
    """Return what one partition's event says: state and measures of its cell, and of its variants."""
    found: Metadata = {}
    scores = run.scores()
    for cell, (status, reason) in report.states.items():
        if (cell.embedding_model, cell.reranker) != (model, reranker):
            continue
        end = f" ({cell.variant})" if cell.variant else ""
        found[f"status{end}"] = status
        if reason:
            found[f"reason{end}"] = reason
        mine = scores[
            (scores["embedding_model"] == cell.embedding_model)
            & (scores["reranker"] == cell.reranker)
            & (scores["variant"] == cell.variant)
        ]
        for measure, rows in mine.groupby("measure", sort=False):
            scored = rows[rows["status"] == "ok"]
            if len(scored):
                found[f"{measure}{end}"] = round(float(scored["value"].mean()), 4)
            if failed := int((rows["status"] == "failed").sum()):
                found[f"{measure} failed{end}"] = failed
    path = run.folder / "scores" / f"{Cell(model, reranker).slug}.parquet"
    if path.exists():
        found["path"] = dg.MetadataValue.path(str(path))
    return found


def _run_metadata(run: Run, report: Report) -> Metadata:
    states = [status for status, _ in report.states.values()]
    found: Metadata = {
        "run_id": run.run_id,
        "cells": len(states),
        **{f"cells_{status}": states.count(status) for status in dict.fromkeys(states)},
        **{name.replace(" ", "_"): n for name, n in report.done.items()},
    }
    if not run.judge:
        found["judge"] = "none: measures that need a judge were left out; set EVAL_PROVIDER and EVAL_MODEL"
    found |= {f"judge deviation {name}": value for name, value in report.deviations.items()}
    if report.stopped:
        found["stopped"] = report.stopped
    return found


def _board_metadata(run: Run, board: Leaderboard) -> Metadata:
    """Return the board as a table, and the numbers that are plotted from run to run."""
    table, numbers = board_metadata(board)
    return {
        "run_id": run.run_id,
        "dataset": run.dataset,
        "leaderboard": dg.MetadataValue.md(table),
        "path": dg.MetadataValue.path(str(run.folder)),
        **numbers,
    }


def _settings_grid() -> tuple[list[str], list[str]]:
    """Return embedders and rerankers of the settings.

    Raises:
        UnknownName: A model is in no catalogue.
        InvalidSetting: The file of named models is wrong.
    """
    embedders, rerankers, file = Settings.sweep_grid(Path(".env"))
    cells = grid(embedders, rerankers, [""], named_models(file).encoders)
    return (
        list(dict.fromkeys(cell.embedding_model for cell in cells)),
        list(dict.fromkeys(cell.reranker for cell in cells)),
    )


SWEEP = sweep_assets(*_settings_grid())
"""The two assets over the grid of the settings."""
