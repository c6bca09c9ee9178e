"""One file in, one ``Document`` out: the content decides the reader, every failure is typed.

The table of readers and the rim around them live here; what a format looks like lives in its reader.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from rag_platform.errors import MissingDependency, ParseError, RagError, StorageError, UnsupportedFormat
from rag_platform.parsing.convert import converted
from rag_platform.parsing.epub import read_epub
from rag_platform.parsing.html import read_html
from rag_platform.parsing.image import read_image
from rag_platform.parsing.opendocument import read_odt
from rag_platform.parsing.packed import zip_reader
from rag_platform.parsing.pdf import read_pdf
from rag_platform.parsing.plain import read_markdown, read_text
from rag_platform.parsing.reading import ParsedFile, ParseOptions, Reader, stored_page
from rag_platform.parsing.records import read_records
from rag_platform.parsing.rtf import read_rtf
from rag_platform.parsing.sheets import read_csv, read_tsv
from rag_platform.parsing.slides import read_pptx
from rag_platform.parsing.sniff import FORMATS, sniff
from rag_platform.parsing.word import read_docx
from rag_platform.parsing.workbook import read_xlsx
from rag_platform.text.normalize import stored_text
from rag_platform.types import DEFAULT_COLLECTION, Document

__all__ = ["FORMATS", "READERS", "ParseOptions", "parse_file"]


def _read(path: Path, source: str, options: ParseOptions) -> tuple[str, ParsedFile]:
    """Return a file's format and what its reader makes of it; every failure is typed."""
    try:
        format_name = sniff(path, source)
        return format_name, READERS[format_name](path, options)
    except RagError:
        raise
    except Exception as error:
        raise _typed(error, path, source) from error


def _read_member(path: Path, name: str, options: ParseOptions) -> ParsedFile:
    """Read a file of an archive; archives in archives are how bombs are built, so they stay packed."""
    if sniff(path, name) == "zip":
        raise UnsupportedFormat(f"{name!r} is an archive in an archive; unpack it")
    return _read(path, name, options)[1]


READERS: dict[str, Reader] = {
    "pdf": read_pdf,
    "txt": read_text,
    "md": read_markdown,
    "docx": read_docx,
    "pptx": read_pptx,
    "rtf": read_rtf,
    "html": read_html,
    "epub": read_epub,
    "odt": read_odt,
    "xlsx": read_xlsx,
    "csv": read_csv,
    "tsv": read_tsv,
    "jsonl": read_records,
    **dict.fromkeys(("png", "jpeg", "tiff", "webp", "bmp"), read_image),
    "doc": converted("docx", read_docx),
    "ppt": converted("pptx", read_pptx),
    "xls": converted("xlsx", read_xlsx),
    "zip": zip_reader(_read_member),
}
"""Reader by format; ``sniff`` names the format."""

_DEFAULT_OPTIONS = ParseOptions()


def parse_file(
    path: str | Path,
    *,
    source: str | None = None,
    collection: str = DEFAULT_COLLECTION,
    options: ParseOptions = _DEFAULT_OPTIONS,
) -> Document:
    """Read one file.

    Args:
        path: Where the bytes are.
        source: What the file is called in its collection; its suffix counts, not that of ``path``.
            Defaults to the name of ``path``.
        collection: The corpus that the document belongs to.
        options: How to read it.

    Returns:
        The document; without text when nothing in the file is text (blank pages are kept).

    Raises:
        DocumentError: The file is empty, encrypted, damaged or of a kind that no reader handles.
        MissingDependency: Tesseract or one of its languages is needed and not installed.
        StorageError: The file cannot be read from the disk.
    """
    path = Path(path)
    source = unicodedata.normalize("NFC", path.name if source is None else source)
    try:
        digest = _sha256(path)
    except OSError as error:
        raise _typed(error, path, source) from error
    format_name, parsed = _read(path, source, options)
    return Document(
        source=source,
        content_sha256=digest,
        format=format_name,
        pages=tuple(map(stored_page, parsed.pages)),
        collection=collection,
        metadata=_metadata(parsed),
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _metadata(parsed: ParsedFile) -> Mapping[str, str]:
    return {stored_text(name): stored_text(value) for name, value in parsed.metadata.items()}


def _typed(error: Exception, path: Path, source: str) -> RagError:
    """Say what an exception of a library or of the disk means; out of memory is nobody's document error."""
    if isinstance(error, MemoryError):
        raise error
    if isinstance(error, ImportError):
        return MissingDependency(f"{error.name or error} is not installed; run: pip install rag-platform")
    if isinstance(error, OSError) and error.filename is not None and Path(error.filename) == path:
        return StorageError(f"{path} cannot be read: {error.strerror}; is it there and readable?")
    # The copy's own place means nothing to anybody.
    detail = (str(error).replace(str(path), source).strip().splitlines() or ["no details"])[0]
    return ParseError(
        f"{source!r} is damaged or malformed ({type(error).__name__}: {detail}); get it again or save it anew"
    )
