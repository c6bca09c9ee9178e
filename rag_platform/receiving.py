"""Documents that a program hands over: their names, and how they get into the inbox.

A name comes from outside: it is kept for display and never obeyed as a path. Nothing is ingested here.
"""

from __future__ import annotations

import hashlib
import shutil
import unicodedata
from collections.abc import Mapping, Sequence
from io import SEEK_END
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import regex

from rag_platform.errors import CallerError
from rag_platform.inbox import is_ignored
from rag_platform.metadata.sidecars import changed, is_note
from rag_platform.storage import atomic, sha256_of
from rag_platform.system import System
from rag_platform.types import fingerprint

__all__ = ["receive", "safe_name", "safe_path", "said"]

_NAME_BYTES = 200
"""What a name may take: file systems allow 255, and sidecars and temporary files add to it."""
_MOST_PARTS = 10


def safe_name(given: str) -> str:
    r"""Return the name that a document has from now on: the last part of what was given, in NFC.

    A name that is too long keeps its beginning, its suffix, and a hash that tells it from others.

    Raises:
        CallerError: Nothing is left of it, or the inbox would not take a file of that name as a document.

    >>> safe_name("ऐन/सूचना २०८१.pdf"), safe_name("..\\..\\कर.txt"), safe_name("../../etc/passwd")
    ('सूचना २०८१.pdf', 'कर.txt', 'passwd')
    """
    last = given.replace("\\", "/").rsplit("/", 1)[-1]
    kept = unicodedata.normalize("NFC", "".join(c for c in last if not _is_unsafe(c)))
    name = " ".join(kept.split())
    if not name.strip(". "):
        raise CallerError(f"{given!r} is no file name; give the document one, such as सूचना.pdf")
    if is_ignored(name) or is_note(name):
        raise CallerError(
            f"{name!r} is the name of a hidden or temporary file, or of a sidecar; "
            "give the document another, and its metadata in the field for it"
        )
    return name if len(name.encode()) <= _NAME_BYTES else _shortened(name)


def safe_path(given: str) -> str:
    r"""Return the path below an inbox that a document has from now on, each part of it as by ``safe_name``.

    Raises:
        CallerError: A part of it is no name, or it has more than ten.

    >>> safe_path("ऐन/नागरिकता\\ऐन २०६३.pdf"), safe_path("/कर.txt")
    ('ऐन/नागरिकता/ऐन २०६३.pdf', 'कर.txt')
    """
    parts = given.replace("\\", "/").strip("/").split("/")
    if len(parts) > _MOST_PARTS:
        raise CallerError(f"{given!r} lies {len(parts)} parts deep, allowed are {_MOST_PARTS}")
    return "/".join(map(safe_name, parts))


_UNSAFE = {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Control characters, halves of characters, unassigned ones, line breaks. Joiners (Cf) are spelling."""
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They turn the direction of writing, and so show ``fdp.exe`` as ``exe.pdf``."""


def _is_unsafe(character: str) -> bool:
    return character in _TURNING or unicodedata.category(character) in _UNSAFE


def said(
    metadata: Mapping[str, object] | Sequence[str] = (),
    *,
    kinds: Sequence[str] = (),
    language: str = "",
) -> list[str]:
    """Return what is said of a document as changes of its sidecar.

    Args:
        metadata: Values or lists of them by name, or ``name=value`` as on the command line.
        kinds: Kinds that are ingested of it; empty: as the settings say.
        language: Tesseract languages; empty: as the settings say.

    Raises:
        InvalidMetadata: A name or value means nothing.
    """
    pairs = metadata.items() if isinstance(metadata, Mapping) else ()
    changes = [f"{name}={_joined(value)}" for name, value in pairs] if pairs else list(metadata)
    changes += [f"parse.kinds={'|'.join(kinds)}"] if kinds else []
    changes += [f"parse.languages={language}"] if language else []
    changed({}, changes)
    return changes


def receive(
    system: System,
    collection: str,
    files: Sequence[tuple[str, BinaryIO]],
    *,
    changes: Sequence[str] = (),
) -> list[str]:
    """Put documents into a collection's inbox, and return their sources; a known name is a new version of it.

    Args:
        system: The wired platform.
        collection: Made where it does not exist.
        files: Names of ``safe_name`` or ``safe_path``, with what is read from its beginning.
        changes: Of ``said``, for all of them.

    Raises:
        CallerError: Two have one name, a folder has it, or it would lie in another collection's folder.
        StorageError: The disk is full.
    """
    names = [name for name, _ in files]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise CallerError(f"{twice[0]!r} is given twice; each document needs a name of its own")
    system.catalog.create_collection(collection)
    is_root = collection == system.inbox.root_collection
    others = {one for one in system.catalog.collections() if one != collection} if is_root else set()
    for name in names:
        folder, is_below, _ = name.partition("/")
        if is_below and folder in others:
            raise CallerError(f"{name!r} would lie in the folder of the collection {folder!r}; name that one")
        if system.inbox.path(collection, name).is_dir():
            raise CallerError(f"{name!r} is a folder of the inbox; give the document another name")
    for name, content in files:
        if changes:  # before the file: what is found without it would be ingested without it
            system.inbox.note(collection, name, changes)
        if _is_there(content, system.inbox.path(collection, name)):
            continue
        content.seek(0)
        with atomic(system.inbox.path(collection, name)) as target:
            shutil.copyfileobj(content, target)
    return names


def _is_there(content: BinaryIO, path: Path) -> bool:
    """Say whether a file has these bytes already: written anew, it would look like another version."""
    size = content.seek(0, SEEK_END)
    if not path.is_file() or path.stat().st_size != size:
        return False
    content.seek(0)
    return hashlib.file_digest(content, "sha256").hexdigest() == sha256_of(path)  # type: ignore[arg-type]


def _shortened(name: str) -> str:
    suffix = PurePosixPath(name).suffix
    suffix = suffix if len(suffix.encode()) <= 16 else ""
    mark = f"-{fingerprint(name)[:8]}{suffix}"
    cut = ""
    for cluster in regex.findall(r"\X", name.removesuffix(suffix)):
        if len((cut + cluster + mark).encode()) > _NAME_BYTES:
            break
        cut += cluster
    return cut.strip() + mark


def _joined(value: object) -> str:
    return "|".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
