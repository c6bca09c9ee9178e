"""EPUB books: chapters in spine order, one page each; navigation and cover pages are left out."""

from __future__ import annotations

import posixpath
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from rag_platform.errors import EncryptedFile, ParseError
from rag_platform.parsing.archive import open_archive
from rag_platform.parsing.blocks import WrittenPage
from rag_platform.parsing.decode import decode, html_declared
from rag_platform.parsing.embedded import EmbeddedPictures
from rag_platform.parsing.html import html_page, parse_html
from rag_platform.parsing.html_fonts import picture_within
from rag_platform.parsing.reading import ParsedFile, ParseOptions, markup_pages, stated
from rag_platform.types import Region

if TYPE_CHECKING:
    from ebooklib.epub import EpubBook, EpubItem

__all__ = ["read_epub"]

_FONT_OBFUSCATION = (b"http://www.idpf.org/2008/embedding", b"http://ns.adobe.com/pdf/enc#RC")
_COVER = re.compile(r"(?:^|[/_.-])(?:cover|title_?cover|coverpage)(?:[/_.-]|$)", re.I)
_DC = ("title", "creator", "language", "publisher", "date", "description", "identifier", "subject")


def read_epub(path: Path, options: ParseOptions) -> ParsedFile:
    """Read an EPUB book."""
    from ebooklib import epub

    _refuse_encrypted(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice to authors of ebooklib code, not about the book
        book = epub.read_epub(str(path), options={"ignore_ncx": True})
    titles, pictures = _titles(book.toc), EmbeddedPictures(options)
    chapters = [
        _titled(page, titles.get(item.file_name, ""))
        for item in _spine(book)
        if (page := _chapter(item, book, pictures)) is not None
    ]
    if not chapters:
        raise ParseError("the book's spine names no readable chapter")
    names: dict[str, str] = {}
    for name in _DC:
        values = [str(value) for value, _ in book.get_metadata("DC", name) if value]
        names["author" if name == "creator" else name] = ", ".join(values)
    return ParsedFile(markup_pages(chapters, "chapter"), stated(**names))


def _titles(contents: object) -> dict[str, str]:
    """Return the title that the table of contents gives each file: that of its first entry."""
    titles: dict[str, str] = {}
    for entry in contents if isinstance(contents, list | tuple) else ():
        if isinstance(entry, list | tuple):
            for name, title in _titles(entry).items():
                titles.setdefault(name, title)
            continue
        href, title = getattr(entry, "href", None), " ".join(str(getattr(entry, "title", "")).split())
        if href and title:
            titles.setdefault(str(href).split("#")[0], title)
    return titles


def _titled(page: WrittenPage, title: str) -> WrittenPage:
    """Return a chapter below the title that only the table of contents gives it."""
    has_heading = any(region.kind == "heading" for region in page.regions)
    if has_heading or not title or not page.text.strip() or title in " ".join(page.text.split()):
        return page
    first = Region(0, len(title), "heading", 1)
    moved = [replace(r, start=r.start + len(title) + 2, end=r.end + len(title) + 2) for r in page.regions]
    return replace(page, text=f"{title}\n\n{page.text}", regions=(first, *moved))


def _refuse_encrypted(path: Path) -> None:
    with open_archive(path) as archive:
        if "META-INF/encryption.xml" not in archive.namelist():
            return
        listing = archive.read("META-INF/encryption.xml")
    methods = re.findall(rb"""EncryptionMethod[^>]*Algorithm\s*=\s*["']([^"']+)""", listing)
    if any(method not in _FONT_OBFUSCATION for method in methods):
        raise EncryptedFile("the book is protected (DRM); only a copy without protection can be read")


def _spine(book: EpubBook) -> list[EpubItem]:
    items = []
    for identifier, *_ in book.spine:
        item = book.get_item_with_id(identifier)
        if item is not None and not _is_navigation(item):
            items.append(item)
    return items


def _is_navigation(item: EpubItem) -> bool:
    from ebooklib import epub

    if isinstance(item, epub.EpubNav | epub.EpubCoverHtml | epub.EpubNcx):
        return True
    return "nav" in (getattr(item, "properties", None) or [])


def _chapter(item: EpubItem, book: EpubBook, pictures: EmbeddedPictures) -> WrittenPage | None:
    """Return the text of a chapter; None for an item that is no markup or only a picture of the cover."""
    if "html" not in (item.media_type or ""):
        return None
    raw = item.content

    def load(source: str) -> bytes | None:
        name = posixpath.normpath(posixpath.join(posixpath.dirname(item.file_name), unquote(source)))
        found = book.get_item_with_href(name)
        return picture_within(source) if found is None else bytes(found.content)

    page = html_page(parse_html(decode(raw, declared=html_declared(raw))), pictures, load)
    is_cover = _COVER.search(f"{item.id}") or _COVER.search(item.file_name or "")
    return None if is_cover and not page.text.strip() else page
