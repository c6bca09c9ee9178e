"""The inbox folder: what lies in it, and how files get in. What is new or gone is the catalog's to say.

The root of the inbox belongs to one collection; every other collection has the sub-folder of its name.
Any other sub-folder is part of a file's ``source``. Notes (sidecars and folder defaults) are no documents:
they belong to the documents that they are about.
"""

from __future__ import annotations

import logging
import os
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rag_platform.errors import RagError, StorageError
from rag_platform.metadata.sidecars import (
    FOLDER_DEFAULTS,
    SUFFIXES,
    Given,
    is_note,
    read_notes,
    update_note,
    write_note,
)
from rag_platform.storage import copy_file, sha256_of, storage_errors

__all__ = ["Inbox", "InboxFile", "Listing", "Note", "Offered", "is_ignored", "offered"]

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
class Note:
    """A file of metadata as it lies in the inbox."""

    path: Path
    n_bytes: int
    mtime_ns: int

    @property
    def signature(self) -> str:
        """Size and time: equal signatures are taken for equal bytes."""
        return f"{self.n_bytes}:{self.mtime_ns}"


@dataclass(frozen=True, slots=True)
class InboxFile:
    """A file as it lies in the inbox; ``source`` is its NFC path below its collection's inbox.

    Attributes:
        notes: What is said of it in files: from the outermost folder's defaults to its own sidecars.
    """

    collection: str
    source: str
    path: Path
    n_bytes: int
    mtime_ns: int
    notes: tuple[Note, ...] = ()

    @property
    def signature(self) -> str:
        """Sizes and times, its own first: a changed note is a changed document, with the same bytes."""
        return "+".join((f"{self.n_bytes}:{self.mtime_ns}", *(note.signature for note in self.notes)))

    @property
    def touched_ns(self) -> int:
        """When it or one of its notes was last changed."""
        return max(self.mtime_ns, *(note.mtime_ns for note in self.notes), 0)


@dataclass(frozen=True, slots=True)
class Listing:
    """One look at the inbox; what lies below ``unreadable`` is unknown, not gone.

    Attributes:
        strays: Sidecars beside which no document has their name.
    """

    files: tuple[InboxFile, ...]
    unreadable: tuple[Path, ...] = ()
    strays: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Offered:
    """A file that is to be handed over: its path, the source it gets, and what is said beside it."""

    path: Path
    source: str
    given: Given


