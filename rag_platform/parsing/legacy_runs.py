"""Runs in legacy Nepali fonts, from where a reader meets them to the Unicode text of its pages.

A reader marks the characters of such a run with their font; marks go through joining, stripping and
tables unharmed; when the whole document is written, each font's layout is found from all of its text and
the marked stretches are converted. What the fonts draw is known to ``text.legacy_fonts`` alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

from rag_platform.parsing.blocks import WrittenPage
from rag_platform.text import legacy_fonts

__all__ = ["LegacyRuns", "converted_plain"]

_BASE, _SIZE = 0xF0000, 0x2800
_N_FONTS = 12
"""Characters of font ``n`` stand in the private planes from ``_BASE + n * _SIZE``; more share the last."""
_SYMBOLS = range(0xF020, 0xF100)
"""Where programs put the codes of fonts that are declared as symbols."""
_DEVANAGARI = range(0x0900, 0x0980)
_MARKED = "[\U000f0000-\U0010fffd]"
_STRETCH = re.compile(f"{_MARKED}+(?:\\s+{_MARKED}+)*")
_TABLE_BAR = "|"


@dataclass
class LegacyRuns:
    """The legacy fonts of one document, with the text met in each."""

    _names: list[str] = field(default_factory=list)
    _slots: dict[str, int | None] = field(default_factory=dict)
    _texts: list[list[str]] = field(default_factory=list)

    def mark(self, text: str, font: str) -> str:
        """Return the text of a run, marked where its font is a legacy one and it is not typed in Unicode.

        Programs name the font of Latin letters for runs in other scripts, too: brackets beside Unicode are
        brackets.
        """
        slot = self._slot(font)
        if slot is None or sum(ord(c) in _DEVANAGARI for c in text) * 2 >= len("".join(text.split())):
            return text
        shifted = _BASE + slot * _SIZE
        plain = "".join(chr(ord(c) - 0xF000) if ord(c) in _SYMBOLS else c for c in text)
        self._texts[slot].append(plain)
        return "".join(chr(shifted + ord(c)) if _is_code(c) else c for c in plain)

    def pages(self, written: Iterable[WrittenPage]) -> list[WrittenPage]:
        """Return the pages with their marked stretches in Unicode, and the reason where that changed them."""
        pages = list(written)
        if not self._names:
            return pages
        families = [
            legacy_fonts.resolve(name, " ".join(texts))
            for name, texts in zip(self._names, self._texts, strict=True)
        ]
        return [self._page(page, families) for page in pages]

    def text(self, text: str) -> str:
        """Return one text with its marked stretches in Unicode, for metadata and titles."""
        return self.pages([WrittenPage(text)])[0].text

    def _slot(self, font: str) -> int | None:
        if font not in self._slots:
            name = legacy_fonts.family(font) if font else None
            self._slots[font] = None if name is None else self._slot_of(name, font)
        return self._slots[font]

    def _slot_of(self, family: str, font: str) -> int:
        for slot, known in enumerate(self._names):
            if legacy_fonts.family(known) == family:
                return slot
        if len(self._names) < _N_FONTS:
            self._names.append(font)
            self._texts.append([])
        return len(self._names) - 1

    def _page(self, page: WrittenPage, families: list[str | None]) -> WrittenPage:
        used: dict[str, None] = {}

        def convert(stretch: re.Match[str]) -> str:
            return "".join(self._converted(slot, text, families, used) for slot, text in _fonts(stretch[0]))

        made = _replaced(page, lambda text: _STRETCH.sub(convert, text))
        if not used:
            return made
        return replace(made, reason=f"converted from {', '.join(used)}")

    def _converted(self, slot: int, text: str, families: list[str | None], used: dict[str, None]) -> str:
        name = self._names[slot]
        made = legacy_fonts.convert_span(text, name, families[slot])
        if made != text:
            used[name] = None
        # Codes were written as letters of their own: a bar that is one now must not part a table's cells.
        return made.replace(_TABLE_BAR, r"\|")


def converted_plain(page: WrittenPage) -> WrittenPage:
    """Return a page of text without fonts, with what is typed for a legacy font in Unicode."""
    family = legacy_fonts.detect_family(page.text)
    if family is None:
        return page
    made = _replaced(page, lambda text: legacy_fonts.convert_plain(text, family))
    shown = "" if made.text == page.text else f"converted from {family.replace('_', ' ').title()}"
    return replace(made, reason=shown)


def _is_code(character: str) -> bool:
    return not character.isspace() and 0x20 < ord(character) < _SIZE and ord(character) not in _DEVANAGARI


def _fonts(stretch: str) -> Iterator[tuple[int, str]]:
    """Yield font and text of the parts of a marked stretch; white space goes with what stands before it."""
    slot = 0

    def of(character: str) -> int:
        nonlocal slot
        if not character.isspace():
            slot = (ord(character) - _BASE) // _SIZE
        return slot

    for found, characters in groupby(stretch, of):
        first = _BASE + found * _SIZE
        yield found, "".join(c if c.isspace() else chr(ord(c) - first) for c in characters)


def _replaced(page: WrittenPage, convert: Callable[[str], str]) -> WrittenPage:
    """Convert a page between the edges of its regions, so that they still hold what they held."""
    edges = sorted({edge for region in page.regions for edge in (region.start, region.end)})
    places: dict[int, int] = {}
    pieces: list[str] = []
    at = length = 0
    for edge in [*edges, len(page.text)]:
        pieces.append(convert(page.text[at:edge]))
        length += len(pieces[-1])
        places[edge], at = length, edge
    regions = tuple(
        replace(region, start=places[region.start], end=places[region.end]) for region in page.regions
    )
    return replace(page, text="".join(pieces), regions=regions)
