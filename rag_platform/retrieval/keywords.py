"""What a passage is about, in its own words: those that it repeats and that few others have."""

from __future__ import annotations

import unicodedata
from collections import Counter

import regex

from rag_platform.index.lexical import inverse_document_frequency
from rag_platform.protocols import Lexicon
from rag_platform.text.analyze import analyze, bare_forms

__all__ = ["keywords"]

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}\u200c\u200d]+")
_COMMON = 0.25
"""A word of more than this share of the chunks says nothing about one of them."""
_ENOUGH = 8
"""Chunks from which shares say something."""


def keywords(text: str, lexicon: Lexicon, n: int) -> tuple[str, ...]:
    """Return at most ``n`` words of a passage, the most telling first: frequency times rarity.

    A word stands without its postpositions, in the shortest form that the passage has.

    Args:
        text: The passage.
        lexicon: What its generation knows of words.
        n: Number of words at most.
    """
    counts: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for word in _WORD.findall(unicodedata.normalize("NFC", text)):
        bare = bare_forms(word)[-1]
        for term in analyze(bare, lexicon.analyzer)[:1]:
            counts[term] += 1
            shown[term] = min(shown.get(term, bare), bare, key=lambda form: (len(form), form))
    frequencies = {term: lexicon.frequency(term) for term in counts}
    limit = _COMMON * lexicon.n_chunks if lexicon.n_chunks >= _ENOUGH else lexicon.n_chunks
    weights = {
        term: number * inverse_document_frequency(lexicon.n_chunks, frequencies[term])
        for term, number in counts.items()
        if frequencies[term] <= limit
    }
    best = sorted(weights, key=lambda term: (-weights[term], shown[term]))
    return tuple(shown[term] for term in best[:n])
