"""Which words of a passage are those of the question, and the part of a passage where most of them stand.

Words are compared as the index compares them: without endings, and for a question in Latin letters by what it
was read as. Text in, pieces of text out; escaping is the template's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import regex

from rag_platform.text.analyze import analyze
from rag_platform.text.language import is_function_word
from rag_platform.text.normalize import search_key

__all__ = ["Piece", "excerpt", "pieces", "telling_terms"]

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:[\u200c\u200d][\p{L}\p{M}\p{N}]*)*")
_LEAST_WEIGHT = 0.5
"""Of a term of the question; parts of words and what may be a function word weigh less."""
_LITTLE = frozenset(
    {
        *("छ", "छन्", "हो", "हुन्", "थियो", "र", "वा", "पनि", "को", "का", "की", "मा", "ले", "लाई", "बाट", "देखि"),
        *("सम्म", "के", "कुन", "कति", "कहिले", "कहिलेसम्म", "कसरी", "किन", "कहाँ", "कसले", "कसलाई", "कसको", "यो"),
        *(
            "त्यो",
            "यस",
            "त्यस",
            "कुनै",
            "सबै",
            "तथा",
            "एवं",
            "भने",
            "पर्छ",
            "गर्ने",
            "गर्न",
            "भएको",
            "हुने",
            "हुन्छ",
            "गरेको",
        ),
    }
)
"""Words that every passage has."""
_LENGTH = 420


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a passage; ``hit``: a word of the question."""

    text: str
    hit: bool


def telling_terms(query: str, weights: Mapping[str, float]) -> frozenset[str]:
    """Return the terms of a question that are worth showing.

    Args:
        query: As it was asked.
        weights: Of the terms that were searched.

    >>> sorted(telling_terms("कर कहिले तिर्ने?", {"कर": 1.0, "~कर": 0.3, "तिर": 1.0}))
    ['कर', 'तिर']
    """
    little = {
        term
        for word in _WORD.findall(query)
        if word in _LITTLE or is_function_word(word.lower())
        for term in (*analyze(word), search_key(word))
    }
    return frozenset(t for t, weight in weights.items() if weight >= _LEAST_WEIGHT and t not in little)


def pieces(text: str, terms: frozenset[str]) -> tuple[Piece, ...]:
    """Cut a text so that the words with one of the terms stand alone.

    >>> [piece.text for piece in pieces("सूचनाको मिति", frozenset(analyze("सूचना"))) if piece.hit]
    ['सूचनाको']
    """
    return tuple(_pieces(text, terms))


def _pieces(text: str, terms: frozenset[str]) -> Iterator[Piece]:
    at = 0
    for match in _WORD.finditer(text):
        if not terms.isdisjoint(analyze(match[0])):
            if match.start() > at:
                yield Piece(text[at : match.start()], False)
            yield Piece(match[0], True)
            at = match.end()
    if at < len(text):
        yield Piece(text[at:], False)


def excerpt(whole: Sequence[Piece], length: int = _LENGTH) -> tuple[Piece, ...]:
    """Return the part of a passage with most words of the question, cut at spaces; all of a short passage."""
    text = "".join(piece.text for piece in whole)
    if len(text) <= length * 1.25:
        return tuple(whole)
    hits, at = [], 0
    for piece in whole:
        if piece.hit:
            hits.append(at)
        at += len(piece.text)
    first = max(hits, key=lambda start: sum(start <= hit < start + length for hit in hits), default=0)
    start = max(0, min(first - length // 5, len(text) - length))
    start = 0 if start == 0 else _line(text, start)[0] or text.find(" ", start) + 1
    end = text.rfind(" ", start, start + length) if start + length < len(text) else len(text)
    end = end if end > start else min(len(text), start + length)
    return tuple(_cut(whole, start, _line(text, end)[1] or end, text))


def _line(text: str, at: int) -> tuple[int, int]:
    """Return where the row of a table at a place begins and ends; zeros outside of tables."""
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    return (start, len(text) if end < 0 else end) if text.startswith("|", start) else (0, 0)


def _cut(whole: Sequence[Piece], start: int, end: int, text: str) -> Iterator[Piece]:
    if start > 0:
        yield Piece("…\n" if text.startswith("|", start) else "… ", False)
    at = 0
    for piece in whole:
        part = piece.text[max(0, start - at) : max(0, end - at)]
        if part:
            yield Piece(part, piece.hit)
        at += len(piece.text)
    if end < len(text):
        yield Piece("\n…" if text[end - 1] == "|" else " …", False)
