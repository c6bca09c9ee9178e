"""``rag ARGUMENTS`` whose answers come slowly: ``python slow_service.py SECONDS ARGUMENTS``, for a test."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

from rag_platform.answering.reply import Event
from rag_platform.cli.app import main
from rag_platform.platform import RagPlatform

stream = RagPlatform.stream


def slow_down(seconds: float) -> None:
    """Wait after each event of an answer."""

    def slowly(self: RagPlatform, question: str, **options: Any) -> Iterator[Event]:
        for event in stream(self, question, **options):
            yield event
            time.sleep(seconds)

    RagPlatform.stream = slowly  # type: ignore[method-assign]


if __name__ == "__main__":
    slow_down(float(sys.argv[1]))
    main(sys.argv[2:])
