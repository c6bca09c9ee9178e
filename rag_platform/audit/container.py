"""What a file's container says of itself, without its text: how many pages, macros, a mended structure.

The second opinion on what the readers made of a file: nothing of theirs is used but the opening of archives.
"""

from __future__ import annotations

import posixpath
import warnings
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_platform.errors import ParseError, RagError, StorageError
from rag_platform.parsing.archive import open_archive
from rag_platform.parsing.decode import decode
from rag_platform.parsing.office_xml import attribute, elements, local_name, relations
from rag_platform.parsing.reading import ParseOptions
from rag_platform.parsing.sniff import sniff
from rag_platform.parsing.worker import Job

__all__ = ["Container", "inspect", "inspect_job"]

_ONE_PAGE = ("html", "md", "csv", "tsv", "png", "jpeg", "webp", "bmp")
_ZIPPED = ("docx", "pptx", "xlsx", "odt", "epub")
_COMPOUND = ("doc", "ppt", "xls")
_OLD_MACROS = "_VBA_PROJECT".encode("utf-16-le")
_SUBFILE, _REDUCED = 254, 1
"""TIFF tag that marks a frame as the preview of another."""
_NOTHING = ("{}", "[]", "null", '""')
"""JSON values without a text; at the end of a file they open no page."""


@dataclass(frozen=True, slots=True)
class Container:
    """What a container says.

    Attributes:
        n_pages: Pages, slides, chapters, sheets, frames or records; None where the format does not say.
        has_macros: It carries programs, which are never run.
        is_repaired: Its structure is broken and was mended on opening.
        is_restricted: Its owner forbids changes, which locks no reader out.
    """

    n_pages: int | None = None
    has_macros: bool = False
    is_repaired: bool = False
    is_restricted: bool = False


def inspect_job(job: Job, options: ParseOptions) -> Container:
    """Inspect the file of a job of the pool.

    Raises:
        StorageError: It is gone.
        DocumentError: It cannot be opened.
    """
    if not job.path.is_file():
        raise StorageError(f"{job.path} is missing; ingest {job.source!r} again with --force")
    return inspect(job.path, sniff(job.path, job.source), passwords=options.passwords)


def inspect(path: Path, format_name: str, *, passwords: Sequence[str] = ()) -> Container:
    """Return what a file's container says.

    Args:
        path: Where the bytes are.
        format_name: As ``sniff`` tells it.
        passwords: Tried in turn on a PDF that opens only with one.

    Raises:
        ParseError: It cannot be opened.
    """
    try:
        if format_name == "pdf":
            return _pdf(path, passwords)
        if format_name in _ZIPPED:
            return _zipped(path, format_name)
        if format_name in _COMPOUND:
            return Container(has_macros=_OLD_MACROS in path.read_bytes())
        if format_name == "tiff":
            return Container(_n_frames(path))
        if format_name == "jsonl":
            return Container(_n_records(path))
    except RagError:
        raise
    except Exception as error:  # every library has kinds of its own for damage
        raise ParseError(
            f"{path.name!r} does not say how long it is ({type(error).__name__}: {error}); get it again"
        ) from error
    return Container(1 if format_name in _ONE_PAGE else None)


def _pdf(path: Path, passwords: Sequence[str]) -> Container:
    import pymupdf

    with pymupdf.open(str(path), filetype="pdf") as document:
        if document.needs_pass:
            any(document.authenticate(password) for password in passwords)
        restricted = bool((document.metadata or {}).get("encryption"))
        return Container(document.page_count, is_repaired=document.is_repaired, is_restricted=restricted)


def _zipped(path: Path, format_name: str) -> Container:
    with open_archive(path) as archive:
        names = archive.namelist()
        macros = any(name.lower().endswith("vbaproject.bin") or name.startswith("Basic/") for name in names)
        count = _COUNTS.get(format_name)
        return Container(count(archive) if count else None, has_macros=macros)


def _n_slides(archive: zipfile.ZipFile) -> int:
    main = next(iter(relations(archive).of_kind("officeDocument")), "ppt/presentation.xml")
    # The sections' list repeats the slides, without the relation that leads to them.
    return sum(bool(attribute(slide, "id")) for slide in elements(archive, main, "sldId"))


def _n_sheets(archive: zipfile.ZipFile) -> int:
    main = next(iter(relations(archive).of_kind("officeDocument")), "xl/workbook.xml")
    return sum(1 for _ in elements(archive, main, "sheet"))


def _n_chapters(archive: zipfile.ZipFile) -> int | None:
    """Count the texts in the spine; the navigation and the cover are no chapters."""
    package = next(
        (root.get("full-path", "") for root in elements(archive, "META-INF/container.xml", "rootfile")), ""
    )
    chapters: set[str] = set()
    n_chapters = 0
    for element in elements(archive, posixpath.normpath(package), "item", "itemref"):
        if local_name(element) == "itemref":
            n_chapters += element.get("idref", "") in chapters
        elif "html" in element.get("media-type", "") and "nav" not in element.get("properties", "").split():
            key = element.get("id", "")
            if "cover" not in f"{key} {element.get('href', '')}".lower():
                chapters.add(key)
    return n_chapters


_COUNTS: dict[str, Callable[[zipfile.ZipFile], int | None]] = {
    "pptx": _n_slides,
    "xlsx": _n_sheets,
    "epub": _n_chapters,
}


def _n_frames(path: Path) -> int:
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        with path.open("rb") as file, Image.open(file) as picture:
            n_pages = 0
            for at in range(getattr(picture, "n_frames", 1)):
                picture.seek(at)
                reduced = int(getattr(picture, "tag_v2", {}).get(_SUBFILE, 0)) & _REDUCED
                n_pages += at == 0 or not reduced
            return n_pages


def _n_records(path: Path) -> int:
    lines = [line.strip() for line in decode(path.read_bytes()).replace("\r\n", "\n").split("\n")]
    records = [line for line in lines if line]
    while records and records[-1] in _NOTHING:
        records.pop()
    return len(records)
