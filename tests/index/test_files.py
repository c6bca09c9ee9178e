"""Copies keep bytes and holes and share nothing with their source; the lock is exclusive."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from rag_platform.errors import Busy, StorageError
from rag_platform.index.files import allocated_bytes, copy_tree, require_space, sync_tree, writer_lock

HOLE = 8 << 20


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    source = tmp_path / "source"
    (source / "inner" / "empty").mkdir(parents=True)
    (source / "nothing").touch()
    (source / "dense.dat").write_bytes(os.urandom(3_000_000))
    with (source / "inner" / "holes.dat").open("wb") as file:
        file.write(b"begin")
        file.seek(HOLE)
        file.write(b"middle")
        file.truncate(3 * HOLE)
    with (source / "only_a_hole").open("wb") as file:
        file.truncate(HOLE)
    return source


def contents(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def test_a_copy_has_the_same_bytes_and_is_on_its_own(tree: Path, tmp_path: Path) -> None:
    copy_tree(tree, tmp_path / "copy")
    before = contents(tree)
    assert contents(tmp_path / "copy") == before
    assert not (tmp_path / "copy" / "dense.dat").samefile(tree / "dense.dat")
    with (tmp_path / "copy" / "dense.dat").open("r+b") as file:
        file.write(b"changed")
    assert contents(tree) == before


@pytest.mark.parametrize("n_bytes", [0, 100_000])
def test_what_the_kernel_does_not_copy_is_read_and_written(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_bytes: int
) -> None:
    copied: list[int] = []
    kernel = os.copy_file_range

    def failing(reader: int, writer: int, count: int, at: int, to: int) -> int:
        if len(copied) > 0 or not n_bytes:
            raise OSError(errno.EXDEV, "other file systems")
        copied.append(kernel(reader, writer, min(count, n_bytes), at, to))
        return copied[-1]

    monkeypatch.setattr(os, "copy_file_range", failing)
    copy_tree(tree, tmp_path / "copy")
    assert contents(tmp_path / "copy") == contents(tree)


def test_holes_take_no_room(tree: Path, tmp_path: Path) -> None:
    if allocated_bytes(tree) > 2 * HOLE:
        pytest.skip("this file system has no holes")
    copy_tree(tree, tmp_path / "copy")
    assert allocated_bytes(tmp_path / "copy") <= allocated_bytes(tree) + 65_536


def test_temporary_files_of_readers_are_left_out(tree: Path, tmp_path: Path) -> None:
    before = contents(tree)
    (tree / "inner" / ".atomicwriteX1Y2").mkdir()
    copy_tree(tree, tmp_path / "copy")
    assert contents(tmp_path / "copy") == before


def test_a_system_that_knows_no_holes(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "SEEK_DATA")
    copy_tree(tree, tmp_path / "copy")
    assert contents(tmp_path / "copy") == contents(tree)


def test_sync_takes_every_file(tree: Path) -> None:
    before = contents(tree)
    sync_tree(tree)
    assert contents(tree) == before


def test_no_room(tmp_path: Path) -> None:
    require_space(tmp_path, 1)
    with pytest.raises(StorageError, match="no space left"):
        require_space(tmp_path, 1 << 60)


def test_one_writer(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    with writer_lock(folder, 0.1), pytest.raises(Busy, match="wait for it"), writer_lock(folder, 0.1):
        pytest.fail("two writers")
    with writer_lock(folder, 0.1):
        assert folder.is_dir()
