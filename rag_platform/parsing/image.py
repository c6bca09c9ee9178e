"""Pictures as files: PNG, JPEG, WebP, BMP and every page of a TIFF, read through OCR.

A picture is turned as its EXIF says, laid on white and made grey; pictures of absurd size are refused
before they are unpacked. How a picture is read is ``ocr``'s business.
"""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from rag_platform.errors import ParseError
from rag_platform.parsing import ocr
from rag_platform.parsing.reading import OCR_OFF, ParsedFile, ParseOptions
from rag_platform.parsing.routes import score
from rag_platform.parsing.slots import n_workers
from rag_platform.types import Page

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["DAMAGE", "open_page", "read_image"]

DAMAGE = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    EOFError,
    NotImplementedError,
    struct.error,
    zlib.error,
)
"""What Pillow raises for damaged pictures: whatever its decoders stumble over."""

_MAX_PIXELS = 178_956_970
"""A0 at 300 DPI has 139 million; Pillow itself refuses to open a file beyond this."""
_OCR_PIXELS = 60_000_000
"""Larger pictures are read smaller, so that memory stays flat."""
_MAX_FRAMES = 5_000
_MOST_WORKERS = 8
"""Pages of one file read at once: each takes 150 to 250 MB, and a document's memory is limited."""
_ORIENTATION = 0x0112
_SUBFILE, _REDUCED = 254, 1
"""TIFF tag that marks a frame as the preview of another."""
_LEAST_DPI, _USUAL_DPI = 50, 200
_PAPER_INCHES = 20
"""Longer sides are of no paper: photographs state 72 DPI and mean nothing by it."""
_SCREEN_PIXELS = 1_600
"""A picture whose longer side has fewer is a screenshot or a thumbnail: its letters are too small."""
_LOW_CONFIDENCE = 0.6
_INK_CONTRAST = 64
_MIN_INK = 2e-5


def read_image(path: Path, options: ParseOptions) -> ParsedFile:
    """Read a picture; each page of a TIFF is a page."""
    with warnings.catch_warnings():
        # Of half the size that is refused, and of damaged notes about a picture (EXIF), Pillow only warns.
        warnings.filterwarnings("ignore", module="PIL")
        # Not by its path: Pillow then maps raw TIFFs into memory and mixes up those that are turned.
        with _File(path) as file, _opened(file) as picture:
            pages = tuple(_pages(picture, options))
    if all(page.reason.startswith(_FAILED) for page in pages):
        raise ParseError(f"the picture is damaged ({pages[0].reason.removeprefix(_FAILED)}); get it again")
    return ParsedFile(pages)


def open_page(path: Path, page_no: int) -> tuple[Image, Image]:
    """Return a page of a picture as people see it, in colour, and as OCR read it, in grey.

    Raises:
        ParseError: The picture is damaged or of absurd size, or has no such page.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="PIL")
        with _File(path) as file, _opened(file) as picture:
            try:
                if not any(n == page_no and not damage for n, damage in enumerate(_frames(picture), start=1)):
                    raise ParseError(f"the picture has no page {page_no} that can be read")
                if picture.width * picture.height > _MAX_PIXELS:
                    raise _absurd(f"{picture.width} x {picture.height} pixels")
                return _in_colour(picture), _grey(picture)
            except DAMAGE as error:
                raise ParseError(f"the picture is damaged ({_detail(error)}); get it again") from error


def _in_colour(picture: Image) -> Image:
    """Return a picture as it is looked at: upright, on white."""
    from PIL import Image, ImageOps

    upright = ImageOps.exif_transpose(picture)
    if upright.mode.startswith("I") or upright.mode == "F":
        return _eight_bits(upright).convert("RGB")
    if not upright.has_transparency_data:
        return upright.convert("RGB")
    layer = upright.convert("RGBA")
    return Image.composite(layer.convert("RGB"), Image.new("RGB", layer.size, "white"), layer.getchannel("A"))


_FAILED = "page failed: "


class _File(io.BufferedReader):
    """A file that is not asked for more than it has left: Python makes room for all that is asked for.

    Damaged pictures say of their parts that they have gigabytes, and Pillow reads as much.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path))
        self._size = path.stat().st_size

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(0, self._size - self.tell())
        return super().read(left if size is None or size < 0 else min(size, left))


def _opened(file: BinaryIO) -> Image:
    from PIL import Image, UnidentifiedImageError

    try:
        return Image.open(file)
    except Image.DecompressionBombError as error:
        raise _absurd(str(error)) from error
    except UnidentifiedImageError as error:
        raise ParseError("the picture is damaged or truncated; get it again") from error
    except DAMAGE as error:
        raise ParseError(f"the picture is damaged ({_detail(error)}); get it again") from error


