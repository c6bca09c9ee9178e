"""Whether a PDF page's text layer can be believed. Judges, changes nothing.

It names the two ways in which layers of Nepali PDFs lie (bytes of a legacy font, a broken Unicode map), so
that such pages can be read another way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rag_platform.text.legacy_fonts import is_legacy_span

__all__ = ["MIN_LETTERS", "n_letters", "suspicion"]

MIN_LETTERS = 20
"""A text layer with fewer letters is not the page's text: a stamp, a page number, a scanner's mark."""

_WORD = re.compile(r"\S+")
_DEVANAGARI = re.compile("[\u0900-\u097f]")
# Never inside a word with Devanagari: Latin beyond ASCII, IPA, Greek, private use, U+FFFD.
_MIXED = re.compile(
    "[\u0900-\u097f][\u00aa-\u00b6\u00b8-\u02ff\u0370-\u03ff\ue000-\uf8ff\ufffd]|[\u00aa-\u00b6\u00b8-\u02ff\u0370-\u03ff\ue000-\uf8ff\ufffd][\u0900-\u097f]"
)
# A sign without a letter to carry it, two vowel signs, a vowel sign on a halant.
_IMPOSSIBLE = re.compile(
    "(?:(?<=\\s)|\\A)[\u0900-\u0903\u093a-\u093c\u093e-\u094d]|[\u093e-\u094c]{2}|\u094d[\u093e-\u094c\u0901-\u0903]|[\u0905-\u0914]\u094d"
)
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")
_MAX_IMPOSSIBLE = 0.02
_MAX_MIXED = 0.01


def n_letters(text: str) -> int:
    """Count letters: no digits, marks or punctuation."""
    return sum(character.isalpha() for character in text)


def suspicion(text: str, by_font: Mapping[str, str]) -> str:
    """Return why a text layer is probably wrong, or nothing.

    Args:
        text: The page's layer.
        by_font: The same text by font name: a font's name is only a hint, its text decides.
    """
    for font, written in by_font.items():
        letters = n_letters(written)
        is_nepali = len(_DEVANAGARI.findall(written)) > letters / 2  # seen at once; judging spans is slow
        if letters >= MIN_LETTERS and not is_nepali and is_legacy_span(written, font):
            return f"legacy font {font.rpartition('+')[2]}: the layer holds its key codes, not Unicode"
    if len(_CONTROL.findall(text)) > max(2, len(text) // 100):
        return "broken text layer: control characters"
    words = [word for word in _WORD.findall(text) if _DEVANAGARI.search(word)]
    if not words:
        return ""
    mixed = len(_MIXED.findall(text))
    if mixed >= 2 and mixed > _MAX_MIXED * len(words):
        return f"broken text layer: {mixed} foreign letters inside Devanagari words"
    impossible = len(_IMPOSSIBLE.findall(text))
    if impossible >= 2 and impossible > _MAX_IMPOSSIBLE * len(words):
        return f"broken text layer: {impossible} impossible sequences of signs in {len(words)} words"
    return ""