def offered(paths: Sequence[Path], refused: dict[str, RagError]) -> list[Offered]:
    """Return what ``Inbox.add`` would take in, for an inbox elsewhere.

    Args:
        paths: Files and folders.
        refused: Takes those that cannot be read, by source.

    Raises:
        StorageError: An argument does not exist.
    """
    base = Inbox._common_parent(paths)
    found: dict[str, Offered] = {}
    for path in paths:
        for file in Inbox._files(path, base, refused):
            source = _source(file.absolute().relative_to(base))
            try:
                with storage_errors("read", file):
                    file.open("rb").close()
                given = read_notes(_notes_of(file.absolute(), base), root=base)
            except RagError as error:
                refused[source] = error
                continue
            found[source] = Offered(file, source, given)
    return list(found.values())


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
        return _on_disk(folder, parts)

    def scan(self, collections: Sequence[str]) -> Listing:
        """List every file that is neither hidden, temporary nor a link, ordered by collection and source.

        Raises:
            StorageError: The inbox itself is missing: that is a fault, not thousands of deletions.
        """
        self._must_exist()
        walk = _Walk()
        found: dict[tuple[str, str], InboxFile] = {}
        for path, notes in walk.files(self.root):
            collection, source = self._owner(path, set(collections))
            try:
                stat = path.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # renamed between listing and stat: the next look sees it
            if notes:
                folder = self.folder(collection)  # what is said of one collection is not of another's
                notes = tuple(note for note in notes if note.path.is_relative_to(folder))
            file = InboxFile(collection, source, path, stat.st_size, stat.st_mtime_ns, notes)
            if (collection, source) in found:
                _log.warning("two files have the same name in Unicode NFC; only one is read: %s", path)
                continue
            found[collection, source] = file
        return Listing(tuple(found[key] for key in sorted(found)), tuple(walk.unreadable), tuple(walk.strays))

    def notes(self, collection: str, source: str) -> list[Path]:
        """Return the files that say something of a document, from the outermost folder's to its own."""
        return _notes_of(self.path(collection, source), self.folder(collection))

    def note(self, collection: str, source: str, changes: Sequence[str]) -> None:
        """Set ``name=value`` in the sidecar that wins over all other notes of a document.

        Raises:
            InvalidMetadata: A change means nothing.
        """
        path = self.path(collection, source)
        update_note(path.with_name(path.name + SUFFIXES[-1]), changes)

    def add(
        self, paths: Sequence[Path], collection: str, *, refused: dict[str, RagError] | None = None
    ) -> list[str]:
        """Copy files and folders in and return their sources, in order, without repeats.

        Paths are kept from the arguments' common parent: ``add([a/x.txt, a/b/y.txt])`` gives ``x.txt``
        and ``b/y.txt``. A file already inside the inbox, or there with equal bytes, is not copied. What
        sidecars and folder defaults say of a file goes into its sidecar in the inbox: a folder's defaults
        copied beside those of other folders would speak for files that they never lay above.

        Args:
            paths: Files and folders.
            collection: The corpus they go to.
            refused: Takes the files and folders that cannot be read, by source, so that the others go on;
                None: the first of them is an error.

        Raises:
            StorageError: An argument does not exist or cannot be read, the copy fails, the inbox is missing.
            InvalidMetadata: What is written beside a file means nothing.
        """
        self._must_exist()  # made anew here, it would look as if all that it held had been deleted
        base = self._common_parent(paths)
        sources: dict[str, None] = {}
        for path in paths:
            for file in self._files(path, base, refused):
                try:
                    sources[self._taken(file, base, collection)] = None
                except RagError as error:
                    if refused is None:
                        raise
                    refused[_source(file.absolute().relative_to(base))] = error
        return list(sources)

    def remove(self, collection: str, source: str) -> None:
        """Remove a file with its sidecars; one that is gone already is no error."""
        path = self.path(collection, source)
        for gone in (path, *(path.with_name(path.name + suffix) for suffix in SUFFIXES)):
            with storage_errors("remove", gone):
                gone.unlink(missing_ok=True)

    def _must_exist(self) -> None:
        if not self.root.is_dir():
            raise StorageError(f"the inbox {self.root} is missing; create it, or mount it again, then repeat")

    def _owner(self, path: Path, collections: set[str]) -> tuple[str, str]:
        relative = path.relative_to(self.root)
        top = _spelling(relative.parts[0])
        if len(relative.parts) > 1 and top in collections and top != self.root_collection:
            return top, _source(relative.relative_to(relative.parts[0]))
        return self.root_collection, _source(relative)

    def _taken(self, file: Path, base: Path, collection: str) -> str:
        """Copy one file in, unless it is there, and return its source."""
        folder = self.folder(collection).resolve()
        resolved = file.resolve()
        inside = resolved.is_relative_to(folder)
        source = _source(resolved.relative_to(folder) if inside else file.absolute().relative_to(base))
        target = self.path(collection, source)
        if not inside:
            given = read_notes(_notes_of(file.absolute(), base), root=base)
            if given:
                write_note(target.with_name(target.name + SUFFIXES[0]), given)
            if not _same_bytes(file, target):
                copy_file(file, target)
        return source

    @staticmethod
    def _files(path: Path, base: Path, refused: dict[str, RagError] | None) -> list[Path]:
        if not path.exists():
            raise StorageError(f"{path} does not exist; check the path")
        if path.is_file():
            return [] if is_note(path.name) else [path]
        walk = _Walk()
        files = [file for file, _ in walk.files(path)]
        for folder in walk.unreadable:
            error = StorageError(f"cannot list {folder}: check its permissions, or name the files to ingest")
            if refused is None:
                raise error
            refused[_source(folder.absolute().relative_to(base))] = error
        return files

    @staticmethod
    def _common_parent(paths: Sequence[Path]) -> Path:
        parents = [path.absolute() if path.is_dir() else path.absolute().parent for path in paths]
        return Path(os.path.commonpath(parents)) if parents else Path.cwd()


class _Walk:
    """One walk through a folder: its files with their notes; what could not be read, and stray sidecars."""

    def __init__(self) -> None:
        self.unreadable: list[Path] = []
        self.strays: list[Path] = []

    def files(self, folder: Path, above: tuple[Note, ...] = ()) -> Iterator[tuple[Path, tuple[Note, ...]]]:
        """Yield every file that is neither hidden, temporary, a link nor a note; ``above`` holds for all."""
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except FileNotFoundError:
            return
        except OSError as error:
            _log.warning("cannot list %s: %s", folder, error)
            self.unreadable.append(folder)
            return
        entries = [entry for entry in entries if not is_ignored(entry.name) and not entry.is_symlink()]
        files = {_spelling(entry.name): entry for entry in entries if entry.is_file(follow_symlinks=False)}
        notes = {name: note for name, entry in files.items() if is_note(name) and (note := _note(entry))}
        default = notes.pop(FOLDER_DEFAULTS, None)
        above = above if default is None else (*above, default)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from self.files(Path(entry.path), above)
            elif entry.is_file(follow_symlinks=False) and not is_note(_spelling(entry.name)):
                name = _spelling(entry.name)
                own = [note for suffix in SUFFIXES if (note := notes.pop(name + suffix, None))]
                yield Path(entry.path), (*above, *own)
        self.strays += [note.path for note in notes.values()]


def _note(entry: os.DirEntry[str]) -> Note | None:
    try:
        stat = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    return Note(Path(entry.path), stat.st_size, stat.st_mtime_ns)


def _notes_of(file: Path, top: Path) -> list[Path]:
    """Return the notes of a file that are there: defaults of the folders from ``top`` on, then its own."""
    inner = file.parent.relative_to(top).parts
    folders = [top.joinpath(*inner[:n]) for n in range(len(inner) + 1)]
    names = [_spelling(file.name) + suffix for suffix in SUFFIXES]
    own = [_on_disk(file.parent, PurePosixPath(name)) for name in names]
    notes = (*(folder / FOLDER_DEFAULTS for folder in folders), *own)
    return [path for path in notes if path.is_file() and not path.is_symlink()]


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
