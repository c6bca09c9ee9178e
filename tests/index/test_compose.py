"""The compose file, as far as it can be judged without a container engine."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from rag_platform.settings import Settings

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text("utf-8"))
    return read


def test_the_server_is_pinned_and_watched(compose: dict[str, Any]) -> None:
    qdrant = compose["services"]["qdrant"]
    assert re.fullmatch(r"qdrant/qdrant:v\d+\.\d+\.\d+", qdrant["image"])
    assert qdrant["healthcheck"]["test"][:3] == ["CMD", "bash", "-c"]
    assert "/readyz" in qdrant["healthcheck"]["test"][3]
    assert qdrant["volumes"] == ["qdrant:/qdrant/storage"]


def test_every_service_of_ours_waits_for_it_and_shares_one_home(compose: dict[str, Any]) -> None:
    ours = {name: one for name, one in compose["services"].items() if name != "qdrant"}
    assert set(ours) == {"api", "webserver", "daemon"}
    for one in ours.values():
        assert one["depends_on"]["qdrant"]["condition"] == "service_healthy"
        assert one["environment"]["QDRANT_URL"] == "http://qdrant:6333"
        assert one["volumes"] == [f"home:{one['environment']['RAG_HOME']}"]
        assert one["environment"].keys() - {"OMP_THREAD_LIMIT"} <= set(Settings.names())
        assert shlex.split(one["command"])
    assert set(compose["volumes"]) == {"home", "qdrant"}


def test_ports_are_open_to_this_machine_only(compose: dict[str, Any]) -> None:
    ports = [port for one in compose["services"].values() for port in one.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_what_the_image_copies_is_there(compose: dict[str, Any]) -> None:
    build = compose["services"]["api"]["build"]
    copied = re.findall(r"^COPY (.+) \S+$", build["dockerfile_inline"], re.MULTILINE)
    names = [name for line in copied for name in line.split()]
    missing = [name for name in names if not (ROOT / "deploy" / build["context"] / name).exists()]
    assert not missing
