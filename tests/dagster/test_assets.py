"""The assets on real files: ranges in one run, metadata on each partition, nothing done twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import dagster as dg
import pandas as pd
import pytest
from support import TEXTS

from assets.metadata import annotate
from assets.platform import Platform
from jobs.asset_jobs import resolved
from rag_platform import pipeline
from rag_platform.errors import Busy
from rag_platform.system import System

Claim = Callable[[Mapping[str, str]], list[str]]
Run = Callable[..., dg.ExecuteInProcessResult]


def metadata_of(result: dg.ExecuteInProcessResult, asset: str) -> dict[str | None, dict[str, object]]:
    """Return partition -> metadata of an asset's events."""
    return {
        event.materialization.partition: {k: v.value for k, v in event.materialization.metadata.items()}
        for event in result.get_asset_materialization_events()
        if event.materialization.asset_key == dg.AssetKey(asset)
    }


def test_a_range_is_one_run_and_says_what_it_made(
    claimed: Claim, run: Run, system: System, instance: dg.DagsterInstance
) -> None:
    keys = claimed(TEXTS)
    documents = run("documents", keys[0], keys[-1])
    embed = run("embed", f"{keys[0]}|hashing", f"{keys[-1]}|hashing")
    publish = run("publish", "hashing", "hashing")
    assert [made.job_name for made in reversed(instance.get_runs())] == ["documents", "embed", "publish"]

    by_source = {str(about["source"]): about for about in metadata_of(documents, "chunks").values()}
    assert set(by_source) == set(TEXTS)
    health = by_source["health.txt"]
    assert health["bytes"] == len(TEXTS["health.txt"].encode())
    assert (health["format"], health["status"], health["pages"], health["chunks"]) == ("txt", "ok", 1, 1)
    assert (health["dagster/row_count"], health["run_rows"], health["run_documents_done"]) == (1, 4, 4)

    pages = metadata_of(documents, "pages")[keys[0]]
    assert (pages["ocr_share"], pages["confidence"], pages["suspect_pages"]) == (0.0, 1.0, 0)
    table = pd.read_parquet(str(pages["path"]))
    assert table["source"].unique().tolist() == [pages["source"]]
    preview = pages["preview"]
    assert preview.records[0].data["text"].startswith(table["text"][0][:40])  # type: ignore[attr-defined]

    vectors = metadata_of(embed, "embeddings")[f"{keys[0]}|hashing"]
    assert (vectors["model"], vectors["dim"]) == ("hashing", system.encoder("hashing").dim)

    manifest = system.index.current("nepali_docs", "hashing")
    assert manifest is not None
    (corpora,) = metadata_of(publish, "collections").values()
    (row,) = corpora["published"].records  # type: ignore[attr-defined]
    assert row.data == {
        "collection": "nepali_docs",
        "generation": 1,
        "points": 4,
        "documents": 4,
        "alias": manifest.alias,
        "address": manifest.address,
        "changed": True,
    }


def test_a_part_of_the_keys_leaves_the_others_alone(claimed: Claim, run: Run, system: System) -> None:
    keys = claimed(TEXTS)
    result = run("documents", keys[1], keys[2])
    assert set(metadata_of(result, "chunks")) == {keys[1], keys[2]}
    status = {entry.partition: entry.status for entry in system.catalog.entries()}
    assert [status[key] for key in keys] == ["pending", "ok", "ok", "pending"]


def test_two_models_are_one_rectangle(claimed: Claim, run: Run, instance: dg.DagsterInstance) -> None:
    keys = claimed({"एक.txt": "पहिलो सूचना।", "दुई.txt": "दोस्रो सूचना।"})
    run("documents", keys[0], keys[-1])
    second = "intfloat/multilingual-e5-small"
    result = run("embed", f"{keys[0]}|hashing", f"{keys[-1]}|{second}")
    made = metadata_of(result, "embeddings")
    assert set(made) == {f"{key}|{model}" for key in keys for model in ("hashing", second)}
    assert made[f"{keys[0]}|{second}"]["dim"] == 384
    assert instance.get_runs_count() == 2


