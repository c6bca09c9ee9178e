"""The main job by the library alone: dropped files become a searched collection, on both engines."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from qdrant_client import QdrantClient
from support import TEXTS, drop, ingest, point_set

from rag_platform import pipeline
from rag_platform.index.qdrant import QdrantIndex
from rag_platform.protocols import CollectionReader
from rag_platform.system import System

# The in-memory engine says that it searches exactly and has no use for the search width a server reads.
pytestmark = pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning")

MODEL, COLLECTION = "hashing", "nepali_docs"


@pytest.fixture(params=["edge", "qdrant"])
def system(request: pytest.FixtureRequest, make_system: Callable[..., System], tmp_path: Path) -> System:
    if request.param == "edge":
        return make_system()
    return make_system(QdrantIndex(QdrantClient(":memory:"), tmp_path / "home" / "collections"))


def reader(system: System) -> CollectionReader:
    return system.index.open(COLLECTION, MODEL)


def search(system: System, query: str) -> list[str]:
    result = system.searcher.search(query, collection=COLLECTION, model=MODEL)
    return [hit.chunk.source for hit in result.hits]


def test_dropped_files_are_found(system: System) -> None:
    drop(system, TEXTS)
    ingest(system)
    assert {e.source: e.status for e in system.catalog.entries()} == dict.fromkeys(TEXTS, "ok")
    assert search(system, "सम्पत्ति कर कहिलेसम्म तिर्ने?")[0] == "कर सूचना.txt"
    assert search(system, "boil water")[0] == "health.txt"
    assert search(system, "बाघ भैरव मन्दिर")[0] == "इतिहास.html"
    manifest = reader(system).manifest
    assert (manifest.generation, manifest.points) == (1, len(TEXTS))


def test_a_second_ingest_does_nothing(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    drop(system, TEXTS)
    ingest(system)
    before = point_set(reader(system))

    def must_not_run(*_: object, **__: object) -> None:
        raise AssertionError("parsed or embedded again")

    monkeypatch.setattr("rag_platform.pipeline.parse_all", must_not_run)
    monkeypatch.setattr("rag_platform.pipeline.embed_chunks", must_not_run)
    assert not pipeline.plan(system, [MODEL])
    everything = [entry.partition for entry in system.catalog.entries()]
    for stage in (pipeline.raw_documents, pipeline.pages, pipeline.chunks):
        assert stage(system, everything).n_unchanged == len(TEXTS)
    assert pipeline.embeddings(system, everything, MODEL).n_unchanged == len(TEXTS)
    assert [done.changed for done in pipeline.publish(system, MODEL)] == [False]
    assert point_set(reader(system)) == before


def test_a_changed_document_touches_only_its_own_chunks(system: System) -> None:
    drop(system, TEXTS)
    ingest(system)
    before = {str(point[0].source): point for point in point_set(reader(system))}
    drop(system, {"health.txt": "Boil water for three minutes at high altitude."})
    reports = ingest(system)
    assert [outcome.source for outcome in reports["pages"].outcomes] == ["health.txt"]
    after = {str(point[0].source): point for point in point_set(reader(system))}
    assert after.keys() == before.keys()
    assert {source for source in after if after[source] != before[source]} == {"health.txt"}
    assert after["health.txt"][0].document_id == before["health.txt"][0].document_id


def test_a_renamed_file_is_not_parsed_or_embedded_again(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop(system, TEXTS)
    ingest(system)
    old = system.inbox.path(COLLECTION, "health.txt")
    (old.parent / "पानी").mkdir()
    old.rename(old.parent / "पानी" / "सफा पानी.txt")

    def must_not_run(jobs: list[object], *_: object, **__: object) -> list[object]:
        assert not jobs, "parsed again"
        return []

    monkeypatch.setattr("rag_platform.pipeline.parse_all", must_not_run)
    monkeypatch.setattr("rag_platform.embedding.hashing.HashingEncoder.encode", must_not_run)
    ingest(system)
    sources = {str(point[0].source) for point in point_set(reader(system))}
    assert sources == {*TEXTS.keys()} - {"health.txt"} | {"पानी/सफा पानी.txt"}


def test_a_vanished_file_leaves_no_points(system: System) -> None:
    drop(system, TEXTS)
    ingest(system)
    system.inbox.path(COLLECTION, "health.txt").unlink()
    ingest(system)
    assert "health.txt" not in {str(point[0].source) for point in point_set(reader(system))}
    assert [e.status for e in system.catalog.entries(deleted=True) if e.deleted] == ["deleted"]


def test_the_last_document_can_be_deleted(system: System) -> None:
    drop(system, {"a.txt": "एउटा मात्र कागजात।"})
    ingest(system)
    pipeline.delete(system, COLLECTION, "a.txt")
    ingest(system)
    assert point_set(reader(system)) == []
    assert search(system, "कागजात") == []


BAD: Mapping[str, tuple[bytes, str, str]] = {
    "खाली.txt": (b"", "failed", "empty"),
    "पुरानो.doc": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "unsupported", "doc"),
    "काटिएको.pdf": (b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog", "failed", ""),
    "चित्र.xyz": (b"\x89\x00\x01\x02\xff\xfe\x00" * 50, "unsupported", ""),
}


def test_bad_documents_fail_alone_and_say_why(system: System) -> None:
    drop(system, TEXTS)
    for name, (content, _, _) in BAD.items():
        system.inbox.path(COLLECTION, name).write_bytes(content)
    ingest(system)
    entries = {entry.source: entry for entry in system.catalog.entries()}
    for name, (_, status, word) in BAD.items():
        failure = entries[name].failure
        assert failure is not None, name
        assert (entries[name].status, word in failure.message.lower()) == (status, True), failure
    assert {name for name, entry in entries.items() if entry.status == "ok"} == set(TEXTS)
    assert not pipeline.plan(system, [MODEL]), "a final failure is not tried again"


def test_whitespace_alone_is_empty_not_ok(system: System) -> None:
    drop(system, {"खाली ठाउँ.txt": "\ufeff \u00a0\u200b\n\n"})
    ingest(system)
    assert [entry.status for entry in system.catalog.entries()] == ["empty"]


def test_a_document_that_turns_bad_leaves_the_collection_and_comes_back(system: System) -> None:
    drop(system, TEXTS)
    ingest(system)
    path = system.inbox.path(COLLECTION, "health.txt")
    path.write_bytes(b"")
    ingest(system)
    assert "health.txt" not in {str(point[0].source) for point in point_set(reader(system))}
    drop(system, {"health.txt": TEXTS["health.txt"]})
    ingest(system)
    assert "health.txt" in {str(point[0].source) for point in point_set(reader(system))}


def test_another_chunk_size_redoes_chunks_but_no_page(
    make_system: Callable[..., System], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make_system()
    drop(first, {"लामो.txt": "सुनकोशी नगरपालिकाको बजेट सार्वजनिक भयो। " * 60})
    ingest(first)
    n_before = reader(first).count()
    second = make_system(CHUNK_SIZE=64)
    todo = pipeline.plan(second, [MODEL])
    assert len(todo.documents) == 1

    def must_not_run(*_: object, **__: object) -> None:
        raise AssertionError("parsed again")

    assert pipeline.pages(second, todo.documents).n_unchanged == 1
    monkeypatch.setattr("rag_platform.pipeline.parse_all", must_not_run)
    ingest(second)
    assert reader(second).count() > n_before
    assert max(point.chunk.token_count for point in reader(second).points()) <= 64


def test_force_makes_the_same_points_again(system: System) -> None:
    drop(system, TEXTS)
    ingest(system)
    before = point_set(reader(system))
    pipeline.forget(system, system.catalog.entries())
    reports = ingest(system)
    assert reports["pages"].n_done == len(TEXTS)
    assert point_set(reader(system)) == before


def test_collections_are_separate_corpora(system: System) -> None:
    drop(system, TEXTS)
    system.catalog.create_collection("courts")
    path = system.inbox.path("courts", "फैसला.txt")
    path.parent.mkdir()
    path.write_text("सर्वोच्च अदालतको फैसला।", encoding="utf-8")
    ingest(system)
    manifests = {(m.collection, m.points) for m in system.index.published()}
    assert manifests == {(COLLECTION, len(TEXTS)), ("courts", 1)}
    result = system.searcher.search("फैसला", collection="courts", model=MODEL)
    assert [hit.chunk.source for hit in result.hits] == ["फैसला.txt"]


def test_a_deleted_document_is_purged_after_its_time(system: System) -> None:
    drop(system, TEXTS)
    ingest(system)
    entry = pipeline.delete(system, COLLECTION, "health.txt")
    ingest(system)
    assert pipeline.purge(system, before=time.time() - 3600) == 0
    assert system.raw.path(entry.content_sha256).exists()
    assert pipeline.purge(system, before=time.time() + 1) == 1
    assert not system.raw.path(entry.content_sha256).exists()
    assert not system.tables.path("pages", entry.partition).exists()
    assert "health.txt" not in {e.source for e in system.catalog.entries(deleted=True)}


def test_incremental_publishing_equals_a_clean_rebuild(
    system: System, make_system: Callable[..., System]
) -> None:
    drop(system, TEXTS)
    ingest(system)
    drop(system, {"health.txt": "Wash your hands.", "नयाँ.txt": "नयाँ सूचना प्रकाशित भयो।"})
    system.inbox.path(COLLECTION, "इतिहास.html").unlink()
    ingest(system)
    step_by_step = point_set(reader(system))
    pipeline.publish(system, MODEL, rebuild=True)
    assert point_set(reader(system)) == step_by_step


def test_a_lost_table_is_made_again_by_force(system: System) -> None:
    drop(system, TEXTS)
    ingest(system)
    before = point_set(reader(system))
    shutil.rmtree(system.tables.root)
    pipeline.forget(system, system.catalog.entries())
    ingest(system)
    assert point_set(reader(system)) == before


def test_damaged_tables_are_made_again_by_force(system: System) -> None:
    drop(system, TEXTS)
    ingest(system)
    before = point_set(reader(system))
    for path in system.tables.root.rglob("*.parquet"):
        path.write_bytes(b"garbage")
    pipeline.forget(system, system.catalog.entries())
    ingest(system)
    assert point_set(reader(system)) == before
