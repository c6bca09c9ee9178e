"""Dirt in a passage's text: foreign letters inside Devanagari, bytes of legacy fonts, pieces for comparison.

One text at a time; what many texts share is found in ``collection``.
"""

from __future__ import annotations

import regex

from rag_platform.text.legacy_fonts import looks_legacy

__all__ = ["foreign_runs", "pieces", "typed_for_legacy_font"]

_WORD = regex.compile(r"\S+")
_DEVANAGARI = regex.compile("[\u0904-\u0939\u0958-\u0961\u0972-\u097f]")
_GLUED = regex.compile(
    "[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u03ff\u0400-\u052f\u1d00-\u1eff\ue000-\uf8ff\ufffd]"
)
"""Latin beyond ASCII, IPA, Greek, Cyrillic, private use, U+FFFD: never in a word with Devanagari."""
_NEVER = regex.compile("[\u0250-\u02af\u0400-\u052f\ue000-\uf8ff\ufffd]")
"""IPA, Cyrillic, private use, U+FFFD: in no word beside Devanagari either."""
_EDGES = "()[]{}“”‘’\"',;:.!?।॥|*_#-–—"

_KEYED = regex.compile(r"[A-Za-z][\][{};:/|\\'<>+=~^$&%@#*][A-Za-z]|[\][{};/|\\'<>+=~^$][A-Za-z]{2}")
"""Cheap: a text without it is not typed for a legacy font, and most have none."""
_LEGACY_SHARE = 0.03

_ENDS = regex.compile(r"[\n।॥?!]+|\.\s")
_LETTER = regex.compile(r"\p{L}")
_DIGIT = regex.compile(r"\p{Nd}")
_MIN_LETTERS = 12
"""Shorter pieces repeat by chance: (क), रु., क्र.सं."""


def foreign_runs(text: str) -> list[str]:
    """Return the words with letters that have no place in a text with Devanagari, as they stand.

    >>> foreign_runs("नेपाल सरकारले रावɈष्टिय योजना café मा ल्यायो। Привет")
    ['रावɈष्टिय', 'Привет']
    """
    if not _GLUED.search(text) or not _DEVANAGARI.search(text):
        return []
    found = []
    for word in _WORD.findall(text):
        if _NEVER.search(word) or (_GLUED.search(word) and _DEVANAGARI.search(word)):
            found.append(word.strip(_EDGES))
    return found


def typed_for_legacy_font(text: str) -> float:
    """Return which share of a text is left over from a legacy font, 0 where it is next to nothing.

    >>> typed_for_legacy_font("Nepal and/or India shall be liable.")
    0.0
    >>> typed_for_legacy_font("g]kfn ;/sf/n] of] P]g agfPsf] 5 .") > 0.5
    True
    """
    if not _KEYED.search(text):
        return 0.0
    share = looks_legacy(text)
    return share if share >= _LEGACY_SHARE else 0.0


def pieces(text: str) -> list[tuple[str, str]]:
    r"""Return the lines and sentences of a text, each with the form in which it is compared.

    Digits count as one and the same, so that page numbers in a running head do not tell them apart.

    >>> pieces("पृष्ठ १२ — स्थानीय सरकार सञ्चालन ऐन\n(क) कर")
    [('पृष्ठ १२ — स्थानीय सरकार सञ्चालन ऐन', 'पृष्ठ 00 — स्थानीय सरकार सञ्चालन ऐन')]
    """
    found = []
    for piece in _ENDS.split(text):
        if len(_LETTER.findall(piece)) >= _MIN_LETTERS:
            found.append((piece.strip(), _DIGIT.sub("0", " ".join(piece.split())).casefold()))
    return found
