"""Sensors on a real catalog, folder and instance: what they claim, ask for, and leave alone."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.events import DagsterEvent, JobFailureData
from support import TEXTS, drop

from assets.partitions import register, registered
from assets.platform import Platform
from definitions import build_defs
from jobs.asset_jobs import resolved
from jobs.claims import CLAIM, LAUNCHED_BY, new_owner
from jobs.ranges import KeyRange
from jobs.schedules import SCHEDULES
from rag_platform.errors import RagError
from rag_platform.system import System
from sensors.chain import documents_done, embeddings_done
from sensors.failure import run_canceled, run_failed
from sensors.inbox import backoff_s, inbox_sensor

Claim = Callable[[Mapping[str, str]], list[str]]
Run = Callable[..., dg.ExecuteInProcessResult]
Status = dg.DagsterRunStatus
DOCUMENTS, SECOND = "documents", "intfloat/multilingual-e5-small"


@pytest.fixture
def look(system: System, instance: dg.DagsterInstance) -> Callable[[], list[dg.RunRequest]]:
    """Return a function that evaluates the inbox sensor once."""

    def evaluate() -> list[dg.RunRequest]:
        context = dg.build_sensor_context(instance=instance, definitions=build_defs())
        found = inbox_sensor(context, platform=Platform(system))
        return list(found.run_requests or []) if isinstance(found, dg.SensorResult) else []

    return evaluate


def drop_quiet(system: System, texts: Mapping[str, str]) -> None:
    """Write files that were last changed an hour ago."""
    drop(system, texts)
    for source in texts:
        touch(system.inbox.path("nepali_docs", source), 3600)


def touch(path: Path, seconds_ago: float) -> None:
    then = time.time() - seconds_ago
    os.utime(path, (then, then))


def keys(request: dg.RunRequest) -> tuple[str, str]:
    return (
        request.tags["dagster/asset_partition_range_start"],
        request.tags["dagster/asset_partition_range_end"],
    )


def add_run(instance: dg.DagsterInstance, job: str, status: Status, tags: Mapping[str, str]) -> dg.DagsterRun:
    run = dg.DagsterRun(job_name=job, run_id=str(uuid.uuid4()), status=status, tags=dict(tags))
    return instance.add_run(run)


# The inbox


def test_ten_new_files_are_one_run(
    system: System, instance: dg.DagsterInstance, look: Callable[[], list[dg.RunRequest]]
) -> None:
    drop_quiet(system, {f"वडा/{n}/सूचना.txt": f"वडा नम्बर {n} को सूचना।" for n in range(10)})
    assert look() == [], "a first look proves nothing"
    (request,) = look()
    order = registered(instance)
    assert keys(request) == (order[0], order[-1])
    assert len(order) == 10
    assert request.job_name == DOCUMENTS
    assert request.tags[CLAIM].startswith("sensor:")
    assert {entry.owner for entry in system.catalog.entries()} == {request.tags[CLAIM]}
    assert look() == [], "what is claimed is not taken twice"


def test_a_growing_file_is_left_until_it_is_whole(
    make_system: Callable[..., System], instance: dg.DagsterInstance
) -> None:
    system = make_system(RAG_QUIET_S=60)

    def evaluate() -> dg.SensorResult | dg.SkipReason:
        context = dg.build_sensor_context(instance=instance, definitions=build_defs())
        return inbox_sensor(context, platform=Platform(system))  # type: ignore[no-any-return]

    file = system.inbox.root / "प्रतिवेदन.txt"
    for part in range(3):
        file.write_text("आधा लेखिएको " * (part + 1), encoding="utf-8")
        assert isinstance(evaluate(), dg.SkipReason)
    assert isinstance(evaluate(), dg.SkipReason), "the same twice, but written just now"
    touch(file, 120)
    assert isinstance(evaluate(), dg.SkipReason), "its time has changed"
    assert isinstance(evaluate(), dg.SensorResult)


@pytest.mark.parametrize(
    "name", [".गोप्य.txt", "~$सूचना.docx", "सूचना.pdf.part", "सूचना.txt.tmp", "सूचना.crdownload", "सूचना.txt~"]
)
def test_temporary_names_are_never_taken(
    name: str, system: System, look: Callable[[], list[dg.RunRequest]]
) -> None:
    (system.inbox.root / name).write_text("अधुरो", encoding="utf-8")
    touch(system.inbox.root / name, 3600)
    assert [look() for _ in range(3)] == [[], [], []]
    assert system.catalog.entries() == []


def test_a_file_that_gets_its_final_name_is_taken(
    system: System, look: Callable[[], list[dg.RunRequest]]
) -> None:
    part = system.inbox.root / "सूचना.txt.part"
    part.write_text("नगरपालिकाको सूचना।", encoding="utf-8")
    touch(part, 3600)
    assert look() == []
    part.rename(system.inbox.root / "सूचना.txt")
    assert look() == []
    assert len(look()) == 1


def test_changed_files_are_as_few_runs_as_their_keys_allow(
    system: System, instance: dg.DagsterInstance, look: Callable[[], list[dg.RunRequest]]
) -> None:
    drop_quiet(system, {f"{n}.txt": f"सूचना नम्बर {n}।" for n in range(6)})
    look()
    (first,) = look()
    system.catalog.finish(first.tags[CLAIM])
    drop(system, {f"{n}.txt": f"बदलिएको सूचना नम्बर {n}।" for n in (0, 1, 3, 5)})
    for n in (0, 1, 3, 5):
        touch(system.inbox.path("nepali_docs", f"{n}.txt"), 1800)
    drop_quiet(system, {"नयाँ.txt": "नयाँ सूचना।"})
    look()
    requests = look()
    order = registered(instance)
    assert [keys(request) for request in requests] == [
        (order[0], order[1]),
        (order[3], order[3]),
        (order[5], order[6]),
    ]
    assert len({request.tags[CLAIM] for request in requests}) == 1
    assert len({request.run_key for request in requests}) == 3


def published(claimed: Claim, run: Run, *models: str) -> list[str]:
    order = claimed(TEXTS)
    run(DOCUMENTS, order[0], order[-1])
    for model in models:
        run("embed", f"{order[0]}|{model}", f"{order[-1]}|{model}")
        run("publish", model, model)
    return order


def test_a_vanished_file_is_published_away_from_every_model(
    system: System, claimed: Claim, run: Run, look: Callable[[], list[dg.RunRequest]]
) -> None:
    published(claimed, run, "hashing", SECOND)
    system.catalog.finish("test")
    assert look() == []
    system.inbox.remove("nepali_docs", "health.txt")
    (request,) = look()
    assert request.job_name == "publish"
    assert keys(request) == ("hashing", SECOND)
    assert {entry.source for entry in system.catalog.entries()} == set(TEXTS) - {"health.txt"}
    (again,) = look()
    assert again.run_key == request.run_key, "asked for until it is done, run once"
    run("publish", "hashing", SECOND)
    assert look() == []


def test_a_renamed_file_is_parsed_no_second_time(
    system: System, claimed: Claim, run: Run, look: Callable[[], list[dg.RunRequest]]
) -> None:
    published(claimed, run, "hashing")
    system.catalog.finish("test")
    old = system.inbox.path("nepali_docs", "health.txt")
    touch(old, 3600)
    old.rename(old.with_name("स्वास्थ्य.txt"))
    look()
    requests = look()
    assert [request.job_name for request in requests] == [DOCUMENTS]
    start, end = keys(requests[0])
    made = run(DOCUMENTS, start, end)
    assert made.success
    entry = system.catalog.entry("nepali_docs", "स्वास्थ्य.txt")
    assert (entry.status, entry.n_chunks) == ("ok", 1)


def test_failed_runs_make_the_sensor_wait(
    system: System, instance: dg.DagsterInstance, look: Callable[[], list[dg.RunRequest]]
) -> None:
    drop_quiet(system, {"एक.txt": "पहिलो सूचना।"})
    look()
    (request,) = look()
    failed = add_run(instance, DOCUMENTS, Status.STARTED, request.tags)
    instance.report_run_failed(failed)
    system.catalog.release(request.tags[CLAIM])
    assert look() == [], "it would fail again at once"
    add_run(instance, DOCUMENTS, Status.SUCCESS, request.tags)
    (again,) = look()
    assert again.tags[CLAIM] != request.tags[CLAIM]


def test_waits_double_up_to_an_hour() -> None:
    now = 10_000.0
    assert [backoff_s([now] * n, now) for n in (0, 1, 2, 3)] == [0, 30, 60, 120]
    assert backoff_s([now] * 12, now) == 3600
    assert backoff_s([now - 31], now) == 0


def test_a_missing_inbox_is_a_fault_not_a_thousand_deletions(
    system: System, look: Callable[[], list[dg.RunRequest]]
) -> None:
    system.inbox.root.rename(system.inbox.root.with_name("elsewhere"))
    with pytest.raises(RagError, match="inbox"):
        look()


# The chain


def after(
    instance: dg.DagsterInstance,
    system: System,
    sensor: dg.SensorDefinition,
    run: dg.DagsterRun,
    kind: str = "PIPELINE_SUCCESS",
) -> list[dg.RunRequest]:
    """Evaluate a run-status sensor for a run that has ended."""
    context = dg.build_run_status_sensor_context(
        sensor_name=sensor.name,
        dagster_instance=instance,
        dagster_run=run,
        dagster_event=DagsterEvent(
            event_type_value=kind,
            job_name=run.job_name,
            event_specific_data=JobFailureData(None) if kind == "PIPELINE_FAILURE" else None,
            message="a fault of ours" if kind == "PIPELINE_FAILURE" else None,
        ),
    )
    if kind == "PIPELINE_FAILURE":
        context = context.for_run_failure()
    found = sensor(context, platform=Platform(system))  # type: ignore[operator]
    return list(found.run_requests or []) if isinstance(found, dg.SensorResult) else []


def test_documents_are_embedded_with_the_active_models_then_published(
    make_system: Callable[..., System], claimed: Claim, run: Run, instance: dg.DagsterInstance
) -> None:
    system = make_system(RAG_EMBEDDERS=f"hashing,{SECOND}")
    order = claimed(TEXTS)
    owner = new_owner("sensor")
    made = run(DOCUMENTS, order[0], order[2]).dagster_run
    done = add_run(instance, DOCUMENTS, Status.SUCCESS, {**made.tags, CLAIM: owner})
    system.catalog.finish("test")
    (embed,) = after(instance, system, documents_done, done)
    assert (embed.job_name, keys(embed)) == ("embed", (f"{order[0]}|hashing", f"{order[2]}|{SECOND}"))
    assert embed.tags[CLAIM] == owner
    run("embed", *keys(embed))
    embedded = add_run(instance, "embed", Status.SUCCESS, embed.tags)
    (publish,) = after(instance, system, embeddings_done, embedded)
    assert (publish.job_name, keys(publish)) == ("publish", ("hashing", SECOND))
    run("publish", *keys(publish))
    assert after(instance, system, embeddings_done, embedded) == [], "every collection is current"


def test_the_claim_is_settled_by_its_last_run(
    system: System, claimed: Claim, run: Run, instance: dg.DagsterInstance
) -> None:
    order = claimed(TEXTS)
    run(DOCUMENTS, order[0], order[-1])
    system.catalog.release("test")
    owner = new_owner("sensor")
    system.catalog.claim(owner, alive=lambda _: True)
    one = add_run(instance, DOCUMENTS, Status.SUCCESS, {**KeyRange(order[0], order[1]).tags, CLAIM: owner})
    two = add_run(instance, DOCUMENTS, Status.STARTED, {**KeyRange(order[2], order[3]).tags, CLAIM: owner})
    after(instance, system, documents_done, one)
    assert {entry.owner for entry in system.catalog.entries()} == {owner}
    instance.report_run_failed(two)
    after(instance, system, documents_done, one)
    assert {entry.owner for entry in system.catalog.entries()} == {None}


def test_publishing_waits_for_the_last_embedding_run(
    system: System, claimed: Claim, run: Run, instance: dg.DagsterInstance
) -> None:
    order = claimed(TEXTS)
    run(DOCUMENTS, order[0], order[-1])
    run("embed", f"{order[0]}|hashing", f"{order[-1]}|hashing")
    tags = {**KeyRange(f"{order[0]}|hashing", f"{order[0]}|hashing").tags, CLAIM: "reconcile:1"}
    one = add_run(instance, "embed", Status.SUCCESS, tags)
    two = add_run(instance, "embed", Status.STARTED, tags)
    assert after(instance, system, embeddings_done, one) == []
    instance.report_run_failed(two)
    assert [request.job_name for request in after(instance, system, embeddings_done, one)] == ["publish"]


def test_runs_of_the_command_line_are_left_alone(
    system: System, claimed: Claim, run: Run, instance: dg.DagsterInstance
) -> None:
    order = claimed(TEXTS)
    made = run(DOCUMENTS, order[0], order[-1]).dagster_run
    done = add_run(instance, DOCUMENTS, Status.SUCCESS, {**made.tags, LAUNCHED_BY: "cli", CLAIM: "test"})
    assert after(instance, system, documents_done, done) == []
    assert {entry.owner for entry in system.catalog.entries()} == {"test"}


# Failures


def test_a_failed_run_gives_its_documents_back_and_is_told_of(
    system: System, claimed: Claim, instance: dg.DagsterInstance, caplog: pytest.LogCaptureFixture
) -> None:
    order = claimed(TEXTS)
    system.catalog.release("test")
    owner = new_owner("sensor")
    system.catalog.claim(owner, alive=lambda _: True)
    run = add_run(instance, DOCUMENTS, Status.FAILURE, {**KeyRange(order[0], order[-1]).tags, CLAIM: owner})
    after(instance, system, run_failed, run, "PIPELINE_FAILURE")
    assert {(entry.owner, entry.claimed) for entry in system.catalog.entries()} == {(None, None)}
    assert f"ALERT: run {run.run_id} of documents failed" in caplog.text


def test_a_cancelled_run_is_not_started_again(
    system: System,
    claimed: Claim,
    instance: dg.DagsterInstance,
    look: Callable[[], list[dg.RunRequest]],
) -> None:
    order = claimed(TEXTS)
    system.catalog.release("test")
    owner = new_owner("sensor")
    system.catalog.claim(owner, alive=lambda _: True)
    run = add_run(instance, DOCUMENTS, Status.CANCELED, {**KeyRange(order[0], order[-1]).tags, CLAIM: owner})
    assert look() == [], "before the sensor has settled it"
    after(instance, system, run_canceled, run, "PIPELINE_CANCELED")
    assert {entry.owner for entry in system.catalog.entries()} == {None}
    assert look() == []


# Schedules


def tick(instance: dg.DagsterInstance, system: System, name: str) -> list[dg.RunRequest]:
    (schedule,) = [one for one in SCHEDULES if one.name == name]
    context = dg.build_schedule_context(
        instance=instance, scheduled_execution_time=datetime(2026, 11, 30, 12, tzinfo=UTC)
    )
    found = schedule(context, platform=Platform(system))
    return list(found) if isinstance(found, list) else []


def test_reconcile_launches_what_is_stale_step_by_step(
    make_system: Callable[..., System], claimed: Claim, run: Run, instance: dg.DagsterInstance
) -> None:
    system = make_system()
    order = published(claimed, run, "hashing")
    system.catalog.finish("test")
    assert not any(tick(instance, system, schedule.name) for schedule in SCHEDULES), "all is current"

    changed = make_system(CHUNK_SIZE=128)
    (request,) = tick(instance, changed, "reconcile_documents")
    assert keys(request) == (order[0], order[-1])
    assert tick(instance, changed, "reconcile_embeddings") == [], "its chunks come first"

    another = make_system(RAG_EMBEDDERS=f"hashing,{SECOND}")
    (request,) = tick(instance, another, "reconcile_embeddings")
    assert keys(request) == (f"{order[0]}|{SECOND}", f"{order[-1]}|{SECOND}")
    assert tick(instance, another, "reconcile_collections") == [], "its embeddings come first"
    run("embed", *keys(request))
    (request,) = tick(instance, another, "reconcile_collections")
    assert keys(request) == (SECOND, SECOND)


def test_reconcile_stays_out_of_the_way_of_runs(
    make_system: Callable[..., System], claimed: Claim, run: Run, instance: dg.DagsterInstance
) -> None:
    make_system()
    published(claimed, run, "hashing")
    add_run(instance, "embed", Status.STARTED, {})
    assert tick(instance, make_system(CHUNK_SIZE=128), "reconcile_documents") == []


def test_requests_are_runs_that_dagster_can_make(
    system: System, instance: dg.DagsterInstance, look: Callable[[], list[dg.RunRequest]]
) -> None:
    drop_quiet(system, TEXTS)
    look()
    (request,) = look()
    register(instance, [])
    result = resolved(str(request.job_name)).execute_in_process(
        instance=instance, tags=dict(request.tags), resources={"platform": Platform(system)}
    )
    assert result.success
    assert {entry.status for entry in system.catalog.entries()} == {"ok"}
