"""Conversations that are kept, in one SQLite file, so that a follow-up needs only an id.

What a follow-up means stands in ``conversation``. Only whole exchanges are kept: a question whose answer
failed leaves nothing.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import time
import uuid
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rag_platform.answering.conversation import Turn
from rag_platform.errors import CallerError, StorageError, UnknownName

__all__ = ["Conversations", "Kept"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS exchanges (
    conversation_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    asked_at REAL NOT NULL,
    PRIMARY KEY (conversation_id, position)
);
CREATE INDEX IF NOT EXISTS exchanges_by_time ON exchanges (asked_at);
"""
_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
_KEPT_S = 30 * 24 * 3600.0
"""A conversation without a question for so long is forgotten."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A conversation: its first question, how many there were, and when the last was asked."""

    conversation_id: str
    title: str
    n_questions: int
    updated_at: float


class Conversations:
    """The kept conversations; safe to share between threads and processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        with self._errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=30, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.executescript(_SCHEMA)
        self._finalizer = weakref.finalize(self, self._db.close)

    def close(self) -> None:
        """Close the file; nothing can be asked afterwards."""
        with self._lock:
            self._finalizer()

    @staticmethod
    def new_id() -> str:
        """Return an id that nobody can guess."""
        return uuid.uuid4().hex

    def turns(self, conversation_id: str) -> list[Turn]:
        """Return what was said; empty for a conversation that is yet to begin.

        Raises:
            CallerError: It is no id.
        """
        if not _ID.fullmatch(conversation_id):
            raise CallerError(
                f"{conversation_id!r} is no conversation id; use 8 to 64 letters a-z, digits, '_' and '-',"
                " or none to begin a conversation"
            )
        query = "SELECT question, answer FROM exchanges WHERE conversation_id = ? ORDER BY position"
        turns: list[Turn] = []
        for question, answer in self._rows(query, conversation_id):
            turns += [Turn("user", str(question)), Turn("assistant", str(answer))]
        return turns

    def add(self, conversation_id: str, question: str, answer: str) -> None:
        """Keep an exchange, and forget conversations of long ago."""
        now = time.time()
        with self._lock, self._errors(), self._db:
            self._db.execute(
                "INSERT INTO exchanges SELECT ?, count(*), ?, ?, ? FROM exchanges WHERE conversation_id = ?",
                [conversation_id, question, answer, now, conversation_id],
            )
            self._db.execute(
                "DELETE FROM exchanges WHERE conversation_id IN (SELECT conversation_id FROM exchanges"
                " GROUP BY conversation_id HAVING max(asked_at) < ?)",
                [now - _KEPT_S],
            )

    def all(self) -> list[Kept]:
        """Return the conversations, the one asked last first."""
        query = (
            "SELECT conversation_id, max(CASE WHEN position = 0 THEN question END), count(*), max(asked_at)"
            " FROM exchanges GROUP BY conversation_id ORDER BY max(asked_at) DESC"
        )
        rows = self._rows(query)
        return [Kept(str(key), str(title), int(str(n)), float(str(at))) for key, title, n, at in rows]

    def delete(self, conversation_id: str) -> None:
        """Forget a conversation.

        Raises:
            UnknownName: There is none.
        """
        with self._lock, self._errors(), self._db:
            gone = self._db.execute(
                "DELETE FROM exchanges WHERE conversation_id = ?", [conversation_id]
            ).rowcount
        if not gone:
            raise UnknownName("conversation", conversation_id, [])

    def _rows(self, query: str, *values: str) -> list[tuple[object, ...]]:
        with self._lock, self._errors():
            return self._db.execute(query, values).fetchall()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StorageError(
                f"cannot use the conversations in {self.path}: {error}; check permissions and free space"
            ) from error
