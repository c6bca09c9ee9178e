"""The jobs. A Dagster job holds one partitions definition, so ingestion is three of them, and one more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import dagster as dg

from assets.checks import CHECKS
from assets.collections import PublishConfig, collections
from assets.documents import chunks, pages, raw_documents
from assets.embeddings import embeddings
from assets.gate import keeps_up
from assets.platform import platform
from assets.sweep import SWEEP, sweep_assets

__all__ = [
    "ASSETS",
    "EXECUTOR",
    "JOBS",
    "RESOURCES",
    "documents",
    "embed",
    "publish",
    "reindex",
    "resolved",
    "sweep",
    "sweep_over",
]

ASSETS = [raw_documents, pages, chunks, embeddings, collections, *SWEEP]
RESOURCES: dict[str, Any] = {"platform": platform}

EXECUTOR = dg.in_process_executor
"""A run is a process of its own already, and the library parses in a pool: a process a step only costs."""

documents = dg.define_asset_job(
    "documents",
    selection=dg.AssetSelection.assets(raw_documents, pages, chunks),
    description="Read, parse and cut the documents of these partitions.",
)
embed = dg.define_asset_job(
    "embed",
    selection=dg.AssetSelection.assets(embeddings),
    description="Embed the chunks of a rectangle of documents and models.",
)
publish = dg.define_asset_job(
    "publish",
    selection=dg.AssetSelection.assets(collections),
    description="Publish what changed of every collection for these models.",
)
reindex = dg.define_asset_job(
    "reindex",
    selection=dg.AssetSelection.assets(collections),
    config=dg.RunConfig(ops={"collections": PublishConfig(rebuild=True)}),
    description="Build every collection of these models from nothing, then publish it.",
)

sweep = dg.define_asset_job(
    "sweep",
    selection=dg.AssetSelection.assets("sweep_cells", "leaderboard"),
    description="Measure a set over these cells of the grid, and put all cells side by side.",
)

JOBS = [documents, embed, publish, reindex, sweep]


@cache
def resolved(name: str) -> dg.JobDefinition:
    """Return a job that can be executed in this process, without loading sensors and schedules."""
    definitions = dg.Definitions(
        assets=ASSETS, asset_checks=CHECKS, jobs=JOBS, resources=RESOURCES, executor=EXECUTOR
    )
    return definitions.resolve_job_def(name)


def sweep_over(embedders: Sequence[str], rerankers: Sequence[str]) -> dg.JobDefinition:
    """Return the job ``sweep`` over another grid than that of the settings, for this process."""
    cells = sweep_assets(embedders, rerankers)
    others = [asset for asset in ASSETS if asset not in SWEEP]
    definitions = dg.Definitions(
        assets=[*others, *cells],
        asset_checks=[keeps_up],
        jobs=[sweep],
        resources=RESOURCES,
        executor=EXECUTOR,
    )
    return definitions.resolve_job_def("sweep")
