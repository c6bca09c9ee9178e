"""One shard folder of the embedded Qdrant engine: one ``ShardWriter`` writes it, then any reader opens it.

All calls of ``qdrant_edge`` stand here, and its bare ``Exception`` becomes a ``StorageError`` here.
Which folder is published is decided in ``edge``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rag_platform.errors import StorageError
from rag_platform.index import lexical
from rag_platform.index.files import allocated_bytes, require_space
from rag_platform.index.filters import KEYWORDS, MOST_NUMBERS, engine_filter, number_keys, within_document
from rag_platform.index.lexicon import StoredLexicon, Tally
from rag_platform.index.manifest import DENSE, LEXICAL, check_vector, chunk_from, payload
from rag_platform.protocols import FloatArray, Manifest, PointBatch, StoredPoint
from rag_platform.text.analyze import ALL
from rag_platform.types import AnalyzerOptions, Chunk, Condition, Scored

if TYPE_CHECKING:
    from qdrant_edge import EdgeConfig, EdgeShard, Filter, QueryRequest, Record

__all__ = ["SPARE_BYTES", "ShardReader", "ShardWriter", "chunks_on_disk", "counts_on_disk", "lexicon_folder"]

EXACT_BELOW_KB = 20_000
"""Segments smaller than this are scanned exactly and get no graph: 13,000 vectors of size 384 in 0.6 ms."""

SPARE_BYTES = 64 << 20
"""What must stay free beside the points.

A shard's mapped files are 108 MB long with few bytes in them; the engine reads 44 MB of that ahead, which
costs nothing on a disk but allocates memory on a tmpfs.
"""

_DELETE_DOCUMENTS = 1_000
_SCROLL_POINTS = 1_000


@contextlib.contextmanager
def _engine_errors(action: str, folder: Path) -> Iterator[None]:
    """Turn the engine's bare ``Exception`` or Rust panic into a ``StorageError``."""
    try:
        yield
    except BaseException as error:
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        raise StorageError(
            f"cannot {action} {folder}: {error}; check free space, and that the folder may be written (the"
            " engine needs that even for reading); if the files are damaged,"
            " rag ingest --force PATH builds the collection anew"
        ) from error


def _config(dim: int) -> EdgeConfig:
    import qdrant_edge as engine

    return engine.EdgeConfig(
        vectors={DENSE: engine.EdgeVectorParams(size=dim, distance=engine.Distance.Cosine)},
        sparse_vectors={LEXICAL: engine.EdgeSparseVectorParams(modifier=engine.Modifier.Idf)},
        hnsw_config=engine.HnswIndexConfig(m=16, ef_construct=100, full_scan_threshold=EXACT_BELOW_KB),
        optimizers=engine.EdgeOptimizersConfig(indexing_threshold=EXACT_BELOW_KB),
        # With a write-ahead log a folder opens once, even for reading.
        wal_enabled=False,
    )


