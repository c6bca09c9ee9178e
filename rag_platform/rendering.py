"""Pages of stored PDFs and pictures for people: the picture of a page, and the boxes of a span on it.

Files are opened in a process of their own, with limits; what it makes is kept in one folder for a day, up to
a size. Knows no HTTP and no catalog: a document comes as it was read.
"""

from __future__ import annotations

import contextlib
import io
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar, cast

from rag_platform.errors import CallerError, UnknownName
from rag_platform.parsing.marking import Box, Mark, boxes_of
from rag_platform.parsing.page_pictures import draw, pictured, place
from rag_platform.parsing.pool import Limits, Standby
from rag_platform.parsing.reading import ParseOptions
from rag_platform.parsing.worker import Job
from rag_platform.storage import RawStore, atomic, storage_errors
from rag_platform.types import Document, Page, Span, fingerprint

__all__ = ["MAX_WIDTH", "MIN_WIDTH", "PageBoxes", "PagePicture", "Place", "Renderer"]

MIN_WIDTH, MAX_WIDTH = 64, 2_000
RECIPE = "pages-1"
"""Raise it whenever other pictures or boxes are made of the same page."""

_LIMITS = Limits(timeout_s=20.0, memory_mb=1_024)
_OCR_MEMORY_MB = 2_048
_CACHE_BYTES = 256 << 20
_CACHE_S = 24 * 3600.0
_INK = (255, 214, 51)
"""Of the marker: what is printed stays black on it."""

