"""Letter-spaced words, as headings have them: "नि य म" drawn wide is one word.

Only where it is certain: pieces are single letters with their signs, evenly apart, and a word together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Protocol, TypeVar

import regex

from rag_platform.text.words import is_word

__all__ = ["SpacedWord", "without_letter_spacing"]

_LETTER = regex.compile(
    "(?:[\u0915-\u0939\u0958-\u095f]\u093c?\u094d\u200d?)*[\u0904-\u0939\u0958-\u0961][\u0900-\u0903\u093a-\u094f\u0962\u0963]*"
    "|[\u0900-\u0903\u093a-\u094f]+|[A-Za-z]"
)
_MIN_PIECES = 3
_MIN_LATIN = 5
"""Shorter rows of single Latin letters may be labels."""
_EVEN = 1.7
"""White this many times the narrowest of a row stands between words."""
_MAX_GAP = 1.2
"""Letters further apart, in em, stand in cells."""


class SpacedWord(Protocol):
    """A stretch of a line; it grows when it takes in the next one."""

    text: str
    start: float
    end: float
    size: float


W = TypeVar("W", bound=SpacedWord)


def without_letter_spacing(words: Sequence[W]) -> Iterator[W]:
    """Yield the words of a line with letter-spaced ones put together."""
    if len(words) < _MIN_PIECES:
        yield from words
        return
    for single, run in groupby(words, key=lambda word: _LETTER.fullmatch(word.text) is not None):
        pieces = list(run)
        yield from _put_together(pieces) if single and len(pieces) >= _MIN_PIECES else pieces


def _put_together(pieces: Sequence[W]) -> Iterator[W]:
    gaps = [after.start - before.end for before, after in pairwise(pieces)]
    narrowest = max(min(gaps), 0.1 * pieces[0].size)
    group = [pieces[0]]
    for piece, gap in zip(pieces[1:], gaps, strict=True):
        if gap > min(_EVEN * narrowest, _MAX_GAP * piece.size):
            yield from _whole(group)
            group = []
        group.append(piece)
    yield from _whole(group)


def _whole(group: Sequence[W]) -> Iterable[W]:
    """Return the one word that pieces are, or the pieces."""
    text = "".join(piece.text for piece in group)
    if len(group) < _MIN_PIECES or not (_is_latin_word(text) if text.isascii() else is_word(text)):
        return group
    first = group[0]
    first.text, first.end = text, group[-1].end
    return [first]


def _is_latin_word(text: str) -> bool:
    """Say whether letters look like a word: in one case, with vowels and consonants, not an alphabet."""
    n_vowels = sum(letter in "aeiouy" for letter in text.lower())
    is_alphabet = all(ord(after) - ord(before) == 1 for before, after in pairwise(text))
    alike = text.isupper() or text[1:].islower()
    return len(text) >= _MIN_LATIN and alike and 0 < n_vowels < len(text) and not is_alphabet
