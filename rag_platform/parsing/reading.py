"""What every reader shares: its options, what it returns, and the version of the whole parser.

A reader is a function ``(path, options) -> ParsedFile``. Nothing here knows a format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rag_platform.types import Page

__all__ = ["PARSER", "OcrMode", "ParseOptions", "ParsedFile", "Reader", "markup_pages", "stated"]

PARSER = "parser-1"
"""Raise it whenever any reader's output changes: it is part of every page table's fingerprint."""

OcrMode = Literal["auto", "always", "never"]


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """How files are read.

    Attributes:
        ocr: ``auto`` reads the picture of a PDF page whose text layer is unusable, ``always`` of every
            page, ``never`` of none.
        languages: Tesseract languages such as ``nep+eng``; empty: chosen per page.
        ocr_timeout_s: Time limit of one page's OCR.
    """

    ocr: OcrMode = "auto"
    languages: str = ""
    ocr_timeout_s: float = 120.0

    @property
    def recipe(self) -> str:
        """Parser version and options: equal recipes make equal pages of equal bytes.

        The versions of PyMuPDF and Tesseract are left out: a system update must not silently redo the
        OCR of a whole archive; ``PARSER`` is raised when one of them changes what we store.
        """
        return f"{PARSER}|ocr={self.ocr}|languages={self.languages}|timeout={self.ocr_timeout_s:g}"


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """What a reader makes of one file: pages in order and what the file states about itself."""

    pages: tuple[Page, ...]
    metadata: Mapping[str, str] = field(default_factory=dict)


Reader = Callable[[Path, ParseOptions], ParsedFile]


def markup_pages(texts: Iterable[str], label: str = "page") -> tuple[Page, ...]:
    """Return one page a text, numbered from 1, of a format whose characters are certain."""
    return tuple(
        Page(page_no=number, text=text, origin="markup", label=label)
        for number, text in enumerate(texts, start=1)
    )


def stated(**values: object) -> dict[str, str]:
    """Return the metadata that are there, as stripped strings.

    >>> stated(title=" कर दर ", author=None, subject="")
    {'title': 'कर दर'}
    """
    return {
        name: text for name, value in values.items() if value is not None and (text := str(value).strip())
    }
