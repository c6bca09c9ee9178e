"""ZIP archives of documents: one document whose pages are those of its members, in the archive's order.

Members are unpacked one after another under names of ours, so that no path in an archive reaches the disk.
Each begins with its path as a heading; one that cannot be read is a suspect page that says why. How a
member is read is the business of whoever makes the reader.
"""

from __future__ import annotations

import shutil
import stat
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from rag_platform.errors import DocumentError, EncryptedFile, ParseError, UnsupportedFormat
from rag_platform.parsing.archive import DAMAGE, open_archive
from rag_platform.parsing.reading import ParsedFile, ParseOptions, Reader, stored_page
from rag_platform.types import Page, Region

__all__ = ["MAX_MEMBERS", "zip_reader"]

MAX_MEMBERS = 2_000
"""Files of one archive; an archive with more is a store, whose files are better added by themselves."""
_JUNK_NAMES = frozenset({"thumbs.db", "desktop.ini", ".ds_store"})
_JUNK_FOLDER = "__MACOSX/"
_ENCRYPTED, _UTF8 = 0x1, 0x800

ReadMember = Callable[[Path, str, ParseOptions], ParsedFile]
"""Reads a file at a path under its name in the archive."""


def zip_reader(read: ReadMember) -> Reader:
    """Return a reader of archives whose members are read by ``read``."""

    def reader(path: Path, options: ParseOptions) -> ParsedFile:
        with open_archive(path) as archive, tempfile.TemporaryDirectory(prefix="rag-zip-") as folder:
            return _read(archive, Path(folder) / "member", lambda file, name: read(file, name, options))

    return reader


def _read(archive: zipfile.ZipFile, place: Path, read: Callable[[Path, str], ParsedFile]) -> ParsedFile:
    members = list(_members(archive))
    if len(members) > MAX_MEMBERS:
        raise ParseError(f"the archive holds {len(members)} files, more than {MAX_MEMBERS}; unpack it")
    pages: list[Page] = []
    left_out: list[str] = []
    for name, member in members:
        try:
            _unpack(archive, member, place)
            parsed = read(place, name)
        except UnsupportedFormat:
            left_out.append(name)
        except DocumentError as error:
            pages.append(_failed(name, str(error)))
        else:
            pages += _titled(name, parsed.pages)
    if left_out:
        pages.append(_failed(", ".join(left_out), "no reader for this kind of file; left out"))
    if all(page.suspect and not page.text for page in pages):
        why = pages[0].reason if pages else "it holds no files"
        raise UnsupportedFormat(f"nothing in the archive can be read ({why})")
    numbered = (replace(page, page_no=number) for number, page in enumerate(pages, start=1))
    return ParsedFile(tuple(numbered), {"members": str(len(members))})


def _members(archive: zipfile.ZipFile) -> Iterator[tuple[str, zipfile.ZipInfo]]:
    """Yield the files of an archive under readable names, without what systems leave behind in archives."""
    for member in archive.infolist():
        name = _readable(member)
        link = stat.S_ISLNK(member.external_attr >> 16)
        junk = name.startswith(_JUNK_FOLDER) or PurePosixPath(name).name.lower() in _JUNK_NAMES
        if not (member.is_dir() or link or junk):
            yield name, member


def _readable(member: zipfile.ZipInfo) -> str:
    """Return a member's path to show: many programs write UTF-8 and do not say so."""
    name = member.filename
    if not member.flag_bits & _UTF8:
        try:
            name = name.encode("cp437").decode("utf-8")
        except UnicodeError:
            name = member.filename
    parts = (part for part in name.replace("\\", "/").split("/") if part not in ("", ".", ".."))
    return unicodedata.normalize("NFC", "/".join(parts))


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, place: Path) -> None:
    """Write a member to ``place``, whatever its own path says."""
    if member.flag_bits & _ENCRYPTED:
        raise EncryptedFile("it is under a password; pack it without one")
    try:
        with archive.open(member) as packed, place.open("wb") as file:
            shutil.copyfileobj(packed, file)
    except DAMAGE as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise  # the disk
        raise ParseError(f"it is damaged or packed in an unknown way ({error})") from error


def _titled(name: str, pages: tuple[Page, ...]) -> Iterator[Page]:
    """Put a member's path above its first page, as a heading over the headings of the member."""
    for number, page in enumerate(map(stored_page, pages)):
        reason = f"{name}: {page.reason}" if page.reason else name
        if number:
            yield replace(page, reason=reason)
            continue
        head = f"{name}\n\n"
        moved = (
            replace(
                one,
                start=one.start + len(head),
                end=one.end + len(head),
                level=one.level + (one.kind == "heading"),
            )
            for one in page.regions
        )
        regions = (Region(0, len(name), "heading", 1), *moved)
        yield replace(page, text=f"{head}{page.text}", regions=regions, reason=reason)


def _failed(name: str, why: str) -> Page:
    return Page(1, "", "markup", confidence=0.0, reason=f"{name}: {why}", suspect=True)
