"""What every reader shares: its options, what it returns, and the version of the whole parser.

A reader is a function ``(path, options) -> ParsedFile``. Nothing here knows a format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import regex

from rag_platform.parsing.blocks import WrittenPage
from rag_platform.text.normalize import stored_text
from rag_platform.types import DEFAULT_KINDS, Kind, Page, Region

__all__ = [
    "OCR_OFF",
    "PARSER",
    "OcrMode",
    "ParseOptions",
    "ParsedFile",
    "Reader",
    "is_seen",
    "markup_pages",
    "stated",
    "stored_page",
]

PARSER = "parser-4"
"""Raise it whenever any reader's output changes: it is part of every page table's fingerprint."""

OCR_OFF = "OCR is switched off"
"""The reason of a page that would have been read by OCR; ``audit`` tells routes by it."""

_SEEN = regex.compile(r"[^\s\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]")
OcrMode = Literal["auto", "always", "never"]


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """How files are read.

    Attributes:
        ocr: ``auto`` reads the picture of a PDF page whose text layer is unusable, ``always`` of every
            page, ``never`` of none.
        languages: Tesseract languages such as ``nep+eng``; empty: chosen per page.
        ocr_timeout_s: Time limit of one page's OCR.
        kinds: What is wanted of a file; pictures inside documents are OCRed only with ``image`` among them.
        workers: Pages read by OCR at once, over all documents; 0: one a core. Changes no page.
        passwords: Tried in turn on PDFs that open only with one. Secret: in no recipe, message or ``repr``.
    """

    ocr: OcrMode = "auto"
    languages: str = ""
    ocr_timeout_s: float = 120.0
    kinds: tuple[Kind, ...] = DEFAULT_KINDS
    workers: int = 0
    passwords: tuple[str, ...] = field(default=(), repr=False)

    @property
    def recipe(self) -> str:
        """Parser version and options: equal recipes make equal pages of equal bytes.

        The versions of PyMuPDF and Tesseract are left out: a system update must not silently redo the
        OCR of a whole archive; ``PARSER`` is raised when one of them changes what we store.
        """
        images = "|images" if "image" in self.kinds else ""
        return f"{PARSER}|ocr={self.ocr}|languages={self.languages}|timeout={self.ocr_timeout_s:g}{images}"


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """What a reader makes of one file: pages in order and what the file states about itself."""

    pages: tuple[Page, ...]
    metadata: Mapping[str, str] = field(default_factory=dict)


Reader = Callable[[Path, ParseOptions], ParsedFile]


def markup_pages(written: Iterable[str | WrittenPage], label: str = "page") -> tuple[Page, ...]:
    """Return one page a text, numbered from 1, of a format whose characters are certain."""
    pages = (WrittenPage(one) if isinstance(one, str) else one for one in written)
    return tuple(
        Page(
            page_no=number,
            text=page.text,
            origin="markup",
            reason=page.reason,
            label=label,
            regions=page.regions,
        )
        for number, page in enumerate(pages, start=1)
    )


def is_seen(text: str) -> bool:
    r"""Say whether a text holds anything that a reader sees: joiners, fillers and direction marks are not.

    >>> is_seen("\u200d \u2060\n"), is_seen("र\u200d")
    (False, True)
    """
    return _SEEN.search(text) is not None


def stored_page(page: Page) -> Page:
    """Return a page as it is stored: its text normalised and stripped, its regions moved along."""
    normal = stored_text(page.text)
    text = normal.strip() if is_seen(normal) else ""
    first = len(normal) - len(normal.lstrip())
    places = _places(page, len(normal))
    moved = [
        replace(region, start=places[region.start] - first, end=places[region.end] - first)
        for region in page.regions
    ]
    regions = [found for region in moved if (found := _inked(region, text)) is not None]
    return replace(page, text=text, regions=tuple(sorted(regions, key=lambda r: (r.start, -r.end))))


def _places(page: Page, length: int) -> dict[int, int]:
    """Return where the edges of the regions stand once the text is normalised to ``length``."""
    edges = sorted({edge for region in page.regions for edge in (region.start, region.end)})
    places, at, total = {}, 0, 0
    for edge in edges:
        total += len(stored_text(page.text[at:edge]))
        places[edge], at = total, edge
    if total + len(stored_text(page.text[at:])) != length:
        # Two sides of an edge compose with each other: measured from the start each time instead.
        return {edge: len(stored_text(page.text[:edge])) for edge in edges}
    return places


def _inked(region: Region, text: str) -> Region | None:
    """Return the region without the space around it, None for one that holds nothing else."""
    start, end = max(0, region.start), max(0, min(len(text), region.end))
    piece = text[start:end]
    if not piece.strip():
        return None
    start += len(piece) - len(piece.lstrip())
    return replace(region, start=start, end=start + len(piece.strip()))


def stated(**values: object) -> dict[str, str]:
    """Return the metadata that are there, as stripped strings.

    >>> stated(title=" कर दर ", author=None, subject="")
    {'title': 'कर दर'}
    """
    return {
        name: text for name, value in values.items() if value is not None and (text := str(value).strip())
    }
