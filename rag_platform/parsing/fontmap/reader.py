"""The pages of a PDF through what its own fonts say of their glyphs.

The way in: trace the pages, find what each glyph means, learn what is missing from the OCR of a few pages,
decode. OCR is asked for through a function that the caller gives; which page gets which route in the end is
the caller's decision, by ``confidence``.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from rag_platform.parsing.arrange import Row, printed, reading_order
from rag_platform.parsing.fontmap.damage import pdf_errors
from rag_platform.parsing.fontmap.decode import DecodedWord, Reading, decode
from rag_platform.parsing.fontmap.fonts import Font, Glyphs, open_renamed
from rag_platform.parsing.fontmap.learn import Key, Learned, choose_pages, learn
from rag_platform.parsing.fontmap.legacy import Legacy
from rag_platform.parsing.fontmap.matching import OcrPage, Pair, pairs
from rag_platform.parsing.fontmap.meaning import FontUse, converters, key, meanings
from rag_platform.parsing.fontmap.script import is_devanagari, parted, visual
from rag_platform.parsing.fontmap.trace import TracedLine, TracedWord, trace
from rag_platform.parsing.fontmap.verify import Disagreement, disagreement
from rag_platform.parsing.grids import page_text
from rag_platform.parsing.layout import Line
from rag_platform.types import Region

if TYPE_CHECKING:
    import pymupdf

__all__ = ["FontMapReader", "MappedPage", "Ocr"]

_LOG = logging.getLogger(__name__)

Ocr = Callable[[int], OcrPage | None]
"""Page number, from 1, to the words that OCR reads there; None where it cannot."""

_OCR_PAGES = 5
_LEARN_FROM = 0.01
"""Share of foreign ink that nothing explains, from which OCR pages are worth their time."""
_KEPT_PAGES = 300
"""Traces of so many pages are kept between the passes: about 0.15 MB a page."""
_SAMPLE = 400
_FEW = 12
_NAMED = 0.02
_MIN_OCR_CONFIDENCE = 0.3
_OCR_IS_SURE = 0.6


@dataclass(frozen=True, slots=True)
class MappedPage:
    """One page read through its fonts.

    Attributes:
        page_no: From 1.
        text: In reading order: a line each printed line, blank lines between paragraphs.
        confidence: Share of its glyphs, those of plain Latin fonts aside, that are surely known.
        unsure_words: Words of the text with a glyph that is not.
        coverage: Share of the same glyphs that have any meaning, sure or not.
        route: What explained them: ``gsub``, ``outline``, ``legacy``, ``learned``, several joined by ``+``;
            ``layer`` where the page has plain Latin only, ``none`` where nothing is drawn or known.
        reason: The same in words, for people.
        regions: Its tables.
        lines: What the text is put together from.
    """

    page_no: int
    text: str
    confidence: float
    unsure_words: tuple[str, ...]
    coverage: float
    route: str
    reason: str
    regions: tuple[Region, ...] = ()
    lines: tuple[Line, ...] = ()


class FontMapReader:
    """Reads the pages of one document; the document itself is left as it is.

    Args:
        document: Open, and unlocked if it had a password.
        ocr: Reads a page's picture; asked for a few pages, and only where fonts leave glyphs unexplained.
            Boxes are in points of the page as shown.
        legacy: Finds the converter of a legacy font, such as ``legacy.legacy_converter``.
        only: Numbers of the pages to read, from 1; all by default.
        ocr_pages: Pages to learn from at most.
    """

    def __init__(
        self,
        document: pymupdf.Document,
        *,
        ocr: Ocr | None = None,
        legacy: Legacy | None = None,
        only: Collection[int] | None = None,
        ocr_pages: int = _OCR_PAGES,
    ) -> None:
        self._document, self._fonts = open_renamed(document)
        self._ocr = ocr
        self._ocr_pages = ocr_pages
        numbers = range(1, self._document.page_count + 1)
        self._numbers = [number for number in numbers if only is None or number in only]
        self._glyphs = Glyphs()
        self._kept: dict[int, list[TracedLine]] = {}
        self._drawn: dict[int, Counter[int]] = {}
        self._failed: dict[int, str] = {}
        self._uses: dict[Font, FontUse] = {}
        self._confirmed: set[tuple[int, int]] = set()
        self.learned_from: tuple[int, ...] = ()
        for number in self._numbers:
            self._survey(number)
        self._converters = converters(self._uses, legacy)
        self._readings = meanings(self._glyphs.known, self._uses, self._converters)
        if ocr is not None and self._unexplained() > _LEARN_FROM:
            self._learn(ocr)

    def __enter__(self) -> FontMapReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the private copy of the document."""
        self._document.close()

    def pages(self) -> dict[int, MappedPage]:
        """Read all pages, by number."""
        return {number: self.page(number) for number in self._numbers}

    def page(self, page_no: int) -> MappedPage:
        """Read one page."""
        if page_no in self._failed:
            reason = f"the page cannot be traced ({self._failed[page_no]})"
            return MappedPage(page_no, "", 0.0, (), 0.0, "none", reason)
        rows = self._rows(page_no)
        words = [word for row in rows for word in row.words]
        decoded = {id(word): self._word(word) for word in words}
        lines_read = tuple(printed(rows, lambda word: decoded[id(word)].text))
        found = page_text(lines_read)
        unsure = [word for word in words if not (decoded[id(word)].sure or self._confirms(page_no, word))]
        judged = self._judged(
            page_no, found.text, unsure, tuple(filter(None, (decoded[id(word)].text for word in unsure)))
        )
        return replace(judged, regions=found.regions, lines=lines_read)

    def words(self, page_no: int) -> list[tuple[str, TracedWord]]:
        """Return the words that ``page`` makes lines of, in their order; none of a page that has no trace."""
        if page_no in self._failed:
            return []
        return [(self._word(word).text, word) for row in self._rows(page_no) for word in row.words]

    def _rows(self, page_no: int) -> list[Row[TracedWord]]:
        lines = self._lines(page_no)
        return reading_order((line.words for line in lines), self._upright(page_no))

    def verify(self, page_no: int, read: OcrPage) -> Disagreement:
        """Compare a page with its OCR, word by word where both have ink.

        Only what the map is answerable for, and where OCR is sure of itself: words of Latin fonts are left
        out, which Nepali OCR garbles.
        """
        found = [
            pair
            for pair in self._pairs(page_no, read)
            if pair.confidence >= _OCR_IS_SURE and any(map(self._foreign, pair.glyphs))
        ]
        return disagreement((self._spelt(pair), pair.text) for pair in found)

    def verification_page(self) -> int | None:
        """Choose the page to compare with OCR: the one with most foreign ink that was not learned from."""
        others = [number for number in self._drawn if number not in self.learned_from]
        return max(others, key=self._foreign_ink, default=None)

    def _survey(self, number: int) -> None:
        """Trace a page for the first time: count its glyphs, and note what its fonts claim to write."""
        try:
            lines = trace(self._document.load_page(number - 1), self._glyphs, self._fonts)
        except pdf_errors() as error:
            _LOG.debug("page %d cannot be traced: %s", number, error)
            self._failed[number] = str(error).splitlines()[0] if str(error) else type(error).__name__
            return
        if len(self._kept) < _KEPT_PAGES:
            self._kept[number] = lines
        drawn: Counter[int] = Counter()
        for line in lines:
            for word in line.words:
                drawn.update(word.glyphs)
                self._note(word)
        self._drawn[number] = drawn

    def _note(self, word: TracedWord) -> None:
        for font, run in self._runs(word):
            if font.inverted is None:
                use = self._uses.setdefault(font, FontUse())
                if len(use.words) < _SAMPLE:
                    drawn = [self._glyphs[glyph] for glyph in run]
                    use.words.append("".join(glyph.layer for glyph in drawn))
                    use.codes.append("".join(font.code(glyph.number) or glyph.layer for glyph in drawn))

    def _runs(self, word: TracedWord) -> Iterator[tuple[Font, list[int]]]:
        font, run = self._glyphs[word.glyphs[0]].font, [word.glyphs[0]]
        for glyph in word.glyphs[1:]:
            if (other := self._glyphs[glyph].font) is font:
                run.append(glyph)
            else:
                yield font, run
                font, run = other, [glyph]
        yield font, run

    def _lines(self, number: int) -> list[TracedLine]:
        if number in self._kept:
            return self._kept[number]
        return trace(self._document.load_page(number - 1), self._glyphs, self._fonts)

    def _upright(self, number: int) -> int:
        return int(-self._document.load_page(number - 1).rotation // 90) % 4

    def _word(self, word: TracedWord) -> DecodedWord:
        readings = [self._readings[glyph] for glyph in word.glyphs]

        def convert(start: int, end: int) -> str:
            text = "".join(reading.text for reading in readings[start:end])
            return self._converters[self._glyphs[word.glyphs[start]].font](text)

        return decode(readings, convert)

    def _spelt(self, pair: Pair) -> str:
        return "".join(self._word(word).text for word in pair.words)

    def _foreign(self, glyph: int) -> bool:
        return self._readings[glyph].route != "layer"

    def _foreign_ink(self, number: int) -> int:
        return sum(n for glyph, n in self._drawn[number].items() if self._foreign(glyph))

    def _unexplained(self) -> float:
        """Return the share of foreign ink without a meaning."""
        total: Counter[bool] = Counter()
        for drawn in self._drawn.values():
            for glyph, n in drawn.items():
                if self._foreign(glyph):
                    total[bool(self._readings[glyph].route)] += n
        return total[False] / (sum(total.values()) or 1)

    def _pairs(self, number: int, read: OcrPage) -> list[Pair]:
        import pymupdf

        back = self._document.load_page(number - 1).derotation_matrix
        boxed = []
        for word in read.words:
            rect = pymupdf.Rect(word.x0, word.y0, word.x1, word.y1) * back
            boxed.append((word, (rect.x0, rect.y0, rect.x1, rect.y1)))
        upright = self._upright(number)
        lines = [line for line in self._lines(number) if line.words and line.words[0].turn == upright]
        return list(pairs(lines, boxed))

    @cached_property
    def _keys(self) -> list[Key]:
        return [key(glyph) for glyph in self._glyphs.known]

    def _learn(self, ocr: Ocr) -> None:
        """Learn what the unexplained glyphs mean from the OCR of a few pages."""
        keys = self._keys
        missing = {keys[glyph] for glyph, reading in enumerate(self._readings) if not reading.route}
        pairs_of = self._read(self._choice(missing), ocr)
        self.learned_from = tuple(pairs_of)
        in_parts = self._in_parts(missing)
        examples: list[tuple[tuple[Key, ...], str]] = []
        for pair in (pair for found in pairs_of.values() for pair in found if self._teaches(pair, missing)):
            drawn = visual(pair.text)
            glyphs = tuple(keys[glyph] for glyph in pair.glyphs)
            examples.append((glyphs, parted(drawn) if in_parts else drawn))
        known = {keys[glyph]: reading.text for glyph, reading in enumerate(self._readings) if reading.route}
        known = {glyph_key: text for glyph_key, text in known.items() if glyph_key not in missing}
        found = learn(examples, known, claims=self._claims(missing))
        for glyph, reading in enumerate(self._readings):
            if not reading.route and keys[glyph] in found:
                self._readings[glyph] = _learned(found[keys[glyph]], in_parts)
        for number, pairs_found in pairs_of.items():
            self._confirmed.update(
                (number, word.order)
                for pair in pairs_found
                if disagreement([(self._spelt(pair), pair.text)]).n_edits == 0
                for word in pair.words
            )

    def _choice(self, missing: Collection[Key]) -> list[int]:
        """Choose the pages to learn from."""
        shown: dict[int, Counter[Key]] = {}
        for number, drawn in self._drawn.items():
            counted = shown[number] = Counter()
            for glyph, n in drawn.items():
                if self._keys[glyph] in missing:
                    counted[self._keys[glyph]] += n
        return choose_pages(shown, missing, at_most=self._ocr_pages)

    def _read(self, numbers: Sequence[int], ocr: Ocr) -> dict[int, list[Pair]]:
        """Return the words that OCR and trace share, of the pages that OCR could read."""
        found: dict[int, list[Pair]] = {}
        for number in numbers:
            read = ocr(number)
            if read is not None:
                found[number] = self._pairs(number, read)
        return found

    def _claims(self, missing: Collection[Key]) -> dict[Key, str]:
        """Return what the text layer says of the unexplained glyphs, where it says anything Devanagari."""
        claims: dict[Key, str] = {}
        for glyph_key, glyph in zip(self._keys, self._glyphs.known, strict=True):
            if glyph_key in missing and is_devanagari(glyph.layer):
                claims[glyph_key] = glyph.layer
        return claims

    def _in_parts(self, missing: Collection[Key]) -> bool:
        """Say whether the unexplained fonts look like legacy ones, which draw vowels in parts."""
        ink: Counter[bool] = Counter()
        for drawn in self._drawn.values():
            for glyph, n in drawn.items():
                if self._keys[glyph] in missing:
                    ink[is_devanagari(self._glyphs[glyph].layer)] += n
        return ink[False] > ink[True]

    def _teaches(self, pair: Pair, missing: Collection[Key]) -> bool:
        routes = {self._readings[glyph].route for glyph in pair.glyphs}
        believed = pair.confidence >= _MIN_OCR_CONFIDENCE and "legacy" not in routes
        return believed and any(self._keys[glyph] in missing for glyph in pair.glyphs)

    def _confirms(self, page_no: int, word: TracedWord) -> bool:
        """Say whether the page's own OCR reads a word as the map does."""
        return (page_no, word.order) in self._confirmed

    def _judged(
        self, page_no: int, text: str, doubtful: Sequence[TracedWord], unsure: tuple[str, ...]
    ) -> MappedPage:
        drawn = self._drawn[page_no]
        counted = {glyph: n for glyph, n in drawn.items() if self._foreign(glyph)}
        if sum(counted.values()) < _FEW:
            counted = dict(drawn)
        total = sum(counted.values())
        routes: Counter[str] = Counter()
        for glyph, n in counted.items():
            routes[self._readings[glyph].route] += n
        n_unsure = sum(
            not self._readings[glyph].sure for word in doubtful for glyph in word.glyphs if glyph in counted
        )
        return MappedPage(
            page_no=page_no,
            text=text,
            confidence=round(1 - n_unsure / total, 4) if total else 0.0,
            unsure_words=unsure,
            coverage=round(1 - routes[""] / total, 4) if total else 0.0,
            route=_route(routes),
            reason=_reason(routes, total, len(unsure), self.learned_from),
        )


def _learned(learned: Learned, in_parts: bool) -> Reading:
    return Reading(
        learned.text,
        "learned",
        posterior=learned.posterior,
        residual=learned.residual,
        in_parts=in_parts,
    )


def _route(routes: Mapping[str, int]) -> str:
    total = sum(routes.values())
    named = [route for route, n in Counter(routes).most_common() if route and n >= _NAMED * total]
    foreign = [route for route in named if route != "layer"]
    return "+".join(foreign or named) or "none"


_SAID = {
    "gsub": "by the font's own rules",
    "outline": "by outline",
    "legacy": "by a legacy table",
    "learned": "learned from OCR",
    "layer": "of Latin fonts",
    "": "unknown",
}


def _reason(routes: Mapping[str, int], total: int, n_unsure: int, learned_from: Sequence[int]) -> str:
    if not total:
        return "font map: nothing is drawn as text"
    parts = [f"{n} {_SAID[route]}" for route, n in Counter(routes).most_common() if n]
    pages = f" of page {', '.join(map(str, learned_from))}" if routes.get("learned") else ""
    unsure = f"; {n_unsure} unsure words" if n_unsure else ""
    return f"font map: {total} glyphs, {', '.join(parts)}{pages}{unsure}"
