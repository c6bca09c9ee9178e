"""How many pages are read at once on this machine, whoever reads them.

Documents in parallel and the pages of one document share the same slots, so that together they never take
more than ``workers`` cores. A slot is a locked file, because the system frees it when its holder is killed
in the middle of a page.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from filelock import FileLock, Timeout

from rag_platform.errors import EnvironmentProblem

__all__ = ["n_workers", "slot"]

_LOOK_S = 0.02


def n_workers(workers: int) -> int:
    """Return how many pages are read at once; 0 stands for one a core."""
    return workers or os.cpu_count() or 1


@contextmanager
def slot(workers: int) -> Iterator[None]:
    """Hold one of ``workers`` slots, waiting for one to be free."""
    locks = [FileLock(_folder() / f"{number}.lock") for number in range(n_workers(workers))]
    while True:
        for lock in locks:
            try:
                lock.acquire(blocking=False)
            except Timeout:
                continue
            try:
                yield
            finally:
                lock.release()
            return
        time.sleep(_LOOK_S)


@lru_cache(maxsize=1)
def _folder() -> Path:
    """Return the folder of this user's slots; another's would let them hold us up."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"rag-ocr-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
        raise EnvironmentProblem(f"{folder} belongs to another user; remove it or set TMPDIR")
    return folder
