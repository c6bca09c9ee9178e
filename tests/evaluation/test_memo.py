"""What was done once is kept, also between processes, and never half."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rag_platform.errors import StorageError
from rag_platform.evaluation.memo import Memo


def test_values_stay_and_the_first_wins(tmp_path: Path) -> None:
    memo = Memo(tmp_path / "cache" / "work.sqlite")
    assert memo.get("क") is None
    assert not memo.path.exists(), "asking makes no file"
    memo.put("क", {"text": "जवाफ", "n": 1})
    memo.put("क", {"text": "अर्को", "n": 2})
    assert Memo(memo.path).get("क") == {"text": "जवाफ", "n": 1}
    many = {f"k{i}": {"i": i} for i in range(1_200)}
    memo.put_many(many)
    assert memo.get_many([*many, "missing"]) == many


def test_threads_and_processes_share_it(tmp_path: Path) -> None:
    memos = [Memo(tmp_path / "work.sqlite") for _ in range(3)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda i: memos[i % 3].put(f"k{i}", {"i": i}), range(60)))
    assert {value["i"] for value in memos[0].get_many([f"k{i}" for i in range(60)]).values()} == set(
        range(60)
    )


def test_a_damaged_file_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "work.sqlite"
    path.write_bytes(b"no database at all, but long enough to be taken for one" * 100)
    with pytest.raises(StorageError, match="delete the file"):
        Memo(path).get("k")
