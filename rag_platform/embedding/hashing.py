"""The encoder that needs no download: hashed n-grams of graphemes, the test double and the tutorial.

It knows spelling, not meaning: words that share most of their graphemes are near, so inflected forms of
one stem are. No file, no model, no random state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import regex

from rag_platform.embedding.catalogue import ENCODERS, EncoderSpec
from rag_platform.embedding.limits import require_fit, require_readable, unit_rows
from rag_platform.protocols import FloatArray
from rag_platform.text.normalize import search_key
from rag_platform.types import Prompt

__all__ = ["HashingEncoder"]

_VERSION = 1
_SIZES = (2, 3)
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_GRAPHEME = regex.compile(r"\X")


@lru_cache(maxsize=1 << 12)
def _features(word: str) -> tuple[str, ...]:
    """Return a word and the n-grams of its graphemes, its edges marked: का is ``<का>``, never क and ा."""
    graphemes = ["<", *_GRAPHEME.findall(word), ">"]
    grams = {"".join(graphemes[i : i + n]) for n in _SIZES for i in range(len(graphemes) - n + 1)}
    return (*sorted(grams), f"={word}")


@lru_cache(maxsize=1 << 13)
def _slot(feature: str, dim: int) -> tuple[int, float]:
    """Return the place of a feature and its sign: the same in every process and on every machine."""
    digest = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "little")
    return (digest >> 1) % dim, 1.0 if digest & 1 else -1.0


class HashingEncoder:
    """Signed hashing of a text's words and grapheme n-grams, frequent ones damped by their logarithm."""

    def __init__(self, spec: EncoderSpec = ENCODERS["hashing"]) -> None:
        self.spec = spec
        self.name = spec.name
        self.dim = spec.dim
        self.max_tokens = spec.max_tokens
        self.recipe = f"{spec.name}|v{_VERSION}|{spec.dim}|graphemes {_SIZES}"

    def prompted(self, text: str, prompt: Prompt) -> str:
        """Return the text: both sides are read as they are."""
        return text

    def count_tokens(self, text: str, prompt: Prompt) -> int:
        """Return the number of words, at least 1."""
        return max(1, len(_WORD.findall(text)))

    def encode(self, texts: Sequence[str], prompt: Prompt) -> FloatArray:
        """Return ``(len(texts), dim)`` float32, rows L2-normalised, in the order of ``texts``.

        Raises:
            CallerError: A text is blank.
        """
        require_readable(texts)
        require_fit(self.name, self.max_tokens, (self.count_tokens(t, prompt) for t in texts), prompt)
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            self._fill(row, text)
        return unit_rows(self.name, self.dim, vectors)

    def _fill(self, row: FloatArray, text: str) -> None:
        """Add a text's features; one without a letter or digit is read grapheme by grapheme."""
        words = _WORD.findall(search_key(text)) or _GRAPHEME.findall("".join(text.split()))
        counts = Counter(feature for word in words for feature in _features(word))
        for feature, n in counts.items():
            place, sign = _slot(feature, self.dim)
            row[place] += sign * (1.0 + np.log(n))
        if not row.any():  # every feature met its opposite: the whole text decides
            place, sign = _slot(text, self.dim)
            row[place] = sign
