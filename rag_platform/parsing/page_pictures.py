"""One page of a stored file as a picture, and where the words of its stored text stand on it.

Both are tasks for a process of their own (``pool``): the file may be hostile. How a text is laid over words
is the business of ``marking``; what is kept of a picture that of ``rendering``.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rag_platform.errors import ParseError, UnsupportedFormat
from rag_platform.parsing import ocr
from rag_platform.parsing.arrange import PlacedWord
from rag_platform.parsing.fontmap.damage import pdf_errors
from rag_platform.parsing.fontmap.legacy import legacy_converter
from rag_platform.parsing.fontmap.reader import FontMapReader
from rag_platform.parsing.image import open_page
from rag_platform.parsing.marking import Mark, PlacedText, marks
from rag_platform.parsing.pdf import open_pdf
from rag_platform.parsing.pdf_layer import layer_words
from rag_platform.parsing.pictures import Pictures
from rag_platform.parsing.reading import ParseOptions
from rag_platform.parsing.worker import Job
from rag_platform.types import Page

if TYPE_CHECKING:
    import pymupdf
    from PIL.Image import Image

__all__ = ["PICTURED", "draw", "pictured", "place"]

PICTURED = frozenset({"pdf", "png", "jpeg", "tiff", "webp", "bmp"})
"""Formats whose pages can be shown."""
_MOST_PIXELS = 8_000_000
"""Of a picture that is sent: 2,000 pixels wide in A4 are 5.7 million."""
_MOST_HIGH = 16_000
"""Pixels; WebP has room for 16,383."""
_QUALITY = 82
_ABOVE, _BELOW = 0.95, 0.35
"""How far ink reaches from the baseline, in em; Devanagari has vowel signs on both sides of its letters."""


def pictured(format_name: str, source: str) -> None:
    """Refuse a document whose pages are no pictures.

    Raises:
        UnsupportedFormat: Its format has none.
    """
    if format_name not in PICTURED:
        raise UnsupportedFormat(
            f"{source!r} is {format_name or 'not read yet'}: only pages of PDFs and pictures can be shown;"
            " read its text instead"
        )


def draw(job: Job, options: ParseOptions, *, page_no: int, width: int, pdf: bool) -> bytes:
    """Draw a page as WebP, at most so many pixels wide; one that is very high is narrower.

    Raises:
        ParseError: The file is damaged or has no such page.
    """
    picture = _pdf_page(job.path, options, page_no, width) if pdf else open_page(job.path, page_no)[0]
    scale = _scale(picture.width, picture.height, width)
    if scale < 1:
        size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
        picture = picture.resize(size)
    out = io.BytesIO()
    picture.save(out, "WEBP", quality=_QUALITY, method=3)
    return out.getvalue()


def place(job: Job, options: ParseOptions, *, page: Page, pdf: bool) -> tuple[Mark, ...]:
    """Return the words of a page's stored text with their boxes.

    A page that came by OCR is read once more; one that came by the fonts of its document by its own alone.

    Raises:
        ParseError: The file is damaged, or OCR failed or took too long.
    """
    try:
        words = _pdf_words(job.path, options, page) if pdf else _picture_words(job.path, options, page)
    except ocr.OcrTimeout as error:
        raise ParseError(f"page {page.page_no} of {job.source!r}: {error}") from error
    return marks(page.text, list(words))


def _scale(wide: float, high: float, width: int) -> float:
    """Return by how much a page grows to be so many pixels wide, or as large as it may be."""
    return min(width / wide, _MOST_HIGH / high, math.sqrt(_MOST_PIXELS / (wide * high)))


def _pdf_page(path: Path, options: ParseOptions, page_no: int, width: int) -> Image:
    import pymupdf
    from PIL import Image

    with open_pdf(path, options.passwords) as document:
        try:
            page = _loaded(document, page_no)
            high, wide = max(page.rect.height, 1.0), max(page.rect.width, 1.0)
            zoom = _scale(wide, high, width)
            drawn = page.get_pixmap(matrix=pymupdf.Matrix(zoom, zoom), colorspace=pymupdf.csRGB, alpha=False)
        except pdf_errors() as error:
            raise ParseError(f"page {page_no} cannot be drawn ({_first_line(error)})") from error
        return Image.frombytes(
            "RGB", (drawn.width, drawn.height), drawn.samples, "raw", "RGB", drawn.stride, 1
        )


def _pdf_words(path: Path, options: ParseOptions, page: Page) -> Iterable[PlacedText]:
    with open_pdf(path, options.passwords) as document:
        try:
            shown = _loaded(document, page.page_no)
            if page.origin == "ocr":
                return _ocr_words(document, options, page.page_no, shown)
            if page.origin == "text_layer":
                return _on_page(layer_words(shown), shown)
            with FontMapReader(document, legacy=legacy_converter, only={page.page_no}) as reader:
                return _on_page(reader.words(page.page_no), shown)
        except pdf_errors() as error:
            raise ParseError(f"page {page.page_no} cannot be read ({_first_line(error)})") from error


def _loaded(document: pymupdf.Document, page_no: int) -> pymupdf.Page:
    if not 1 <= page_no <= document.page_count:
        raise ParseError(f"the PDF has no page {page_no}, it has {document.page_count}")
    return document.load_page(page_no - 1)


def _on_page(words: Iterable[tuple[str, PlacedWord]], page: pymupdf.Page) -> list[PlacedText]:
    """Return words with boxes as shares of the page as it is shown."""
    import pymupdf

    size = page.rect
    found = []
    for text, word in words:
        box = pymupdf.Rect(_box(word)) * page.rotation_matrix
        found.append(
            PlacedText(
                text,
                (box.x0 / size.width, box.y0 / size.height, box.x1 / size.width, box.y1 / size.height),
            )
        )
    return found


def _box(word: PlacedWord) -> tuple[float, float, float, float]:
    """Return the box of a word's ink on the page as it is stored, unrotated."""
    top, bottom = word.baseline - _ABOVE * word.size, word.baseline + _BELOW * word.size
    if word.turn == 0:
        return word.start, top, word.end, bottom
    if word.turn == 2:
        return -word.end, -bottom, -word.start, -top
    if word.turn == 1:
        return -bottom, word.start, -top, word.end
    return top, -word.end, bottom, -word.start


def _ocr_words(
    document: pymupdf.Document, options: ParseOptions, page_no: int, page: pymupdf.Page
) -> list[PlacedText]:
    with Pictures(document, options) as pictures:
        wide, high = page.rect.width, page.rect.height
        return [
            PlacedText(word.text, (word.x0 / wide, word.y0 / high, word.x1 / wide, word.y1 / high))
            for word in pictures.words(page_no - 1).words
        ]


def _picture_words(path: Path, options: ParseOptions, page: Page) -> list[PlacedText]:
    grey = open_page(path, page.page_no)[1]
    wide, high = grey.size
    return [
        PlacedText(word.text, (word.left / wide, word.top / high, word.right / wide, word.bottom / high))
        for word in ocr.read_picture(grey, options).words
    ]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
