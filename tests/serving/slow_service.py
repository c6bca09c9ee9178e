"""``rag ARGUMENTS`` whose answers come slowly: ``python slow_service.py SECONDS ARGUMENTS``, for a test."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

from rag_platform.answering.reply import Event
from rag_platform.cli.app import main
from rag_platform.platform import RagPlatform

SECONDS = float(sys.argv[1])
"""After each event of an answer."""

stream = RagPlatform.stream


def slowly(self: RagPlatform, question: str, **options: Any) -> Iterator[Event]:
    for event in stream(self, question, **options):
        yield event
        time.sleep(SECONDS)


if __name__ == "__main__":
    RagPlatform.stream = slowly  # type: ignore[method-assign]
    main(sys.argv[2:])
