"""Conversations that are kept, in one SQLite file, so that a follow-up needs only an id.

What a follow-up means stands in ``conversation``. Only whole exchanges are kept: a question whose answer
failed leaves nothing.
"""

from __future__ import annotations

import math
import re
import sqlite3
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_platform.answering.conversation import Turn
from rag_platform.errors import CallerError, UnknownName
from rag_platform.sqlite_file import SqliteFile

__all__ = ["Conversations", "Kept"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS exchanges (
    owner TEXT NOT NULL,            -- who began it
    conversation_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    asked_at REAL NOT NULL,
    PRIMARY KEY (owner, conversation_id, position)
);
CREATE INDEX IF NOT EXISTS exchanges_by_time ON exchanges (asked_at);
"""
_OWNED = """
ALTER TABLE exchanges RENAME TO ownerless;
DROP INDEX IF EXISTS exchanges_by_time;
%s
INSERT INTO exchanges SELECT '', conversation_id, position, question, answer, asked_at FROM ownerless;
DROP TABLE ownerless;
"""
"""Of files from before conversations belonged to anybody."""
_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
_DAY_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Kept:
    """A conversation: its first question, how many there were, and when the last was asked."""

    conversation_id: str
    title: str
    n_questions: int
    updated_at: float


class Conversations:
    """The kept conversations; safe to share between threads and processes.

    Everything is done for an owner, by name, who sees nothing of others: the same id is another conversation.

    Args:
        path: The SQLite file.
        days: How long one is kept after its last question; 0: until it is deleted.
    """

    def __init__(self, path: Path, *, days: float = 0.0) -> None:
        self._file, self._kept_s = SqliteFile(path, "the conversations", _schema), days * _DAY_S

    def close(self) -> None:
        """Close the file; nothing can be asked afterwards."""
        self._file.close()

    @staticmethod
    def new_id() -> str:
        """Return an id that nobody can guess."""
        return uuid.uuid4().hex

    def turns(self, conversation_id: str, *, owner: str = "") -> list[Turn]:
        """Return what was said; empty for a conversation that is yet to begin.

        Raises:
            CallerError: It is no id.
        """
        if not _ID.fullmatch(conversation_id):
            raise CallerError(
                f"{conversation_id!r} is no conversation id; use 8 to 64 letters a-z, digits, '_' and '-',"
                " or none to begin a conversation"
            )
        self._forget_old()
        query = (
            "SELECT question, answer FROM exchanges WHERE owner = ? AND conversation_id = ? ORDER BY position"
        )
        turns: list[Turn] = []
        for question, answer in self._file.rows(query, owner, conversation_id):
            turns += [Turn("user", question), Turn("assistant", answer)]
        return turns

    def add(self, conversation_id: str, question: str, answer: str, *, owner: str = "") -> None:
        """Keep an exchange, and forget conversations of long ago."""
        with self._file.changes() as db:
            db.execute(
                "INSERT INTO exchanges SELECT ?, ?, count(*), ?, ?, ? FROM exchanges"
                " WHERE owner = ? AND conversation_id = ?",
                [owner, conversation_id, question, answer, time.time(), owner, conversation_id],
            )
        self._forget_old()

    def get(self, conversation_id: str, *, owner: str = "") -> Kept:
        """Return a conversation without what was said.

        Raises:
            UnknownName: There is none.
        """
        self._forget_old()
        found = self._kept("owner = ? AND conversation_id = ?", "1", [owner, conversation_id])
        if not found:
            raise UnknownName("conversation", conversation_id, [])
        return found[0]

    def all(self, *, owner: str = "") -> list[Kept]:
        """Return an owner's conversations, the one asked last first."""
        return self.page(owner=owner, seen_at=math.inf)

    def page(
        self, *, owner: str = "", seen_at: float, after: tuple[float, str] | None = None, limit: int = -1
    ) -> list[Kept]:
        """Return a part of the list as it stood at a time: one that goes on meanwhile keeps its place.

        Args:
            owner: Whose.
            seen_at: Seconds since 1970, the same for all parts.
            after: ``updated_at`` and id of the last of the part before; None: from the start.
            limit: How many at most; -1: all.
        """
        self._forget_old()
        having = "(max(asked_at), conversation_id) < (?, ?)" if after else "1"
        values = [owner, seen_at, *(after or ()), limit]
        return self._kept("owner = ? AND asked_at <= ?", having, values, "LIMIT ?")

    def delete(self, conversation_id: str, *, owner: str = "") -> None:
        """Forget a conversation.

        Raises:
            UnknownName: There is none.
        """
        with self._file.changes() as db:
            gone = db.execute(
                "DELETE FROM exchanges WHERE owner = ? AND conversation_id = ?", [owner, conversation_id]
            ).rowcount
        if not gone:
            raise UnknownName("conversation", conversation_id, [])

    def _forget_old(self) -> None:
        if not self._kept_s:
            return
        with self._file.changes() as db:
            db.execute(
                "DELETE FROM exchanges WHERE (owner, conversation_id) IN (SELECT owner, conversation_id"
                " FROM exchanges GROUP BY owner, conversation_id HAVING max(asked_at) < ?)",
                [time.time() - self._kept_s],
            )

    def _kept(self, where: str, having: str, values: Sequence[object], limit: str = "") -> list[Kept]:
        query = (
            "SELECT conversation_id, max(CASE WHEN position = 0 THEN question END), count(*), max(asked_at)"
            f" FROM exchanges WHERE {where} GROUP BY conversation_id HAVING {having}"
            f" ORDER BY max(asked_at) DESC, conversation_id DESC {limit}"
        )
        return [Kept(*row) for row in self._file.rows(query, *values)]


def _schema(db: sqlite3.Connection) -> str:
    columns = {row[1] for row in db.execute("PRAGMA table_info(exchanges)")}
    return _OWNED % _SCHEMA if columns and "owner" not in columns else _SCHEMA
