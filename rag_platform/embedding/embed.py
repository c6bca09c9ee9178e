"""Many texts to vectors: each distinct text once, from the cache where it is known, in batches.

Order and number of the results are those of the texts. No model code, no tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.calibration import CalibratedEncoder
from rag_platform.errors import ChunkTooLong
from rag_platform.protocols import Encoder, FloatArray
from rag_platform.types import Chunk, Prompt, fingerprint

__all__ = ["BATCH_SIZE", "Embedded", "Progress", "embed_chunks", "embed_texts", "points_recipe"]

BATCH_SIZE = 64
"""Texts that are encoded and stored together: what a killed process loses at most."""

Progress = Callable[[int, int], None]
"""Called after each batch with the number of texts encoded so far and the number to encode."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of texts and what they cost.

    Attributes:
        vectors: ``(n, dim)`` float32, L2-normalised, in the order of the texts.
        n_cached: Texts that cost nothing: found in the cache, or a repetition of one in this call.
        n_encoded: Distinct texts the model read.
    """

    vectors: FloatArray
    n_cached: int
    n_encoded: int


def points_recipe(encoder: Encoder) -> str:
    """Return what of an encoder decides a whole generation: equal recipes make comparable vectors."""
    return fingerprint("points", encoder.recipe)


def embed_texts(
    encoder: Encoder,
    cache: EmbeddingCache | None,
    texts: Sequence[str],
    prompt: Prompt,
    *,
    batch_size: int = BATCH_SIZE,
    progress: Progress | None = None,
) -> Embedded:
    """Embed texts of one side, storing every batch in the cache before the next one is begun.

    The cache keeps what the model itself says; where the encoder is calibrated, vectors are centred after it.

    Raises:
        CallerError: A text is blank, or a query is too long for the model.
        ChunkTooLong: A passage is too long for the model.
    """
    if isinstance(encoder, CalibratedEncoder):
        raw = embed_texts(encoder.inner, cache, texts, prompt, batch_size=batch_size, progress=progress)
        return replace(raw, vectors=encoder.calibration.centred(raw.vectors, texts, prompt))
    distinct = list(dict.fromkeys(texts))
    known = cache.get_many(encoder, distinct, prompt) if cache else {}
    new = sorted((text for text in distinct if text not in known), key=len, reverse=True)
    for start in range(0, len(new), batch_size):
        batch = new[start : start + batch_size]
        vectors = encoder.encode(batch, prompt)
        if cache:
            cache.put_many(encoder, batch, vectors, prompt)
        known.update(zip(batch, vectors, strict=True))
        if progress:
            progress(start + len(batch), len(new))
    return Embedded(
        vectors=_rows([known[text] for text in texts], encoder.dim),
        n_cached=len(texts) - len(new),
        n_encoded=len(new),
    )


def embed_chunks(
    encoder: Encoder,
    cache: EmbeddingCache | None,
    chunks: Sequence[Chunk],
    *,
    batch_size: int = BATCH_SIZE,
    progress: Progress | None = None,
) -> Embedded:
    """Embed chunks as passages; nothing is encoded when one of them does not fit.

    Raises:
        ChunkTooLong: A chunk with prompt and special tokens overflows the model; names both.
    """
    texts = [chunk.indexed_text for chunk in chunks]
    bare = encoder.inner if isinstance(encoder, CalibratedEncoder) else encoder
    known = cache.get_many(bare, texts, "passage") if cache else {}
    _require_fit(encoder, (chunk for chunk in chunks if chunk.indexed_text not in known))
    return embed_texts(encoder, cache, texts, "passage", batch_size=batch_size, progress=progress)


def _require_fit(encoder: Encoder, chunks: Iterable[Chunk]) -> None:
    for chunk in chunks:
        n = encoder.count_tokens(chunk.indexed_text, "passage")
        if n > encoder.max_tokens:
            raise ChunkTooLong(
                f"chunk {chunk.ordinal} of {chunk.source} (pages {chunk.page_first}-{chunk.page_last},"
                f" {chunk.chunk_id}) has {n} tokens with the prompt of {encoder.name}, which reads"
                f" {encoder.max_tokens}; lower CHUNK_SIZE or choose a model with a larger limit"
                " (`rag models`)"
            )


def _rows(vectors: Sequence[FloatArray], dim: int) -> FloatArray:
    return np.stack(vectors) if vectors else np.zeros((0, dim), dtype=np.float32)
