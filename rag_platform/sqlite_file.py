"""One SQLite file that threads and processes share: opened, changed in whole transactions, errors told.

What is in it, and when it is changed, is its owner's.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rag_platform.errors import StorageError

__all__ = ["SqliteFile"]

_PATIENCE_S = 30.0
"""How long another process may hold it."""


class SqliteFile:
    """An open file; closed when nobody holds it any more.

    Args:
        path: Made where it is not there, with its folder.
        holds: What is in it, for messages, as ``the conversations``.
        schema: Returns the script that makes its tables, or renews those that the connection shows.

    Raises:
        StorageError: It cannot be used, now or later.
    """

    def __init__(self, path: Path, holds: str, schema: Callable[[sqlite3.Connection], str]) -> None:
        self.path, self._holds, self._lock = path, holds, threading.Lock()
        with self._errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=_PATIENCE_S, check_same_thread=False)
            self._finalizer = weakref.finalize(self, self._db.close)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.executescript(f"BEGIN IMMEDIATE;{schema(self._db)}COMMIT;")

    def close(self) -> None:
        """Close it; nothing can be asked afterwards."""
        with self._lock:
            self._finalizer()

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return what a query finds."""
        with self._lock, self._errors():
            return self._db.execute(query, values).fetchall()

    @contextmanager
    def changes(self) -> Iterator[sqlite3.Connection]:
        """Give what changes it: all of what is done inside, or nothing."""
        with self._lock, self._errors(), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            yield self._db

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StorageError(
                f"cannot use {self._holds} in {self.path}: {error}; check permissions and free space"
            ) from error
