"""The sweep as assets: the grid as partitions, one lineage, cells and leaderboard on a real instance."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
from sweeping_set import write_set

from assets.partitions import MODELS
from assets.platform import Platform
from assets.sweep import SWEEP, sweep_partitions
from definitions import defs
from jobs.asset_jobs import sweep_over
from jobs.claims import new_owner
from jobs.instance import instance_for
from jobs.ranges import KeyRange
from jobs.run import execute
from jobs.sweep import sweep
from rag_platform.evaluation.results import last_used
from rag_platform.settings_defaults import SWEEP_EMBEDDERS, SWEEP_RERANKERS
from rag_platform.sweeping.request import SweepRequest
from rag_platform.system import System

ROOT = Path(__file__).parents[2]


def told(event: dg.AssetMaterialization) -> dict[str, object]:
    return {name: value.value for name, value in event.metadata.items()}


KEEPS_UP = dg.AssetCheckKey(dg.AssetKey("leaderboard"), "keeps_up")


def test_the_grid_has_thirty_keys_and_one_lineage() -> None:
    graph = defs.resolve_asset_graph()
    cells = graph.get(dg.AssetKey("sweep_cells"))
    assert isinstance(cells.partitions_def, dg.MultiPartitionsDefinition)
    keys = cells.partitions_def.get_partition_keys()
    assert len(keys) == len(SWEEP_EMBEDDERS) * len(SWEEP_RERANKERS) == 30
    assert "BAAI--bge-m3|BAAI--bge-reranker-v2-m3" in keys
    assert "intfloat--multilingual-e5-small|Qwen--Qwen3-Reranker-0.6B" in keys
    above = graph.get_ancestor_asset_keys(dg.AssetKey("leaderboard"), include_self=False)
    names = {key.to_user_string() for key in above}
    assert names == {"raw_documents", "pages", "chunks", "embeddings", "collections", "sweep_cells"}
    assert len(SWEEP) == 2
    mapping = cells.partition_mappings[dg.AssetKey("collections")]
    mapped = mapping.get_upstream_mapped_partitions_result_for_partitions(
        cells.partitions_def.subset_with_partition_keys(keys[:1]), cells.partitions_def, MODELS
    )
    needed = mapped.partitions_subset.get_partition_keys()
    assert set(needed) == set(SWEEP_EMBEDDERS) < set(MODELS.get_partition_keys()), (
        "of the grid's models alone"
    )
    assert defs.resolve_job_def("sweep").executor_def is dg.in_process_executor


def test_another_grid_comes_from_the_settings() -> None:
    partitions = sweep_partitions(["hashing", "BAAI/bge-m3"], ["none"])
    assert partitions.get_partition_keys() == ["hashing|none", "BAAI--bge-m3|none"]
    script = "from assets.sweep import SWEEP; print(SWEEP[0].partitions_def.get_partition_keys())"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env={
            **os.environ,
            "RAG_SWEEP_EMBEDDERS": "hashing, multilingual-e5-small",
            "RAG_SWEEP_RERANKERS": "none",
            "PYTHONPATH": str(ROOT),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "['hashing|none', 'intfloat--multilingual-e5-small|none']"


def test_a_sweep_is_runs_of_the_pipeline_and_one_of_the_cells(system: System, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set")
    request = SweepRequest(str(folder), variants={"lexical": {"mode": "lexical"}}, note="पहिलो पटक")
    steps: list[str] = []

    def tell(step: str, done: int, of: int) -> None:
        steps.append(step)

    with instance_for(system.settings) as instance:
        done = sweep(system, instance, request, ["hashing", "bge-m3"], ["none"], tell=tell)
        assert dict(done.done) == {"searches": 8, "answers": len(done.run.answers()["fingerprint"].unique())}
        assert {"embedding questions", "searching", "scoring cells"} <= set(steps)
        jobs = [run.job_name for run in reversed(instance.get_runs())]
        assert jobs == ["documents", "embed", "publish", "sweep"]
        event = instance.get_latest_materialization_event(dg.AssetKey("leaderboard"))
        assert event is not None
        assert event.asset_materialization is not None
        board = told(event.asset_materialization)
        assert (board["run_id"], board["cells"], board["best nDCG@10"]) == (done.run.run_id, 4, 1.0)
        checks = instance.event_log_storage.get_asset_check_execution_history(KEEPS_UP, limit=10)
        assert [check.status.value for check in checks] == ["SUCCEEDED"]
        cells = {
            record.partition_key: told(record.asset_materialization)
            for record in instance.fetch_materializations(dg.AssetKey("sweep_cells"), limit=10).records
            if record.asset_materialization
        }
        assert set(cells) == {"hashing|none", "BAAI--bge-m3|none"}
        good, bad = cells["hashing|none"], cells["BAAI--bge-m3|none"]
        assert (good["status"], good["nDCG@10"], good["hit@1 (lexical)"]) == ("complete", 1.0, 1.0)
        assert bad["status"] == "unavailable"
        assert "hf download" in str(bad["reason"])
        assert (good["cells_complete"], good["cells_unavailable"]) == (2, 2)
        assert "measures that need a judge were left out" in str(good["judge"])

        again = sweep(system, instance, request, ["hashing", "bge-m3"], ["none"], tell=tell)
        assert (again.run.run_id, dict(again.done)) == (done.run.run_id, {})
        assert instance.get_runs_count() == 4, "nothing was left to do, so no run was made"


def test_cells_launched_alone_bring_what_they_need(
    system: System, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    """As from the UI: one partition, the set named in its configuration."""
    folder = write_set(tmp_path / "set")
    ops = {"sweep_cells": {"config": {"dataset": str(folder), "generator": "none"}}}
    for _ in range(2):
        result = execute(
            sweep_over(["hashing"], ["none"]),
            KeyRange("hashing|none", "hashing|none"),
            instance=instance,
            owner=new_owner("cli"),
            platform=Platform(system),
            ops=ops,
        )
        assert result.success
    run = last_used(system.home)
    assert (run.dataset, run.generator) == ("set", "none")
    (cell,) = run.cells().to_dict("records")
    assert cell["status"] == "complete"
    about = json.loads((run.folder / "run.json").read_text("utf-8"))
    assert about["embedding_models"] == ["hashing"]
