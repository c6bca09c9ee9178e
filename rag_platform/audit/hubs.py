"""Hubs: chunks that come up among the nearest of many questions they have nothing to do with.

The questions are stored vectors of a sample of chunks, and only chunks of other documents count, so no
encoder is needed. Radovanović, Nanopoulos and Ivanović, "Hubs in Space", JMLR 11 (2010): the skewness of
the k-occurrences says how hubby a collection is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag_platform.protocols import CollectionReader, FloatArray

__all__ = ["MIN_POINTS", "Hub", "Hubness", "Probe", "hubness", "skewness"]

K = 10
MIN_POINTS = 100
"""In smaller collections the top ten of any question hold a good part of all chunks."""
_LIMITS = (60, 500)
"""Chunks asked for, so that ten of other documents are among them; the second where the first is too few."""
_SURELY = 5.0
"""Standard deviations above the expected number from which it is no chance."""
_LEAST_QUESTIONS = 5


@dataclass(frozen=True, slots=True)
class Probe:
    """A question: a stored vector, ``(dim,)`` float32, and the document it is from."""

    document: int
    vector: FloatArray


@dataclass(frozen=True, slots=True)
class Hubness:
    """How the top tens of all probes spread over the chunks.

    Attributes:
        probes: Questions asked.
        expected: Top tens that a chunk is in on average: ``probes * 10 / chunks``.
        skewness: Of the number of top tens over all chunks; near 0 is even, above 3 hubby.
        worst: The largest number.
    """

    probes: int
    expected: float
    skewness: float
    worst: int


@dataclass(frozen=True, slots=True)
class Hub:
    """A chunk in far more top tens than expected: of how many questions, of how many documents."""

    chunk_id: str
    questions: int
    documents: int
    expected: float


def hubness(
    reader: CollectionReader, probes: Sequence[Probe], document_of: Mapping[str, int]
) -> tuple[Hubness, list[Hub]]:
    """Ask every probe and count in which top tens each chunk is.

    Args:
        reader: The collection.
        probes: The questions.
        document_of: The document of every chunk.

    Returns:
        The spread, and the hubs, worst first.
    """
    asked_by: dict[str, list[int]] = {}
    for probe in probes:
        for key in _nearest(reader, probe, document_of):
            asked_by.setdefault(key, []).append(probe.document)
    n_points = len(document_of)
    counts = np.zeros(n_points)
    counts[: len(asked_by)] = [len(documents) for documents in asked_by.values()]
    expected = _expected(probes, document_of)
    hubs = []
    for key, documents in asked_by.items():
        mean, variance = expected(document_of[key])
        if len(documents) >= _LEAST_QUESTIONS and len(documents) > mean + _SURELY * variance**0.5:
            hubs.append(Hub(key, len(documents), len(set(documents)), round(mean, 4)))
    hubs.sort(key=lambda hub: (-hub.questions, hub.chunk_id))
    spread = Hubness(
        len(probes),
        round(len(probes) * K / n_points, 4),
        round(skewness(counts), 4),
        int(counts.max(initial=0)),
    )
    return spread, hubs


def _expected(
    probes: Sequence[Probe], document_of: Mapping[str, int]
) -> Callable[[int], tuple[float, float]]:
    """Return a function from a document to mean and variance of the top tens that each of its chunks is in.

    A question is answered by the chunks of all other documents alike; those of a small document answer all
    the questions of a large one.
    """
    sizes, asked = Counter(document_of.values()), Counter(probe.document for probe in probes)
    chances = {one: min(1.0, K / max(1, len(document_of) - sizes[one])) for one in asked}
    mean = sum(n * chances[one] for one, n in asked.items())
    variance = sum(n * chances[one] * (1 - chances[one]) for one, n in asked.items())

    def of(document: int) -> tuple[float, float]:
        n, chance = asked[document], chances.get(document, 0.0)
        return mean - n * chance, max(0.0, variance - n * chance * (1 - chance))

    return of


def _nearest(reader: CollectionReader, probe: Probe, document_of: Mapping[str, int]) -> list[str]:
    """Return the ten nearest chunks of other documents than the question's, fewer if there are no more."""
    found: list[str] = []
    for limit in _LIMITS:
        hits = reader.dense(probe.vector, limit=limit)
        found = [
            hit.chunk_id for hit in hits if document_of.get(hit.chunk_id, probe.document) != probe.document
        ]
        if len(found) >= K or len(hits) < limit:
            break
    return found[:K]


def skewness(values: FloatArray | np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Return the skewness ``m3 / m2 ** 1.5`` of values; 0 where they are all equal or there are none.

    >>> round(skewness(np.array([0.0, 0.0, 0.0, 4.0])), 4)
    1.1547
    """
    if not len(values):
        return 0.0
    away = values - values.mean()
    spread = float((away**2).mean())
    return float((away**3).mean()) / spread**1.5 if spread else 0.0
