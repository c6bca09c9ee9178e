"""Fixtures of all tests: a system on a temporary home, and no settings from outside."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from rag_platform.privacy import keep_private
from rag_platform.protocols import Index
from rag_platform.settings import Settings
from rag_platform.system import System

keep_private()  # before a test module imports LiteLLM, which would fetch its price list

_LOOP = asyncio.new_event_loop()
asyncio.set_event_loop(_LOOP)


def pytest_unconfigure() -> None:
    _LOOP.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep half characters that a test logged out of its report: workers cannot send them."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "replace").decode()) for name, text in report.sections]
    return report


@pytest.fixture(autouse=True)
def _one_event_loop() -> None:
    """Libraries that ask for the main thread's loop find this one, instead of leaving one of theirs open."""
    asyncio.set_event_loop(_LOOP)


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
