"""The check ``keeps_up`` of ``leaderboard``: what it says of a run beside the one before it."""

from __future__ import annotations

from collections.abc import Callable

import dagster as dg
from runs import SMALL, write_run

from assets.gate import GateConfig, keeps_up
from assets.platform import Platform
from rag_platform.system import System

GOOD, BAD = [1.0, 0.75] * 10, [0.25, 0.0] * 10


def verdict(system: System, **config: object) -> dg.AssetCheckResult:
    found = keeps_up(GateConfig(**config), platform=Platform(system))  # type: ignore[arg-type]
    assert isinstance(found, dg.AssetCheckResult)
    return found


def test_a_run_is_held_against_the_one_before(make_system: Callable[..., System]) -> None:
    system = make_system()
    home = system.home
    write_run(home, {SMALL: {"nDCG@10": GOOD}}, run_id="first", created_at="2026-11-01T00:00:00+00:00")
    alone = verdict(system)
    assert (alone.passed, alone.description) == (True, "no earlier run of the same questions")
    write_run(home, {SMALL: {"nDCG@10": BAD}}, run_id="second", created_at="2026-11-02T00:00:00+00:00")
    worse = verdict(system, run_id="second")
    assert not worse.passed
    assert worse.description == "nDCG@10 dropped by 0.750 [0.750, 0.750], at most 0.02 passes"
    assert worse.metadata["nDCG@10 max-drop"].value == 0.75
    assert verdict(system, run_id="second", max_drop=0.75).passed
    assert not verdict(system, run_id="first", minimums={"nDCG@10": 0.9}).passed


def test_what_cannot_be_judged_is_a_warning(make_system: Callable[..., System]) -> None:
    system = make_system()
    stopped = {"status": "partial", "reason": "budget"}
    write_run(system.home, {SMALL: {"m": GOOD}}, states={SMALL: stopped})
    found = verdict(system, minimums={"m": 0.5})
    assert (found.passed, found.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "no cell of run-1 is complete" in str(found.description)
