"""How near sentences are to a question, whatever their language and script: cosines of a calibrated encoder.

Only a calibrated encoder says it on a scale that means the same for every question. What is made of it stands
in ``ranked``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.calibration import CalibratedEncoder
from rag_platform.embedding.embed import embed_texts, points_recipe
from rag_platform.protocols import Encoder, FloatArray
from rag_platform.retrieval.memory import SearchMemory

__all__ = ["Nearness", "nearness"]


@dataclass(frozen=True, slots=True)
class Nearness:
    """Compares sentences with a question.

    Attributes:
        encoder: That of the collection.
        cache: Keeps the vectors: a sentence that was compared once costs nothing the next time.
        memory: Knows the vectors of questions that were searched.
    """

    encoder: CalibratedEncoder
    cache: EmbeddingCache | None = None
    memory: SearchMemory = field(default_factory=SearchMemory)

    @property
    def recipe(self) -> str:
        """What decides the cosines of passages; equal ones compare alike."""
        return points_recipe(self.encoder)

    def of(self, question: str, reading: str, sentences: Sequence[str]) -> FloatArray:
        """Return ``(n,)`` float32: cosines, in units of what all of a question's words are worth in search.

        Args:
            question: As it was typed.
            reading: The same in Devanagari, where it was typed in Latin letters; else empty.
            sentences: One at least.
        """
        asked = (question, reading or question)
        both = np.sum([self.memory.vector(self.encoder, self.cache, one) for one in asked], axis=0)
        both /= np.linalg.norm(both) or 1.0
        fitting = [self._fitting(one) for one in sentences]
        vectors = embed_texts(self.encoder, self.cache, fitting, "passage").vectors
        cosines: FloatArray = (vectors @ both / self.encoder.calibration.match).astype(np.float32)
        return cosines

    def _fitting(self, sentence: str) -> str:
        """Return so much of a sentence as the model reads."""
        while self.encoder.count_tokens(sentence, "passage") > self.encoder.max_tokens:
            sentence = sentence[: len(sentence) // 2]
        return sentence


def nearness(
    encoder: Encoder, cache: EmbeddingCache | None = None, memory: SearchMemory | None = None
) -> Nearness | None:
    """Return what compares sentences by an encoder, None where its cosines have no known scale.

    One that is calibrated without being centred compares letters or words (``hashing``), and these are
    compared anyway.
    """
    if isinstance(encoder, CalibratedEncoder) and encoder.calibration.share and encoder.calibration.match:
        return Nearness(encoder, cache, memory or SearchMemory())
    return None
