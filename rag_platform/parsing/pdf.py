"""PDF files with PyMuPDF: every page by its best route, in three passes over the document.

First the text layers; then, for pages whose layer is wrong, what the document's fonts say of their glyphs;
last the pictures of the pages that neither could read. Which reading is believed is decided in ``routes``.
Then running headers, footers and page numbers go, which are told from the pages around (``furniture``).
One damaged page never loses the others; a file cut short is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rag_platform.errors import EncryptedFile, ParseError, RagError
from rag_platform.parsing import ocr
from rag_platform.parsing.embedded import EmbeddedPictures
from rag_platform.parsing.fontmap.legacy import legacy_converter
from rag_platform.parsing.fontmap.matching import OcrPage
from rag_platform.parsing.fontmap.reader import FontMapReader, MappedPage
from rag_platform.parsing.furniture import furniture
from rag_platform.parsing.grids import page_text
from rag_platform.parsing.layout import Line
from rag_platform.parsing.pdf_images import with_pictures
from rag_platform.parsing.pdf_layer import read_layer, text_flags
from rag_platform.parsing.pictures import Pictures
from rag_platform.parsing.quality import MIN_LETTERS, n_letters, suspicion
from rag_platform.parsing.reading import OCR_OFF, ParsedFile, ParseOptions, stated
from rag_platform.parsing.routes import Reading, best, layer_is_right, map_is_right
from rag_platform.text.normalize import stored_text
from rag_platform.types import Origin, Page

if TYPE_CHECKING:
    import pymupdf

__all__ = ["open_pdf", "read_pdf"]

_T = TypeVar("_T")

_LOW_CONFIDENCE = 0.6


def read_pdf(path: Path, options: ParseOptions) -> ParsedFile:
    """Read a PDF."""
    with open_pdf(path, options.passwords) as document:
        if document.page_count == 0:
            raise ParseError("the PDF has no pages: damaged or truncated")
        if document.is_repaired:
            _refuse_truncated(document)
        with Pictures(document, options) as pictures:
            return ParsedFile(_Pages(document, options, pictures).read(), _metadata(document))


def open_pdf(path: Path, passwords: Sequence[str]) -> pymupdf.Document:
    """Open a PDF; MuPDF's own message would show where the copy lies, not what the file is called.

    Raises:
        EncryptedFile: No password opens it.
        ParseError: It is damaged.
    """
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    try:
        document = pymupdf.open(str(path), filetype="pdf")
    except pymupdf.FileDataError as error:
        raise ParseError("the PDF is damaged or truncated; get the file again") from error
    _unlock(document, passwords)
    return document


def _unlock(document: pymupdf.Document, passwords: Sequence[str]) -> None:
    """Open what only a password opens; an owner's password, which forbids changes, locks no reader out."""
    if document.needs_pass and not any(document.authenticate(password) for password in passwords):
        tried = (
            "none of the passwords given opens the PDF" if passwords else "the PDF opens with a password only"
        )
        raise EncryptedFile(f"{tried}; give it with --password or RAG_PDF_PASSWORDS, or save it without one")


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


@dataclass(frozen=True, slots=True)
class _Read:
    """A page and the lines that its text is put together from."""

    page: Page
    lines: tuple[Line, ...] = ()


