"""Exact search in memory: the oracle of the tests, and the index of throw-away corpora.

Every vector is compared, and bm25s scores every chunk with the corpus' own mean length. Nothing is
stored on disk; a corpus that must survive the process is published with another engine.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from rag_platform.errors import NotPublished
from rag_platform.index.filters import check, holds, within_document
from rag_platform.index.lexical import K1, B
from rag_platform.index.lexicon import StoredLexicon, Tally
from rag_platform.index.manifest import (
    Changes,
    Generation,
    check_dim,
    check_vector,
    loaded_batches,
    slug,
    verify,
)
from rag_platform.protocols import FloatArray, Manifest, PointLoader, StoredPoint
from rag_platform.text.analyze import ALL
from rag_platform.text.analyze import terms as terms_of
from rag_platform.types import AnalyzerOptions, Chunk, Condition, Scored

__all__ = ["ExactIndex", "ExactReader"]


class ExactReader:
    """One generation: arrays that nobody changes any more."""

    def __init__(self, generation: Generation, points: Mapping[str, StoredPoint]) -> None:
        self.generation = generation
        self._points = dict(sorted(points.items()))
        self._ids = list(self._points)
        rows = [point.vector for point in self._points.values()]
        self._vectors = np.stack(rows) if rows else np.zeros((0, generation.manifest.dim), np.float32)
        analyzer = generation.analyzer
        self._bm25 = _bm25([terms_of(point.chunk.indexed_text, analyzer) for point in self._points.values()])

    @property
    def manifest(self) -> Manifest:
        """What this generation holds."""
        return self.generation.manifest

    def dense(self, vector: FloatArray, *, limit: int, where: Sequence[Condition] = ()) -> list[Scored]:
        """Return the nearest chunks by cosine, best first."""
        check_vector(self.manifest, vector.shape)
        return self._best(self._vectors @ (vector / (np.linalg.norm(vector) or 1.0)), limit, where)

    @cached_property
    def lexicon(self) -> StoredLexicon:
        """What this generation knows of its words."""
        chunks = (point.chunk for point in self._points.values())
        return StoredLexicon.of(Tally(chunks, self.generation.analyzer))

    def lexical(
        self, terms: Mapping[str, float], *, limit: int, where: Sequence[Condition] = ()
    ) -> list[Scored]:
        """Return the chunks with the best BM25 score, best first, never a score of 0."""
        if not terms or self._bm25 is None:
            return []
        scores = np.sum([weight * self._bm25.get_scores([term]) for term, weight in terms.items()], axis=0)
        best = self._best(scores, limit, where)
        return [scored for scored in best if scored.score > 0]

    def fetch(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Return the stored chunks of these ids."""
        return {key: self._points[key].chunk for key in chunk_ids if key in self._points}

    def of_document(
        self, document_id: str, *, first: int = 0, last: int | None = None, where: Sequence[Condition] = ()
    ) -> list[Chunk]:
        """Return chunks of one document in order."""
        conditions = within_document(document_id, first, last, where)
        check(conditions)
        chunks = (point.chunk for point in self._points.values())
        chosen = [chunk for chunk in chunks if all(holds(one, chunk) for one in conditions)]
        return sorted(chosen, key=lambda chunk: chunk.ordinal)

    def count(self) -> int:
        """Return the number of points."""
        return len(self._ids)

    def points(self) -> Iterator[StoredPoint]:
        """Yield every point, ordered by chunk id."""
        return iter(self._points.values())

    def _best(self, scores: FloatArray, limit: int, where: Sequence[Condition]) -> list[Scored]:
        """Return the best scores where all conditions hold; ids are in order, and break ties."""
        order = np.argsort(-scores, kind="stable")
        if where:
            check(where)
            chunks = [self._points[key].chunk for key in self._ids]
            fits = np.array([all(holds(one, chunk) for one in where) for chunk in chunks], dtype=bool)
            order = order[fits[order]]
        order = order[:limit]
        return [Scored(self._ids[i], float(scores[i])) for i in order]


class ExactIndex:
    """Publishes and opens generations in the memory of this process.

    Args:
        analyzer: How passages become terms, and their questions with them.
    """

    def __init__(self, analyzer: AnalyzerOptions = ALL) -> None:
        self._analyzer = analyzer
        self._current: dict[tuple[str, str], ExactReader] = {}
        self._versions: dict[tuple[str, str], str] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def version(self, collection: str, model: str) -> str | None:
        """Return a token that changes with every new generation."""
        return self._versions.get((collection, model))

    def current(self, collection: str, model: str) -> Manifest | None:
        """Return the manifest of the current generation, or None before the first."""
        reader = self._current.get((collection, model))
        return reader.manifest if reader else None

    def published(self) -> list[Manifest]:
        """Return the current manifest of every (collection, model), by name."""
        with self._lock:
            return [reader.manifest for _, reader in sorted(self._current.items())]

    def open(self, collection: str, model: str) -> ExactReader:
        """Return the current generation.

        Raises:
            NotPublished: There is none yet.
        """
        try:
            return self._current[collection, model]
        except KeyError:
            raise NotPublished(
                f"nothing is published for collection {collection!r} and model {model!r}; publish first"
            ) from None

    def publish(
        self,
        collection: str,
        model: str,
        *,
        dim: int,
        recipe: str,
        documents: Mapping[str, str],
        load: PointLoader,
        rebuild: bool = False,
    ) -> Manifest:
        """Make the current generation hold exactly ``documents``; see ``protocols.Index.publish``."""
        key = (collection, model)
        with self._lock:
            last = self._current.get(key)
            old = last.generation if last else None
            check_dim(old, dim, rebuild=rebuild)
            base = None if rebuild or old is None or old.manifest.recipe != recipe else old
            if base and base.manifest.documents == dict(documents):
                return base.manifest
            changes = Changes.between(base, documents)
            points, counts = _points(last if base else None, changes, load, dim)
            n = old.manifest.generation + 1 if old else 1
            address = f"memory/{slug(collection)}/{slug(model)}"
            manifest = Manifest(
                collection, model, n, len(points), dim, recipe, dict(documents), f"{address}/{n}", address
            )
            self._current[key] = ExactReader(Generation(manifest, counts, self._analyzer), points)
            self._versions[key] = f"{n}:{next(self._numbers)}"
            return manifest


def _points(
    last: ExactReader | None, changes: Changes, load: PointLoader, dim: int
) -> tuple[dict[str, StoredPoint], dict[str, int]]:
    """Return kept and loaded points by chunk id, and the number of each document."""
    kept = last.points() if last else iter(())
    points = {p.chunk.chunk_id: p for p in kept if p.chunk.document_id in changes.kept}
    loaded: Counter[str] = Counter()
    for batch in loaded_batches(load, changes, dim, loaded):
        norms = np.linalg.norm(batch.vectors, axis=1, keepdims=True)
        vectors = batch.vectors / np.where(norms > 0, norms, 1)
        for chunk, vector in zip(batch.chunks, vectors.astype(np.float32), strict=True):
            points[chunk.chunk_id] = StoredPoint(chunk, vector)
    counts = {**changes.kept, **loaded}
    verify(counts, Counter(point.chunk.document_id for point in points.values()), "the new generation")
    return points, counts


def _bm25(corpus: list[list[str]]) -> Any:  # noqa: ANN401
    """Return a bm25s index, None for a corpus without any term, which bm25s cannot hold."""
    if not any(corpus):
        return None
    import bm25s

    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    index.index(corpus, show_progress=False)
    return index
