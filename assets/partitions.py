"""How documents and models become partition keys. Nothing else in the project decides that.

A document's key comes from ``catalog.partition_key``; here stand the definitions that Dagster knows, and
what keeps its list of dynamic keys in step with the catalog. Asset bodies handle "the documents of these
partitions", so that one key may hold many documents.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import dagster as dg

from rag_platform.embedding.catalogue import ENCODERS, resolve
from rag_platform.profiles import named_models
from rag_platform.settings import Settings
from rag_platform.system import System

__all__ = [
    "BY_DOCUMENT",
    "BY_MODEL",
    "DOCUMENTS",
    "DOCUMENT_X_MODEL",
    "MODELS",
    "SINGLE_RUN",
    "by_model",
    "embedding_models",
    "register",
    "registered",
    "retire",
]

# Backfill policies and this mapping are marked beta in Dagster 1.13; that is decided, not news at each start.
warnings.filterwarnings("ignore", category=dg.BetaWarning, message=".*(MultiToSingle|backfill_policy)")

DOCUMENTS = dg.DynamicPartitionsDefinition(name="documents")


def embedding_models() -> list[str]:
    """Return the models of the catalogue, and those of the settings that are behind an API.

    Raises:
        RagError: A model of the settings is none, or the file of named models is wrong.
    """
    names, file = Settings.embedding_names(Path(".env"))
    named = named_models(file).encoders
    return list(dict.fromkeys([*ENCODERS, *named, *(resolve(name, named).name for name in names)]))


MODELS = dg.StaticPartitionsDefinition(embedding_models())
DOCUMENT_X_MODEL = dg.MultiPartitionsDefinition({"document": DOCUMENTS, "embedding_model": MODELS})

BY_DOCUMENT = dg.MultiToSingleDimensionPartitionMapping("document")
BY_MODEL = dg.MultiToSingleDimensionPartitionMapping("embedding_model")

SINGLE_RUN = dg.BackfillPolicy.single_run()
"""A run launch costs seconds, a partition milliseconds: any number of contiguous keys is one run."""


def by_model(keys: Iterable[str]) -> dict[str, list[str]]:
    """Return model -> documents' partitions of some keys ``document|model``, both in the keys' order."""
    grouped: dict[str, list[str]] = {}
    for key in keys:
        document, model = key.split("|")
        grouped.setdefault(model, []).append(document)
    return grouped


def registered(instance: dg.DagsterInstance) -> list[str]:
    """Return every document partition in Dagster's order, which is the order of their first coming."""
    return list(instance.get_dynamic_partitions("documents"))


def register(instance: dg.DagsterInstance, partitions: Iterable[str]) -> None:
    """Make partitions known to Dagster, new ones side by side at the end; known ones stay where they are."""
    known = set(registered(instance))
    fresh = [key for key in dict.fromkeys(partitions) if key not in known]
    if fresh:
        instance.add_dynamic_partitions("documents", fresh)


def retire(instance: dg.DagsterInstance, system: System, *, besides: Sequence[str] = ()) -> list[str]:
    """Remove partitions without a live document from Dagster's list and return them.

    Their tables and their history stay until ``pipeline.purge``. While runs over documents are queued or
    at work nothing is removed: a range must not lose its ends.

    Args:
        instance: Where the keys are listed.
        system: Whose catalog knows the live documents.
        besides: Ids of runs that do not count.
    """
    working = instance.get_runs(
        dg.RunsFilter(
            statuses=[
                dg.DagsterRunStatus.QUEUED,
                dg.DagsterRunStatus.NOT_STARTED,
                dg.DagsterRunStatus.STARTING,
                dg.DagsterRunStatus.STARTED,
                dg.DagsterRunStatus.CANCELING,
            ]
        )
    )
    if any(run.run_id not in besides for run in working):
        return []
    live = {entry.partition for entry in system.catalog.entries()}
    gone = [key for key in registered(instance) if key not in live]
    for key in gone:
        instance.delete_dynamic_partition("documents", key)
    return gone
