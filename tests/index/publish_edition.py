"""A publisher in its own process: ``python publish_edition.py ROOT EDITION OPTIONS_AS_JSON``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from points import edition

from rag_platform.errors import RagError
from rag_platform.index.edge import EdgeIndex


def main(root: str, number: str, options: str) -> None:
    corpus, index = edition(int(number), **json.loads(options)), EdgeIndex(Path(root), lock_timeout_s=60)
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        print("published", corpus.publish(index).generation)
    except RagError as error:
        print(type(error).__name__, error)


if __name__ == "__main__":
    main(*sys.argv[1:])
