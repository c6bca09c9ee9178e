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

RECIPE = "analyze-1:search-key-1,postpositions+snowball-nepali,snowball-english"
"""Version of everything that decides the terms; part of the recipe of every lexical index."""

# Not \w, which excludes vowel signs and halant. A number ends where letters of a case ending begin
# (२०८१को), but Latin letters stay (H2O, 5G). Thousands are grouped in the Indian or the Western way.
_TERM = regex.compile(
    r"(?P<grouped>(?<![\p{L}\p{N}])\d{1,3}(?:,\d{2,3})*,\d{3}(?![\p{Latin}\p{N}]|,\d))"
    r"|\p{Nd}+(?=[\p{L}&&\p{Devanagari}])|[\p{L}\p{M}\p{N}]+",
    regex.V1,
)
# Postpositions are glued to words, several at a time. Snowball takes one off and does not know most of these
# (सरकारबाट stays whole); and it leaves बी of बीमा (insurance) but बीमा of बीमाको, hence the two letters.
_POSTPOSITIONS = (
    "ले लाई को का की मा हरू हरु सँग सँगै बाट देखि सम्म सित तर्फ भित्र प्रति द्वारा सहित अनुसार भर पछि अघि माथि मुनि बीच बारे"
    " सम्बन्धी विरुद्ध बाहेक तिर झैँ जस्तै मात्र"
)
_GLUED = regex.compile(
    rf"(?<=\p{{L}}\p{{M}}*\p{{L}}\p{{M}}*)(?:{'|'.join(map(search_key, _POSTPOSITIONS.split()))})$"
)
_TWO_LETTERS = regex.compile(r"\p{L}.*\p{L}")
_local = threading.local()


def analyze(text: str) -> list[str]:
    """Return the terms of a text in order, repetitions included.

    Devanagari words lose their postpositions and Nepali endings, Latin words their English ones; digits are
    ASCII, and ``१,२३,४५६`` is one number.

    >>> analyze("संविधानले ३० हजार"), analyze("१,२३,४५६ rupees")
    (['संविधान', '30', 'हजार'], ['123456', 'rupe'])
    """
    return [
        match[0].replace(",", "") if match["grouped"] else _stem(match[0])
        for match in _TERM.finditer(search_key(text))
    ]


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    """Return the stem of a folded word, the same for all its forms; other scripts and numbers as they are."""
    if "a" <= word[0] <= "\u024f":
        return str(_stemmer("english").stemWord(word))
    if not "\u0900" <= word[0] <= "\u0963":
        return word
    while True:
        shorter = _GLUED.sub("", word)
        if shorter == word:
            shorter = _stemmer("nepali").stemWord(word)
        if shorter == word or not _TWO_LETTERS.match(shorter):
            return word
        word = shorter


def _stemmer(algorithm: str) -> Stemmer.Stemmer:
    """Return this thread's stemmer: the objects of PyStemmer must not be shared between threads."""
    stemmers: dict[str, Stemmer.Stemmer] = _local.__dict__.setdefault("stemmers", {})
    if algorithm not in stemmers:
        # No cache of its own: its purging costs more than stemming, and _stem caches for all threads.
        stemmers[algorithm] = Stemmer.Stemmer(algorithm, 0)
    return stemmers[algorithm]
