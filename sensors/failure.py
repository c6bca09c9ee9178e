"""What happens when a run does not end well: its claim is given back, and somebody is told."""
# No postponed annotations here: Dagster reads the type of ``context`` from the function itself.

import logging

import dagster as dg

from assets.platform import Platform
from jobs.asset_jobs import JOBS, documents
from jobs.claims import CLAIM, LAUNCHED_BY, UNFINISHED, bury, runs_of

__all__ = ["lost_runs", "run_canceled", "run_failed"]

_log = logging.getLogger(__name__)


@dg.run_failure_sensor(
    monitored_jobs=list(JOBS),
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Logs an alert for every failed run and gives its claimed documents back.",
)
def run_failed(context: dg.RunFailureSensorContext, platform: dg.ResourceParam[Platform]) -> dg.SkipReason:
    """Give the documents of a failed run back, so that the inbox sensor takes them again after a while."""
    run = context.dagster_run
    _log.error("ALERT: run %s of %s failed: %s", run.run_id, run.job_name, context.failure_event.message)
    context.log.error("run %s of %s failed: %s", run.run_id, run.job_name, context.failure_event.message)
    if run.job_name == documents.name and _last_of_claim(context.instance, run):
        platform.system.catalog.release(run.tags[CLAIM])
        return dg.SkipReason(f"gave back the documents of {run.tags[CLAIM]}")
    return dg.SkipReason("no claim to give back")


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.CANCELED,
    monitored_jobs=[documents],
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Settles the claim of a cancelled run: it is not started again by itself within the hour.",
)
def run_canceled(context: dg.RunStatusSensorContext, platform: dg.ResourceParam[Platform]) -> dg.SkipReason:
    """Take a cancelled run at its word; the reconcile schedule or the next change brings its files back."""
    run = context.dagster_run
    if _last_of_claim(context.instance, run):
        platform.system.catalog.finish(run.tags[CLAIM])
        return dg.SkipReason(f"settled {run.tags[CLAIM]}")
    return dg.SkipReason("no claim to settle")


@dg.sensor(
    minimum_interval_seconds=15,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Marks runs as failed whose process is gone: killed, or ended with the machine.",
)
def lost_runs(context: dg.SensorEvaluationContext) -> dg.SkipReason:
    """Look for runs that will never end by themselves."""
    gone = bury(context.instance, launched=True)
    return dg.SkipReason(f"{len(gone)} lost runs: {', '.join(gone)}" if gone else "no lost runs")


def _last_of_claim(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Say whether a sensor's claim stands behind this run and none of its runs is still at work."""
    claim = run.tags.get(CLAIM)
    if claim is None or run.tags.get(LAUNCHED_BY) == "cli":
        return False
    records = runs_of(instance, claim, job=documents.name)
    return not any(record.dagster_run.status in UNFINISHED for record in records)