class _Pages:
    """The pages of one document on their way to their text; numbers count from 0."""

    def __init__(self, document: pymupdf.Document, options: ParseOptions, pictures: Pictures) -> None:
        self._document, self._options, self._pictures = document, options, pictures
        self._embedded = EmbeddedPictures(options)
        self._failures: dict[int, str] = {}

    def read(self) -> tuple[Page, ...]:
        """Read every page."""
        numbers = range(self._document.page_count)
        layers = {number: self._guarded(number, self._layer) for number in numbers}
        wrong = [n for n, layer in layers.items() if layer is not None and not layer_is_right(layer)]
        mapped, disagreement = self._mapped([n for n in wrong if n_letters(_text(layers[n]))])
        pages: dict[int, _Read | None] = {}
        for number, layer in layers.items():
            if layer is not None:
                found = mapped.get(number)
                pages[number] = self._guarded(number, self._without_picture, layer, found, disagreement)
        drawn = [n for n, page in pages.items() if page is None and n not in self._failures]
        self._pictures.expect(drawn)
        for number in drawn:
            pages[number] = self._guarded(number, self._by_picture, layers[number], mapped.get(number))
        read = _without_furniture({number: page for number, page in pages.items() if page is not None})
        undrawn = {number: self._pictured(number, read[number]) for number in read if number not in drawn}
        return tuple(
            undrawn.get(number) or (read[number].page if number in read else self._failed(number))
            for number in numbers
        )

    def _layer(self, number: int) -> Reading:
        import pymupdf

        pymupdf.TOOLS.reset_mupdf_warnings()
        layer = read_layer(self._document.load_page(number))
        found = page_text(layer.lines)
        fault = suspicion(stored_text(found.text), layer.by_font)
        return Reading(found.text, "text_layer", 1.0, "", fault, found.regions, layer.lines)

    def _mapped(self, numbers: Collection[int]) -> tuple[dict[int, Reading], float | None]:
        """Read pages by their fonts, and say how far one of them disagrees with its OCR."""
        if not numbers or self._options.ocr == "always":
            return {}, None
        ocr_words = None if self._options.ocr == "never" else self._ocr_words
        reader = FontMapReader(
            self._document, ocr=ocr_words, legacy=legacy_converter, only={number + 1 for number in numbers}
        )
        readings = {number - 1: _by_fonts(page) for number, page in reader.pages().items()}
        page_no = reader.verification_page()
        if ocr_words is None or page_no is None or readings[page_no - 1].origin == "legacy_font":
            return readings, None
        read = self._ocr_words(page_no)
        return readings, None if read is None else reader.verify(page_no, read).rate

    def _ocr_words(self, page_no: int) -> OcrPage | None:
        try:
            return self._pictures.words(page_no - 1)
        except (ocr.OcrTimeout, ParseError):
            return None

    def _without_picture(
        self, number: int, layer: Reading, mapped: Reading | None, disagreement: float | None
    ) -> _Read | None:
        """Return the page where its picture is not needed."""
        if self._options.ocr != "always":
            if layer_is_right(layer):
                return _page(number, layer)
            # With a few letters it may be the caption of a scan: the picture is looked at, too.
            if mapped and n_letters(mapped.text) >= MIN_LETTERS and map_is_right(mapped, disagreement):
                return _page(number, mapped, reason=f"{_fault(layer)}; {mapped.reason}")
        return self._unread(number, layer, mapped) if self._options.ocr == "never" else None

    def _pictured(self, number: int, read: _Read) -> Page:
        """Return a page with what is written on the pictures it shows, if anything."""
        if not read.page.text:
            return read.page
        page = self._guarded(number, self._with_pictures, read)
        if page is None:
            told = (read.page.reason, f"its pictures were not read: {self._failures[number]}")
            page = replace(read.page, reason="; ".join(filter(None, told)))
        return page

    def _with_pictures(self, _: int, read: _Read) -> Page:
        return with_pictures(self._document, read.page, read.lines, self._embedded)

    def _unread(self, number: int, layer: Reading, mapped: Reading | None) -> _Read:
        """Choose without OCR, because it is switched off."""
        chosen = best([reading for reading in (mapped, layer) if reading is not None])
        if not chosen.text.strip() and not self._pictures.has_ink(number):
            return _blank(number)
        return _page(number, chosen, reason=f"{_fault(layer)}; {OCR_OFF}", suspect=True)

    def _by_picture(self, number: int, layer: Reading, mapped: Reading | None) -> _Read:
        if not layer.text.strip() and not self._pictures.has_ink(number):
            warning = self._pictures.warning(number)
            if warning:
                raise ParseError(f"nothing could be drawn ({warning})")
            return _blank(number)
        why = self._why_picture(layer, mapped)
        others = [reading for reading in (mapped, layer) if reading is not None]
        try:
            result = self._pictures.read(number)
        except ocr.OcrTimeout as error:
            return _page(number, best(others), confidence=0.0, reason=f"{why}; {error}", suspect=True)
        lines = self._pictures.lines(number, result)
        read = Reading(result.text, "ocr", result.confidence, f"{why}; {result.how}", lines=lines)
        if self._options.ocr == "always" or n_letters(layer.text) < MIN_LETTERS <= n_letters(read.text):
            return _page(number, read)
        if n_letters(read.text) < n_letters(layer.text) < MIN_LETTERS:
            chosen = best(others)
            told = (_fault(layer), chosen.reason, f"OCR found less ({result.languages})")
            return _page(number, chosen, reason="; ".join(filter(None, told)))
        chosen = best([read, *others])
        return _page(number, chosen, reason=chosen.reason if chosen is read else f"{why}; OCR reads worse")

    def _why_picture(self, layer: Reading, mapped: Reading | None) -> str:
        if self._options.ocr == "always":
            return "OCR of every page is set"
        fault = _fault(layer)
        return fault if mapped is None else f"{fault}; its fonts do not tell enough ({mapped.reason})"

    def _failed(self, number: int) -> Page:
        reason = f"page failed: {self._failures[number]}"
        return Page(number + 1, "", "text_layer", confidence=0.0, reason=reason, suspect=True)

    def _guarded(self, number: int, read: Callable[..., _T], *arguments: object) -> _T | None:
        """Do one step of one page; what goes wrong is noted for that page."""
        try:
            return read(number, *arguments)
        except MemoryError:
            raise
        except RagError as error:
            if not isinstance(error, ParseError):
                raise
            self._failures[number] = str(error)
        except Exception as error:  # MuPDF raises several kinds of its own for damaged pages
            self._failures[number] = f"{type(error).__name__}: {error}"
        return None


