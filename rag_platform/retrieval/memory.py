"""What a service keeps of searches in memory: vectors of questions, and results.

A key names all that decides a value, so nothing is ever to be thrown away because something else changed:
what is not asked for any more goes as what is gets in.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from rag_platform.caching import Cache
from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.calibration import CalibratedEncoder
from rag_platform.embedding.embed import embed_texts
from rag_platform.protocols import Encoder, FloatArray, Reranker
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.result import SearchResult
from rag_platform.types import Condition

__all__ = ["SearchMemory", "encoder_key", "options_key", "reranker_key"]

_VECTOR_BYTES = 64 << 20
_RESULT_BYTES = 128 << 20
"""What all vectors, and all results, may take together, however large one is."""

Asked = tuple[str, str, str]
"""A model, its recipe, and the prompted question."""


class SearchMemory:
    """Safe to share between threads; one a process.

    Args:
        vectors: Vectors of questions that are kept; 0: none.
        results: Results that are kept; 0: none.
    """

    def __init__(self, *, vectors: int = 0, results: int = 0) -> None:
        self.vectors: Cache[Asked, FloatArray] = Cache(vectors, most_bytes=_VECTOR_BYTES, size=_vector_bytes)
        self.results: Cache[Hashable, SearchResult] = Cache(
            results, most_bytes=_RESULT_BYTES, size=lambda _, result: result.n_bytes
        )

    def vector(self, encoder: Encoder, disk: EmbeddingCache | None, text: str) -> FloatArray:
        """Return the vector of a question: ``(dim,)`` float32, L2-normalised, read-only where it is shared.

        What is kept is what the model itself says: a calibration is applied after it. What memory keeps is
        not written to disk, which would grow with every question that anybody asks.

        Raises:
            CallerError: The question is blank, or too long for the model.
        """
        if isinstance(encoder, CalibratedEncoder):
            raw = self.vector(encoder.inner, disk, text)
            centred: FloatArray = encoder.calibration.centred(raw[None], [text], "query")[0]
            return centred
        if not self.vectors.most:
            own: FloatArray = embed_texts(encoder, disk, [text], "query").vectors[0]
            return own
        key = (encoder.name, encoder.recipe, encoder.prompted(text, "query"))
        return self.vectors.get(key, lambda: _shared(encoder, disk, text))


def options_key(options: SearchOptions) -> SearchOptions:
    """Return options that are equal, and hashable, whatever sequences they were made of."""
    kinds = None if options.kinds is None else tuple(options.kinds)
    where = tuple(Condition(one.field, one.operator, tuple(one.values)) for one in options.where)
    return replace(options, kinds=kinds, where=where, weights=(options.weights[0], options.weights[1]))


def encoder_key(encoder: Encoder | None) -> Hashable:
    """Return what decides an encoder's vectors of questions: its recipe, and all of its calibration."""
    if encoder is None:
        return None
    constants = encoder.calibration.fingerprint if isinstance(encoder, CalibratedEncoder) else ""
    return (encoder.name, encoder.recipe, constants)


def reranker_key(reranker: Reranker | None) -> Hashable:
    """Return what decides a reranker's scores."""
    return None if reranker is None else (reranker.name, reranker.recipe)


def _shared(encoder: Encoder, disk: EmbeddingCache | None, text: str) -> FloatArray:
    known = disk.get_many(encoder, [text], "query") if disk else {}
    vector: FloatArray = np.array(known[text] if text in known else encoder.encode([text], "query")[0])
    vector.setflags(write=False)
    return vector


def _vector_bytes(key: Asked, vector: FloatArray) -> int:
    return int(vector.nbytes) + 4 * len(key[2]) + 500
