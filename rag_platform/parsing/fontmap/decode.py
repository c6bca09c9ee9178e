"""Glyphs to words: each glyph's string, put into the order of the text. Knows no page and no font file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from rag_platform.parsing.fontmap.script import HALANT, is_consonant, logical

__all__ = ["DecodedWord", "Reading", "decode"]

_ZWNJ = "\u200c"
SURE = 0.7
"""Posterior from which a glyph's string is believed."""
MAX_RESIDUAL = 0.3
"""Share of training words with a glyph that the map spelt otherwise than OCR: above, the glyph is doubted."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a glyph means.

    Attributes:
        text: Visual string (see ``script``).
        route: ``gsub``, ``outline``, ``legacy``, ``learned``, ``layer`` or empty for an unmapped glyph.
        posterior: How sure the map is, 0 to 1.
        residual: Share of its training words that came out otherwise.
        shows_halant: It draws a halant that is seen.
        halves: Consonants that its font can draw as half forms.
        in_parts: Its font draws vowels in parts, as legacy fonts do.
    """

    text: str
    route: str
    posterior: float = 1.0
    residual: float = 0.0
    shows_halant: bool = False
    halves: frozenset[str] = frozenset()
    in_parts: bool = False

    @property
    def sure(self) -> bool:
        """Say whether words with this glyph need no second look."""
        return bool(self.route) and self.posterior >= SURE and self.residual <= MAX_RESIDUAL


@dataclass(frozen=True, slots=True)
class DecodedWord:
    """A word in the order of the text, and whether each of its glyphs was sure."""

    text: str
    sure: bool


def decode(readings: Sequence[Reading], convert: Callable[[int, int], str] | None = None) -> DecodedWord:
    """Return the text of a word.

    Args:
        readings: Of its glyphs in drawn order.
        convert: Text, in its order, of the glyphs from one place to another, drawn by a legacy font.
    """
    parts: list[str] = []
    at = 0
    for legacy, members in groupby(readings, key=lambda reading: reading.route == "legacy"):
        run = list(members)
        if legacy and convert is not None:
            parts.append(convert(at, at + len(run)))
        else:
            parts.append(logical(_drawn(run), whole=any(reading.in_parts for reading in run)))
        at += len(run)
    return DecodedWord("".join(parts), all(reading.sure for reading in readings))


def _drawn(readings: Iterable[Reading]) -> str:
    """Join the strings of glyphs; where a halant is seen on a letter with a half form, a non-joiner was."""
    text = ""
    shown: Reading | None = None
    for reading in readings:
        if shown is not None and is_consonant(reading.text[:1]) and _carrier(text) in shown.halves:
            text += _ZWNJ
        text += reading.text
        shown = reading if reading.shows_halant else None
    return text


def _carrier(text: str) -> str:
    """Return the consonant that carries the halant at the end of a text."""
    return text.rstrip(HALANT + "\u093c")[-1:]
