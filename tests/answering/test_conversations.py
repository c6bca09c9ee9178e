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


def test_old_ones_are_forgotten_whole(kept: Conversations, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 40 * 24 * 3600)
    kept.add("long-ago", "पुरानो?", "क")
    kept.add("still-used", "सुरु?", "क")
    monkeypatch.setattr(time, "time", lambda: now)
    kept.add("still-used", "अहिले?", "ख")
    assert [(one.conversation_id, one.n_questions) for one in kept.all()] == [("still-used", 2)]


def test_a_file_that_is_none_of_ours_is_told(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite"
    path.write_bytes(b"no database at all, but long enough to look like one" * 20)
    with pytest.raises(StorageError, match="cannot use the conversations"):
        Conversations(path)
    assert sqlite3.sqlite_version
