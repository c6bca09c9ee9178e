"""What a file is, by its content; its suffix only tells kinds of plain text apart.

Decides and refuses, reads nothing further. A new format is one entry in ``FORMATS`` and, for containers,
in the tables below.
"""

from __future__ import annotations

import mmap
import re
from pathlib import Path

from rag_platform.errors import EmptyFile, EncryptedFile, ParseError, UnsupportedFormat
from rag_platform.parsing.archive import DAMAGE, open_archive

__all__ = ["FORMATS", "sniff"]

FORMATS: dict[str, str] = {
    ".pdf": "pdf",
    ".txt": "txt",
    ".text": "txt",
    ".md": "md",
    ".markdown": "md",
    ".docx": "docx",
    ".docm": "docx",
    ".dotx": "docx",
    ".pptx": "pptx",
    ".pptm": "pptx",
    ".ppsx": "pptx",
    ".rtf": "rtf",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".epub": "epub",
    ".odt": "odt",
    ".ott": "odt",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".xltx": "xlsx",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".png": "png",
    ".jpg": "jpeg",
    ".jpeg": "jpeg",
    ".tif": "tiff",
    ".tiff": "tiff",
    ".webp": "webp",
    ".bmp": "bmp",
    ".doc": "doc",
    ".dot": "doc",
    ".ppt": "ppt",
    ".pps": "ppt",
    ".xls": "xls",
    ".xlsb": "xls",
    ".ods": "xls",
    ".odp": "ppt",
    ".zip": "zip",
}
"""Format by suffix: what the inbox offers and messages name; the content decides."""

_HEAD = 4096
_TEXT_FORMATS = frozenset({"txt", "md", "html", "csv", "tsv", "jsonl"})
_ROWS = frozenset({"csv", "tsv", "jsonl"})
"""Text in which a tag at the beginning is a value."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_STREAMS = {"doc": ("WordDocument",), "ppt": ("PowerPoint Document",), "xls": ("Workbook", "Book")}
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
    (b"II+\0", "tiff"),
    (b"MM\0+", "tiff"),
    (b"BM", "bmp"),
)
_MAGIC = (
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a RIFF file (sound or video)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
)
_MIMETYPES = {
    "application/epub+zip": "epub",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.oasis.opendocument.text-template": "odt",
    "application/vnd.oasis.opendocument.spreadsheet": "xls",
    "application/vnd.oasis.opendocument.presentation": "ppt",
}
_OOXML = (
    ("wordprocessingml", "docx"),
    ("presentationml", "pptx"),
    ("spreadsheetml", "xlsx"),
    ("sheet.binary", "xls"),
    ("ms-excel", "xlsx"),
    ("ms-word", "docx"),
    ("ms-powerpoint", "pptx"),
)
_HTML = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)


def sniff(path: Path, name: str = "") -> str:
    """Return the format of ``path``: a value of ``FORMATS``.

    Args:
        path: Where the bytes are.
        name: What the file is called, when ``path`` is a copy under another name.

    Raises:
        EmptyFile: It has no bytes.
        EncryptedFile: It is an Office file under a password.
        UnsupportedFormat: It is something that no reader handles; the message says what to do.
        ParseError: It is not what its suffix says, or a damaged container.
    """
    name = Path(name or path).name
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head:
        raise EmptyFile(f"{name!r} is empty (0 bytes)")
    suffix = Path(name).suffix.lower()
    if re.match(rb"(?:\xef\xbb\xbf)?\s*%PDF-", head) or (suffix == ".pdf" and b"%PDF-" in head[:1024]):
        return "pdf"
    if re.match(rb"(?:\xef\xbb\xbf)?\s*\{\\rtf", head):
        return "rtf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _container(path, name)
    if head.startswith(_OLE):
        return _compound(path, name)
    for magic, image in _IMAGES:
        if head.startswith(magic) and (len(magic) > 2 or b"\0" in head):
            return image
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "webp"
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            raise UnsupportedFormat(f"{name!r} is {kind}; {_supported()}")
    return _plain(name, head)


def _plain(name: str, head: bytes) -> str:
    suffix = Path(name).suffix.lower()
    named = FORMATS.get(suffix, "")
    if named not in _ROWS and _HTML.match(_ascii_shape(head)):
        return "html"
    if named in _TEXT_FORMATS:
        return named
    if not suffix:
        return "txt"
    if named:
        raise ParseError(
            f"{name!r} is named {suffix}, but its content is not {named}: damaged, truncated or misnamed"
        )
    raise UnsupportedFormat(f"no reader for {suffix!r} files ({name!r}); {_supported()}")


def _ascii_shape(head: bytes) -> str:
    """Return the beginning as far as markup goes: BOMs and the NULs of UTF-16 removed."""
    return head.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe").decode("latin-1")


def _container(path: Path, name: str) -> str:
    with open_archive(path) as archive:
        entries = set(archive.namelist())
        try:
            if "mimetype" in entries:
                mimetype = archive.read("mimetype")[:200].decode("latin-1").strip()
                if mimetype in _MIMETYPES:
                    return _MIMETYPES[mimetype]
                raise UnsupportedFormat(f"{name!r} is of type {mimetype!r}; {_supported()}")
            if "[Content_Types].xml" in entries:
                return _office(name, archive.read("[Content_Types].xml").decode("utf-8", "ignore"))
        except DAMAGE as error:
            raise ParseError(f"{name!r} is a damaged container ({error}); get it again") from error
    if "META-INF/container.xml" in entries:  # an EPUB whose mimetype entry was forgotten
        return "epub"
    return "zip"


def _office(name: str, content_types: str) -> str:
    for override in re.findall(r"<[^<>]*Override[^<>]*>", content_types):
        if "main+xml" in override:
            for marker, named in _OOXML:
                if marker in override:
                    return named
    raise UnsupportedFormat(f"{name!r} is an Office file of another kind; {_supported()}")


def _compound(path: Path, name: str) -> str:
    """Tell the old Office formats apart; where one is embedded in another, the suffix decides."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        if view.find("EncryptedPackage".encode("utf-16-le")) >= 0:
            raise EncryptedFile(f"{name!r} is an Office file under a password; save it without one")
        found = [
            kind
            for kind, streams in _OLE_STREAMS.items()
            if any(view.find(f"{stream}\0".encode("utf-16-le")) >= 0 for stream in streams)
        ]
    if found:
        named = FORMATS.get(Path(name).suffix.lower(), "")
        return named if named in found else found[0]
    raise UnsupportedFormat(
        f"{name!r} is an old container of another kind (mail, drawing, installer); {_supported()}"
    )


def _supported() -> str:
    return (
        "supported are PDF, Word, PowerPoint, Excel, ODT, EPUB, RTF, HTML, Markdown, plain text, CSV, TSV, "
        "JSON Lines, PNG, JPEG, TIFF, WebP, BMP and ZIP"
    )
