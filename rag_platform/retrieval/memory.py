"""What a service keeps of searches in memory: vectors of questions, and results.

A key names all that decides a value, so nothing is ever to be thrown away because something else changed:
what is not asked for any more goes as what is gets in.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
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

        What memory keeps is not written to disk, which would grow with every question that anybody asks.

        Raises:
            CallerError: The question is blank, or too long for the model.
        """
        return self.vector_by(encoder, text, lambda bare, one: self.fresh(bare, disk, [one])[0])

    def vector_by(
        self, encoder: Encoder, text: str, make: Callable[[Encoder, str], FloatArray]
    ) -> FloatArray:
        """Return the vector of a question, as ``vector``, made in a way of the caller's where it is missing.

        What is kept is what the model itself says: a calibration is applied after it.
        """
        if isinstance(encoder, CalibratedEncoder):
            raw = self.vector_by(encoder.inner, text, make)
            centred: FloatArray = encoder.calibration.centred(raw[None], [text], "query")[0]
            return centred
        return self.vectors.get(self.key(encoder, text), lambda: make(encoder, text))

    def key(self, encoder: Encoder, text: str) -> Asked:
        """Return under what the vector of a question is kept; of an encoder without its calibration."""
        return (encoder.name, encoder.recipe, encoder.prompted(text, "query"))

    def fresh(self, encoder: Encoder, disk: EmbeddingCache | None, texts: Sequence[str]) -> list[FloatArray]:
        """Return vectors of questions that are not in memory, encoded together.

        Raises:
            CallerError: A question is blank, or too long for the model.
        """
        if not self.vectors.most:
            return list(embed_texts(encoder, disk, texts, "query").vectors)
        known = disk.get_many(encoder, texts, "query") if disk else {}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known |= dict(zip(new, embed_texts(encoder, None, new, "query").vectors, strict=True))
        return [_frozen(known[text]) for text in texts]


def options_key(options: SearchOptions) -> SearchOptions:
    """Return options that are equal, and hashable, whatever sequences they were made of."""
    kinds = None if options.kinds is None else tuple(options.kinds)
    where = tuple(Condition(one.field, one.operator, tuple(one.values)) for one in options.where)
    weights, wordings = (options.weights[0], options.weights[1]), tuple(options.wordings)
    return replace(options, kinds=kinds, where=where, weights=weights, wordings=wordings)


def encoder_key(encoder: Encoder | None) -> Hashable:
    """Return what decides an encoder's vectors of questions: its recipe, and all of its calibration."""
    if encoder is None:
        return None
    constants = encoder.calibration.fingerprint if isinstance(encoder, CalibratedEncoder) else ""
    return (encoder.name, encoder.recipe, constants)


def reranker_key(reranker: Reranker | None) -> Hashable:
    """Return what decides a reranker's scores."""
    return None if reranker is None else (reranker.name, reranker.recipe)


def _frozen(vector: FloatArray) -> FloatArray:
    own: FloatArray = np.array(vector)
    own.setflags(write=False)
    return own


def _vector_bytes(key: Asked, vector: FloatArray) -> int:
    return int(vector.nbytes) + 4 * len(key[2]) + 500
