"""A publisher in its own process: ``python publish_generations.py ROOT SECONDS``; prints the last edition."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from points import publish_marked

from rag_platform.index.edge import EdgeIndex

if __name__ == "__main__":
    end = time.monotonic() + float(sys.argv[2])
    print(publish_marked(EdgeIndex(Path(sys.argv[1])), lambda number: number > 4 and time.monotonic() > end))
