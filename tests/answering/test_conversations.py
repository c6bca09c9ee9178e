"""Kept conversations: what was said, by an id, for a while."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_platform.answering.conversation import Turn
from rag_platform.answering.conversations import Conversations
from rag_platform.errors import CallerError, StorageError, UnknownName


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Conversations]:
    found = Conversations(tmp_path / "conversations.sqlite")
    yield found
    found.close()


def test_what_was_said_comes_back_in_order(kept: Conversations) -> None:
    key = kept.new_id()
    assert kept.turns(key) == []
    kept.add(key, "कर कहिले तिर्ने?", "असारभित्र [1]।")
    kept.add(key, "जरिवाना?", "दश प्रतिशत [1]।")
    assert kept.turns(key) == [
        Turn("user", "कर कहिले तिर्ने?"),
        Turn("assistant", "असारभित्र [1]।"),
        Turn("user", "जरिवाना?"),
        Turn("assistant", "दश प्रतिशत [1]।"),
    ]


def test_they_are_listed_and_forgotten(kept: Conversations) -> None:
    kept.add("first-one", "पहिलो?", "क")
    kept.add("second-one", "दोस्रो?", "ख")
    kept.add("first-one", "फेरि?", "ग")
    assert [(one.conversation_id, one.title, one.n_questions) for one in kept.all()] == [
        ("first-one", "पहिलो?", 2),
        ("second-one", "दोस्रो?", 1),
    ]
    kept.delete("first-one")
    assert [one.conversation_id for one in kept.all()] == ["second-one"]
    with pytest.raises(UnknownName):
        kept.delete("first-one")


@pytest.mark.parametrize("key", ["", "short", "../../../etc", "a" * 65, "x' OR '1'='1", "नेपाली-आइडी"])
def test_what_is_no_id_is_refused(kept: Conversations, key: str) -> None:
    with pytest.raises(CallerError, match="no conversation id"):
        kept.turns(key)


@pytest.mark.parametrize(("days", "left"), [(0, ["still-used", "long-ago"]), (30, ["still-used"])])
def test_old_ones_are_forgotten_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: float, left: list[str]
) -> None:
    kept = Conversations(tmp_path / "conversations.sqlite", days=days)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 40 * 24 * 3600)
    kept.add("long-ago", "पुरानो?", "क")
    kept.add("still-used", "सुरु?", "क")
    monkeypatch.setattr(time, "time", lambda: now - 20 * 24 * 3600)
    kept.add("still-used", "अहिले?", "ख")
    monkeypatch.setattr(time, "time", lambda: now)
    assert [one.conversation_id for one in kept.all()] == left
    assert kept.get("still-used").n_questions == 2
    assert bool(kept.turns("long-ago")) is (days == 0)
    kept.close()


def test_nobody_sees_those_of_others(kept: Conversations) -> None:
    kept.add("same-name", "सीताको प्रश्न?", "क", owner="सीता")
    kept.add("same-name", "हरिको प्रश्न?", "ख", owner="हरि")
    assert [one.title for one in kept.all(owner="सीता")] == ["सीताको प्रश्न?"]
    assert kept.turns("same-name", owner="हरि")[0].content == "हरिको प्रश्न?"
    assert (kept.all(), kept.turns("same-name")) == ([], [])
    with pytest.raises(UnknownName):
        kept.get("same-name")
    with pytest.raises(UnknownName):
        kept.delete("same-name")
    kept.delete("same-name", owner="हरि")
    assert kept.get("same-name", owner="सीता").n_questions == 1


def test_a_list_is_read_in_parts_as_it_stood(kept: Conversations, monkeypatch: pytest.MonkeyPatch) -> None:
    for second in range(6):
        monkeypatch.setattr(time, "time", lambda at=second: 1000.0 + at // 2)  # two at each time
        kept.add(f"number-{second}", f"प्रश्न {second}?", "क")
    monkeypatch.setattr(time, "time", lambda: 2000.0)
    first = kept.page(seen_at=1500.0, limit=2)
    kept.add("number-0", "अझै?", "ख")  # goes on meanwhile
    kept.add("number-9", "नयाँ?", "ख")  # comes meanwhile
    kept.delete("number-3")  # goes meanwhile
    rest = kept.page(seen_at=1500.0, after=(first[-1].updated_at, first[-1].conversation_id))
    found = [one.conversation_id for one in (*first, *rest)]
    assert found == ["number-5", "number-4", "number-2", "number-1", "number-0"]
    assert rest[-1].n_questions == 1


def test_a_file_without_owners_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite"
    with sqlite3.connect(path) as old:
        old.executescript(
            "CREATE TABLE exchanges (conversation_id TEXT NOT NULL, position INTEGER NOT NULL,"
            " question TEXT NOT NULL, answer TEXT NOT NULL, asked_at REAL NOT NULL,"
            " PRIMARY KEY (conversation_id, position));"
            "CREATE INDEX exchanges_by_time ON exchanges (asked_at);"
            "INSERT INTO exchanges VALUES ('of-before', 0, 'पुरानो?', 'क', 5.0)"
        )
    old.close()
    kept = Conversations(path)
    kept.add("of-before", "नयाँ?", "ख")
    assert [(one.title, one.n_questions) for one in kept.all()] == [("पुरानो?", 2)]
    kept.close()


def test_a_file_that_is_none_of_ours_is_told(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite"
    path.write_bytes(b"no database at all, but long enough to look like one" * 20)
    with pytest.raises(StorageError, match="cannot use the conversations"):
        Conversations(path)
    assert sqlite3.sqlite_version
