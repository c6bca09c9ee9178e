"""Words that an answer may put otherwise than its source without saying anything else: fees, rupees, pieces.

Short lists, on purpose: numbers, units, names and denials are never among them.
"""

from __future__ import annotations

from functools import lru_cache

import regex

from rag_platform.answering.negation import denied
from rag_platform.text.analyze import analyze

__all__ = ["plainer"]

_FREE = "वटा ओटा जना जम्मा उपलब्ध साल हो लाग्छ पर्छ total available you please"
_ALIKE = (
    "रु रू रुपैयाँ Rs NPR rupee rupees",
    "शुल्क दस्तुर fee fees cost costs charge charges price",
    "तिर्नु तिर्छ बुझाउनु बुझाउँछ लाग्छ पर्छ pay pays paid cost costs is",
    "न्यूनतम कम्तीमा minimum least",
    "हरेक प्रत्येक प्रति every each per a an",
    "need needs must required have has",
    "begin begins start starts open opens",
    "सुरु शुरु आरम्भ",
)
_WORD = regex.compile(r"[\p{L}\p{M}\u200c\u200d'’]+\.?(?=\s|$|[,;।\]\[])")


def plainer(claim: str, source: str) -> str:
    """Return a claim without the words that its source puts otherwise.

    >>> plainer("दर्ता शुल्क रु. ५०० हो।", "दर्ता गर्न ५०० रुपैयाँ दस्तुर लाग्छ।")
    'दर्ता ५०० ।'
    """
    there = frozenset(analyze(source)) | frozenset(source.lower().split())

    def kept(match: regex.Match[str]) -> str:
        word = match[0].rstrip(".")
        terms = _terms(word)
        if terms <= there or denied(word) is not None:
            return str(match[0])
        free, alike = _lists()
        is_said = any(terms & group and group & there for group in alike)
        return "" if terms & free or is_said else str(match[0])

    return " ".join(_WORD.sub(kept, claim).split())


def _terms(word: str) -> frozenset[str]:
    return frozenset(analyze(word)) or frozenset({word.lower()})


@lru_cache(maxsize=1)
def _lists() -> tuple[frozenset[str], tuple[frozenset[str], ...]]:
    def terms(words: str) -> frozenset[str]:
        return frozenset(term for word in words.split() for term in _terms(word))

    return terms(_FREE), tuple(terms(group) for group in _ALIKE)
