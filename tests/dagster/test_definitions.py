"""The definitions load from a bare environment, hold what the documents promise, and read no setting."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from assets.partitions import DOCUMENT_X_MODEL, DOCUMENTS, MODELS
from definitions import build_defs, defs
from rag_platform.embedding.catalogue import ENCODERS

ROOT = Path(__file__).parents[2]


def test_everything_is_loadable() -> None:
    dg.Definitions.validate_loadable(defs)
    repository = defs.get_repository_def()
    assert {"documents", "embed", "publish", "reindex"} <= {job.name for job in repository.get_all_jobs()}
    running = {sensor.name for sensor in repository.sensor_defs if sensor.default_status.value == "RUNNING"}
    assert {"inbox_sensor", "documents_done", "embeddings_done", "run_failed", "lost_runs"} <= running
    schedules = {schedule.name for schedule in repository.schedule_defs}
    assert schedules == {"reconcile_documents", "reconcile_embeddings", "reconcile_collections"}


def test_the_graph_is_partitioned_as_documented() -> None:
    graph = defs.resolve_asset_graph()
    expected = {
        "raw_documents": DOCUMENTS,
        "pages": DOCUMENTS,
        "chunks": DOCUMENTS,
        "embeddings": DOCUMENT_X_MODEL,
        "collections": MODELS,
    }
    others = {"sweep_cells", "leaderboard"}  # in test_sweep
    assert {key.to_user_string() for key in graph.materializable_asset_keys} == set(expected) | others
    for name, partitions in expected.items():
        node = graph.get(dg.AssetKey(name))
        assert node.partitions_def == partitions
        assert node.backfill_policy == dg.BackfillPolicy.single_run()
        assert node.group_name == "ingestion", "one box of the lineage graph from the file to the collection"
    assert MODELS.get_partition_keys() == list(ENCODERS)
    assert list(ENCODERS)[:2] == ["hashing", "intfloat/multilingual-e5-small"], "side by side: one rectangle"


def test_every_column_is_described() -> None:
    graph = defs.resolve_asset_graph()
    for name in ("raw_documents", "pages", "chunks", "embeddings"):
        schema = graph.get(dg.AssetKey(name)).metadata["dagster/column_schema"]
        assert isinstance(schema, dg.TableSchema)
        assert schema.columns
        assert all(column.description for column in schema.columns)


def test_resources_can_be_replaced() -> None:
    stand_in = dg.ResourceDefinition.hardcoded_resource("another")
    assert build_defs({"platform": stand_in}).resources["platform"] is stand_in  # type: ignore[index]


def test_a_fresh_clone_loads_without_any_variable(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    for name in ("rag_platform", "assets", "jobs", "sensors"):
        shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("definitions.py", "dagster.yaml", "workspace.yaml", "pyproject.toml"):
        shutil.copy(ROOT / name, clone / name)
    done = subprocess.run(
        [sys.executable, "-m", "dagster", "definitions", "validate"],
        cwd=clone,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All code locations passed validation" in done.stdout + done.stderr
    assert not (clone / ".rag" / "catalog.sqlite").exists(), "loading reads no setting and creates no home"


@pytest.mark.parametrize("job", ["documents", "embed", "publish", "reindex"])
def test_jobs_run_in_one_process(job: str) -> None:
    assert defs.resolve_job_def(job).executor_def is dg.in_process_executor
