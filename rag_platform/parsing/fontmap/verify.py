"""How far a decoded page and its OCR disagree, word by word where both have ink.

Reading order plays no part. What OCR does not tell apart is folded: joiners, visarga and colon, dashes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Disagreement", "disagreement", "edit_distance"]

_FOLDED = str.maketrans(
    {"ः": ":", "–": "-", "—": "-", "‐": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "‌": None, "‍": None}
)
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The outcome of a comparison.

    Attributes:
        n_words: Words, or groups of them, that both sides see between the same edges.
        n_characters: Characters that OCR read there.
        n_edits: Edits between the two.
    """

    n_words: int
    n_characters: int
    n_edits: int

    @property
    def rate(self) -> float:
        """Edits a character; 1 where nothing could be compared."""
        return self.n_edits / self.n_characters if self.n_characters else 1.0


def disagreement(compared: Iterable[tuple[str, str]]) -> Disagreement:
    """Compare decoded words with what OCR read there."""
    n_words = n_characters = n_edits = 0
    for decoded, read in compared:
        one, other = _folded(decoded), _folded(read)
        if other:
            n_words += 1
            n_characters += len(other)
            n_edits += min(edit_distance(one, other), len(other))
    return Disagreement(n_words, n_characters, n_edits)


def _folded(text: str) -> str:
    return _SPACE.sub("", unicodedata.normalize("NFC", text).translate(_FOLDED))


def edit_distance(one: str, other: str) -> int:
    """Return the least number of insertions, deletions and replacements between two strings."""
    if one == other:
        return 0
    previous = list(range(len(other) + 1))
    for row, character in enumerate(one, 1):
        current = [row]
        for column, against in enumerate(other, 1):
            current.append(
                min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (character != against))
            )
        previous = current
    return previous[-1]