class ShardWriter:
    """The one writer of a shard folder that nobody reads yet."""

    def __init__(self, folder: Path, shard: EdgeShard, analyzer: AnalyzerOptions) -> None:
        self.folder, self._shard, self._analyzer = folder, shard, analyzer
        self.added, self.removed = Tally(analyzer=analyzer), Tally(analyzer=analyzer)
        self._indexed: set[str] = set()

    @classmethod
    def create(cls, folder: Path, dim: int, analyzer: AnalyzerOptions = ALL) -> Self:
        """Make an empty shard for vectors of size ``dim`` and the terms of an analyzer."""
        import qdrant_edge as engine

        folder.mkdir(parents=True)
        require_space(folder, SPARE_BYTES)
        with _engine_errors("create", folder):
            shard = engine.EdgeShard.create(str(folder), _config(dim))
            # Cached: mapped instead of read into memory, three times faster to open.
            mapped = engine.KeywordIndexParams(memory=engine.Memory.Cached)
            for name in KEYWORDS:
                shard.update(engine.UpdateOperation.create_field_index(name, mapped))
        return cls(folder, shard, analyzer)

    @classmethod
    def load(cls, folder: Path, analyzer: AnalyzerOptions = ALL) -> Self:
        """Open a copied shard, made by the same analyzer, for changes."""
        require_space(folder, SPARE_BYTES)
        return cls(folder, _load(folder), analyzer)

    def delete(self, document_ids: Sequence[str]) -> None:
        """Remove every point of these documents."""
        import qdrant_edge as engine

        for start in range(0, len(document_ids), _DELETE_DOCUMENTS):
            some = Condition("document_id", "=", tuple(document_ids[start : start + _DELETE_DOCUMENTS]))
            chosen = engine_filter([some], engine, engine.RangeFloat)
            for record in _scroll(self._shard, self.folder, chosen, with_vector=True):
                stored: Any = record.vector
                sparse = stored[LEXICAL]
                weights = lexical.TermWeights(list(sparse.indices), list(sparse.values))
                self.removed.add(chunk_from(record.payload or {}), weights)
            with _engine_errors("delete points in", self.folder):
                self._shard.update(engine.UpdateOperation.delete_points_by_filter(chosen))

    def upsert(self, batch: PointBatch) -> None:
        """Write points; one with the same id is replaced."""
        import qdrant_edge as engine

        points, n_bytes = [], batch.vectors.nbytes
        for chunk, vector in zip(batch.chunks, batch.vectors, strict=True):
            weights = lexical.document_weights(chunk.indexed_text, self._analyzer)
            self.added.add(chunk, weights)
            n_bytes += 2_000 + len(chunk.text.encode()) + 8 * len(weights.indices)
            sparse = engine.SparseVector(weights.indices, weights.values)
            points.append(
                engine.Point(chunk.chunk_id, {DENSE: vector.tolist(), LEXICAL: sparse}, payload(chunk))
            )
        require_space(self.folder, SPARE_BYTES + 3 * n_bytes)
        with _engine_errors("write points to", self.folder):
            self._index_numbers(batch.chunks)
            self._shard.update(engine.UpdateOperation.upsert_points(points))

    def _index_numbers(self, chunks: Sequence[Chunk]) -> None:
        """Index the numbers of names that were not met before."""
        import qdrant_edge as engine

        keys = number_keys(chunks) - self._indexed
        for key in sorted(keys):  # one that is there already costs nothing
            if len(self._shard.info().payload_schema) < len(KEYWORDS) + MOST_NUMBERS:
                mapped = engine.IntegerIndexParams(memory=engine.Memory.Cached)
                self._shard.update(engine.UpdateOperation.create_field_index(key, mapped))
        self._indexed |= keys

    def counts(self) -> dict[str, int]:
        """Return the number of points of each document."""
        return _counts(self._shard, self.folder)

    def finish(self) -> None:
        """Build the indexes, make everything durable and close; blocks until done."""
        require_space(self.folder, SPARE_BYTES + 2 * allocated_bytes(self.folder))
        with _engine_errors("optimise", self.folder):
            self._shard.optimize()
            self._shard.flush()
            self._shard.close()

    def abandon(self) -> None:
        """Close without finishing, so that the folder can be removed."""
        with contextlib.suppress(StorageError), _engine_errors("close", self.folder):
            self._shard.close()


