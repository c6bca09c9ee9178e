"""Pages of a PDF as pictures: is there ink, and what does OCR read; each page is read once at most.

Tesseract itself is called in ``ocr``; whether a page is to be read by its picture is decided in ``routes``.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from rag_platform.parsing import ocr
from rag_platform.parsing.fontmap.matching import OcrPage, OcrWord
from rag_platform.parsing.layout import Line
from rag_platform.parsing.reading import ParseOptions
from rag_platform.parsing.slots import n_workers

if TYPE_CHECKING:
    import pymupdf
    from PIL.Image import Image

__all__ = ["Pictures"]

_LOG = logging.getLogger(__name__)

_MAX_PIXELS = 60_000_000
"""A0 at 150 DPI: larger pages are rendered more coarsely, so that memory stays flat."""
_MOST_WORKERS = 8
"""Pages of one document read at once: each takes 150 to 250 MB, and a document's memory is limited."""
_INK_DPI = 72
_INK_CONTRAST = 64
_MIN_INK = 2e-5


class Pictures:
    """The pictures of one document's pages, by page number from 0.

    Reading is done by threads that wait for Tesseract's processes, drawing by the caller's thread alone
    (MuPDF is not made for threads), which keeps a few pages ahead of the reading; so memory stays flat.
    """

    def __init__(self, document: pymupdf.Document, options: ParseOptions) -> None:
        self._document, self._options = document, options
        self._n_ahead = min(n_workers(options.workers), _MOST_WORKERS)
        self._threads = ThreadPoolExecutor(self._n_ahead, thread_name_prefix="ocr")
        self._started: dict[int, Future[ocr.OcrResult]] = {}
        self._awaited: deque[int] = deque()
        self._ink: dict[int, bool] = {}
        self._warnings: dict[int, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)

    def expect(self, numbers: Iterable[int]) -> None:
        """Say which pages will be read next, in ascending order, so that they are read ahead."""
        self._awaited = deque(numbers)

    def has_ink(self, number: int) -> bool:
        """Say whether anything stands out from the paper, dust and scanner noise aside."""
        if number not in self._ink:
            if self._options.ocr == "never":
                self._ink[number] = _has_ink(self._drawn(number, _INK_DPI))
            else:
                self._start(number)
        return self._ink[number]

    def warning(self, number: int) -> str:
        """Return what MuPDF complained about when it drew a page, or nothing."""
        return self._warnings.get(number, "")

    def read(self, number: int, *, keep: bool = False) -> ocr.OcrResult:
        """Read a page by OCR.

        Args:
            number: Of the page.
            keep: It will be asked for again.

        Raises:
            MissingDependency: Tesseract or a language is not installed.
            OcrTimeout: The page's time limit was reached.
            ParseError: Tesseract failed on the picture.
        """
        self._start(number)
        while self._awaited and self._awaited[0] <= number:
            self._awaited.popleft()
        self._fill()
        if not self._ink[number]:
            return ocr.OcrResult("", 0.0, self._options.languages or "nep")
        future = self._started[number]
        while not future.done():
            wait(self._pending(), return_when=FIRST_COMPLETED)
            self._fill()
        if not keep:
            del self._started[number]
        return future.result()

    def _start(self, number: int) -> None:
        if number in self._started or not self._ink.get(number, True):
            return
        picture = self._drawn(number, ocr.DPI)
        self._ink[number] = _has_ink(picture.reduce(ocr.DPI // _INK_DPI))
        if self._ink[number]:
            self._started[number] = self._threads.submit(ocr.read_picture, picture, self._options)

    def _fill(self) -> None:
        """Keep one picture more in hand than are being read."""
        while self._awaited and len(self._pending()) <= self._n_ahead:
            number = self._awaited.popleft()
            try:
                self._start(number)
            except Exception as error:  # MuPDF raises several kinds of its own
                _LOG.debug("page %d is not drawn ahead: %s", number + 1, error)  # told when its turn comes

    def _pending(self) -> list[Future[ocr.OcrResult]]:
        return [future for future in self._started.values() if not future.done()]

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
                for word in self.read(number, keep=True).words
            )
        )

    def lines(self, number: int, read: ocr.OcrResult) -> tuple[Line, ...]:
        """Return the lines of a page that was read, in points of the picture as it was read."""
        scale = 72 / self._dpi(number, ocr.DPI)
        return tuple(
            replace(line, x0=line.x0 * scale, x1=line.x1 * scale, y0=line.y0 * scale, y1=line.y1 * scale)
            for line in read.lines
        )

    def _dpi(self, number: int, dpi: int) -> int:
        rect = self._document.load_page(number).rect
        inches = rect.width * rect.height / 72 / 72
        return min(dpi, max(36, int((_MAX_PIXELS / max(inches, 0.01)) ** 0.5)))

    def _drawn(self, number: int, dpi: int) -> Image:
        import pymupdf
        from PIL import Image

        pymupdf.TOOLS.reset_mupdf_warnings()
        page = self._document.load_page(number)
        drawn = page.get_pixmap(dpi=self._dpi(number, dpi), colorspace=pymupdf.csGRAY, alpha=False)
        pymupdf.TOOLS.store_shrink(100)  # MuPDF keeps up to 256 MB of unpacked pictures otherwise
        self._warnings[number] = (pymupdf.TOOLS.mupdf_warnings().splitlines() or [""])[0]
        return Image.frombytes("L", (drawn.width, drawn.height), drawn.samples, "raw", "L", drawn.stride, 1)


def _has_ink(picture: Image) -> bool:
    shades = picture.histogram()
    paper = shades.index(max(shades))
    inked = sum(n for shade, n in enumerate(shades) if abs(shade - paper) > _INK_CONTRAST)
    return inked > _MIN_INK * sum(shades)
