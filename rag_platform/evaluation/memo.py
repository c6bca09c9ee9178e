"""Work that is done once: each step's outcome in one SQLite file, found by the fingerprint of its inputs.

Candidates of a question, judgements of a reranker, answers: whoever asks with the same inputs, another cell,
another run or a sweep after a kill, gets what was kept. The file may be deleted at any time: only time is
lost. What the values mean is the caller's.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_platform.errors import StorageError

__all__ = ["Memo"]

_SCHEMA = "CREATE TABLE IF NOT EXISTS work (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
_AT_ONCE = 500
Value = dict[str, Any]


class Memo:
    """Outcomes by fingerprint; every put is a transaction, safe for threads and processes.

    Args:
        path: The file; made when first needed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    def get(self, key: str) -> Value | None:
        """Return what is kept under a key."""
        return self.get_many([key]).get(key)

    def get_many(self, keys: Sequence[str]) -> dict[str, Value]:
        """Return what is kept under these keys; a key without anything is not among them."""
        if not keys or not self.path.exists():
            return {}
        found: dict[str, Value] = {}
        for start in range(0, len(keys), _AT_ONCE):
            some = list(keys[start : start + _AT_ONCE])
            places = ",".join("?" * len(some))
            query = f"SELECT key, value FROM work WHERE key IN ({places})"
            found.update((key, json.loads(value)) for key, value in self._run(query, some))
        return found

    def put(self, key: str, value: Mapping[str, object]) -> None:
        """Keep a value; what is there already stays."""
        self.put_many({key: value})

    def put_many(self, values: Mapping[str, Mapping[str, object]]) -> None:
        """Keep several values, all or none."""
        rows = [(key, json.dumps(value, ensure_ascii=False)) for key, value in values.items()]
        try:
            with self._lock, self._opened() as db:
                db.executemany("INSERT OR IGNORE INTO work VALUES (?, ?)", rows)
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def _run(self, query: str, values: Sequence[str]) -> list[tuple[str, str]]:
        try:
            with self._lock:
                return self._opened().execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, timeout=60, check_same_thread=False)
            weakref.finalize(self, self._db.close)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(_SCHEMA)
        return self._db

    def _explained(self, error: sqlite3.Error) -> StorageError:
        return StorageError(
            f"cannot use {self.path}: {error}; free space, or delete the file: what it holds is done again"
        )
