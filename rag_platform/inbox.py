"""The inbox folder: what lies in it, and how files get in. What is new or gone is the catalog's to say.

The root of the inbox belongs to one collection; every other collection has the sub-folder of its name.
Any other sub-folder is part of a file's ``source``.
"""

from __future__ import annotations

import logging
import os
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rag_platform.errors import StorageError
from rag_platform.storage import copy_file, sha256_of, storage_errors

__all__ = ["Inbox", "InboxFile", "Listing", "is_ignored"]

_log = logging.getLogger(__name__)

_IGNORED_NAMES = {"thumbs.db", "desktop.ini"}
_IGNORED_SUFFIXES = {".part", ".partial", ".tmp", ".temp", ".crdownload", ".download", ".swp", ".filepart"}


def is_ignored(name: str) -> bool:
    """Say whether a file or folder name is temporary or hidden and never ingested.

    >>> is_ignored(".DS_Store"), is_ignored("~$सूचना.docx"), is_ignored("ऐन.pdf.part"), is_ignored("ऐन.pdf")
    (True, True, True, False)
    """
    lower = name.lower()
    hidden = name.startswith((".", "~$")) or lower.endswith("~")
    return hidden or lower in _IGNORED_NAMES or PurePosixPath(lower).suffix in _IGNORED_SUFFIXES


@dataclass(frozen=True, slots=True)
class InboxFile:
    """A file as it lies in the inbox; ``source`` is its NFC path below its collection's inbox."""

    collection: str
    source: str
    path: Path
    n_bytes: int
    mtime_ns: int

    @property
    def signature(self) -> str:
        """Size and time: equal signatures are taken for equal bytes."""
        return f"{self.n_bytes}:{self.mtime_ns}"


@dataclass(frozen=True, slots=True)
class Listing:
    """One look at the inbox; what lies below ``unreadable`` is unknown, not gone."""

    files: tuple[InboxFile, ...]
    unreadable: tuple[Path, ...] = ()


