"""Pictures printed on PDF pages whose text is not taken from their picture: what is written on them.

A picture that fills its page is the page itself, a scan below a text layer, and is not read beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from rag_platform.parsing.embedded import MIN_PIXELS, EmbeddedPictures
from rag_platform.parsing.grids import PageText, page_text
from rag_platform.parsing.layout import Line
from rag_platform.types import Page, Region

if TYPE_CHECKING:
    import pymupdf

__all__ = ["with_pictures"]

_PAGE_SHARE = 0.8
"""Share of the page from which a picture is a scan of it."""


@dataclass(frozen=True, slots=True)
class _Placed:
    """What is written on a picture, and where its top stands."""

    text: str
    top: float


def with_pictures(
    document: pymupdf.Document, page: Page, lines: Sequence[Line], pictures: EmbeddedPictures
) -> Page:
    """Return a page with the text of the pictures on it, each a region after the lines above it.

    Args:
        document: Open.
        page: As it was read.
        lines: What its text is put together from; where they do not stand upright on the page as it is
            stored, pictures stand at the end.
        pictures: Reads them.
    """
    if "image" not in pictures.options.kinds:
        return page
    drawn = document.load_page(page.page_no - 1)
    placed = sorted(_written(document, drawn, pictures), key=lambda one: one.top)
    if not placed:
        return page
    if not drawn.rotation and not any(line.turn for line in lines):
        parts = _among(lines, placed)
    else:
        parts = [PageText(page.text, page.regions), *map(_part, placed)]
    whole = _joined(parts)
    n_read = f"{len(placed)} picture{'s' if len(placed) > 1 else ''} read by OCR"
    reason = f"{page.reason}; {n_read}" if page.reason else n_read
    return replace(page, text=whole.text, regions=whole.regions, reason=reason)


def _written(document: pymupdf.Document, page: pymupdf.Page, pictures: EmbeddedPictures) -> Iterator[_Placed]:
    import pymupdf

    area = abs(page.rect.width * page.rect.height) or 1.0
    for shown in page.get_image_info(xrefs=True):
        box = pymupdf.Rect(shown["bbox"]) & page.rect
        small = min(shown["width"], shown["height"]) < MIN_PIXELS
        if small or box.is_empty or box.width * box.height > _PAGE_SHARE * area:
            continue
        text = pictures.text(partial(_png, document, shown["xref"], shown["width"] / box.width * 72))
        if text:
            yield _Placed(text, box.y0)


def _png(document: pymupdf.Document, xref: int, dpi: float) -> bytes | None:
    """Return a picture as a PNG that states at how many pixels an inch it is printed."""
    if xref == 0:  # written into the page's content: MuPDF gives no handle on it
        return None
    try:
        drawn = _drawn(document, xref)
    except (RuntimeError, ValueError):  # a damaged picture costs its own text only
        return None
    drawn.set_dpi(round(dpi), round(dpi))
    return bytes(drawn.tobytes("png"))


def _drawn(document: pymupdf.Document, xref: int) -> pymupdf.Pixmap:
    """Return a picture with its transparency: stamps are ink on nothing, often black on black without it."""
    import pymupdf

    drawn = pymupdf.Pixmap(document, xref)
    if drawn.colorspace is None:  # a stencil: its ink is where it lets the colour through
        ink = pymupdf.Pixmap(pymupdf.csGRAY, drawn.irect, False)
        ink.clear_with(0)
        return pymupdf.Pixmap(ink, drawn)
    if drawn.colorspace.n > 3:
        drawn = pymupdf.Pixmap(pymupdf.csRGB, drawn)
    kind, mask = document.xref_get_key(xref, "SMask")
    if kind != "xref" or drawn.alpha:
        return drawn
    soft = pymupdf.Pixmap(document, int(mask.split()[0]))
    if (soft.width, soft.height) != (drawn.width, drawn.height):
        soft = pymupdf.Pixmap(soft, drawn.width, drawn.height)
    return pymupdf.Pixmap(drawn, soft)


def _among(lines: Sequence[Line], placed: Sequence[_Placed]) -> list[PageText]:
    """Return the stretches of lines and the pictures in between, in order."""
    parts: list[PageText] = []
    done = 0
    for one in placed:
        above = [at for at, line in enumerate(lines) if (line.y0 + line.y1) / 2 < one.top]
        upto = max(done, above[-1] + 1 if above else 0)
        parts += [page_text(lines[done:upto]), _part(one)]
        done = upto
    return [*parts, page_text(lines[done:])]


def _part(placed: _Placed) -> PageText:
    return PageText(placed.text, (Region(0, len(placed.text), "image"),))


def _joined(parts: Sequence[PageText]) -> PageText:
    text, regions = "", []
    for part in parts:
        if part.text:
            text += "\n\n" if text else ""
            regions += [
                replace(one, start=one.start + len(text), end=one.end + len(text)) for one in part.regions
            ]
            text += part.text
    return PageText(text, tuple(regions))
