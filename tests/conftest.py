"""Fixtures of all tests: a system on a temporary home, and no settings from outside."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rag_platform.protocols import Index
from rag_platform.settings import Settings
from rag_platform.system import System


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in {*Settings.names(), *(key for key in os.environ if key.startswith("RAG_"))}:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def make_system(tmp_path: Path) -> Iterator[Callable[..., System]]:
    """Return a function that wires a system on this test's home; settings by their names."""

    def make(index: Index | None = None, **overrides: object) -> System:
        given = {"RAG_HOME": tmp_path / "home", "EMBEDDING_MODEL": "hashing", "RAG_WORKERS": 1, **overrides}
        return System.from_settings(Settings.load(None, **given), index=index)

    return make
