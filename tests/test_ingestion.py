"""Ingestion by the library alone: the same tables and claims as every other way in."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from support import TEXTS, drop, point_set
from support import ingest as ingest_by_hand

from rag_platform import pipeline
from rag_platform.claims import Owner, new_owner, process_lives
from rag_platform.errors import Busy, CallerError, UnknownName
from rag_platform.ingestion import Source, ingest, outcome
from rag_platform.plan import plan
from rag_platform.states import Ingested
from rag_platform.system import System

MakeSystem = Callable[..., System]


def sources_of(system: System) -> list[Source]:
    return [("nepali_docs", source) for source in TEXTS]


def test_documents_become_a_collection_and_are_unchanged_the_next_time(make_system: MakeSystem) -> None:
    system = make_system()
    drop(system, TEXTS)
    first = ingest(system, sources_of(system))
    assert [one.status for one in first] == ["ok"] * len(TEXTS)
    assert [(one.filename, one.chunks_indexed) for one in first] == [(source, 1) for source in TEXTS]
    assert {one.generation for one in first} == {1}
    again = ingest(system, sources_of(system))
    assert [one.status for one in again] == ["unchanged"] * len(TEXTS)
    assert {one.generation for one in again} == {1}
    assert not plan(system, ["hashing"])


def test_it_makes_the_points_that_the_other_way_makes(make_system: MakeSystem, tmp_path: object) -> None:
    one, other = make_system(), make_system(RAG_HOME=f"{tmp_path}/other")
    for system in (one, other):
        drop(system, TEXTS)
    ingest(one, sources_of(one))
    ingest_by_hand(other)
    points = [sorted(map(str, point_set(s.index.open("nepali_docs", "hashing")))) for s in (one, other)]
    assert points[0] == points[1]


def test_one_that_fails_stops_no_other(make_system: MakeSystem) -> None:
    system = make_system()
    drop(system, {"खाली.txt": "", "ठीक.txt": "ठीक छ।"})
    bad, good = ingest(system, [("nepali_docs", "खाली.txt"), ("nepali_docs", "ठीक.txt")])
    assert (good.status, good.chunks_indexed) == ("ok", 1)
    assert (bad.status, bad.chunks_indexed) == ("failed", 0)
    assert bad.failure is not None
    assert bad.failure.code == "empty_file"


def test_what_is_forced_is_done_again(make_system: MakeSystem) -> None:
    system = make_system()
    drop(system, TEXTS)
    ingest(system, sources_of(system))
    told: list[str] = []
    (done,) = ingest(
        system,
        sources_of(system)[:1],
        force=True,
        progress=lambda one: told.append(f"{one.source} {one.status}"),
    )
    assert done.status == "ok"
    assert told == [f"{next(iter(TEXTS))} ok"] * 4


def test_a_deleted_document_leaves_the_collection(make_system: MakeSystem) -> None:
    system = make_system()
    drop(system, TEXTS)
    ingest(system, sources_of(system))
    pipeline.delete(system, "nepali_docs", "health.txt")
    (gone,) = ingest(system, [("nepali_docs", "health.txt")])
    assert (gone.status, gone.chunks_indexed, gone.generation) == ("deleted", 0, 2)
    hits = system.searcher.search("boil water", collection="nepali_docs", model="hashing").hits
    assert "health.txt" not in {hit.chunk.source for hit in hits}


def test_a_new_version_keeps_the_identity(make_system: MakeSystem) -> None:
    system = make_system()
    source = [("nepali_docs", "शुल्क.txt")]
    drop(system, {"शुल्क.txt": "शुल्क पाँच सय।"})
    before = ingest(system, source)[0]
    drop(system, {"शुल्क.txt": "शुल्क सात सय रुपैयाँ।"})
    after = ingest(system, source)[0]
    assert (before.document_id, before.status) == (after.document_id, after.status)
    assert (before.generation, after.generation) == (1, 2)


def test_two_at_once_never_do_the_same_work(make_system: MakeSystem) -> None:
    system = make_system()
    drop(system, TEXTS)
    parsed: list[str] = []
    lock = threading.Lock()

    def note(done: pipeline.Outcome) -> None:
        if done.status != "unchanged" and "n_bytes" in done.measures:  # of the first stage
            with lock:
                parsed.append(done.source)

    results: list[list[Ingested]] = []
    threads = [
        threading.Thread(target=lambda: results.append(ingest(system, sources_of(system), progress=note)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(parsed) == sorted(TEXTS)
    assert all(one.chunks_indexed == 1 for result in results for one in result)


def test_it_waits_for_who_has_the_document(make_system: MakeSystem) -> None:
    system = make_system()
    drop(system, {"क.txt": "कसैले लिइसकेको।"})
    listing = system.inbox.scan(system.catalog.collections())
    source = ("nepali_docs", "क.txt")
    system.catalog.observe(listing, now=time.time(), quiet_s=0, complete=[source])
    sensor = new_owner("sensor")
    assert len(system.catalog.claim(sensor, alive=lambda _: True)) == 1
    results: list[Ingested] = []
    thread = threading.Thread(target=lambda: results.extend(ingest(system, [source])))
    thread.start()
    time.sleep(0.3)
    assert thread.is_alive()
    system.catalog.release(sensor)
    thread.join(timeout=20)
    assert [one.chunks_indexed for one in results] == [1]


def test_claims_of_a_process_that_is_gone_are_taken_over(make_system: MakeSystem) -> None:
    system = make_system()
    drop(system, {"ख.txt": "छोडिएको काम।"})
    listing = system.inbox.scan(system.catalog.collections())
    source = ("nepali_docs", "ख.txt")
    system.catalog.observe(listing, now=time.time(), quiet_s=0, complete=[source])
    gone = replace(Owner.parse(new_owner("library")), started=1.0)
    system.catalog.claim(str(gone), alive=lambda _: True)
    assert [one.chunks_indexed for one in ingest(system, [source])] == [1]


def test_a_claim_is_given_back_when_the_machine_fails(make_system: MakeSystem) -> None:
    system = make_system()
    drop(system, {"ग.txt": "फेरि प्रयास।"})
    source = ("nepali_docs", "ग.txt")

    def broken(done: pipeline.Outcome) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(system, [source], progress=broken)
    assert system.catalog.entry(*source).owner is None
    assert [one.chunks_indexed for one in ingest(system, [source])] == [1]


def test_publishing_waits_for_its_turn(make_system: MakeSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    system = make_system()
    drop(system, {"घ.txt": "पालो कुर्ने।"})
    publish, refused = pipeline.publish, iter([Busy("another writer"), Busy("another writer")])

    def busy_twice(system: System, model: str, **more: bool) -> object:
        if (error := next(refused, None)) is not None:
            raise error
        return publish(system, model, **more)

    monkeypatch.setattr(pipeline, "publish", busy_twice)
    assert [one.chunks_indexed for one in ingest(system, [("nepali_docs", "घ.txt")])] == [1]


def test_an_unknown_document_is_an_error(make_system: MakeSystem) -> None:
    with pytest.raises(UnknownName):
        outcome(make_system(), ("nepali_docs", "छैन.txt"))


def test_names_of_owners() -> None:
    name = new_owner("library", now=100.0)
    owner = Owner.parse(name)
    assert (str(owner), owner.kind) == (name, "library")
    assert process_lives(owner, 100.0)
    assert not process_lives(replace(owner, started=owner.started - 60), 100.0)
    foreign = replace(owner, host="elsewhere")
    assert (process_lives(foreign, 3_000.0), process_lives(foreign, 4_000.0)) == (True, False)
    with pytest.raises(CallerError, match="names no owner"):
        Owner.parse("somebody")
