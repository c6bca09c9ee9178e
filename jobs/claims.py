"""Which claims on documents still hold, judged by their processes and runs, and runs whose process is gone.

Names of owners are the library's: the command line, the service and the sensors use the same, so that each
leaves the other's documents alone.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

import dagster as dg
import psutil

from rag_platform.claims import Owner, host_name, new_owner, process_lives
from rag_platform.errors import CallerError

__all__ = ["CLAIM", "LAUNCHED_BY", "UNFINISHED", "Owner", "alive_on", "bury", "new_owner", "runs_of"]

_log = logging.getLogger(__name__)

CLAIM = "rag/claim"
"""Tag of a run: whose claimed documents it works on."""

LAUNCHED_BY = "rag/launched_by"
"""Tag of a run: ``cli`` when no sensor is to continue it."""

UNFINISHED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]

_YOUNG_S = 120.0
"""How long a claim waits for its first run, or a finished run for the sensor that settles it."""

_HEARTBEAT_S = 120.0
"""A daemon silent for longer launches no queued run; it reports every 30 seconds."""


def alive_on(
    instance: dg.DagsterInstance, *, daemon: bool | None = None, now: float | None = None
) -> Callable[[str], bool]:
    """Return the judge of owners that ``Catalog.claim`` asks.

    Args:
        instance: Where the runs of sensors stand.
        daemon: Whether queued runs will be launched; None asks for the daemon's heartbeat.
        now: Seconds since the epoch, the present by default.
    """
    moment = time.time() if now is None else now

    def alive(name: str) -> bool:
        try:
            owner = Owner.parse(name)
        except CallerError:
            return False  # of another version of this project: its process cannot be told
        if owner.kind != "sensor":
            return process_lives(owner, moment)
        return _sensor_claim_lives(instance, owner, moment, daemon)

    return alive


def runs_of(instance: dg.DagsterInstance, name: str, *, job: str | None = None) -> Sequence[dg.RunRecord]:
    """Return the runs that work on a claim, newest first."""
    return instance.get_run_records(dg.RunsFilter(job_name=job, tags={CLAIM: name}))


def bury(instance: dg.DagsterInstance, *, launched: bool = False) -> list[str]:
    """Mark runs as failed whose process on this host is gone, and return their ids.

    A killed process cannot say that its run ended: the run would look busy for ever, count against the
    limit of concurrent runs and keep its pools. Only what this host can know is judged: runs of
    the command line that name it, and with ``launched`` those of this host's own launcher.
    """
    gone = []
    for record in instance.get_run_records(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])):
        run = record.dagster_run
        if run.tags.get(LAUNCHED_BY) == "cli":
            lost = _cli_run_lost(run)
        else:
            lost = launched and _launched_run_lost(instance, record)
        if lost:
            _log.warning("run %s of %s: its process is gone", run.run_id, run.job_name)
            instance.report_run_failed(run, "The process of this run is gone; what it had written is kept.")
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
            gone.append(run.run_id)
    return gone


def _sensor_claim_lives(instance: dg.DagsterInstance, owner: Owner, now: float, daemon: bool | None) -> bool:
    records = runs_of(instance, str(owner), job="documents")
    unfinished = [record for record in records if record.dagster_run.status in UNFINISHED]
    if any(record.dagster_run.status == dg.DagsterRunStatus.STARTED for record in unfinished):
        return not all(
            owner.host == host_name() and _worker_gone(instance, record)
            for record in unfinished
            if record.dagster_run.status == dg.DagsterRunStatus.STARTED
        )
    if unfinished:
        return _daemon_lives(instance, now) if daemon is None else daemon
    ended = [record.end_time or 0.0 for record in records]
    return now - max([owner.claimed_at, *ended]) < _YOUNG_S and process_lives(owner, now)


def _daemon_lives(instance: dg.DagsterInstance, now: float) -> bool:
    beats = [beat.timestamp for beat in instance.get_daemon_heartbeats().values()]
    return bool(beats) and now - max(beats) < _HEARTBEAT_S


def _cli_run_lost(run: dg.DagsterRun) -> bool:
    try:
        owner = Owner.parse(run.tags.get(CLAIM, ""))
    except CallerError:
        return False
    return owner.host == host_name() and not process_lives(owner, time.time())


def _launched_run_lost(instance: dg.DagsterInstance, record: dg.RunRecord) -> bool:
    from dagster._core.launcher import DefaultRunLauncher

    # Other launchers put runs into other hosts and containers, whose processes are not ours to judge.
    return isinstance(instance.run_launcher, DefaultRunLauncher) and _worker_gone(instance, record)


def _worker_gone(instance: dg.DagsterInstance, record: dg.RunRecord) -> bool:
    """Say whether the process that the run's own log names is gone; a log without one says nothing."""
    logged = instance.all_logs(record.dagster_run.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT)
    for entry in reversed(logged):
        event = entry.dagster_event
        pid = event.engine_event_data.metadata.get("pid") if event is not None else None
        if pid is not None:
            try:
                return psutil.Process(int(str(pid.value))).create_time() > entry.timestamp + 1.0
            except psutil.Error:
                return True
    return False
