"""The guide to operations and the examples beside it name the metrics that there are, and no other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from http_service import ingested

from rag_platform.watching import Call
from serving.metrics import Metrics
from serving.service import Service
from serving.watch import Watched

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def read(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / name).read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="module")
def labels_of(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Return the labels of each series, counters with their ending."""
    system = ingested(tmp_path_factory.mktemp("named"))
    metrics = Metrics()
    metrics.service = Service(system)
    metrics.service.ingestions.start()
    metrics.called(Call("llm", "ollama", 0.1, "200"))
    metrics.spent("dense", 1.0)
    metrics.began()
    metrics.ended(Watched("r1", "GET", {"type": "http", "state": {}}, status=200))
    found: dict[str, set[str]] = {}
    for family in metrics.registry.collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        found[name] = {key for sample in family.samples for key in sample.labels} - {"le"}
    metrics.service.close()
    return found


def test_the_guide_lists_every_metric(labels_of: dict[str, set[str]]) -> None:
    rows = [line.split("|") for line in GUIDE.splitlines() if line.startswith("| `rag_")]
    listed = {
        name: set(re.findall(r"`(\w+)`", row[2])) for row in rows for name in re.findall(r"`(\w+)`", row[1])
    }
    assert set(listed) == {name for name in labels_of if not name.startswith("process_")}
    for name, labels in listed.items():
        assert labels == labels_of[name], name


def test_the_guide_names_every_step() -> None:
    sources = [path for part in ("rag_platform", "serving") for path in (ROOT / part).rglob("*.py")]
    told = re.compile(r"(?:timed|step|waited|spent)\(\"(\w+)\"")
    steps = {name for path in sources for name in told.findall(path.read_text(encoding="utf-8"))}
    assert {"encoding", "queue", "generation"} < steps
    assert steps <= set(re.findall(r"`(\w+)`", GUIDE))


def test_the_guide_names_every_setting_of_watching() -> None:
    for setting in (
        "RAG_LOG_FORMAT",
        "RAG_SLOW_QUERY_MS",
        "RAG_QUESTION_LOG",
        "RAG_QUERY_CACHE",
        "RAG_RESULT_CACHE",
    ):
        assert f"`{setting}" in GUIDE


def test_prometheus_is_told_where_and_what(labels_of: dict[str, set[str]]) -> None:
    config = read("prometheus.yaml")
    (job,) = config["scrape_configs"]
    assert job["metrics_path"] == "/metrics"
    assert job["static_configs"][0]["targets"] == ["127.0.0.1:8080"]
    assert config["rule_files"] == ["alerts.yaml"]
    for interval in config["global"].values():
        assert re.fullmatch(r"\d+[smh]", interval)


def test_alerts_are_of_metrics_that_there_are(labels_of: dict[str, set[str]]) -> None:
    rules = [rule for group in read("alerts.yaml")["groups"] for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules) > 5
    known = {*labels_of, *(f"{name}_bucket" for name in labels_of)}
    for rule in rules:
        named = set(re.findall(r"\b(?:rag|process)_\w+", rule["expr"]))
        assert named <= known, rule["alert"]
        assert rule["expr"].count("(") == rule["expr"].count(")")
        assert rule["annotations"]["summary"]
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "0s"))
