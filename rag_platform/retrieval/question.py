"""What a question means in one generation: its terms, its reading, its vector. Nothing is searched here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from rag_platform.index.lexical import ideal, inverse_document_frequency, query_terms
from rag_platform.protocols import FloatArray, Lexicon
from rag_platform.text.language import detect_language, script_shares
from rag_platform.text.normalize import search_key, stored_text
from rag_platform.text.romanize import Romanized, reading

__all__ = ["Meaning", "Question"]

Embed = Callable[[str], FloatArray]


@dataclass(frozen=True, slots=True)
class Meaning:
    """A question against the words of one generation.

    Attributes:
        terms: Weighted terms that are searched.
        ideal: BM25 score of a passage with all of them; 0 without terms.
        romanized: How the words of the generation read it, where it is in Latin letters and not in English.
        frequencies: Number of chunks with each term, looked up once.
    """

    terms: Mapping[str, float]
    ideal: float
    romanized: Romanized | None
    frequencies: Mapping[str, int]

    def vector(self, text: str, embed: Embed) -> FloatArray:
        """Return ``(dim,)``, L2-normalised: of the question as it was typed, and as it is read, together."""
        typed = embed(text)
        if self.romanized is None or self.romanized.text == text:
            return typed
        both = typed + embed(self.romanized.text)
        unit: FloatArray = (both / (np.linalg.norm(both) or 1.0)).astype(np.float32)
        return unit


@dataclass(frozen=True, slots=True)
class Question:
    """A question as texts are stored.

    Attributes:
        text: Without what no text has; blank when nothing is left.
        language: As ``text.language`` detects it.
    """

    text: str
    language: str

    @classmethod
    def of(cls, query: str) -> Question:
        """Read a question."""
        text = stored_text(query).strip()
        return cls(text, detect_language(text))

    @property
    def normal_form(self) -> str:
        """How its words are compared."""
        return search_key(self.text)

    @property
    def is_romanized(self) -> bool:
        """Whether its Latin words may be Nepali; a wrong guess costs little: most of them have no reading."""
        latin = script_shares(self.text).get("Latin", 0.0) > 0.5
        return latin and self.language in ("romanized", "unknown")

    def meaning(self, lexicon: Lexicon) -> Meaning:
        """Return what it means in a generation with these words."""
        frequency = cache(lexicon.frequency)

        def idf(term: str) -> float:
            return inverse_document_frequency(lexicon.n_chunks, frequency(term))

        analyzer = lexicon.analyzer
        read = reading(self.text, lexicon, analyzer) if self.is_romanized else None
        terms = query_terms(self.text, analyzer) if read is None else read.terms
        best = ideal(terms, idf) if read is None else read.ideal(idf)
        return Meaning(terms, best, read, {term: frequency(term) for term in terms})
