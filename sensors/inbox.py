"""The inbox sensor: new, changed and vanished files become runs."""
# No postponed annotations here: Dagster reads the type of ``context`` from the function itself.

import time
from collections.abc import Sequence

import dagster as dg

from assets.platform import Platform
from jobs.asset_jobs import documents, publish
from jobs.claims import CLAIM, UNFINISHED, Owner, alive_on, new_owner
from jobs.requests import documents_requests, publish_requests
from rag_platform.errors import CallerError
from rag_platform.system import System
from rag_platform.types import fingerprint

__all__ = ["backoff_s", "inbox_sensor"]

_FAILURES_LOOKED_AT = 12
_FIRST_WAIT_S = 30.0
_LONGEST_WAIT_S = 3600.0


@dg.sensor(
    jobs=[documents, publish],
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Takes complete files of RAG_HOME/inbox; vanished ones leave the collections.",
)
def inbox_sensor(
    context: dg.SensorEvaluationContext, platform: dg.ResourceParam[Platform]
) -> dg.SensorResult | dg.SkipReason:
    """Look at the inbox once: claim what is complete, and ask for the runs that take it."""
    system, now = platform.system, time.time()
    listing = system.inbox.scan(system.catalog.collections())
    seen = system.catalog.observe(listing, now=now, quiet_s=system.settings.quiet_s)
    wait = backoff_s(_failures(context.instance), now)
    if wait > 0:
        return dg.SkipReason(f"the last runs of documents failed; next try in {wait:.0f} s")
    owner = new_owner("sensor", now=now)
    claimed = system.catalog.claim(owner, alive=alive_on(context.instance, daemon=True, now=now))
    if claimed:
        context.log.info("%d files: %s", len(claimed), ", ".join(entry.source for entry in claimed[:10]))
        partitions = list(dict.fromkeys(entry.partition for entry in claimed))
        return dg.SensorResult(documents_requests(context.instance, partitions, batch=owner))
    if not context.instance.get_runs_count(dg.RunsFilter(statuses=UNFINISHED)):
        requests = _deletions(system)
        if requests:
            return dg.SensorResult(requests)
    n_waiting = seen.n_new + seen.n_changed
    return dg.SkipReason(f"nothing new; {len(listing.files)} files, {n_waiting} seen for the first time")


def backoff_s(failures: Sequence[float], now: float) -> float:
    """Return how long to wait after runs that failed in a row: 30 s, 60 s, 120 s ... one hour.

    A fault of ours would otherwise start a failing run every few seconds, for days.

    Args:
        failures: When the last failed runs ended, newest first, up to the last success.
        now: Seconds since the epoch.

    >>> backoff_s([], 1000.0), backoff_s([990.0], 1000.0), backoff_s([990.0, 950.0], 1000.0)
    (0.0, 20.0, 50.0)
    """
    if not failures:
        return 0.0
    wait = min(_FIRST_WAIT_S * 2.0 ** (len(failures) - 1), _LONGEST_WAIT_S)
    return max(0.0, failures[0] + wait - now)


def _failures(instance: dg.DagsterInstance) -> list[float]:
    """Return when the last runs of sensors failed, newest first, until one that did not."""
    found: list[float] = []
    for record in instance.get_run_records(dg.RunsFilter(job_name="documents"), limit=_FAILURES_LOOKED_AT):
        run = record.dagster_run
        if not _of_sensor(run.tags.get(CLAIM, "")):
            continue
        if run.status != dg.DagsterRunStatus.FAILURE:
            break
        found.append(record.end_time or record.update_timestamp.timestamp())
    return found


def _of_sensor(name: str) -> bool:
    try:
        return Owner.parse(name).kind == "sensor"
    except CallerError:
        return False


def _deletions(system: System) -> list[dg.RunRequest]:
    """Return runs of ``publish`` for every published generation that holds a deleted document.

    Judged by what is published, not by what vanished at this look, so that none is forgotten; the run
    key names generation and documents, so that none is asked for twice.
    """
    published = system.index.published()
    if not published:
        return []
    live = {entry.document_id for entry in system.catalog.entries()}
    stale: dict[str, list[tuple[str, int, list[str]]]] = {}
    for manifest in published:
        gone = sorted(set(manifest.documents) - live)
        if gone:
            stale.setdefault(manifest.model, []).append((manifest.collection, manifest.generation, gone))
    return publish_requests(list(stale), batch=f"deletions:{fingerprint(sorted(stale.items()))}")
