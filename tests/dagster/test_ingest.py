"""Ingestion in this process: as few runs as the keys allow, none when nothing is stale, claims settled."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest
from local_server import Body, serving
from support import TEXTS, drop

from assets.partitions import embedding_models
from jobs.claims import CLAIM, LAUNCHED_BY, new_owner
from jobs.requests import publish_requests
from jobs.run import ingest, instance_for
from rag_platform.embedding.catalogue import ENCODERS
from rag_platform.errors import CallerError
from rag_platform.ingestion import ingest as by_library
from rag_platform.stages import Outcome
from rag_platform.system import System

MODELS = ["hashing", "intfloat/multilingual-e5-small"]
Ingest = Callable[..., list[Outcome]]


@pytest.fixture
def ingested(system: System) -> Ingest:
    """Return a function that ingests what lies in the inbox as the command line does."""

    def go(*, sources: list[str] | None = None, **options: object) -> list[Outcome]:
        listing = system.inbox.scan(system.catalog.collections())
        everything = [(file.collection, file.source) for file in listing.files]
        system.catalog.observe(listing, now=time.time(), quiet_s=5, complete=everything)
        told: list[Outcome] = []
        given: dict[str, object] = {"owner": new_owner("cli"), "models": ["hashing"], **options}
        wanted = None if sources is None else [("nepali_docs", source) for source in sources]
        with instance_for(system.settings) as instance:
            ingest(system, instance, sources=wanted, progress=told.append, **given)  # type: ignore[arg-type]
        return told

    return go


def runs(system: System) -> list[dg.DagsterRun]:
    """Return all runs, oldest first."""
    with instance_for(system.settings) as instance:
        return list(reversed(instance.get_runs()))


def jobs(system: System) -> list[str]:
    return [run.job_name for run in runs(system)]


def published(system: System) -> list[tuple[str, int, int]]:
    return [(m.model, m.generation, m.points) for m in system.index.published()]


def test_many_new_files_and_two_models_are_three_runs(system: System, ingested: Ingest) -> None:
    drop(system, TEXTS)
    told = ingested(models=MODELS)
    assert jobs(system) == ["documents", "embed", "publish"]
    assert published(system) == [(model, 1, 4) for model in MODELS]
    assert len(told) == 4 * 3 + 4 * 2, "every document at every stage"
    run = runs(system)[0]
    assert run.status == dg.DagsterRunStatus.SUCCESS
    assert run.tags[LAUNCHED_BY] == "cli"
    assert run.tags[CLAIM].startswith("cli:")
    assert run.tags[".dagster/repository"] == "__repository__@definitions"
    assert all(entry.owner is None for entry in system.catalog.entries())


def vectors(path: str, body: Body) -> Body:
    rows = [[float(1 + text.count(letter)) for letter in "कखगतनपबस"] for text in body["input"]]
    found = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
    return {"object": "list", "model": "m", "data": found, "usage": {"prompt_tokens": 1, "total_tokens": 1}}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_model_named_for_one_call_is_embedded_and_published_without_a_run(
    make_system: Callable[..., System], tmp_path: Path
) -> None:
    with serving(vectors) as server:
        profiles = tmp_path / "models.toml"
        profiles.write_text(f'[embedding.office]\nmodel = "openai/m"\nbase_url = "{server.url}/v1"\n')
        system = make_system(RAG_MODEL_PROFILES=profiles, RAG_SANITY_GATE="record")
        drop(system, TEXTS)
        listing = system.inbox.scan(system.catalog.collections())
        wanted = [(file.collection, file.source) for file in listing.files]
        system.catalog.observe(listing, now=time.time(), quiet_s=5, complete=wanted)
        told: list[Outcome] = []
        with instance_for(system.settings) as instance:
            ingest(
                system,
                instance,
                sources=wanted,
                owner=new_owner("cli"),
                models=["hashing", "office"],
                progress=told.append,
            )
    assert jobs(system) == ["documents", "embed", "publish"]
    assert published(system) == [("hashing", 1, 4), ("office", 1, 4)]
    assert len(told) == 4 * 3 + 4 * 2


def test_models_of_the_settings_are_partitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert embedding_models() == list(ENCODERS)
    (tmp_path / "models.toml").write_text('[embedding.office]\nmodel = "openai/m"\n')
    (tmp_path / ".env").write_text("EMBEDDING_MODEL=openai/other\nRAG_MODEL_PROFILES=models.toml\n")
    monkeypatch.setenv("RAG_EMBEDDERS", "hashing,office")
    assert embedding_models() == [*ENCODERS, "office", "openai/other"]
    assert publish_requests(["a-name-that-is-gone"], batch="b") == []


def test_what_the_library_ingested_needs_no_run(system: System, ingested: Ingest) -> None:
    drop(system, TEXTS)
    by_library(system, [("nepali_docs", source) for source in TEXTS])
    assert ingested() == []
    assert jobs(system) == []
    assert published(system) == [("hashing", 1, 4)]


def test_nothing_to_do_is_no_run(system: System, ingested: Ingest) -> None:
    drop(system, TEXTS)
    ingested()
    assert ingested() == []
    assert jobs(system) == ["documents", "embed", "publish"]


def test_changed_files_are_a_run_a_stretch(system: System, ingested: Ingest) -> None:
    drop(system, {f"{n}.txt": f"सूचना नम्बर {n}।" for n in range(5)})
    ingested()
    drop(system, {"0.txt": "बदलिएको पहिलो।", "1.txt": "बदलिएको दोस्रो।", "3.txt": "बदलिएको चौथो।"})
    told = ingested()
    assert jobs(system)[3:] == ["documents", "documents", "embed", "embed", "publish"]
    assert {one.source for one in told if one.status == "ok"} == {"0.txt", "1.txt", "3.txt"}
    assert published(system) == [("hashing", 2, 5)]


def test_only_the_sources_asked_for(system: System, ingested: Ingest) -> None:
    drop(system, TEXTS)
    ingested(sources=["health.txt"])
    status = {entry.source: entry.status for entry in system.catalog.entries()}
    assert status == {**dict.fromkeys(TEXTS, "pending"), "health.txt": "ok"}
    assert published(system) == [("hashing", 1, 1)]


def test_a_deletion_is_one_run_for_every_published_model(system: System, ingested: Ingest) -> None:
    drop(system, TEXTS)
    ingested(models=MODELS)
    system.inbox.remove("nepali_docs", "health.txt")
    ingested(models=["hashing"])
    assert jobs(system)[3:] == ["publish"]
    assert published(system) == [(model, 2, 3) for model in MODELS]
    with instance_for(system.settings) as instance:
        assert len(instance.get_dynamic_partitions("documents")) == 3


def test_a_last_document_that_fails_is_taken_from_the_collection(system: System, ingested: Ingest) -> None:
    drop(system, {"एक.txt": "पहिलो सूचना।", "दुई.txt": "दोस्रो सूचना।"})
    ingested()
    drop(system, {"दुई.txt": ""})
    ingested()
    assert published(system) == [("hashing", 2, 1)]


def test_force_does_everything_again_with_the_same_points(system: System, ingested: Ingest) -> None:
    drop(system, TEXTS)
    ingested()
    before = {p.chunk.chunk_id for p in system.index.open("nepali_docs", "hashing").points()}
    told = ingested(force=True)
    assert {one.status for one in told} == {"ok"}
    after = {p.chunk.chunk_id for p in system.index.open("nepali_docs", "hashing").points()}
    assert after == before


def test_a_programmers_error_surfaces_and_gives_the_documents_back(
    system: System, ingested: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop(system, TEXTS)

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a fault of ours")

    with monkeypatch.context() as patch:
        patch.setattr("rag_platform.pipeline.chunk_document", broken)
        with pytest.raises(ZeroDivisionError, match="a fault of ours"):
            ingested()
    assert [run.status for run in runs(system)] == [dg.DagsterRunStatus.FAILURE]
    assert all(entry.owner is None and entry.claimed is None for entry in system.catalog.entries())
    ingested()
    assert published(system) == [("hashing", 1, 4)]


def test_an_owner_of_another_form_is_refused(ingested: Ingest) -> None:
    with pytest.raises(CallerError, match="names no owner"):
        ingested(owner="me")


def test_documents_in_the_hands_of_a_sensor_are_waited_for(system: System, ingested: Ingest) -> None:
    drop(system, TEXTS)
    listing = system.inbox.scan(["nepali_docs"])
    everything = [(file.collection, file.source) for file in listing.files]
    system.catalog.observe(listing, now=time.time(), quiet_s=0, complete=everything)
    sensor = new_owner("sensor")
    system.catalog.claim(sensor, alive=lambda _: True, sources=[("nepali_docs", "health.txt")])
    thread = threading.Thread(target=ingested)
    thread.start()
    deadline = time.monotonic() + 30
    while system.catalog.entry("nepali_docs", "कर सूचना.txt").status != "ok":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert thread.is_alive(), "its own documents are done, the sensor's are not"
    assert system.catalog.entry("nepali_docs", "health.txt").status == "pending"
    system.catalog.release(sensor)
    thread.join(30)
    assert published(system) == [("hashing", 1, 4)]


def test_the_claim_of_a_killed_process_is_taken_over(system: System, ingested: Ingest) -> None:
    drop(system, TEXTS)
    listing = system.inbox.scan(["nepali_docs"])
    everything = [(file.collection, file.source) for file in listing.files]
    system.catalog.observe(listing, now=time.time(), quiet_s=0, complete=everything)
    kind, host, _, started, moment, nonce = new_owner("cli").split(":")
    killed = ":".join([kind, host, "999999", started, moment, nonce])
    system.catalog.claim(killed, alive=lambda _: True)
    ingested()
    assert published(system) == [("hashing", 1, 4)]


@pytest.mark.parametrize("damage", ["shard", "pointer"])
def test_force_repairs_a_damaged_collection(system: System, ingested: Ingest, damage: str) -> None:
    drop(system, TEXTS)
    ingested()
    manifest = system.index.current("nepali_docs", "hashing")
    assert manifest is not None
    if damage == "shard":
        shutil.rmtree(manifest.address)
    else:
        Path(manifest.alias).write_text("")
    ingested(force=True)
    assert published(system) == [("hashing", 2, 4)]
    assert len(list(system.index.open("nepali_docs", "hashing").points())) == 4