class Inbox:
    """The folder that people and programs drop documents into."""

    def __init__(self, root: Path, *, root_collection: str) -> None:
        self.root = root
        self.root_collection = root_collection

    def folder(self, collection: str) -> Path:
        """Return the folder of a collection."""
        return self.root if collection == self.root_collection else self.root / collection

    def path(self, collection: str, source: str) -> Path:
        """Return where a source lies.

        Raises:
            StorageError: The source would leave the collection's folder.
        """
        folder = self.folder(collection)
        parts = PurePosixPath(source)
        if parts.is_absolute() or ".." in parts.parts or not parts.parts:
            raise StorageError(f"{source!r} is not a path below the inbox; use a relative path without '..'")
        return self._on_disk(folder, parts)

    def scan(self, collections: Sequence[str]) -> Listing:
        """List every file that is neither hidden, temporary nor a link, ordered by collection and source.

        Raises:
            StorageError: The inbox itself is missing: that is a fault, not thousands of deletions.
        """
        self._must_exist()
        unreadable: list[Path] = []
        found: dict[tuple[str, str], InboxFile] = {}
        for path in self._walk(self.root, unreadable):
            collection, source = self._owner(path, set(collections))
            try:
                stat = path.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # renamed between listing and stat: the next look sees it
            file = InboxFile(collection, source, path, stat.st_size, stat.st_mtime_ns)
            if (collection, source) in found:
                _log.warning("two files have the same name in Unicode NFC; only one is read: %s", path)
                continue
            found[collection, source] = file
        return Listing(tuple(found[key] for key in sorted(found)), tuple(unreadable))

    def add(
        self, paths: Sequence[Path], collection: str, *, refused: dict[str, StorageError] | None = None
    ) -> list[str]:
        """Copy files and folders in and return their sources, in order, without repeats.

        Paths are kept from the arguments' common parent: ``add([a/x.txt, a/b/y.txt])`` gives ``x.txt``
        and ``b/y.txt``. A file already inside the inbox, or there with equal bytes, is not copied.

        Args:
            paths: Files and folders.
            collection: The corpus they go to.
            refused: Takes the files and folders that cannot be read, by source, so that the others go on;
                None: the first of them is an error.

        Raises:
            StorageError: An argument does not exist or cannot be read, the copy fails, the inbox is missing.
        """
        self._must_exist()  # made anew here, it would look as if all that it held had been deleted
        base = self._common_parent(paths)
        sources: dict[str, None] = {}
        for path in paths:
            for file in self._files(path, base, refused):
                try:
                    sources[self._taken(file, base, collection)] = None
                except StorageError as error:
                    if refused is None:
                        raise
                    refused[_source(file.absolute().relative_to(base))] = error
        return list(sources)

    def remove(self, collection: str, source: str) -> None:
        """Remove a file; one that is gone already is no error."""
        path = self.path(collection, source)
        with storage_errors("remove", path):
            path.unlink(missing_ok=True)

    def _must_exist(self) -> None:
        if not self.root.is_dir():
            raise StorageError(f"the inbox {self.root} is missing; create it, or mount it again, then repeat")

    def _owner(self, path: Path, collections: set[str]) -> tuple[str, str]:
        relative = path.relative_to(self.root)
        top = _spelling(relative.parts[0])
        if len(relative.parts) > 1 and top in collections and top != self.root_collection:
            return top, _source(relative.relative_to(relative.parts[0]))
        return self.root_collection, _source(relative)

    def _walk(self, folder: Path, unreadable: list[Path]) -> Iterator[Path]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except FileNotFoundError:
            return
        except OSError as error:
            _log.warning("cannot list %s: %s", folder, error)
            unreadable.append(folder)
            return
        for entry in entries:
            if is_ignored(entry.name) or entry.is_symlink():
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from self._walk(Path(entry.path), unreadable)
            elif entry.is_file(follow_symlinks=False):
                yield Path(entry.path)

    def _taken(self, file: Path, base: Path, collection: str) -> str:
        """Copy one file in, unless it is there, and return its source."""
        folder = self.folder(collection).resolve()
        resolved = file.resolve()
        inside = resolved.is_relative_to(folder)
        source = _source(resolved.relative_to(folder) if inside else file.absolute().relative_to(base))
        target = self.path(collection, source)
        if not inside and not _same_bytes(file, target):
            copy_file(file, target)
        return source

    def _files(self, path: Path, base: Path, refused: dict[str, StorageError] | None) -> list[Path]:
        if not path.exists():
            raise StorageError(f"{path} does not exist; check the path")
        if path.is_file():
            return [path]
        unreadable: list[Path] = []
        files = list(self._walk(path, unreadable))
        for folder in unreadable:
            error = StorageError(f"cannot list {folder}: check its permissions, or name the files to ingest")
            if refused is None:
                raise error
            refused[_source(folder.absolute().relative_to(base))] = error
        return files

    @staticmethod
    def _common_parent(paths: Sequence[Path]) -> Path:
        parents = [path.absolute() if path.is_dir() else path.absolute().parent for path in paths]
        return Path(os.path.commonpath(parents)) if parents else Path.cwd()

    @staticmethod
    def _on_disk(folder: Path, parts: PurePosixPath) -> Path:
        """Return the path whose spelling is asked for: the file system may spell it otherwise."""
        path = folder
        for part in parts.parts:
            exact = path / part
            if not exact.exists() and path.is_dir():
                same = (name for name in os.listdir(path) if _spelling(name) == part)  # noqa: PTH208
                exact = path / next(same, part)
            path = exact
        return path


def _source(relative: Path) -> str:
    return _spelling(relative.as_posix())


def _spelling(name: str) -> str:
    r"""Return a name in NFC; bytes that are no UTF-8, from old archives, as escapes that text can hold.

    >>> _spelling("\udcff.txt")
    '\\xff.txt'
    """
    return unicodedata.normalize("NFC", os.fsencode(name).decode("utf-8", "backslashreplace"))


def _same_bytes(file: Path, target: Path) -> bool:
    if not target.is_file() or target.stat().st_size != file.stat().st_size:
        return False
    return sha256_of(file) == sha256_of(target)