def _detail(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _absurd(what: str) -> ParseError:
    return ParseError(f"refused as a picture of absurd size ({what}); scan it at 300 DPI or cut it in parts")


def _pages(picture: Image, options: ParseOptions) -> Iterator[Page]:
    """Yield the pages in order; some are read ahead, by threads that wait for Tesseract."""
    n_ahead = min(n_workers(options.workers), _MOST_WORKERS)
    started: deque[Future[Page] | Page] = deque()
    with ThreadPoolExecutor(n_ahead, thread_name_prefix="ocr") as threads:
        for number, damage in enumerate(_frames(picture), start=1):
            try:
                page = _failed(number, damage) if damage else _started(picture, number, options, threads)
            except DAMAGE as error:
                page = _failed(number, error)
            started.append(page)
            if len(started) > n_ahead:
                yield _ended(started.popleft())
        yield from map(_ended, started)


def _failed(number: int, damage: Exception) -> Page:
    reason = f"{_FAILED}{_detail(damage)}"
    return Page(number, "", "ocr", confidence=0.0, reason=reason, suspect=True)


def _ended(page: Future[Page] | Page) -> Page:
    return page if isinstance(page, Page) else page.result()


def _frames(picture: Image) -> Iterator[Exception | None]:
    """Move to each page in turn; the frames of animations and phone pictures are no pages.

    Yields None where it stands there, or why it does not; where the next one begins, no one knows then.
    """
    if picture.format != "TIFF":
        yield None
        return
    for at in range(_MAX_FRAMES + 1):
        try:
            picture.seek(at)
        except EOFError:
            return
        except DAMAGE as error:
            yield error
            return
        if at == _MAX_FRAMES:
            raise ParseError(f"the TIFF has more than {_MAX_FRAMES} pages; split it")
        if at == 0 or not int(getattr(picture, "tag_v2", {}).get(_SUBFILE, 0)) & _REDUCED:
            yield None


def _started(
    picture: Image, number: int, options: ParseOptions, threads: ThreadPoolExecutor
) -> Future[Page] | Page:
    """Unpack a page and have it read, unless there is nothing to read."""
    size = f"{picture.width} x {picture.height} pixels"
    if picture.width * picture.height > _MAX_PIXELS:  # Pillow checks the first frame alone
        raise _absurd(size)
    grey = _grey(picture)
    if not _has_ink(grey):
        return Page(number, "", "ocr", reason=f"blank page ({size})")
    page = Page(number, "", "ocr", confidence=0.0, reason=f"picture of {size}", suspect=True)
    if options.ocr == "never":
        return replace(page, reason=f"{page.reason}; {OCR_OFF}")
    return threads.submit(_read, grey, page, options)


def _read(grey: Image, page: Page, options: ParseOptions) -> Page:
    try:
        result = ocr.read_picture(grey, options)
    except ocr.OcrTimeout as error:
        return replace(page, reason=f"{page.reason}; {error}")
    return replace(
        page,
        text=result.text,
        confidence=result.confidence,
        reason=f"{page.reason}; {result.how}",
        suspect=bool(result.text) and result.confidence < _LOW_CONFIDENCE,
        score=score(result.text),
    )


def _grey(picture: Image) -> Image:
    """Return the picture as it is looked at: upright, on white, grey, at a size that OCR reads well."""
    from PIL import Image, ImageOps

    is_turned = picture.getexif().get(_ORIENTATION, 1) != 1
    # A copy, which large ones are spared.
    upright = ImageOps.exif_transpose(picture) if is_turned else picture
    if upright.mode.startswith("I") or upright.mode == "F":
        upright = _eight_bits(upright)
    grey = _on_white(upright) if upright.has_transparency_data else upright.convert("L")
    factor = _enlarged(picture)
    if grey.width * grey.height * factor**2 > _OCR_PIXELS:
        factor = (_OCR_PIXELS / (grey.width * grey.height)) ** 0.5
    if factor == 1:
        return grey
    size = (max(1, round(grey.width * factor)), max(1, round(grey.height * factor)))
    return grey.resize(size, Image.Resampling.LANCZOS)


def _on_white(picture: Image) -> Image:
    """Return a picture with transparent parts as it looks on paper, in shades of grey."""
    from PIL import Image

    layer = picture if picture.mode in ("LA", "RGBA") else picture.convert("RGBA")
    grey, ink = layer.convert("L"), layer.getchannel("A")
    return Image.composite(grey, Image.new("L", grey.size, 255), ink)


def _eight_bits(picture: Image) -> Image:
    """Spread the shades of a picture of 16 or 32 bits over eight."""
    shades = picture.convert("F")
    low, high = cast(tuple[float, float], shades.getextrema())
    scale = 255 / ((high - low) or 1)
    return shades.point(lambda shade: shade * scale - low * scale).convert("L")


def _enlarged(picture: Image) -> float:
    """Return how much larger to read a picture whose letters are too small for Tesseract."""
    dpi = float(picture.info.get("dpi", (0, 0))[1] or 0)
    if dpi >= _USUAL_DPI:
        return 1.0
    if dpi >= _LEAST_DPI and max(picture.size) < _PAPER_INCHES * dpi:
        return ocr.DPI / dpi
    return 2.0 if max(picture.size) < _SCREEN_PIXELS else 1.0


def _has_ink(picture: Image) -> bool:
    """Say whether anything stands out from the paper, dust and scanner noise aside."""
    shades = picture.histogram()
    paper = shades.index(max(shades))
    inked = sum(n for shade, n in enumerate(shades) if abs(shade - paper) > _INK_CONTRAST)
    return inked > _MIN_INK * sum(shades)
