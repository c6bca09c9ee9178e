"""PDF files with PyMuPDF: per page the text layer, or the page's picture through OCR.

A page with at least ``MIN_LETTERS`` letters in its layer keeps it; what is probably wrong is flagged, not
replaced. One damaged page never loses the others; a file cut short is refused as a whole.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rag_platform.errors import EncryptedFile, ParseError, RagError
from rag_platform.parsing import ocr
from rag_platform.parsing.layout import paragraphs
from rag_platform.parsing.pdf_layer import by_font, layer_lines, text_flags
from rag_platform.parsing.quality import MIN_LETTERS, n_letters, suspicion
from rag_platform.parsing.reading import ParsedFile, ParseOptions, stated
from rag_platform.types import Page

if TYPE_CHECKING:
    import pymupdf

__all__ = ["read_pdf"]

_MAX_PIXELS = 60_000_000
"""A0 at 150 DPI: larger pages are rendered more coarsely, so that memory stays flat."""
_INK_CONTRAST = 64
_MIN_INK = 2e-5
_LOW_CONFIDENCE = 0.6


def read_pdf(path: Path, options: ParseOptions) -> ParsedFile:
    """Read a PDF."""
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    with pymupdf.open(str(path), filetype="pdf") as document:
        if document.needs_pass:
            raise EncryptedFile("the PDF opens only with a password; save it without one")
        if document.page_count == 0:
            raise ParseError("the PDF has no pages: damaged or truncated")
        if document.is_repaired:
            _refuse_truncated(document)
        pages = tuple(_page(document, number, options) for number in range(document.page_count))
        return ParsedFile(pages, _metadata(document))


def _metadata(document: pymupdf.Document) -> dict[str, str]:
    values = document.metadata or {}
    names = ("title", "author", "subject", "keywords", "creator", "producer")
    return stated(
        **{name: values.get(name) for name in names},
        created=values.get("creationDate"),
        modified=values.get("modDate"),
    )


def _refuse_truncated(document: pymupdf.Document) -> None:
    """Refuse a file that MuPDF had to mend and that lost content: it opens, without any exception.

    A broken cross-reference table alone costs nothing; lost fonts leave control characters and lost
    content leaves pages with nothing to draw.
    """
    for number in range(document.page_count):
        try:
            page = document.load_page(number)
            text = page.get_text(flags=text_flags())
            lost = not text.strip() and not page.get_contents()
        except RuntimeError:
            lost, text = True, ""
        garbled = sum((c < " " and c not in "\n\t\r") or c == "\ufffd" for c in text)
        if lost or garbled > max(2, len(text) // 50):
            raise ParseError(
                f"the PDF is damaged or truncated (page {number + 1} of {document.page_count} lost its "
                "content); get the file again"
            )


def _page(document: pymupdf.Document, number: int, options: ParseOptions) -> Page:
    """Read one page; what goes wrong on it becomes a suspect empty page."""
    try:
        return _read_page(document, number, options)
    except MemoryError:
        raise
    except RagError as error:
        if not isinstance(error, ParseError):
            raise
        return _failed(number, str(error))
    except Exception as error:  # MuPDF raises several kinds of its own for damaged pages
        return _failed(number, f"{type(error).__name__}: {error}")


def _failed(number: int, reason: str) -> Page:
    return Page(number + 1, "", "text_layer", confidence=0.0, reason=f"page failed: {reason}", suspect=True)


def _read_page(document: pymupdf.Document, number: int, options: ParseOptions) -> Page:
    import pymupdf

    pymupdf.TOOLS.reset_mupdf_warnings()
    page = document.load_page(number)
    fragments = list(layer_lines(page))
    text = paragraphs(fragment.line for fragment in fragments)
    if options.ocr != "always" and n_letters(text) >= MIN_LETTERS:
        reason = suspicion(text, by_font(fragments))
        return Page(number + 1, text, "text_layer", reason=reason, suspect=bool(reason))
    return _picture(page, number, text, options)


def _picture(page: pymupdf.Page, number: int, layer: str, options: ParseOptions) -> Page:
    """Read a page without a usable text layer by its picture."""
    import pymupdf

    why = (
        "OCR of every page is set"
        if options.ocr == "always"
        else f"{n_letters(layer)} letters in the text layer"
    )
    if options.ocr == "never":
        blank = not layer.strip() and not _has_ink(_render(page, 72))
        reason = "blank page" if blank else f"{why}; OCR is switched off"
        return Page(number + 1, layer, "text_layer", reason=reason, suspect=not blank)
    picture = _render(page, ocr.DPI)
    pymupdf.TOOLS.store_shrink(100)  # MuPDF keeps up to 256 MB of unpacked pictures otherwise
    if not layer.strip() and not _has_ink(picture):
        warning = pymupdf.TOOLS.mupdf_warnings()
        if warning:
            return _failed(number, f"nothing could be drawn ({warning.splitlines()[0]})")
        return Page(number + 1, "", "text_layer", reason="blank page")
    try:
        result = _ocr(picture, options)
    except ocr.OcrTimeout as error:
        return Page(number + 1, layer, "text_layer", confidence=0.0, reason=f"{why}; {error}", suspect=True)
    if n_letters(result.text) < n_letters(layer):
        return Page(number + 1, layer, "text_layer", reason=f"{why}; OCR found less ({result.languages})")
    suspect = bool(result.text) and result.confidence < _LOW_CONFIDENCE
    reason = f"{why}; OCR with {result.languages}{'' if result.text else ' found no text'}"
    return Page(number + 1, result.text, "ocr", result.confidence, reason, suspect)


def _render(page: pymupdf.Page, dpi: int) -> pymupdf.Pixmap:
    import pymupdf

    inches = page.rect.width * page.rect.height / 72 / 72
    dpi = min(dpi, max(36, int((_MAX_PIXELS / max(inches, 0.01)) ** 0.5)))
    return page.get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY, alpha=False)


def _has_ink(picture: pymupdf.Pixmap) -> bool:
    """Say whether anything stands out from the paper, dust and scanner noise aside."""
    from PIL import Image

    size = (picture.width, picture.height)
    shades = Image.frombuffer("L", size, picture.samples_mv, "raw", "L", picture.stride, 1).histogram()
    paper = shades.index(max(shades))
    inked = sum(n for shade, n in enumerate(shades) if abs(shade - paper) > _INK_CONTRAST)
    return inked > _MIN_INK * sum(shades)


def _ocr(picture: pymupdf.Pixmap, options: ParseOptions) -> ocr.OcrResult:
    with tempfile.TemporaryDirectory(prefix="rag-ocr-") as folder:
        file = Path(folder) / "page.pgm"  # uncompressed: Tesseract reads it faster than a PNG is packed
        picture.save(str(file), output="pgm")
        return ocr.read_picture(file, options.languages, options.ocr_timeout_s)
