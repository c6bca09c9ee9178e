"""Pages of a PDF as pictures: is there ink, and what does OCR read; each page is read once at most.

Tesseract itself is called in ``ocr``; whether a page is to be read by its picture is decided in ``routes``.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rag_platform.parsing import ocr
from rag_platform.parsing.fontmap.matching import OcrPage, OcrWord
from rag_platform.parsing.reading import ParseOptions

if TYPE_CHECKING:
    import pymupdf

__all__ = ["Pictures"]

_MAX_PIXELS = 60_000_000
"""A0 at 150 DPI: larger pages are rendered more coarsely, so that memory stays flat."""
_INK_DPI = 72
_INK_CONTRAST = 64
_MIN_INK = 2e-5


class Pictures:
    """The pictures of one document's pages, by page number from 0."""

    def __init__(self, document: pymupdf.Document, options: ParseOptions) -> None:
        self._document, self._options = document, options
        self._read: dict[int, ocr.OcrResult] = {}

    @property
    def n_read(self) -> int:
        """Pages read by OCR so far."""
        return len(self._read)

    def has_ink(self, number: int) -> bool:
        """Say whether anything stands out from the paper, dust and scanner noise aside."""
        from PIL import Image

        picture = self._render(number, _INK_DPI)
        size = (picture.width, picture.height)
        grey = Image.frombytes("L", size, picture.samples, "raw", "L", picture.stride, 1)
        shades = grey.histogram()
        paper = shades.index(max(shades))
        inked = sum(n for shade, n in enumerate(shades) if abs(shade - paper) > _INK_CONTRAST)
        return inked > _MIN_INK * sum(shades)

    def read(self, number: int) -> ocr.OcrResult:
        """Read a page by OCR.

        Raises:
            MissingDependency: Tesseract or a language is not installed.
            OcrTimeout: The page's time limit was reached.
            ParseError: Tesseract refused the picture.
        """
        if number not in self._read:
            import pymupdf

            picture = self._render(number, ocr.DPI)
            pymupdf.TOOLS.store_shrink(100)  # MuPDF keeps up to 256 MB of unpacked pictures otherwise
            with tempfile.TemporaryDirectory(prefix="rag-ocr-") as folder:
                file = Path(folder) / "page.pgm"  # uncompressed: read faster than a PNG is packed
                picture.save(str(file), output="pgm")
                options = self._options
                self._read[number] = ocr.read_picture(file, options.languages, options.ocr_timeout_s)
        return self._read[number]

    def words(self, number: int) -> OcrPage:
        """Return a page's words as OCR reads them, with boxes in points of the page as shown."""
        scale = 72 / self._dpi(number, ocr.DPI)
        return OcrPage(
            tuple(
                OcrWord(
                    word.text,
                    word.left * scale,
                    word.top * scale,
                    (word.left + word.width) * scale,
                    (word.top + word.height) * scale,
                    word.confidence / 100,
                )
                for word in self.read(number).words
            )
        )

    def _dpi(self, number: int, dpi: int) -> int:
        rect = self._document.load_page(number).rect
        inches = rect.width * rect.height / 72 / 72
        return min(dpi, max(36, int((_MAX_PIXELS / max(inches, 0.01)) ** 0.5)))

    def _render(self, number: int, dpi: int) -> pymupdf.Pixmap:
        import pymupdf

        page = self._document.load_page(number)
        return page.get_pixmap(dpi=self._dpi(number, dpi), colorspace=pymupdf.csGRAY, alpha=False)
