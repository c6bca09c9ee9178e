"""The one resource: the library's own ``System``, wired where a run or a sensor needs it."""

from __future__ import annotations

from dataclasses import dataclass

import dagster as dg

from rag_platform.stages import Progress
from rag_platform.system import System

__all__ = ["Platform", "platform"]


@dataclass(frozen=True)
class Platform:
    """What assets, checks and sensors work with.

    Attributes:
        system: The wired library.
        progress: Told of every document, where somebody watches.
    """

    system: System
    progress: Progress | None = None


@dg.resource(description="The library's System, from environment and .env of the working folder.")
def platform(_: dg.InitResourceContext) -> Platform:
    """Read settings now, in the process that works, never when definitions are loaded."""
    return Platform(System.from_settings())
