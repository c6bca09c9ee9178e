"""A publisher in its own process: ``python publish_edition.py ROOT EDITION OPTIONS_AS_JSON``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from points import edition

from rag_platform.errors import RagError
from rag_platform.index.edge import EdgeIndex

root, number, options = Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
corpus, index = edition(number, **options), EdgeIndex(root, lock_timeout_s=60)
print("ready", flush=True)
sys.stdin.readline()
try:
    print("published", corpus.publish(index).generation)
except RagError as error:
    print(type(error).__name__, error)