def _text(reading: Reading | None) -> str:
    return "" if reading is None else reading.text


def _fault(layer: Reading) -> str:
    """Say what is wrong with a text layer."""
    if n_letters(layer.text) < MIN_LETTERS:
        return f"{n_letters(layer.text)} letters in the text layer"
    return layer.suspicion or f"only {layer.score:.0%} of the layer's words are known"


def _by_fonts(page: MappedPage) -> Reading:
    origin: Origin = "legacy_font" if page.route == "legacy" else "font_map"
    return Reading(page.text, origin, page.confidence, page.reason, regions=page.regions, lines=page.lines)


def _page(
    number: int,
    reading: Reading,
    *,
    reason: str | None = None,
    confidence: float | None = None,
    suspect: bool | None = None,
) -> _Read:
    """Return the page of a reading, with what the caller knows better."""
    sure = reading.confidence if confidence is None else confidence
    doubtful = bool(reading.suspicion) or (bool(reading.text) and min(sure, reading.score) < _LOW_CONFIDENCE)
    page = Page(
        number + 1,
        reading.text,
        reading.origin,
        confidence=round(sure, 4),
        reason=reading.suspicion or reading.reason if reason is None else reason,
        suspect=doubtful if suspect is None else suspect,
        score=reading.score,
        regions=reading.regions,
    )
    return _Read(page, reading.lines)


def _blank(number: int) -> _Read:
    return _Read(Page(number + 1, "", "text_layer", reason="blank page"))


def _without_furniture(pages: Mapping[int, _Read]) -> dict[int, _Read]:
    """Take running headers, footers and page numbers out of the pages; their reasons say which."""
    gone = furniture(
        {number: read.lines for number, read in pages.items() if read.lines},
        by_ocr={number for number, read in pages.items() if read.page.origin == "ocr"},
    )
    return {
        number: _without(read, *gone[number]) if number in gone else read for number, read in pages.items()
    }


def _without(read: _Read, places: Collection[int], said: Sequence[str]) -> _Read:
    kept = tuple(line for at, line in enumerate(read.lines) if at not in places)
    found = page_text(kept)
    left_out = f"running lines left out: {', '.join(said)}"
    reason = f"{read.page.reason}; {left_out}" if read.page.reason else left_out
    return _Read(replace(read.page, text=found.text, regions=found.regions, reason=reason), kept)
