"""Lexical terms of a text: the same function for passages and for questions.

Fold (``search_key``), cut into words, stem. Weights, statistics and the index are not here.
"""

from __future__ import annotations

import threading
from functools import lru_cache

import regex
import Stemmer

from rag_platform.text.normalize import search_key

__all__ = ["RECIPE", "analyze"]

RECIPE = "analyze-1:search-key-1,snowball-nepali+english"
"""Version of everything that decides the terms; part of the recipe of every lexical index."""

# Not \w, which excludes vowel signs and halant. A number ends where letters of a case ending begin
# (२०८१को), but Latin letters stay (H2O, 5G). Thousands are grouped in the Indian or the Western way.
_TERM = regex.compile(
    r"(?P<grouped>(?<![\p{L}\p{N}])\d{1,3}(?:,\d{2,3})*,\d{3}(?![\p{Latin}\p{N}]|,\d))"
    r"|\p{Nd}+(?=[\p{L}&&\p{Devanagari}])|[\p{L}\p{M}\p{N}]+",
    regex.V1,
)
_STEMMER_BY_FIRST = (("\u0900", "\u0963", "nepali"), ("a", "\u024f", "english"))
_local = threading.local()


def analyze(text: str) -> list[str]:
    """Return the terms of a text in order, repetitions included.

    Devanagari words lose their case endings and Latin words their English ones by Snowball stemmers;
    digits are ASCII, and ``१,२३,४५६`` is one number.

    >>> analyze("संविधानले ३० हजार"), analyze("१,२३,४५६ rupees")
    (['संविधान', '30', 'हजार'], ['123456', 'rupe'])
    """
    return [
        match[0].replace(",", "") if match["grouped"] else _stem(match[0])
        for match in _TERM.finditer(search_key(text))
    ]


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    """Return the stem; a word that is nothing but an ending (को, हरू) stays itself."""
    for first, last, algorithm in _STEMMER_BY_FIRST:
        if first <= word[0] <= last:
            return _stemmer(algorithm).stemWord(word) or word
    return word


def _stemmer(algorithm: str) -> Stemmer.Stemmer:
    """Return this thread's stemmer: the objects of PyStemmer must not be shared between threads."""
    stemmers: dict[str, Stemmer.Stemmer] = _local.__dict__.setdefault("stemmers", {})
    if algorithm not in stemmers:
        # No cache of its own: its purging costs more than stemming, and _stem caches for all threads.
        stemmers[algorithm] = Stemmer.Stemmer(algorithm, 0)
    return stemmers[algorithm]
