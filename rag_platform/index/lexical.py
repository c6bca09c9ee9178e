"""BM25 as sparse vectors: the weight of a term in a chunk, and of a term in a query.

A document vector holds the saturated, length-normalised term frequencies; the inverse document frequency
is the engine's part (Qdrant's ``Modifier.Idf``). The average length is a constant of the recipe, so that
a growing collection needs no rewriting of the weights already stored. Terms come from ``text.analyze``;
how a text becomes terms is not decided here.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from rag_platform.text import analyze
from rag_platform.types import AnalyzerOptions

__all__ = [
    "AVERAGE_LENGTH",
    "K1",
    "RECIPE",
    "B",
    "TermWeights",
    "average_length",
    "document_weights",
    "ideal",
    "inverse_document_frequency",
    "query_terms",
    "recipe",
    "term_index",
    "weights_of",
]

K1 = 1.2
B = 0.75
AVERAGE_LENGTH = 480.0
"""Terms in 256 XLM-R tokens of Nepali law, notices and English: 150 words and 3.0 to 3.3 terms a word, its
pieces counted.

A wrong constant only shifts how strongly length counts."""

_AVERAGE_WORDS = 150.0


def average_length(analyzer: AnalyzerOptions = analyze.ALL) -> float:
    """Return the terms of a passage of usual length: its words, and their pieces where these are terms."""
    return AVERAGE_LENGTH if analyzer.pieces else _AVERAGE_WORDS


RECIPE = f"bm25/2 k1={K1} b={B} avg={AVERAGE_LENGTH} blake2b-32 | {analyze.RECIPE}"


def recipe(analyzer: AnalyzerOptions = analyze.ALL) -> str:
    """Return what decides the weights of an index with this analyzer.

    >>> recipe() == RECIPE, recipe(AnalyzerOptions(pieces=False)).removeprefix(RECIPE)
    (True, ' without pieces avg=150.0')
    """
    if not analyzer.left_out:
        return RECIPE
    return f"{RECIPE} without {','.join(analyzer.left_out)} avg={average_length(analyzer)}"


@dataclass(frozen=True, slots=True)
class TermWeights:
    """A sparse vector: ``indices`` are distinct unsigned 32-bit integers, ascending."""

    indices: list[int]
    values: list[float]


def document_weights(text: str, analyzer: AnalyzerOptions = analyze.ALL) -> TermWeights:
    """Return the BM25 term weights of a chunk, without the inverse document frequency.

    ``tf / (tf + K1 * (1 - B + B * length / average_length))``: Lucene's form, which leaves out the constant
    factor ``K1 + 1``; between 0 and 1, empty for a text without terms.
    Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009.
    """
    counts = _counts(analyze.terms(text, analyzer))
    damping = K1 * (1 - B + B * counts.total() / average_length(analyzer))
    return _sorted({index: tf / (tf + damping) for index, tf in counts.items()})


def query_terms(text: str, analyzer: AnalyzerOptions = analyze.ALL) -> dict[str, float]:
    """Return how much each term of a query counts."""
    return analyze.weighted_terms(text, analyzer)


def weights_of(terms: Mapping[str, float]) -> TermWeights:
    """Return weighted terms as a query vector; terms that share a dimension count together."""
    weights: dict[int, float] = {}
    for term, weight in terms.items():
        index = term_index(term)
        weights[index] = weights.get(index, 0.0) + weight
    return _sorted(weights)


def inverse_document_frequency(n_chunks: int, frequency: int) -> float:
    """Return what the engines multiply a term's weight by: ``ln(1 + (N - n + 0.5) / (n + 0.5))``, above 0."""
    return math.log1p((n_chunks - frequency + 0.5) / (frequency + 0.5))


def ideal(terms: Mapping[str, float], idf: Callable[[str], float]) -> float:
    """Return what no chunk's BM25 score can reach: every term, so often that its weight is 1.

    Terms that no chunk has count as well, so ``score / ideal`` is 0 to 1 and small where words are unknown;
    0 without terms.

    Args:
        terms: With their weights.
        idf: Returns the inverse document frequency of a term.
    """
    return sum(weight * idf(term) for term, weight in terms.items())


def _counts(terms: Iterable[str]) -> Counter[int]:
    """Count terms by index; two terms that share one count together."""
    return Counter(map(term_index, terms))


@lru_cache(maxsize=1 << 13)
def term_index(term: str) -> int:
    """Return the term's sparse dimension: the same in every process and release, unlike ``hash``."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=4).digest(), "big")


def _sorted(weights: dict[int, float]) -> TermWeights:
    indices = sorted(weights)
    return TermWeights(indices, [weights[index] for index in indices])
