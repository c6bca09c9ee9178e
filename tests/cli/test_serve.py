"""``rag serve`` at the start: an address that cannot be had is told before anything is said to be served."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from rag_platform.cli.listening import listening
from rag_platform.errors import EnvironmentProblem

ROOT = Path(__file__).parents[2]


def rag(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rag_platform.cli", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "EMBEDDING_MODEL": "hashing", **more},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("command", [["serve"], ["mcp"]])
def test_a_busy_port_is_one_clear_line(tmp_path: Path, command: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        done = rag(tmp_path, *command, "--port", str(port))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"error: cannot listen on 127.0.0.1:{port}: Address already in use; stop what listens there, or"
        " choose another address with --host and --port\n"
    )
    assert not (tmp_path / ".rag").exists()


@pytest.mark.parametrize("host", ["198.51.100.7", "नभएको.invalid", "no host"])
def test_an_address_that_is_not_ours_is_refused(host: str) -> None:
    with pytest.raises(EnvironmentProblem, match="choose another address with --host"), listening(host, 8080):
        pass


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_who_comes_early_waits(host: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with listening(host, port) as taken, socket.create_connection((host, port), timeout=5):
        connection, _ = taken.accept()
        connection.close()


def test_other_machines_are_let_in_on_purpose_alone(tmp_path: Path) -> None:
    done = rag(tmp_path, "mcp", "--host", "0.0.0.0")
    assert (done.returncode, done.stdout) == (1, "")
    assert "RAG_OPEN_TO_ALL=true" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_folder_that_agents_may_ingest_from_must_exist(tmp_path: Path) -> None:
    done = rag(tmp_path, "serve", RAG_MCP_FOLDERS="नभएको")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"error: RAG_MCP_FOLDERS names {tmp_path / 'नभएको'}, which is no folder; make it, or leave it out\n"
    )
