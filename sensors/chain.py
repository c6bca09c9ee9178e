"""The chain: when a job ends well, the next one takes the same keys. documents, embed, publish.

Runs of the command line are left alone: it does all three steps itself.
"""
# No postponed annotations here: Dagster reads the type of ``context`` from the function itself.

from collections.abc import Mapping, Sequence

import dagster as dg

from assets.partitions import MODELS, registered
from assets.platform import Platform
from jobs.asset_jobs import documents, embed, publish
from jobs.claims import CLAIM, LAUNCHED_BY, UNFINISHED
from jobs.ranges import keys_of
from jobs.requests import embed_requests, publish_requests
from rag_platform.pipeline import plan
from rag_platform.system import System

__all__ = ["documents_done", "embeddings_done"]

_Reaction = dg.SensorResult | dg.SkipReason


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.SUCCESS,
    monitored_jobs=[documents],
    request_jobs=[embed, publish],
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Embeds, with the active models, what the documents job has cut.",
)
def documents_done(context: dg.RunStatusSensorContext, platform: dg.ResourceParam[Platform]) -> _Reaction:
    """Settle the claim and ask for the embeddings that are stale, or for what is left to publish."""
    run, system = context.dagster_run, platform.system
    if run.tags.get(LAUNCHED_BY) == "cli":
        return dg.SkipReason("the command line goes on by itself")
    batch = _batch(run)
    if not _others(context.instance, run, ["documents"]):
        system.catalog.finish(batch)
    models = _active(system)
    left = plan(system, models, owner=batch)
    keys = set(keys_of(run, registered(context.instance)))
    cells = {model: [key for key in wanted if key in keys] for model, wanted in left.embed.items()}
    requests = embed_requests(
        context.instance, {m: found for m, found in cells.items() if found}, batch=batch
    )
    if not requests and not _others(context.instance, run, ["documents", "embed"]):
        requests = publish_requests(left.publish, batch=batch)
    return dg.SensorResult(requests) if requests else dg.SkipReason("everything is embedded and published")


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.SUCCESS,
    monitored_jobs=[embed],
    request_job=publish,
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Publishes the collections of the models that were embedded.",
)
def embeddings_done(context: dg.RunStatusSensorContext, platform: dg.ResourceParam[Platform]) -> _Reaction:
    """Publish once, after the last run of a batch."""
    run, system = context.dagster_run, platform.system
    if run.tags.get(LAUNCHED_BY) == "cli":
        return dg.SkipReason("the command line goes on by itself")
    if _others(context.instance, run, ["documents", "embed"]):
        return dg.SkipReason("other runs of this batch are still at work; the last one publishes")
    embedded = keys_of(run, MODELS.get_partition_keys(), dimension=1)
    models = plan(system, list(dict.fromkeys([*_active(system), *embedded]))).publish
    requests = publish_requests(models, batch=_batch(run))
    return dg.SensorResult(requests) if requests else dg.SkipReason("every collection is current")


def _within(cells: Mapping[str, Sequence[str]], keys: set[str]) -> dict[str, list[str]]:
    """Return the cells of these keys; of all, when the ends of the run's range are gone since."""
    found = {model: [key for key in wanted if not keys or key in keys] for model, wanted in cells.items()}
    return {model: wanted for model, wanted in found.items() if wanted}


def _batch(run: dg.DagsterRun) -> str:
    """Return what ties runs together: the claim, or the run itself when somebody launched it by hand."""
    return run.tags.get(CLAIM, f"run:{run.run_id}")


def _others(instance: dg.DagsterInstance, run: dg.DagsterRun, jobs: list[str]) -> bool:
    """Say whether other runs of the batch are queued or at work."""
    batch = dg.RunsFilter(tags={CLAIM: _batch(run)}, statuses=UNFINISHED)
    return any(other.job_name in jobs and other.run_id != run.run_id for other in instance.get_runs(batch))


def _active(system: System) -> list[str]:
    return system.embedders()
