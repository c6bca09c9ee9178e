"""One file in, one ``Document`` out: the content decides the reader, every failure is typed.

The table of readers and the rim around them live here; what a format looks like lives in its reader.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rag_platform.errors import MissingDependency, ParseError, RagError, StorageError
from rag_platform.parsing.epub import read_epub
from rag_platform.parsing.html import read_html
from rag_platform.parsing.opendocument import read_odt
from rag_platform.parsing.pdf import read_pdf
from rag_platform.parsing.plain import read_markdown, read_text
from rag_platform.parsing.reading import ParsedFile, ParseOptions, Reader
from rag_platform.parsing.rtf import read_rtf
from rag_platform.parsing.slides import read_pptx
from rag_platform.parsing.sniff import FORMATS, sniff
from rag_platform.parsing.word import read_docx
from rag_platform.text.normalize import stored_text
from rag_platform.types import DEFAULT_COLLECTION, Document

__all__ = ["FORMATS", "READERS", "ParseOptions", "parse_file"]

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
        format_name = sniff(path, source)
        parsed = READERS[format_name](path, options)
    except RagError:
        raise
    except Exception as error:
        raise _typed(error, path, source) from error
    return Document(
        source=source,
        content_sha256=digest,
        format=format_name,
        pages=tuple(replace(page, text=stored_text(page.text).strip()) for page in parsed.pages),
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
    detail = (str(error).strip().splitlines() or ["no details"])[0]
    return ParseError(
        f"{source!r} is damaged or malformed ({type(error).__name__}: {detail}); get it again or save it anew"
    )
