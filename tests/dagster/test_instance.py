"""The instance of a home: rendered from the root file, kept when edited, fast and the same files."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
import yaml

from jobs.instance import home_for, instance_for, template
from rag_platform.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings.load(None, RAG_HOME=tmp_path / "घर")


def test_the_root_file_needs_no_environment() -> None:
    content = yaml.safe_load(template())
    assert "env:" not in yaml.safe_dump(content)
    assert content["storage"] == {"sqlite": {"base_dir": ".rag/dagster"}}
    assert content["telemetry"] == {"enabled": False}


def test_every_path_lies_below_the_home(settings: Settings) -> None:
    home = home_for(settings)
    assert home == settings.home / "dagster"
    content = yaml.safe_load((home / "dagster.yaml").read_text("utf-8"))
    assert content["storage"]["sqlite"]["base_dir"] == str(home)
    assert content["compute_logs"]["config"]["base_dir"] == str(home / "storage")
    assert ".rag" not in yaml.safe_dump(content)


def test_dagster_accepts_it(settings: Settings) -> None:
    with dg.DagsterInstance.from_config(str(home_for(settings))) as instance:
        assert not instance.telemetry_enabled
        concurrency = instance.get_concurrency_config()
        assert concurrency.run_queue_config is not None
        assert concurrency.run_queue_config.max_concurrent_runs == 2
        assert concurrency.pool_config.default_pool_limit == 1


def test_a_changed_template_is_rendered_again_but_an_edited_file_stays(settings: Settings) -> None:
    file = home_for(settings) / "dagster.yaml"
    first = file.read_text("utf-8")
    file.write_text(first.replace("max_concurrent_runs: 2", "max_concurrent_runs: 9"), "utf-8")
    home_for(settings)
    assert file.read_text("utf-8") == first
    own = "telemetry:\n  enabled: false\n"
    file.write_text(own, "utf-8")
    home_for(settings)
    assert file.read_text("utf-8") == own


def test_what_this_process_records_the_daemons_storage_reads(settings: Settings) -> None:
    @dg.asset
    def numbers() -> dg.MaterializeResult[None]:
        return dg.MaterializeResult(metadata={"n": 3})

    with instance_for(settings) as instance:
        assert dg.materialize([numbers], instance=instance).success
        instance.add_dynamic_partitions("documents", ["ऐन-1"])
    with dg.DagsterInstance.from_config(str(home_for(settings))) as instance:
        event = instance.get_latest_materialization_event(numbers.key)
        assert event is not None
        assert event.asset_materialization is not None
        assert event.asset_materialization.metadata["n"].value == 3
        assert instance.get_dynamic_partitions("documents") == ["ऐन-1"]
        (run,) = instance.get_runs()
        assert run.status == dg.DagsterRunStatus.SUCCESS
        assert instance.all_logs(run.run_id)
