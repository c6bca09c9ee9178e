"""Run requests: from sets of partition keys to the fewest runs of a job. Used by sensors and schedules."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import dagster as dg

from assets.partitions import MODELS, register, registered
from jobs.claims import CLAIM
from jobs.ranges import KeyRange, rectangles, stretches

__all__ = ["documents_requests", "embed_requests", "publish_requests"]


def documents_requests(
    instance: dg.DagsterInstance, partitions: Collection[str], *, batch: str
) -> list[dg.RunRequest]:
    """Return the runs of ``documents`` over these partitions, which are registered where they are new."""
    register(instance, partitions)
    return _requests("documents", stretches(partitions, registered(instance)), batch)


def embed_requests(
    instance: dg.DagsterInstance, cells: Mapping[str, Collection[str]], *, batch: str
) -> list[dg.RunRequest]:
    """Return the runs of ``embed`` over these cells: model -> partitions; none of one whose name is gone."""
    known = MODELS.get_partition_keys()
    cells = {model: keys for model, keys in cells.items() if model in known}
    register(instance, [key for keys in cells.values() for key in keys])
    return _requests("embed", rectangles(cells, registered(instance), known), batch)


def publish_requests(models: Collection[str], *, batch: str) -> list[dg.RunRequest]:
    """Return the runs of ``publish`` for these models; none of a model whose name is gone."""
    known = MODELS.get_partition_keys()
    return _requests("publish", stretches([model for model in models if model in known], known), batch)


def _requests(job: str, ranges: Sequence[KeyRange], batch: str) -> list[dg.RunRequest]:
    """Return one request a range; the run key makes a batch that is asked for twice run once."""
    return [
        dg.RunRequest(
            run_key=f"{batch}/{job}/{keys.start}/{keys.end}",
            job_name=job,
            tags={**keys.tags, CLAIM: batch},
        )
        for keys in ranges
    ]
