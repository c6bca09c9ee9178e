"""Lexical terms of a text: the same function for passages and for questions.

Fold (``search_key``), cut into words, stem, fold what writers confuse; and the pieces of words, which meet
where stems do not: in compounds, misprints, languages without a stemmer. Each of the four can be left out, to
measure what it is worth: the index carries these options to its questions. Statistics and index are not here.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache

import regex
import Stemmer

from rag_platform.text.normalize import search_key, stored_text
from rag_platform.text.scripts import SCRIPTS, Script
from rag_platform.types import AnalyzerOptions

__all__ = [
    "ALL",
    "PIECE_LENGTH",
    "PIECE_WEIGHT",
    "RECIPE",
    "analyze",
    "bare_forms",
    "terms",
    "weighted_terms",
]

ALL = AnalyzerOptions()
"""Every part of the analyzer: how all is indexed and searched outside ablations."""

PIECE_LENGTH = 4
"""Characters of a piece; a shorter word is its own piece."""
PIECE_WEIGHT = 0.3
"""Weight in a question of a piece beside a word's 1."""
_PIECE = "~"
"""Begins a piece and no word."""

RECIPE = (
    "analyze-2:search-key-2,postpositions+snowball-nepali+final-signs,snowball-english,spelling-1"
    f",{PIECE_LENGTH}-grams*{PIECE_WEIGHT}"
)
"""Version of everything that decides the terms; part of the recipe of every lexical index."""

# Not \w, which excludes vowel signs and halant. Numbers and Latin words end where letters of a case ending
# begin (२०८१को, GDPको, 5Gको). Thousands are grouped in the Indian or the Western way. Joiners are met only in
# text that is not folded, where they are part of a word.
_TERM = regex.compile(
    r"(?P<grouped>(?<![\p{L}\p{N}])\d{1,3}(?:,\d{2,3})*,\d{3}(?![\p{Latin}\p{N}]|,\d))"
    r"|[\p{Latin}\p{Nd}]+(?=[\p{L}&&\p{Devanagari}])|[\p{L}\p{M}\p{N}][\p{L}\p{M}\p{N}\u200c\u200d]*",
    regex.V1,
)
_TWO_LETTERS = regex.compile(r"\p{L}.*\p{L}")
_LATIN_END, _BLOCK = 0x250, 0x80
_local = threading.local()


def analyze(text: str, options: AnalyzerOptions = ALL) -> list[str]:
    """Return the words of a text as terms, in order, repetitions included.

    Devanagari words lose their postpositions and Nepali endings, Latin words their English ones; digits are
    ASCII, and ``१,२३,४५६`` is one number.

    >>> analyze("सूचनाले ३० हजार"), analyze("१,२३,४५६ rupees")
    (['सुचन', '30', 'हजार'], ['123456', 'rupe'])
    """
    return [term for term, _ in _analyzed(text, options)]


def terms(text: str, options: AnalyzerOptions = ALL) -> list[str]:
    """Return what a passage is indexed by: the words of ``analyze``, and the pieces of each.

    >>> terms("सूचनाले १०")
    ['सुचन', '~सुचन', '~ुचना', '10']
    """
    if not options.pieces:
        return analyze(text, options)
    return [term for word, stem in _analyzed(text, options) for term in (word, *_pieces(stem))]


def weighted_terms(text: str, options: AnalyzerOptions = ALL) -> dict[str, float]:
    """Return what a question is searched by: each term with its number times its weight.

    >>> weighted_terms("नाम नाम")
    {'नाम': 2.0, '~नाम': 0.6}
    """
    counts = Counter(terms(text, options))
    return {term: n * (PIECE_WEIGHT if term.startswith(_PIECE) else 1.0) for term, n in counts.items()}


def bare_forms(word: str) -> list[str]:
    """Return a word and what is left as its postpositions are taken off one by one.

    >>> bare_forms("विद्यालयहरूको")
    ['विद्यालयहरूको', 'विद्यालयहरू', 'विद्यालय']
    """
    forms, rules = [word], _rules_of(word)
    while rules and rules.glued and (shorter := rules.glued.sub("", forms[-1])) != forms[-1]:
        forms.append(shorter)
    return forms


def _analyzed(text: str, options: AnalyzerOptions) -> Iterator[tuple[str, str]]:
    """Yield the term and the folded stem of each word; of a number the term and nothing."""
    stem, spelling = options.stem, options.spelling
    for match in _TERM.finditer(search_key(text) if options.fold else stored_text(text)):
        word = match[0]
        yield (word.replace(",", ""), "") if match["grouped"] else _term_and_stem(word, stem, spelling)


def _pieces(stem: str) -> list[str]:
    last = max(1, len(stem) - PIECE_LENGTH + 1) if stem else 0
    return [_PIECE + stem[i : i + PIECE_LENGTH] for i in range(last)]


@lru_cache(maxsize=1 << 14)
def _term_and_stem(word: str, stemmed: bool, respelled: bool) -> tuple[str, str]:
    """Return of a folded word the term, the same for all its forms, and the stem with its last vowel."""
    if word[0].isnumeric():
        return word, ""
    rules = _rules_of(word)
    if rules is None:
        return word, word
    stem = rules.stem(word) if stemmed else word
    term = rules.final.sub("", stem) if stemmed else word
    return (rules.fold(term), rules.fold(stem)) if respelled else (term, stem)


def _rules_of(word: str) -> _Rules | None:
    """Return the rules of the script that a word begins in."""
    code = ord(word[0])
    return _rules().get(0 if code < _LATIN_END else code & -_BLOCK)


@cache
def _rules() -> dict[int, _Rules]:
    return {script.block: _Rules(script) for script in SCRIPTS.values()}


class _Rules:
    """What a script's row says of terms, compiled."""

    def __init__(self, script: Script) -> None:
        glued = "|".join(sorted({f for p in script.postpositions.split() for f in (p, search_key(p))}))
        self.glued = regex.compile(rf"(?<=\p{{L}}\p{{M}}*\p{{L}}\p{{M}}*)(?:{glued})$") if glued else None
        self.final = re.compile(f"(?<=..)[{script.final_signs}]+$" if script.final_signs else "(?!)")
        self._algorithm = script.stemmer
        self._letters = str.maketrans(dict(script.spelling))
        self._variants = [(re.compile(pattern), kept) for pattern, kept in script.variants]

    def stem(self, word: str) -> str:
        """Return a word without its endings; where there is no stemmer, as it is."""
        if self._algorithm is None:
            return word
        if self.glued is None:
            return str(_stemmer(self._algorithm).stemWord(word))
        while True:
            shorter = self.glued.sub("", word)
            if shorter == word:
                shorter = _stemmer(self._algorithm).stemWord(word)
            if shorter == word or not _TWO_LETTERS.match(shorter):
                return word
            word = shorter

    def fold(self, stem: str) -> str:
        """Return a stem with one letter for those that writers confuse."""
        stem = stem.translate(self._letters)
        for pattern, kept in self._variants:
            stem = pattern.sub(kept, stem)
        return stem


def _stemmer(algorithm: str) -> Stemmer.Stemmer:
    """Return this thread's stemmer: the objects of PyStemmer must not be shared between threads."""
    stemmers: dict[str, Stemmer.Stemmer] = _local.__dict__.setdefault("stemmers", {})
    if algorithm not in stemmers:
        # No cache of its own: its purging costs more than stemming, and the caller caches for all threads.
        stemmers[algorithm] = Stemmer.Stemmer(algorithm, 0)
    return stemmers[algorithm]