Place = Literal["here", "elsewhere", "unsure"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A page as WebP; ``marked`` where the span that was asked for is marked on it."""

    content: bytes
    width: int
    height: int
    marked: bool = False


@dataclass(frozen=True, slots=True)
class PageBoxes:
    """Where a span stands on a page.

    Attributes:
        place: ``unsure`` where its boxes might be those of another text.
        boxes: One a line, in shares of the page's width and height from its top left corner; none elsewhere.
    """

    place: Place
    boxes: tuple[Box, ...] = ()


class Renderer:
    """Draws pages of stored documents; safe to share between threads, of which it makes wait.

    Args:
        raw: The stored files.
        folder: For what was made.
        options: How files are read; passwords of locked PDFs are among them.
    """

    def __init__(self, raw: RawStore, folder: Path, options: ParseOptions) -> None:
        self._raw, self._options = raw, replace(options, workers=options.workers or 1)
        self._kept = _Kept(folder)
        # A process each: what takes a blink does not wait for OCR.
        self._drawing, self._placing = Standby(_LIMITS), Standby(_LIMITS)
        self._reading = Standby(Limits(options.ocr_timeout_s + _LIMITS.timeout_s, _OCR_MEMORY_MB))
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def close(self) -> None:
        """End the processes."""
        for process in (self._drawing, self._placing, self._reading):
            process.close()

    @staticmethod
    def version(document: Document, page_no: int, width: int = 0, span: Span | None = None) -> str:
        """Return what changes when a picture does; nothing is drawn for it."""
        text = _page(document, page_no).text
        return fingerprint(RECIPE, document.content_sha256, page_no, width, span, text)

    def picture(
        self, document: Document, page_no: int, *, width: int = 1_000, span: Span | None = None
    ) -> PagePicture:
        """Return a page, with a span of the document's text marked on it where it is sure where that stands.

        Raises:
            CallerError: The width or the span is out of bounds.
            UnknownName: There is no such page.
            UnsupportedFormat: The document has no pages that can be shown.
            ParseError: The page cannot be drawn.
        """
        if not MIN_WIDTH <= width <= MAX_WIDTH:
            raise CallerError(f"width {width} is out of bounds; give {MIN_WIDTH} to {MAX_WIDTH} pixels")
        pictured(document.format, document.source)
        page = _page(document, page_no)
        task = partial(draw, page_no=page.page_no, width=width, pdf=document.format == "pdf")
        key = f"{document.content_sha256}-{page_no}-{width}.webp"
        content = self._made(key, lambda: self._do(self._drawing, task, document))
        boxes = self.boxes(document, page_no, span).boxes if span else ()
        return _marked(content, boxes)

    def boxes(self, document: Document, page_no: int, span: Span) -> PageBoxes:
        """Return where a span of the document's text stands on a page; of OCR, after another OCR.

        Raises:
            CallerError: The span is out of bounds.
            UnknownName: There is no such page.
            UnsupportedFormat: The document has no pages that can be shown.
            ParseError: The page cannot be read.
        """
        pictured(document.format, document.source)
        page = _page(document, page_no)
        if not 0 <= span.start < span.end <= len(document.text):
            raise CallerError(
                f"{span.start} to {span.end} is no span of the document, whose text has {len(document.text)}"
                " characters; take start and end of a hit or a citation"
            )
        on_page = document.page_spans[page_no - 1]
        start, end = (
            max(span.start, on_page.start) - on_page.start,
            min(span.end, on_page.end) - on_page.start,
        )
        if start >= end:
            return PageBoxes("elsewhere")
        found = boxes_of(self._marks(document, page), start, end)
        if found is None:
            return PageBoxes("unsure")
        return PageBoxes("here", tuple(_rounded(box) for box in found))

    def _marks(self, document: Document, page: Page) -> tuple[Mark, ...]:
        task = partial(place, page=page, pdf=document.format == "pdf")
        process = self._reading if page.origin == "ocr" else self._placing
        key = f"{document.content_sha256}-{page.page_no}-{fingerprint(RECIPE, page.text)[:16]}.json"
        written = self._made(key, lambda: _written(self._do(process, task, document)))
        return tuple(
            Mark(start, end, tuple((x0, y0, x1, y1) for x0, y0, x1, y1 in boxes))
            for start, end, boxes in json.loads(written)
        )

    def _made(self, key: str, make: Callable[[], bytes]) -> bytes:
        """Return what is kept under a key; who asks for the same meanwhile waits for it."""
        with self._alone(key):
            kept = self._kept.get(key)
            if kept is None:
                kept = make()
                self._kept.put(key, kept)
            return kept

    def _do(self, process: Standby, task: Callable[[Job, ParseOptions], T], document: Document) -> T:
        job = Job(document.document_id, self._raw.path(document.content_sha256), document.source, "")
        with storage_errors("read", job.path):
            job.path.stat()
        return process.do(task, job, self._options)

    @contextlib.contextmanager
    def _alone(self, key: str) -> Iterator[None]:
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        try:
            with lock:
                yield
        finally:
            with self._guard:
                self._locks.pop(key, None)


class _Kept:
    """Files by name in one folder; the oldest go first, and all after a day."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> bytes | None:
        path = self._folder / key
        try:
            return path.read_bytes() if time.time() - path.stat().st_mtime < _CACHE_S else None
        except FileNotFoundError:
            return None

    def put(self, key: str, content: bytes) -> None:
        with atomic(self._folder / key) as file:
            file.write(content)
        self._prune()

    def _prune(self) -> None:
        found = []
        for path in self._folder.iterdir():
            with contextlib.suppress(FileNotFoundError):
                state = path.stat()
                found.append((state.st_mtime, state.st_size, path))
        left = _CACHE_BYTES
        for made, size, path in sorted(found, reverse=True):
            left -= size
            if left < 0 or time.time() - made > _CACHE_S:
                path.unlink(missing_ok=True)


def _page(document: Document, page_no: int) -> Page:
    if not 1 <= page_no <= len(document.pages):
        raise UnknownName(f"page of {document.source!r}", str(page_no), [f"1 to {len(document.pages)}"])
    return document.pages[page_no - 1]


def _marked(content: bytes, boxes: Sequence[Box]) -> PagePicture:
    """Lay a marker over a picture, under its print."""
    from PIL import Image, ImageChops, ImageDraw

    with Image.open(io.BytesIO(content)) as picture:
        wide, high = picture.size
        if not boxes:
            return PagePicture(content, wide, high)
        marker = Image.new("RGB", picture.size, "white")
        pen = ImageDraw.Draw(marker)
        for x0, y0, x1, y1 in boxes:
            pen.rectangle((x0 * wide - 2, y0 * high, x1 * wide + 2, y1 * high), fill=_INK)
        out = io.BytesIO()
        ImageChops.multiply(picture.convert("RGB"), marker).save(out, "WEBP", quality=82, method=3)
    return PagePicture(out.getvalue(), wide, high, marked=True)


def _written(found: Sequence[Mark]) -> bytes:
    rows = [(mark.start, mark.end, [_rounded(box) for box in mark.boxes]) for mark in found]
    return json.dumps(rows, separators=(",", ":")).encode()


def _rounded(box: Box) -> Box:
    """Return a box that stays on the page, to a ten-thousandth."""
    return cast(Box, tuple(round(min(1.0, max(0.0, edge)), 4) for edge in box))