class ShardReader:
    """One published shard, open for reading; safe to share between threads, valid after its folder is gone.

    It is never closed while in use: dropping the last reference releases it.
    """

    def __init__(
        self, folder: Path, manifest: Manifest, *, hnsw_ef: int, analyzer: AnalyzerOptions = ALL
    ) -> None:
        self._folder, self._manifest, self._hnsw_ef = folder, manifest, hnsw_ef
        self._shard = _load(folder)
        # The engine opens what is left of a damaged folder without a word.
        if (n := self.count()) != manifest.points:
            raise StorageError(
                f"{folder} holds {n} points, its manifest says {manifest.points};"
                " rag ingest --force PATH builds the collection anew"
            )
        self._lexicon = StoredLexicon.open(lexicon_folder(folder), manifest.points, analyzer)

    @property
    def manifest(self) -> Manifest:
        """What this generation holds."""
        return self._manifest

    @property
    def lexicon(self) -> StoredLexicon:
        """What this generation knows of its words."""
        return self._lexicon

    def dense(self, vector: FloatArray, *, limit: int, where: Sequence[Condition] = ()) -> list[Scored]:
        """Return the nearest chunks by cosine, best first."""
        import qdrant_edge as engine

        check_vector(self._manifest, vector.shape)
        query = engine.Query.Nearest(vector.tolist(), using=DENSE)
        params = engine.SearchParams(hnsw_ef=max(self._hnsw_ef, limit))
        return self._query(
            engine.QueryRequest(
                limit=limit,
                query=query,
                params=params,
                filter=engine_filter(where, engine, engine.RangeFloat),
            )
        )

    def lexical(
        self, terms: Mapping[str, float], *, limit: int, where: Sequence[Condition] = ()
    ) -> list[Scored]:
        """Return the chunks with the best BM25 score, best first, never a score of 0."""
        import qdrant_edge as engine

        weights = lexical.weights_of(terms)
        if not weights.indices:
            return []
        sparse = engine.SparseVector(weights.indices, weights.values)
        nearest = engine.Query.Nearest(sparse, using=LEXICAL)
        request = engine.QueryRequest(
            limit=limit, query=nearest, filter=engine_filter(where, engine, engine.RangeFloat)
        )
        return [scored for scored in self._query(request) if scored.score > 0]

    def fetch(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Return the stored chunks of these ids."""
        with _engine_errors("read", self._folder):
            records = self._shard.retrieve(list(chunk_ids), with_payload=True, with_vector=False)
        return {str(record.id): chunk_from(record.payload or {}) for record in records}

    def of_document(
        self, document_id: str, *, first: int = 0, last: int | None = None, where: Sequence[Condition] = ()
    ) -> list[Chunk]:
        """Return chunks of one document in order."""
        import qdrant_edge as engine

        chosen = engine_filter(within_document(document_id, first, last, where), engine, engine.RangeFloat)
        records = _scroll(self._shard, self._folder, chosen)
        return sorted((chunk_from(one.payload or {}) for one in records), key=lambda chunk: chunk.ordinal)

    def count(self) -> int:
        """Return the number of points really stored."""
        import qdrant_edge as engine

        with _engine_errors("count points in", self._folder):
            return int(self._shard.count(engine.CountRequest()))

    def points(self) -> Iterator[StoredPoint]:
        """Yield every point, ordered by chunk id."""
        for record in _scroll(self._shard, self._folder, with_vector=True):
            vectors: Any = record.vector
            vector = np.asarray(vectors[DENSE], dtype=np.float32)
            yield StoredPoint(chunk_from(record.payload or {}), vector)

    def _query(self, request: QueryRequest) -> list[Scored]:
        with _engine_errors("search", self._folder):
            found = self._shard.query(request)
        scored = [Scored(str(point.id), float(point.score)) for point in found]
        return sorted(scored, key=lambda one: (-one.score, one.chunk_id))


def lexicon_folder(folder: Path) -> Path:
    """Return where the lexicon of a shard is."""
    return folder.with_name("lexicon")


def _scroll(
    shard: EdgeShard, folder: Path, chosen: Filter | None = None, *, with_vector: bool = False
) -> Iterator[Record]:
    """Yield points with their payload, ordered by id."""
    import qdrant_edge as engine

    offset: Any = None
    while True:
        request = engine.ScrollRequest(
            offset=offset, limit=_SCROLL_POINTS, filter=chosen, with_payload=True, with_vector=with_vector
        )
        with _engine_errors("read", folder):
            records, offset = shard.scroll(request)
        yield from records
        if offset is None:
            return


def _load(folder: Path) -> EdgeShard:
    import qdrant_edge as engine

    with _engine_errors("open", folder):
        return engine.EdgeShard.load(str(folder))


def counts_on_disk(folder: Path) -> dict[str, int]:
    """Open a finished shard as a reader would, and return the number of points of each document."""
    shard = _load(folder)
    counts = _counts(shard, folder)
    with _engine_errors("close", folder):
        shard.close()
    return counts


def chunks_on_disk(folder: Path) -> Iterator[Chunk]:
    """Open a finished shard as a reader would, and yield its chunks, ordered by id."""
    shard = _load(folder)
    yield from (chunk_from(one.payload or {}) for one in _scroll(shard, folder))
    with _engine_errors("close", folder):
        shard.close()


def _counts(shard: EdgeShard, folder: Path) -> dict[str, int]:
    import qdrant_edge as engine

    with _engine_errors("count points in", folder):
        limit = shard.count(engine.CountRequest()) + 1
        hits = shard.facet(engine.FacetRequest(key="document_id", limit=limit, exact=True)).hits
    return {str(hit.value): hit.count for hit in hits if hit.count}  # deleted ones are listed with 0