def test_a_second_run_does_nothing(claimed: Claim, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = claimed(TEXTS)
    run("documents", keys[0], keys[-1])

    def must_not_run(*_: object, **__: object) -> None:
        raise AssertionError("parsed again")

    monkeypatch.setattr("rag_platform.pipeline.parse_all", must_not_run)
    again = run("documents", keys[0], keys[-1])
    totals = metadata_of(again, "pages")[keys[0]]
    assert (totals["run_documents_done"], totals["run_documents_unchanged"]) == (0, 4)


def test_a_bad_document_is_named_and_the_others_go_on(claimed: Claim, run: Run, system: System) -> None:
    keys = claimed({**TEXTS, "खाली.txt": "", "पुरानो.doc": "doc"})
    made = metadata_of(run("documents", keys[0], keys[-1]), "pages")
    by_source = {about["source"]: about for about in made.values()}
    assert by_source["खाली.txt"]["status"] == "failed"
    assert "empty_file" in str(by_source["खाली.txt"]["failure"])
    assert by_source["health.txt"]["status"] == "pending", "its chunks come with the next asset"
    totals = by_source["health.txt"]
    assert (totals["run_documents_failed"], totals["run_documents_done"]) == (2, 4)
    named = {record.data["source"] for record in totals["run_failures"].records}  # type: ignore[attr-defined]
    assert named == {"खाली.txt", "पुरानो.doc"}
    assert sum(entry.status == "ok" for entry in system.catalog.entries()) == 4


def test_a_programmers_error_stops_the_run(
    claimed: Claim, run: Run, monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance
) -> None:
    keys = claimed(TEXTS)

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr("rag_platform.pipeline.chunk_document", broken)
    with pytest.raises(ZeroDivisionError, match="a fault of ours"):
        run("documents", keys[0], keys[-1])
    assert instance.get_runs()[0].status == dg.DagsterRunStatus.FAILURE


def test_reindex_builds_from_nothing(
    claimed: Claim, run: Run, system: System, instance: dg.DagsterInstance
) -> None:
    keys = claimed(TEXTS)
    run("documents", keys[0], keys[-1])
    run("embed", f"{keys[0]}|hashing", f"{keys[-1]}|hashing")
    run("publish", "hashing", "hashing")
    run("publish", "hashing", "hashing")
    assert [m.generation for m in system.index.published()] == [1], "publishing what is current does nothing"
    resolved("reindex").execute_in_process(
        instance=instance, partition_key="hashing", resources={"platform": Platform(system)}
    )
    assert [(m.generation, m.points) for m in system.index.published()] == [(2, 4)]


def test_publishing_waits_for_another_publisher(
    claimed: Claim, run: Run, system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = claimed(TEXTS)
    run("documents", keys[0], keys[-1])
    run("embed", f"{keys[0]}|hashing", f"{keys[-1]}|hashing")
    real, tries = pipeline.publish, []

    def busy_twice(*arguments: object, **options: object) -> object:
        tries.append(1)
        if len(tries) < 3:
            raise Busy("another process publishes nepali_docs; repeat when it is done")
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("rag_platform.pipeline.publish", busy_twice)
    monkeypatch.setattr("assets.collections._WAIT_S", 0.05)
    assert run("publish", "hashing", "hashing").success
    assert len(tries) == 3
    assert [m.points for m in system.index.published()] == [4]


def test_a_publisher_that_never_ends_is_an_error(
    claimed: Claim, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed(TEXTS)
    tries = []

    def busy(*_: object, **__: object) -> None:
        tries.append(1)
        raise Busy("another process publishes nepali_docs; repeat when it is done")

    monkeypatch.setattr("rag_platform.pipeline.publish", busy)
    monkeypatch.setattr("assets.collections._WAIT_S", 0.05)
    with pytest.raises(Busy, match="another process publishes"):
        run("publish", "hashing", "hashing")
    assert len(tries) == 6


def test_the_key_of_a_deleted_document_goes_with_its_points(
    claimed: Claim, run: Run, system: System, instance: dg.DagsterInstance
) -> None:
    keys = claimed(TEXTS)
    run("documents", keys[0], keys[-1])
    run("embed", f"{keys[0]}|hashing", f"{keys[-1]}|hashing")
    run("publish", "hashing", "hashing")
    gone = system.catalog.entry("nepali_docs", "health.txt")
    system.inbox.remove("nepali_docs", "health.txt")
    claimed({})
    run("publish", "hashing", "hashing")
    assert [m.points for m in system.index.published()] == [3]
    assert instance.get_dynamic_partitions("documents") == [key for key in keys if key != gone.partition]


@pytest.mark.parametrize("moved", [False, True], ids=["at once", "the public way"])
def test_each_partition_gets_its_own_metadata(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, moved: bool
) -> None:
    kinds = dg.StaticPartitionsDefinition(["ऐन", "नियम", "सूचना"])
    if moved:
        monkeypatch.setattr("assets.metadata._accumulator", lambda _: None)

    @dg.asset(partitions_def=kinds)
    def texts(context):  # type: ignore[no-untyped-def]
        annotate(context, {key: {"letters": len(key)} for key in context.partition_keys})
        return dg.MaterializeResult(metadata={"all": 3})

    tags = {"dagster/asset_partition_range_start": "ऐन", "dagster/asset_partition_range_end": "सूचना"}
    result = dg.materialize([texts], instance=instance, tags=tags)
    assert metadata_of(result, "texts") == {
        "ऐन": {"all": 3, "letters": 2},
        "नियम": {"all": 3, "letters": 4},
        "सूचना": {"all": 3, "letters": 5},
    }
