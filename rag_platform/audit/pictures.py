"""Pages drawn small, for people who look at the worst of them: never fails, a page without a picture is one.

Runs in a process of the pool. Which pages are the worst is not decided here.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PagePicture", "draw"]

_log = logging.getLogger(__name__)

_DRAWN = ("pdf", "png", "jpeg", "tiff", "bmp")
"""Formats that MuPDF draws."""
_WIDTH, _MAX_HEIGHT = 360, 720
_QUALITY = 55
_EXCERPT = 600


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A page as people see it; ``jpeg`` is empty where it cannot be drawn."""

    source: str
    page_no: int
    reason: str
    score: float
    excerpt: str
    jpeg: bytes = b""


def draw(
    path: Path,
    format_name: str,
    pages: Sequence[tuple[int, str, float, str]],
    *,
    source: str,
    passwords: Sequence[str] = (),
) -> tuple[PagePicture, ...]:
    """Draw pages.

    Args:
        path: The file.
        format_name: As ``sniff`` tells it.
        pages: Number, reason, score and text of each.
        source: What the file is called.
        passwords: Tried in turn on a PDF that opens only with one.
    """
    if not pages:
        return ()
    drawn = _drawn(path, format_name, [number for number, *_ in pages], passwords)
    return tuple(
        PagePicture(source, number, reason, score, text[:_EXCERPT], drawn.get(number, b""))
        for number, reason, score, text in pages
    )


def _drawn(
    path: Path, format_name: str, numbers: Sequence[int], passwords: Sequence[str]
) -> dict[int, bytes]:
    """Return the JPEG of each page that can be drawn, by its number."""
    if format_name not in _DRAWN:
        return {}
    import pymupdf

    found: dict[int, bytes] = {}
    try:
        with pymupdf.open(str(path), filetype=format_name) as document:
            if document.needs_pass:
                any(document.authenticate(password) for password in passwords)
            for number in numbers:
                page = document.load_page(number - 1)
                scale = min(_WIDTH / page.rect.width, _MAX_HEIGHT / page.rect.height)
                drawn = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csRGB)
                found[number] = drawn.tobytes("jpeg", jpg_quality=_QUALITY)
    except MemoryError:
        raise
    except Exception as error:  # MuPDF raises several kinds of its own; the page's text is shown alone
        _log.debug("%s is not drawn: %s", path, error)
    return found
