"""scripts/dev for real: dropped files are published and served, a backfill is few runs, nothing stays.

One start for the whole module, for it may take half a minute; the tests build on each other in their order.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from rag_platform.plan import embedding_table
from rag_platform.settings import Settings
from rag_platform.system import System

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

ROOT = Path(__file__).parents[2]
PLACES = ("कीर्तिपुर", "पनौती", "धुलिखेल", "बनेपा")
TOPICS = ("सम्पत्ति कर", "नागरिकता", "घर नक्सा", "खानेपानी", "विद्यालय भर्ना")
FILES = {
    f"{place}/{topic}-सूचना.txt": f"{place} नगरपालिकाको {topic} सम्बन्धी सूचना। म्याद असार मसान्तसम्म छ।\n"
    for place in PLACES
    for topic in TOPICS
}
MODELS = ["hashing", "intfloat/multilingual-e5-small"]


@dataclass(frozen=True)
class Dev:
    """A running scripts/dev and where it is."""

    process: subprocess.Popen[bytes]
    dagster: str
    api: str
    log: Path
    system: System

    def graphql(self, query: str, **variables: object) -> Any:
        found = self.post(f"{self.dagster}/graphql", {"query": query, "variables": variables})
        assert "errors" not in found, found["errors"]
        return found["data"]

    def post(self, url: str, body: object) -> Any:
        request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def runs(self) -> list[dict[str, Any]]:
        """Return all runs, oldest first."""
        query = "{runsOrError {... on Runs {results {runId jobName status tags {key value}}}}}"
        return list(reversed(self.graphql(query)["runsOrError"]["results"]))

    def until(self, done: Callable[[], Any], what: str, *, within_s: float) -> Any:
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            assert self.process.poll() is None, f"scripts/dev has ended: {self.tail()}"
            found = done()
            if found:
                return found
            time.sleep(0.5)
        raise AssertionError(f"{what}: not within {within_s} s. {self.tail()}")

    def tail(self) -> str:
        return self.log.read_text("utf-8", errors="replace")[-4000:]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(url: str) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5) as answer:
        return bool(answer.status == 200)
    return False


def process_tree(pid: int) -> list[psutil.Process]:
    root = psutil.Process(pid)
    return [root, *root.children(recursive=True)]


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    folder = tmp_path_factory.mktemp("dev")
    home, log = folder / "घर", folder / "dev.log"
    ports = free_port(), free_port()
    settings = {"RAG_HOME": str(home), "EMBEDDING_MODEL": "hashing", "RAG_QUIET_S": "1", "RAG_WORKERS": "1"}
    system = System.from_settings(Settings.load(None, **settings))
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RAG_", "DAGSTER"))}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [ROOT / "scripts" / "dev"],
            env={
                **clean,
                **settings,
                "RAG_PORT": str(ports[1]),
                "DAGSTER_PORT": str(ports[0]),
                "DEV_VENV": sys.prefix,
            },
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            # pytest may itself have been started in the background, where SIGINT is ignored for good
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
        )
    dagster, api = (f"http://127.0.0.1:{port}" for port in ports)
    running = Dev(process, dagster, api, log, system)
    everything: list[psutil.Process] = []
    try:
        running.until(lambda: answers(f"{dagster}/server_info"), "the Dagster UI", within_s=90)
        everything = process_tree(process.pid)
        yield running
    finally:
        if process.poll() is None:
            everything += process_tree(process.pid)
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
        for left in everything:
            with contextlib.suppress(psutil.NoSuchProcess):
                left.kill()
        process.wait(30)


def test_dropped_files_are_published_without_further_action(dev: Dev) -> None:
    for source, text in FILES.items():
        path = dev.system.inbox.root / source
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    manifest = dev.until(
        lambda: dev.system.index.current("nepali_docs", "hashing"), "a published generation", within_s=120
    )
    assert (manifest.points, len(manifest.documents)) == (20, 20)
    dev.until(lambda: dev.runs()[-1]["status"] == "SUCCESS", "the end of the last run", within_s=30)
    assert [run["jobName"] for run in dev.runs()] == ["documents", "embed", "publish"]
    assert all(entry.owner is None for entry in dev.system.catalog.entries())


def test_the_service_beside_it_finds_them(dev: Dev) -> None:
    found = dev.post(f"{dev.api}/v1/search", {"query": "पनौती नागरिकता", "k": 1})
    assert found["hits"][0]["source"] == "पनौती/नागरिकता-सूचना.txt"


def test_a_backfill_of_20_documents_by_2_encoders_is_as_few_runs_as_the_keys_allow(dev: Dev) -> None:
    keys = [entry.partition for entry in dev.system.catalog.entries()]
    before = len(dev.runs())
    launched = dev.graphql(
        """mutation($backfill: LaunchBackfillParams!) {
             launchPartitionBackfill(backfillParams: $backfill) {
               __typename ... on LaunchBackfillSuccess {backfillId} ... on PythonError {message}}}""",
        backfill={
            "assetSelection": [{"path": ["embeddings"]}],
            "partitionNames": [f"{key}|{model}" for key in keys for model in MODELS],
        },
    )["launchPartitionBackfill"]
    assert launched["__typename"] == "LaunchBackfillSuccess", launched
    status = """query($id: String!) {
        partitionBackfillOrError(backfillId: $id) {... on PartitionBackfill {status numPartitions}}}"""

    def ended() -> Any:
        found = dev.graphql(status, id=launched["backfillId"])["partitionBackfillOrError"]
        return found if found["status"] not in ("REQUESTED", "CANCELING") else None

    backfill = dev.until(ended, "the backfill", within_s=120)
    assert backfill == {"status": "COMPLETED_SUCCESS", "numPartitions": 40}
    # Dagster's daemon splits a rectangle along its shorter side: one run an encoder, not one a document.
    runs = dev.runs()[before:]
    assert [run["status"] for run in runs] == ["SUCCESS", "SUCCESS"]
    for model in MODELS:
        files = [dev.system.tables.path(embedding_table(model), key) for key in keys]
        assert all(file.exists() for file in files)


def test_a_rectangle_launched_as_a_range_is_one_run(dev: Dev) -> None:
    keys_query = (
        """{assetNodeOrError(assetKey: {path: ["raw_documents"]}) {... on AssetNode {partitionKeys}}}"""
    )
    keys = dev.graphql(keys_query)["assetNodeOrError"]["partitionKeys"]
    assert len(keys) == 20
    before = len(dev.runs())
    tags = {
        "dagster/asset_partition_range_start": f"{keys[0]}|{MODELS[0]}",
        "dagster/asset_partition_range_end": f"{keys[-1]}|{MODELS[1]}",
    }
    launched = dev.graphql(
        """mutation($run: ExecutionParams!) {
             launchRun(executionParams: $run) {
               __typename ... on LaunchRunSuccess {run {runId}} ... on PythonError {message}}}""",
        run={
            "selector": {
                "jobName": "embed",
                "repositoryName": "__repository__",
                "repositoryLocationName": "definitions",
            },
            "executionMetadata": {"tags": [{"key": key, "value": value} for key, value in tags.items()]},
        },
    )["launchRun"]
    assert launched["__typename"] == "LaunchRunSuccess", launched

    def published() -> bool:
        manifest = dev.system.index.current("nepali_docs", MODELS[1])
        return manifest is not None and manifest.points == 20

    dev.until(published, "the chain's publish of the second encoder", within_s=90)
    assert [run["jobName"] for run in dev.runs()[before:]] == ["embed", "publish"]


def test_ctrl_c_leaves_nothing_behind(dev: Dev) -> None:
    everything = process_tree(dev.process.pid)
    assert len(everything) > 4
    dev.process.send_signal(signal.SIGINT)
    assert dev.process.wait(40) == 130
    _, left = psutil.wait_procs(everything, timeout=5)
    assert left == []
    here = str(dev.system.home)
    assert [p for p in psutil.process_iter(["cmdline"]) if here in " ".join(p.info["cmdline"] or [])] == []
