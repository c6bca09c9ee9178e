"""The reconcile schedules: once an hour, whatever the plan says is stale is launched.

They catch what no event tells of: a changed recipe, a model made active, a run that was lost. A schedule
drives one job, so there are three; each leaves alone what an earlier step will bring along anyway.
"""
# No postponed annotations here: Dagster reads the type of ``context`` from the function itself.

import dagster as dg

from assets.platform import Platform
from jobs.asset_jobs import documents, embed, publish
from jobs.claims import UNFINISHED
from jobs.requests import documents_requests, embed_requests, publish_requests
from rag_platform.pipeline import Plan, plan

__all__ = ["SCHEDULES"]

_Launch = list[dg.RunRequest] | dg.SkipReason
_RUNNING = dg.DefaultScheduleStatus.RUNNING


@dg.schedule(job=documents, cron_schedule="0 * * * *", default_status=_RUNNING)
def reconcile_documents(
    context: dg.ScheduleEvaluationContext, platform: dg.ResourceParam[Platform]
) -> _Launch:
    """Read, parse and cut what is stale; the chain embeds and publishes it."""
    left = _left(context, platform)
    if left is None or not left.documents:
        return _skip(left)
    return documents_requests(context.instance, left.documents, batch=_batch(context))


@dg.schedule(job=embed, cron_schedule="10 * * * *", default_status=_RUNNING)
def reconcile_embeddings(
    context: dg.ScheduleEvaluationContext, platform: dg.ResourceParam[Platform]
) -> _Launch:
    """Embed what is stale and whose chunks are current; the chain publishes it."""
    left = _left(context, platform)
    if left is None or not left.embed:
        return _skip(left)
    return embed_requests(context.instance, left.embed, batch=_batch(context))


@dg.schedule(job=publish, cron_schedule="20 * * * *", default_status=_RUNNING)
def reconcile_collections(
    context: dg.ScheduleEvaluationContext, platform: dg.ResourceParam[Platform]
) -> _Launch:
    """Publish where nothing is left to embed and a collection is not what its documents say."""
    left = _left(context, platform)
    if left is None or left.embed or not left.publish:
        return _skip(left)
    return publish_requests(left.publish, batch=_batch(context))


SCHEDULES = [reconcile_documents, reconcile_embeddings, reconcile_collections]


def _left(context: dg.ScheduleEvaluationContext, platform: Platform) -> Plan | None:
    """Return the plan of the active models, or None while runs are at work: they may be doing it."""
    if context.instance.get_runs_count(dg.RunsFilter(statuses=UNFINISHED)):
        return None
    system = platform.system
    return plan(system, system.embedders())


def _skip(left: Plan | None) -> dg.SkipReason:
    return dg.SkipReason("runs are at work" if left is None else "nothing of this step is stale")


def _batch(context: dg.ScheduleEvaluationContext) -> str:
    return f"reconcile:{context.scheduled_execution_time.timestamp():.0f}"
