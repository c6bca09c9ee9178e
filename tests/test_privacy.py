"""With local models no packet leaves: every Python process of a real ingest and search is watched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rag_platform.privacy import PRIVATE_DEFAULTS, keep_private

WATCHER = """
import os, sys

def _watch(event, arguments):
    outward = event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
    if event in ("socket.connect", "socket.sendto"):
        outward = isinstance(arguments[1], tuple) and not str(arguments[1][0]).startswith(("127.", "::1"))
    if outward:
        with open(os.environ["WATCH_LOG"], "a") as log:
            print(event, arguments[1:] if event == "socket.connect" else arguments[:2], file=log)

sys.addaudithook(_watch)
with open(os.environ["WATCH_LOG"] + ".started", "a") as log:
    print(os.getpid(), file=log)
"""


@pytest.fixture
def watched(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which every Python process logs name look-ups and outward connections."""
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch" / "sitecustomize.py").write_text(WATCHER)
    return {
        **{name: value for name, value in os.environ.items() if name not in PRIVATE_DEFAULTS},
        "PYTHONPATH": str(tmp_path / "watch"),
        "WATCH_LOG": str(tmp_path / "log"),
        "RAG_HOME": str(tmp_path / "home"),
    }


def rag(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "-m", "rag_platform.cli", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_ingest_and_search_look_up_no_name(watched: dict[str, str], tmp_path: Path) -> None:
    document = tmp_path / "सूचना.txt"
    document.write_text("सुनकोशी नगरपालिकाको सूचना। कर असारभित्र तिर्नुहोला।", encoding="utf-8")
    rag(watched, "ingest", str(document))
    assert "सूचना.txt" in rag(watched, "search", "कर कहिले तिर्ने?", "--format", "json")
    log = tmp_path / "log"
    assert log.with_name("log.started").read_text().count("\n") >= 2, "the watcher must run in every process"
    assert not log.exists(), log.read_text()


def test_the_watcher_sees_a_look_up(watched: dict[str, str], tmp_path: Path) -> None:
    look_up = "import socket; socket.getaddrinfo('localhost', 80)"
    subprocess.run([sys.executable, "-c", look_up], env=watched, check=True, timeout=60)
    assert "socket.getaddrinfo" in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, None),
        ({"HTTP_PROXY": "http://proxy:3128"}, "localhost,127.0.0.1,::1"),
        (
            {"https_proxy": "http://proxy:3128", "NO_PROXY": "10.0.0.7, 127.0.0.1"},
            "10.0.0.7,127.0.0.1,localhost,::1",
        ),
        ({"ALL_PROXY": "http://proxy:3128", "NO_PROXY": "*"}, "*"),
    ],
)
def test_a_proxy_is_not_asked_for_servers_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], expected: str | None
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NO_PROXY", os.environ.get("NO_PROXY", ""))  # so that it is put back
    if "NO_PROXY" not in given:
        monkeypatch.delenv("NO_PROXY")
    keep_private()
    assert os.environ.get("NO_PROXY") == expected
