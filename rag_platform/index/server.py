"""One collection of a Qdrant server: filled by one ``ServerWriter``, read by any ``ServerReader``.

All data calls of ``qdrant_client`` stand here, and its exceptions become ``UpstreamError`` here. Which
collection is published is decided in ``qdrant``.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import numpy as np

from rag_platform.errors import NotPublished, RagError, UpstreamError
from rag_platform.index import lexical
from rag_platform.index.filters import KEYWORDS, MOST_NUMBERS, engine_filter, number_keys, within_document
from rag_platform.index.lexicon import StoredLexicon, Tally
from rag_platform.index.manifest import BATCH_POINTS, DENSE, LEXICAL, check_vector, chunk_from, payload
from rag_platform.protocols import FloatArray, Manifest, PointBatch, StoredPoint
from rag_platform.types import Chunk, Condition, Scored

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.models import Filter, PointStruct, QueryResponse, Record

__all__ = ["ServerReader", "ServerWriter", "server_errors", "stored_chunks", "stored_metadata", "stored_size"]

logger = logging.getLogger(__name__)

_REQUEST_FLOATS = 200_000
"""Vector values of one request: about 4 MB of JSON with payloads, where servers accept 32 MB."""


@contextlib.contextmanager
def server_errors(client: QdrantClient, action: str, what: str) -> Iterator[None]:
    """Turn the client's exceptions into ones that name the server, never its key.

    Raises:
        NotPublished: The collection does not exist (any more).
        UpstreamError: Everything else.
    """
    from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

    try:
        yield
    except (ApiException, ValueError) as error:
        status = error.status_code if isinstance(error, UnexpectedResponse) else None
        # The in-memory engine knows no status: it raises a ValueError of this form.
        missing = status == 404 or (isinstance(error, ValueError) and str(error).endswith("not found"))
        if missing:
            raise NotPublished(f"{what} is not on {_where(client)} (any more); repeat the request") from error
        if isinstance(error, ValueError):
            raise
        remedy = "check QDRANT_API_KEY" if status in (401, 403) else "check QDRANT_URL and that it runs"
        raise UpstreamError(f"cannot {action} {what} on {_where(client)}: {error}; {remedy}") from error


def _where(client: QdrantClient) -> str:
    """Return the address of a client's server without user and password."""
    options = client.init_options
    if _is_local(client):
        return "the engine in memory"
    url = urlsplit(options["url"] or f"//{options['host'] or 'localhost'}")
    port = f":{url.port or options['port']}"
    return f"the Qdrant server at {url.scheme or 'http'}://{url.hostname}{port}{url.path}"


def _is_local(client: QdrantClient) -> bool:
    return client.init_options["location"] == ":memory:" or bool(client.init_options["path"])


def stored_metadata(client: QdrantClient, name: str) -> Mapping[str, Any]:
    """Return what a publisher wrote beside the points of a collection."""
    with server_errors(client, "read", name):
        return client.get_collection(name).config.metadata or {}


def stored_size(client: QdrantClient, name: str) -> tuple[int, int]:
    """Return the exact number of points of a collection, and its vector size."""
    with server_errors(client, "read", name):
        vectors = client.get_collection(name).config.params.vectors
        if not isinstance(vectors, dict) or DENSE not in vectors:
            raise UpstreamError(
                f"collection {name} on {_where(client)} has no vector {DENSE!r}: not one of ours"
            )
        return client.count(name, exact=True).count, vectors[DENSE].size


def stored_chunks(client: QdrantClient, name: str) -> Iterator[Chunk]:
    """Yield every chunk of a collection, ordered by id."""
    for records in _scroll(client, name, BATCH_POINTS):
        yield from (chunk_from(one.payload or {}) for one in records)


