"""Every check passes on good data and fails, with the reason, on what it is there to find."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import TEXTS

from assets.checks import CHECKS, drift
from assets.platform import Platform
from jobs.asset_jobs import ASSETS
from rag_platform.system import System

Claim = Callable[[Mapping[str, str]], list[str]]
Run = Callable[..., dg.ExecuteInProcessResult]
Found = Mapping[str, dg.AssetCheckEvaluation]


@pytest.fixture
def keys(claimed: Claim, run: Run) -> list[str]:
    """Bring four documents to a published collection."""
    keys = claimed(TEXTS)
    run("documents", keys[0], keys[-1])
    run("embed", f"{keys[0]}|hashing", f"{keys[-1]}|hashing")
    run("publish", "hashing", "hashing")
    return keys


@pytest.fixture
def checks(system: System, instance: dg.DagsterInstance) -> Callable[[], Found]:
    """Return a function that runs all checks on their own, over everything."""

    def evaluate() -> Found:
        job = dg.define_asset_job("checks", selection=dg.AssetSelection.checks(*CHECKS))
        definitions = dg.Definitions(
            assets=ASSETS, asset_checks=CHECKS, jobs=[job], resources={"platform": Platform(system)}
        )
        result = definitions.resolve_job_def("checks").execute_in_process(instance=instance)
        return {found.check_name: found for found in result.get_asset_check_evaluations()}

    return evaluate


def value(found: dg.AssetCheckEvaluation, name: str) -> object:
    return found.metadata[name].value


def test_all_pass_on_good_data(keys: list[str], checks: Callable[[], Found]) -> None:
    found = checks()
    assert {name: one.passed for name, one in found.items()} == dict.fromkeys(
        [
            "raw_documents_schema",
            "pages_schema",
            "chunks_schema",
            "embeddings_schema",
            "pages_complete",
            "documents_healthy",
            "collections_hold_live_chunks",
            "keeps_up",
        ],
        True,
    )
    for table in ("raw_documents", "pages", "chunks", "embeddings"):
        assert (value(found[f"{table}_schema"], "files"), value(found[f"{table}_schema"], "rows")) == (4, 4)


def test_they_run_with_the_job_over_its_keys(claimed: Claim, run: Run) -> None:
    keys = claimed(TEXTS)
    found = {one.check_name: one for one in run("documents", keys[0], keys[1]).get_asset_check_evaluations()}
    schemas = {"raw_documents_schema", "pages_schema", "chunks_schema"}
    assert set(found) == {*schemas, "pages_complete", "documents_healthy"}
    assert value(found["pages_schema"], "files") == 2
    assert value(found["documents_healthy"], "documents") == 4, "it looks at all of them"


@pytest.mark.parametrize("table", ["raw_documents", "pages", "chunks", "embeddings"])
def test_a_missing_column_is_found(
    table: str, keys: list[str], system: System, checks: Callable[[], Found]
) -> None:
    path = system.tables.path("embeddings/hashing" if table == "embeddings" else table, keys[2])
    rows = pq.read_table(path)
    pq.write_table(rows.drop_columns([rows.column_names[-1]]), path)
    found = checks()
    broken = {name for name, one in found.items() if not one.passed and name.endswith("_schema")}
    assert broken == {f"{table}_schema"}
    (record,) = value(found[f"{table}_schema"], "broken_files").records  # type: ignore[attr-defined]
    assert str(record.data["partition"]).startswith(keys[2])
    assert "expected columns" in str(record.data["problem"])


def test_nulls_wrong_types_and_damage_are_found(
    keys: list[str], system: System, checks: Callable[[], Found]
) -> None:
    hole, retyped, damaged = (system.tables.path("pages", key) for key in keys[:3])
    rows = pq.read_table(hole)
    nothing = pa.array([None] * rows.num_rows, pa.string())
    index = rows.schema.get_field_index("source")
    pq.write_table(rows.set_column(index, "source", nothing), hole)
    rows = pq.read_table(retyped)
    index = rows.schema.get_field_index("page_no")
    pq.write_table(rows.set_column(index, "page_no", rows["page_no"].cast(pa.int64())), retyped)
    damaged.write_bytes(damaged.read_bytes()[:-100])
    found = checks()["pages_schema"]
    assert not found.passed
    assert value(found, "problems") == 3


def test_a_page_whose_row_is_gone_is_an_error(
    keys: list[str], system: System, checks: Callable[[], Found]
) -> None:
    path = system.tables.path("pages", keys[1])
    rows = pq.read_table(path)
    pq.write_table(rows.slice(0, 0).replace_schema_metadata(rows.schema.metadata), path)
    found = checks()["pages_complete"]
    assert not found.passed
    assert found.severity == dg.AssetCheckSeverity.ERROR
    assert (value(found, "pages_expected"), value(found, "pages_extracted")) == (4, 3)
    assert (value(found, "pages_lost"), value(found, "documents_incomplete")) == (1, 1)
    (record,) = value(found, "incomplete").records  # type: ignore[attr-defined]
    lost = system.catalog.entries(partitions=[keys[1]])[0]
    assert record.data == {
        "collection": "nepali_docs",
        "source": lost.source,
        "expected": 1,
        "extracted": 0,
        "lost": "1",
        "uncounted": "",
    }


def test_a_failed_document_is_a_warning_with_its_reason(
    claimed: Claim, run: Run, checks: Callable[[], Found]
) -> None:
    keys = claimed({**TEXTS, "खाली.txt": ""})
    run("documents", keys[0], keys[-1])
    found = checks()["documents_healthy"]
    assert not found.passed
    assert found.severity == dg.AssetCheckSeverity.WARN
    (record,) = value(found, "failures").records  # type: ignore[attr-defined]
    assert (record.data["source"], record.data["code"]) == ("खाली.txt", "empty_file")
    (evaluation,) = (
        one
        for one in run("documents", keys[0], keys[0]).get_asset_check_evaluations()
        if one.check_name == "documents_healthy"
    )
    assert not evaluation.passed, "a run of others does not hide it"


def test_points_of_a_deleted_document_are_an_error(
    keys: list[str], system: System, checks: Callable[[], Found]
) -> None:
    system.catalog.tombstone(system.catalog.entry("nepali_docs", "health.txt").document_id)
    found = checks()["collections_hold_live_chunks"]
    assert not found.passed
    assert found.severity == dg.AssetCheckSeverity.ERROR
    assert (value(found, "foreign"), value(found, "missing")) == (1, 0)


def test_chunks_that_are_not_published_are_a_warning(
    keys: list[str], claimed: Claim, run: Run, checks: Callable[[], Found]
) -> None:
    order = claimed({"नयाँ.txt": "आज नयाँ सूचना प्रकाशित भयो।"})
    run("documents", order[-1], order[-1])
    found = checks()["collections_hold_live_chunks"]
    assert not found.passed
    assert found.severity == dg.AssetCheckSeverity.WARN
    assert (value(found, "foreign"), value(found, "missing")) == (0, 1)


def test_every_named_corpus_is_compared(keys: list[str], system: System, claimed: Claim, run: Run) -> None:
    system.catalog.create_collection("kanun")
    folder = system.inbox.folder("kanun")
    folder.mkdir()
    (folder / "ऐन.txt").write_text("यो ऐन तुरुन्त प्रारम्भ हुनेछ।", encoding="utf-8")
    order = claimed({})
    run("documents", order[-1], order[-1])
    assert {(one.collection, one.live, one.points) for one in drift(system, "hashing")} == {
        ("nepali_docs", 4, 4),
        ("kanun", 1, 0),
    }
    run("embed", f"{order[-1]}|hashing", f"{order[-1]}|hashing")
    run("publish", "hashing", "hashing")
    assert {(one.collection, one.live, one.points) for one in drift(system, "hashing")} == {
        ("nepali_docs", 4, 4),
        ("kanun", 1, 1),
    }
