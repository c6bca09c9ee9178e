"""Fixtures of the Dagster tests: a temporary instance, a system with hashing, and a claim on all files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

import dagster as dg
import pytest
from support import drop

from assets.partitions import register, registered
from assets.platform import Platform
from jobs.asset_jobs import resolved
from jobs.ranges import KeyRange
from rag_platform.system import System

Run = Callable[..., dg.ExecuteInProcessResult]


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test() as instance:
        yield instance


@pytest.fixture
def system(make_system: Callable[..., System]) -> System:
    return make_system(RAG_QUIET_S=0)


@pytest.fixture
def claimed(system: System, instance: dg.DagsterInstance) -> Callable[[Mapping[str, str]], list[str]]:
    """Return a function that drops texts, claims every due file and returns all keys in Dagster's order."""

    def claim(texts: Mapping[str, str]) -> list[str]:
        drop(system, texts)
        for _ in range(2):
            listing = system.inbox.scan(system.catalog.collections())
            system.catalog.observe(listing, now=time.time(), quiet_s=0)
        entries = system.catalog.claim("test", alive=lambda _: False)
        register(instance, [entry.partition for entry in entries])
        return registered(instance)

    return claim


@pytest.fixture
def run(system: System, instance: dg.DagsterInstance) -> Run:
    """Return a function that runs a job over a range of keys in this process."""

    def execute(job: str, start: str, end: str, **options: object) -> dg.ExecuteInProcessResult:
        return resolved(job).execute_in_process(
            instance=instance,
            tags=KeyRange(start, end).tags,
            resources={"platform": Platform(system)},
            **options,  # type: ignore[arg-type]
        )

    return execute
