"""The one resource: the library's own ``System``, wired where a run or a sensor needs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import dagster as dg

from rag_platform.evaluation.sweep import Report
from rag_platform.stages import Progress
from rag_platform.system import System

__all__ = ["Platform", "platform"]


def _silent(step: str, done: int, of: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Platform:
    """What assets, checks and sensors work with.

    Attributes:
        system: The wired library.
        progress: Told of every document, where somebody watches.
        tell: Told of the steps of a sweep: which, how many are done, how many there are.
        reports: Takes what each sweep did.
    """

    system: System
    progress: Progress | None = None
    tell: Callable[[str, int, int], None] = _silent
    reports: list[Report] = field(default_factory=list)


@dg.resource(description="The library's System, from environment and .env of the working folder.")
def platform(_: dg.InitResourceContext) -> Platform:
    """Read settings now, in the process that works, never when definitions are loaded."""
    return Platform(System.from_settings())
