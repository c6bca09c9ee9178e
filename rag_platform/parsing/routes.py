"""Which text of a PDF page is believed: its layer, what its fonts say, or what OCR reads in its picture.

By measured quality, never by whether there is any text, and with the reason. Nothing is read here: the
readings come in, one is chosen.

Measured on the Nepali acts at hand (share of words that the word list knows, ``words.known_share``): layers
that are right 0.99 to 1.00, layers with a broken Unicode map 0.35 to 0.75; what the fonts say 0.98 to 1.00,
in tables of abbreviations 0.70 to 0.89. So a right layer costs nothing more, and a font map is believed
where its words are known, or where a page of the document agrees with its OCR.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from rag_platform.parsing.layout import Line
from rag_platform.parsing.quality import MIN_LETTERS, n_letters
from rag_platform.text.normalize import stored_text
from rag_platform.text.words import known_share, words
from rag_platform.types import Origin, Region

__all__ = ["Reading", "best", "layer_is_right", "map_is_right", "score"]

_FEW_WORDS = 6
"""Devanagari words from which their known share says something."""
_GOOD_LAYER = 0.85
_GOOD_MAP = 0.9
_MIN_CONFIDENCE = 0.95
_PLAIN = regex.compile(
    r"""[(\["“'‘]?"""
    r"(?:\p{L}[\p{L}\p{M}]*(?:[-'’./&@:][\p{L}\p{M}\p{N}]+)*|\p{Sc}?\p{N}+(?:[.,:/-]\p{N}+)*)"
    r"""[.,;:)\]"”'’!?।%-]{0,2}|[-–—•*|/&=+।.,:;]"""
)
"""A word, a number or a mark, in quotes or brackets, with its punctuation."""
_AGREES = 0.05
"""Disagreement with OCR up to which a document's font map is believed: OCR's own errors are most of it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One way a page was read; ``suspicion`` says what is wrong with its text, if anything.

    ``lines``, in points, are what the text is put together from.
    """

    text: str
    origin: Origin
    confidence: float
    reason: str
    suspicion: str = ""
    regions: tuple[Region, ...] = ()
    lines: tuple[Line, ...] = ()

    @property
    def score(self) -> float:
        """How well the text reads."""
        return score(stored_text(self.text))


def score(text: str) -> float:
    """Return how well a text reads: the share of its Devanagari words that are known.

    Where there are hardly any, the share of its tokens that are plain words, numbers or marks: what OCR makes
    of a picture without text is neither. 1.0 for an empty text.
    """
    if len(words(text)) >= _FEW_WORDS:
        return round(known_share(text), 4)
    tokens = text.split()
    plain = sum(_PLAIN.fullmatch(token) is not None for token in tokens)
    return round(plain / len(tokens), 4) if tokens else 1.0


def layer_is_right(layer: Reading) -> bool:
    """Say whether a text layer can be used as it is."""
    return n_letters(layer.text) >= MIN_LETTERS and not layer.suspicion and layer.score >= _GOOD_LAYER


def map_is_right(mapped: Reading, disagreement: float | None) -> bool:
    """Say whether what the fonts say can be used.

    Args:
        mapped: The page's reading by its fonts.
        disagreement: Of a page of this document with its OCR, edits a character; None when none was read.
    """
    if mapped.confidence < _MIN_CONFIDENCE or n_letters(mapped.text) == 0:
        return False
    if disagreement is not None and disagreement > _AGREES and mapped.origin != "legacy_font":
        return mapped.score >= _GOOD_MAP and len(words(mapped.text)) >= _FEW_WORDS
    return mapped.score >= _GOOD_MAP or (disagreement is not None and disagreement <= _AGREES)


def best(readings: Sequence[Reading]) -> Reading:
    """Return the reading with the best words; the first of equals, so give the preferred route first."""

    def rank(reading: Reading) -> tuple[bool, bool, float]:
        return bool(reading.text.strip()), not reading.suspicion, reading.score * reading.confidence

    return max(readings, key=rank)
