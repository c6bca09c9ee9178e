"""What a published collection holds, counted from its points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rag_platform.protocols import CollectionReader

__all__ = ["CollectionStatistics", "statistics"]


@dataclass(frozen=True, slots=True)
class CollectionStatistics:
    """Figures of one generation.

    Attributes:
        languages: Chunks by language; ``kinds`` and ``fields`` by kind and by name of what is known.
        tokens: Of a chunk: ``mean``, ``median``, ``p95``, ``max``.
    """

    collection: str
    model: str
    generation: int
    n_documents: int
    n_chunks: int
    n_tokens: int
    languages: Mapping[str, int]
    kinds: Mapping[str, int]
    fields: Mapping[str, int]
    tokens: Mapping[str, float]


def statistics(reader: CollectionReader) -> CollectionStatistics:
    """Count a generation; reads all of its points once, in bounded memory."""
    languages: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    fields: Counter[str] = Counter()
    tokens, documents = [], set()
    for point in reader.points():
        chunk = point.chunk
        languages[chunk.language] += 1
        kinds[chunk.kind] += 1
        fields.update(chunk.fields.keys())
        tokens.append(chunk.token_count)
        documents.add(chunk.document_id)
    lengths = np.array(tokens or [0])
    spread = {
        "mean": lengths.mean(),
        "median": np.median(lengths),
        "p95": np.quantile(lengths, 0.95),
        "max": lengths.max(),
    }
    manifest = reader.manifest
    return CollectionStatistics(
        manifest.collection,
        manifest.model,
        manifest.generation,
        len(documents),
        len(tokens),
        int(lengths.sum()),
        dict(languages.most_common()),
        dict(kinds.most_common()),
        dict(sorted(fields.items())),
        {name: round(float(value), 1) for name, value in spread.items()},
    )
