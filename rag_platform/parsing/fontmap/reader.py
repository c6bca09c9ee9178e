"""The pages of a PDF through what its own fonts say of their glyphs.

The way in: trace the pages, find what each glyph means, decode. Runs no OCR of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_platform.parsing.fontmap.decode import DecodedWord, Reading, decode
from rag_platform.parsing.fontmap.fonts import Glyph, Glyphs, open_renamed
from rag_platform.parsing.fontmap.script import is_devanagari
from rag_platform.parsing.fontmap.trace import TracedLine, TracedWord, trace

if TYPE_CHECKING:
    import pymupdf

__all__ = ["FontMapReader", "MappedPage"]

_PARAGRAPH = 1.45
"""A pitch this many times the usual one begins a paragraph."""


@dataclass(frozen=True, slots=True)
class MappedPage:
    """One page read through its fonts."""

    page_no: int
    text: str
    confidence: float
    unsure_words: tuple[str, ...]
    coverage: float
    route: str
    reason: str


class FontMapReader:
    """Reads the pages of one document."""

    def __init__(self, document: pymupdf.Document) -> None:
        self._document, self._fonts = open_renamed(document)
        self._glyphs = Glyphs()
        self._traced = [trace(page, self._glyphs, self._fonts) for page in self._document]
        self._readings = [_reading(glyph) for glyph in self._glyphs.known]

    def pages(self) -> Iterator[MappedPage]:
        """Yield the pages in order."""
        for number, lines in enumerate(self._traced, start=1):
            yield self._page(number, lines)

    def _page(self, number: int, lines: Sequence[TracedLine]) -> MappedPage:
        parts = []
        n, sure, unsure = 0, 0, []
        for line in lines:
            words = [self._word(word) for word in line.words]
            parts.append(" ".join(word.text for word in words))
            unsure += [w.text for w in words if not w.sure]
            for w in line.words:
                for g in w.glyphs:
                    n += 1
                    sure += self._readings[g].sure
        return MappedPage(
            number, "\n".join(parts), sure / max(1, n), tuple(unsure), sure / max(1, n), "gsub", ""
        )

    def _word(self, word: TracedWord) -> DecodedWord:
        return decode([self._readings[g] for g in word.glyphs])


def _reading(glyph: Glyph) -> Reading:
    tables = glyph.font.inverted
    if tables is not None and glyph.number in tables.texts:
        return Reading(
            tables.texts[glyph.number],
            "gsub",
            shows_halant=glyph.number in tables.halant_forms,
            halves=tables.half_letters,
        )
    return Reading(glyph.layer, "layer" if not is_devanagari(glyph.layer) else "")
