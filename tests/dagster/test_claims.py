"""Owners live as long as their process, a sensor's as long as its runs; lost runs are found."""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from dataclasses import replace

import dagster as dg
import psutil
import pytest
from dagster._core.events import EngineEventData
from dagster._daemon.types import DaemonHeartbeat

from jobs.claims import CLAIM, LAUNCHED_BY, Owner, alive_on, bury, new_owner
from rag_platform.errors import CallerError

Status = dg.DagsterRunStatus


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def add_run(
    instance: dg.DagsterInstance, status: Status, tags: dict[str, str], *, pid: int | None = None
) -> dg.DagsterRun:
    run = instance.add_run(
        dg.DagsterRun(job_name="documents", run_id=str(uuid.uuid4()), status=status, tags=tags)
    )
    if pid is not None:
        instance.report_engine_event("Started process for run", run, EngineEventData.in_process(pid))
    return run


def of_dead_process(owner: str) -> str:
    return str(replace(Owner.parse(owner), pid=dead_pid()))


def test_a_name_holds_what_it_was_made_of() -> None:
    owner = Owner.parse(new_owner("sensor", now=1796035423.5))
    assert (owner.kind, owner.pid, owner.claimed_at) == ("sensor", psutil.Process().pid, 1796035423.5)
    assert new_owner("cli") != new_owner("cli")


@pytest.mark.parametrize("name", ["", "cli-12-345", "mallory:host:1:2:3:x", "cli:host:one:2:3:x"])
def test_a_foreign_name_is_refused(name: str) -> None:
    with pytest.raises(CallerError, match="names no owner"):
        Owner.parse(name)


def test_a_command_line_lives_as_long_as_its_process(instance: dg.DagsterInstance) -> None:
    alive = alive_on(instance)
    mine = new_owner("cli")
    assert alive(mine)
    assert not alive(of_dead_process(mine))
    reused = replace(Owner.parse(mine), started=Owner.parse(mine).started - 3600)
    assert not alive(str(reused)), "another process has that number now"
    assert not alive("of an older version")


def test_a_process_elsewhere_is_believed_for_an_hour(instance: dg.DagsterInstance) -> None:
    now = time.time()
    foreign = replace(Owner.parse(new_owner("cli", now=now)), host="अन्यत्र", pid=dead_pid())
    assert alive_on(instance, now=now + 3000)(str(foreign))
    assert not alive_on(instance, now=now + 4000)(str(foreign))


def test_a_sensors_claim_waits_two_minutes_for_its_run(instance: dg.DagsterInstance) -> None:
    now = time.time()
    owner = new_owner("sensor", now=now)
    assert alive_on(instance, now=now + 100)(owner)
    assert not alive_on(instance, now=now + 130)(owner)
    assert not alive_on(instance, now=now + 1)(of_dead_process(owner)), "nobody is left to launch it"


def test_a_waiting_run_lives_while_a_daemon_does(instance: dg.DagsterInstance) -> None:
    now = time.time()
    owner = of_dead_process(new_owner("sensor", now=now - 3600))
    add_run(instance, Status.NOT_STARTED, {CLAIM: owner})
    assert alive_on(instance, daemon=True)(owner)
    assert not alive_on(instance)(owner), "no daemon has ever reported"
    instance.add_daemon_heartbeat(DaemonHeartbeat(now - 20, "SENSOR", "me", None))
    assert alive_on(instance, now=now)(owner)
    assert not alive_on(instance, now=now + 600)(owner)


def test_a_started_run_lives_while_its_process_does(instance: dg.DagsterInstance) -> None:
    owner = of_dead_process(new_owner("sensor", now=time.time() - 3600))
    run = add_run(instance, Status.STARTED, {CLAIM: owner}, pid=psutil.Process().pid)
    assert alive_on(instance, daemon=True)(owner)
    instance.report_engine_event("moved", run, EngineEventData.in_process(dead_pid()))
    assert not alive_on(instance, daemon=True)(owner)


def test_a_finished_run_keeps_its_claim_until_a_sensor_has_settled_it(instance: dg.DagsterInstance) -> None:
    now = time.time()
    owner = new_owner("sensor", now=now - 3600)
    run = add_run(instance, Status.STARTED, {CLAIM: owner})
    instance.report_run_failed(run)
    assert alive_on(instance, now=now + 60)(owner)
    assert not alive_on(instance, now=now + 180)(owner)


def test_runs_of_a_killed_command_line_are_buried(instance: dg.DagsterInstance) -> None:
    mine = new_owner("cli")
    lost = add_run(instance, Status.STARTED, {CLAIM: of_dead_process(mine), LAUNCHED_BY: "cli"})
    living = add_run(instance, Status.STARTED, {CLAIM: mine, LAUNCHED_BY: "cli"})
    launched = add_run(instance, Status.STARTED, {}, pid=dead_pid())
    assert bury(instance) == [lost.run_id]
    found = {run.run_id: run.status for run in instance.get_runs()}
    assert found == {
        lost.run_id: Status.FAILURE,
        living.run_id: Status.STARTED,
        launched.run_id: Status.STARTED,
    }


def test_runs_of_a_dead_launcher_are_buried_where_they_ran() -> None:
    launcher = {"run_launcher": {"module": "dagster", "class": "DefaultRunLauncher"}}
    with dg.instance_for_test(overrides=launcher) as instance:
        lost = add_run(instance, Status.STARTED, {}, pid=dead_pid())
        living = add_run(instance, Status.STARTED, {}, pid=psutil.Process().pid)
        silent = add_run(instance, Status.STARTED, {})
        assert bury(instance, launched=True) == [lost.run_id]
        for run in (living, silent):
            assert instance.get_run_by_id(run.run_id).status == Status.STARTED  # type: ignore[union-attr]