class ServerWriter:
    """The one writer of a server collection that no alias names yet."""

    def __init__(self, client: QdrantClient, name: str, dim: int) -> None:
        self._client, self.name = client, name
        self._batch = max(1, min(BATCH_POINTS, _REQUEST_FLOATS // dim))
        self.added, self.removed = Tally(), Tally()
        self._indexed: set[str] = set()

    @classmethod
    def create(cls, client: QdrantClient, manifest: Manifest, metadata: Mapping[str, str]) -> Self:
        """Make the empty collection of a generation, with what a reader elsewhere wants to know of it."""
        from qdrant_client import models

        names = ("collection", "model", "generation", "recipe")
        with server_errors(client, "create", manifest.address):
            client.create_collection(
                manifest.address,
                vectors_config={
                    DENSE: models.VectorParams(size=manifest.dim, distance=models.Distance.COSINE)
                },
                sparse_vectors_config={LEXICAL: models.SparseVectorParams(modifier=models.Modifier.IDF)},
                metadata={**{name: getattr(manifest, name) for name in names}, **metadata},
            )
            if not _is_local(client):  # the engine in memory has none, and warns
                for field in KEYWORDS:
                    client.create_payload_index(manifest.address, field, models.PayloadSchemaType.KEYWORD)
        return cls(client, manifest.address, manifest.dim)

    def copy(self, source: str, document_ids: Collection[str]) -> None:
        """Take the points of these documents over from another collection, as they are."""
        from qdrant_client import models

        for records in _scroll(self._client, source, self._batch, with_vectors=True):
            kept = [one for one in records if (one.payload or {})["document_id"] in document_ids]
            for record in records:
                if (record.payload or {})["document_id"] not in document_ids:
                    self.removed.add(chunk_from(record.payload or {}))
            points = [
                models.PointStruct(id=one.id, vector=one.vector, payload=one.payload)  # type: ignore[arg-type]
                for one in kept
            ]
            self._index_numbers([chunk_from(one.payload or {}) for one in kept])
            self._upsert(points)

    def upsert(self, batch: PointBatch) -> None:
        """Write points; one with the same id is replaced."""
        from qdrant_client import models

        points = []
        for chunk, vector in zip(batch.chunks, batch.vectors, strict=True):
            weights = lexical.document_weights(chunk.indexed_text)
            self.added.add(chunk, weights)
            sparse = models.SparseVector(indices=weights.indices, values=weights.values)
            vectors = {DENSE: vector.tolist(), LEXICAL: sparse}
            points.append(models.PointStruct(id=chunk.chunk_id, vector=vectors, payload=payload(chunk)))
        self._index_numbers(batch.chunks)
        for start in range(0, len(points), self._batch):
            self._upsert(points[start : start + self._batch])

    def counts(self) -> dict[str, int]:
        """Return the number of points really stored of each document."""
        counts: Counter[str] = Counter()
        for records in _scroll(self._client, self.name, BATCH_POINTS, fields=["document_id"]):
            counts.update((one.payload or {})["document_id"] for one in records)
        return dict(counts)

    def abandon(self) -> None:
        """Remove the collection; one that cannot be reached now goes before the next publish."""
        try:
            with server_errors(self._client, "remove", self.name):
                self._client.delete_collection(self.name)
        except RagError as error:
            logger.warning("an unfinished generation stays for now: %s", error)

    def _index_numbers(self, chunks: Sequence[Chunk]) -> None:
        """Index the numbers of names that were not met before."""
        from qdrant_client import models

        keys = number_keys(chunks) - self._indexed
        for key in sorted(keys)[: MOST_NUMBERS - len(self._indexed)]:
            self._indexed.add(key)
            if not _is_local(self._client):
                with server_errors(self._client, "write points to", self.name):
                    self._client.create_payload_index(self.name, key, models.PayloadSchemaType.INTEGER)

    def _upsert(self, points: list[PointStruct]) -> None:
        if points:
            with server_errors(self._client, "write points to", self.name):
                self._client.upsert(self.name, points, wait=True)


class ServerReader:
    """One published generation on the server, by its own name: a switch of the alias does not reach it.

    It works until the second publish after it was opened removes the collection; then ``NotPublished``.
    """

    def __init__(
        self,
        client: QdrantClient,
        manifest: Manifest,
        *,
        hnsw_ef: int,
        load_lexicon: Callable[[], StoredLexicon],
    ) -> None:
        self._client, self._manifest, self._hnsw_ef = client, manifest, hnsw_ef
        self._load_lexicon, self._lock = load_lexicon, threading.Lock()
        self._lexicon: StoredLexicon | None = None

    @property
    def manifest(self) -> Manifest:
        """What this generation holds."""
        return self._manifest

    @property
    def lexicon(self) -> StoredLexicon:
        """What this generation knows of its words, loaded when first asked for."""
        with self._lock:
            if self._lexicon is None:
                self._lexicon = self._load_lexicon()
            return self._lexicon

    def dense(self, vector: FloatArray, *, limit: int, where: Sequence[Condition] = ()) -> list[Scored]:
        """Return the nearest chunks by cosine, best first."""
        from qdrant_client import models

        check_vector(self._manifest, vector.shape)
        # The engine in memory is exact, and warns of parameters.
        wide = models.SearchParams(hnsw_ef=max(self._hnsw_ef, limit))
        params = None if _is_local(self._client) else wide
        with server_errors(self._client, "search", self._manifest.address):
            found = self._client.query_points(
                self._manifest.address,
                query=vector.tolist(),
                using=DENSE,
                limit=limit,
                search_params=params,
                query_filter=engine_filter(where, models, models.Range),
                with_payload=False,
            )
        return _scored(found)

    def lexical(
        self, terms: Mapping[str, float], *, limit: int, where: Sequence[Condition] = ()
    ) -> list[Scored]:
        """Return the chunks with the best BM25 score, best first, never a score of 0."""
        from qdrant_client import models

        weights = lexical.weights_of(terms)
        if not weights.indices:
            return []
        sparse = models.SparseVector(indices=weights.indices, values=weights.values)
        with server_errors(self._client, "search", self._manifest.address):
            found = self._client.query_points(
                self._manifest.address,
                query=sparse,
                using=LEXICAL,
                limit=limit,
                query_filter=engine_filter(where, models, models.Range),
                with_payload=False,
            )
        return [scored for scored in _scored(found) if scored.score > 0]

    def fetch(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Return the stored chunks of these ids."""
        with server_errors(self._client, "read", self._manifest.address):
            records = self._client.retrieve(self._manifest.address, list(chunk_ids), with_payload=True)
        return {str(one.id): chunk_from(one.payload or {}) for one in records}

    def of_document(
        self, document_id: str, *, first: int = 0, last: int | None = None, where: Sequence[Condition] = ()
    ) -> list[Chunk]:
        """Return chunks of one document in order."""
        from qdrant_client import models

        chosen = engine_filter(within_document(document_id, first, last, where), models, models.Range)
        pages = _scroll(self._client, self._manifest.address, BATCH_POINTS, chosen=chosen)
        chunks = [chunk_from(one.payload or {}) for records in pages for one in records]
        return sorted(chunks, key=lambda chunk: chunk.ordinal)

    def count(self) -> int:
        """Return the number of points really stored."""
        return stored_size(self._client, self._manifest.address)[0]

    def points(self) -> Iterator[StoredPoint]:
        """Yield every point, ordered by chunk id."""
        for records in _scroll(self._client, self._manifest.address, BATCH_POINTS, with_vectors=True):
            for one in records:
                vectors: Any = one.vector
                vector = np.asarray(vectors[DENSE], dtype=np.float32)
                yield StoredPoint(chunk_from(one.payload or {}), vector)


def _scored(found: QueryResponse) -> list[Scored]:
    scored = [Scored(str(point.id), float(point.score)) for point in found.points]
    return sorted(scored, key=lambda one: (-one.score, one.chunk_id))


def _scroll(
    client: QdrantClient,
    name: str,
    limit: int,
    *,
    chosen: Filter | None = None,
    with_vectors: bool = False,
    fields: list[str] | None = None,
) -> Iterator[Sequence[Record]]:
    """Yield all points of a collection in pages, ordered by id; all of the payload, or some fields."""
    offset: Any = None
    while True:
        with server_errors(client, "read", name):
            records, offset = client.scroll(
                name,
                limit=limit,
                offset=offset,
                scroll_filter=chosen,
                with_payload=fields or True,
                with_vectors=with_vectors,
            )
        yield records
        if offset is None:
            return
