"""A shared SQLite file: whole transactions, and errors that name it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from rag_platform.errors import StorageError
from rag_platform.sqlite_file import SqliteFile


def opened(path: Path) -> SqliteFile:
    return SqliteFile(path, "the notices", lambda _: "CREATE TABLE IF NOT EXISTS notices (text TEXT);")


def test_what_one_writes_another_reads(tmp_path: Path) -> None:
    one, other = opened(tmp_path / "new" / "notices.sqlite"), opened(tmp_path / "new" / "notices.sqlite")
    with one.changes() as db:
        db.execute("INSERT INTO notices VALUES ('कर असारमा तिर्नुहोस्')")
    assert other.rows("SELECT text FROM notices WHERE text LIKE ?", "कर%") == [("कर असारमा तिर्नुहोस्",)]


def test_a_change_that_fails_changes_nothing(tmp_path: Path) -> None:
    file = opened(tmp_path / "notices.sqlite")

    def half() -> None:
        with file.changes() as db:
            db.execute("INSERT INTO notices VALUES ('आधा')")
            raise KeyError("सूचना")

    with pytest.raises(KeyError):
        half()
    assert file.rows("SELECT count(*) FROM notices") == [(0,)]


def test_a_schema_sees_what_is_there(tmp_path: Path) -> None:
    opened(tmp_path / "notices.sqlite").close()

    def renewed(db: sqlite3.Connection) -> str:
        columns = [row[1] for row in db.execute("PRAGMA table_info(notices)")]
        return "" if "day" in columns else "ALTER TABLE notices ADD COLUMN day TEXT;"

    for _ in range(2):
        file = SqliteFile(tmp_path / "notices.sqlite", "the notices", renewed)
        with file.changes() as db:
            db.execute("INSERT INTO notices VALUES ('बैठक', '2081-04-15')")
    assert file.rows("SELECT DISTINCT day FROM notices") == [("2081-04-15",)]


def test_a_file_of_something_else_is_named(tmp_path: Path) -> None:
    (tmp_path / "notices.sqlite").write_text("यो डाटाबेस होइन। " * 50, encoding="utf-8")
    with pytest.raises(StorageError, match=r"cannot use the notices in .*notices\.sqlite"):
        opened(tmp_path / "notices.sqlite")
