"""A sweep in this process: documents through Dagster, encoder by encoder, then the job ``sweep``.

What the command line calls. Each encoder embeds the documents and the questions while it is loaded; what it
finds is kept, so the job's cells load it no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import dagster as dg

from assets.partitions import MODELS
from assets.platform import Platform
from assets.sweep import SweepConfig, key_of
from jobs.asset_jobs import sweep_over
from jobs.claims import bury, new_owner
from jobs.ranges import KeyRange
from jobs.run import execute, ingest
from rag_platform.evaluation.results import Run
from rag_platform.evaluation.sweep import grid
from rag_platform.stages import Progress
from rag_platform.sweeping.entering import by_library
from rag_platform.sweeping.request import SweepRequest
from rag_platform.sweeping.wiring import Bench, open_sweep
from rag_platform.system import System

__all__ = ["Swept", "sweep"]


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep left: its run, the work that was done for it now, and why it stopped early."""

    run: Run
    done: Mapping[str, int]
    stopped: str = ""
    deviations: Mapping[str, float] = field(default_factory=dict)


def sweep(
    system: System,
    instance: dg.DagsterInstance,
    request: SweepRequest,
    embedders: Sequence[str],
    rerankers: Sequence[str],
    *,
    tell: Callable[[str, int, int], None],
    progress: Progress | None = None,
) -> Swept:
    """Bring every cell of a grid up to date; where nothing is left to do, no run is made.

    Args:
        system: The wired library; the runs use this very one.
        instance: Where the runs are recorded.
        request: What is measured.
        embedders: Embedding models.
        rerankers: Rerankers; ``none`` among them measures what reranking adds.
        tell: Told of the steps of the sweep.
        progress: Told of every document as a stage is done with it.

    Raises:
        RagError: The set, a model's name or a variant is not usable.
        KeyboardInterrupt: The run was interrupted, and recorded as such; repeating it goes on.
    """
    bury(instance)

    def by_dagster(system: System, sources: Sequence[tuple[str, str]], models: Sequence[str]) -> None:
        known = [model for model in models if model in MODELS.get_partition_keys()]
        owner = new_owner("cli")
        ingest(system, instance, sources=list(sources), owner=owner, models=known, progress=progress)
        if len(known) < len(models):
            by_library(system, sources, models)

    within = grid(embedders, rerankers, [""], system.profiles.encoders)
    cells = request.cells([(cell.embedding_model, cell.reranker) for cell in within])
    prepared = open_sweep(Bench(system, request, by_dagster, tell), cells)
    due = prepared.due(cells)
    if not due:
        return Swept(prepared.run, prepared.over(cells).done)
    prepared.find(due)
    platform = Platform(system, progress, tell)
    config = {name: getattr(request, name) for name in SweepConfig.model_fields}
    config["metrics"] = list(request.metrics)
    first, last = (f"{key_of(one.embedding_model)}|{key_of(one.reranker)}" for one in (within[0], within[-1]))
    try:
        execute(
            sweep_over(
                tuple(dict.fromkeys(cell.embedding_model for cell in within)),
                tuple(dict.fromkeys(cell.reranker for cell in within)),
            ),
            KeyRange(first, last),
            instance=instance,
            owner=new_owner("cli"),
            platform=platform,
            ops={
                "sweep_cells": {"config": config},
                "leaderboard": {"config": {"run_id": prepared.run.run_id}},
                "leaderboard_keeps_up": {"config": {"run_id": prepared.run.run_id}},
            },
        )
    except dg.DagsterExecutionInterruptedError as error:  # what Dagster makes of Ctrl-C
        raise KeyboardInterrupt from error
    (report,) = platform.reports
    done = Counter(prepared.steps.done)
    done.update(report.done)
    return Swept(prepared.run, done, report.stopped, report.deviations)
