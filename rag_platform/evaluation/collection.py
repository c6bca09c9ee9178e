"""A set's documents as a published collection: read, cut, embedded and published as ingestion would do it.

The index is the caller's, usually in a temporary folder. Questions are not known here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rag_platform import tables
from rag_platform.chunking.chunkers import chunk_document
from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.embed import embed_chunks, points_recipe
from rag_platform.errors import InvalidDataset, RagError
from rag_platform.evaluation.datasets import Dataset, Member
from rag_platform.parsing.parse import ParseOptions
from rag_platform.parsing.pool import Job, Limits, parse_all
from rag_platform.protocols import Chunker, Encoder, FloatArray, Index, PointBatch, Tokenizer
from rag_platform.storage import TableStore, sha256_of
from rag_platform.types import ALL_KINDS, Chunk, Document, Kind, Page, fingerprint

__all__ = ["Collections", "Reading", "collection_name", "publish_set", "read_set"]

Collections = Mapping[str, Mapping[str, Document]]
"""The documents of a set as they were read: collection -> source -> document."""
Progress = Callable[[str, int, int], None]
"""Called with what is done, how many are done, and how many there are."""
_PAGES = "pages"


@dataclass(frozen=True, slots=True)
class Reading:
    """How files of a set are read, and where their pages are kept for the next time."""

    options: ParseOptions
    limits: Limits
    kept: TableStore
    workers: int = 0


def read_set(dataset: Dataset, reading: Reading, progress: Progress | None = None) -> Collections:
    """Return the documents of a set; a file that was read before with these options is not read again.

    Raises:
        InvalidDataset: A file cannot be read: without it the measures would say something else.
    """
    found = {}
    for part, members in dataset.collections.items():
        name = collection_name(dataset, part)
        documents = {member.source: _passage(member, name) for member in members if member.path is None}
        documents |= _files([member for member in members if member.path], name, reading, progress)
        found[part] = documents
    return found


def collection_name(dataset: Dataset, part: str) -> str:
    """Return the name that one of a set's collections is published under."""
    return f"{dataset.name}-{part}" if part else dataset.name


def publish_set(
    dataset: Dataset,
    documents: Collections,
    index: Index,
    encoder: Encoder,
    *,
    chunker: Chunker,
    tokenizer: Tokenizer,
    cache: EmbeddingCache | None = None,
    kinds: Sequence[Kind] = ALL_KINDS,
    progress: Progress | None = None,
) -> int:
    """Publish every collection of a set and return the number of chunks.

    Raises:
        ChunkTooLong: A chunk does not fit into the model.
    """
    n_chunks = 0
    for part, by_source in documents.items():
        chunks = {
            document.document_id: chunk_document(document, chunker, tokenizer, kinds=kinds)
            for document in by_source.values()
        }
        all_chunks = [chunk for some in chunks.values() for chunk in some]
        done = (lambda n, of: progress("embedding passages", n, of)) if progress else None
        vectors = embed_chunks(encoder, cache, all_chunks, progress=done).vectors
        index.publish(
            collection_name(dataset, part),
            encoder.name,
            dim=encoder.dim,
            recipe=points_recipe(encoder),
            documents={key: fingerprint(*(c.chunk_id for c in some)) for key, some in chunks.items()},
            load=_Loader(all_chunks, vectors),
        )
        n_chunks += len(all_chunks)
    return n_chunks


@dataclass(frozen=True, slots=True)
class _Loader:
    """Hands chunks and vectors in memory to the index."""

    chunks: Sequence[Chunk]
    vectors: FloatArray

    def __call__(self, document_ids: Sequence[str]) -> Iterator[PointBatch]:
        wanted = set(document_ids)
        rows = [row for row, chunk in enumerate(self.chunks) if chunk.document_id in wanted]
        yield PointBatch([self.chunks[row] for row in rows], self.vectors[rows])


def _passage(member: Member, collection: str) -> Document:
    digest = hashlib.sha256(member.text.encode()).hexdigest()
    pages = (Page(1, member.text, "markup"),)
    return Document(member.source, digest, "txt", pages, collection)


def _files(
    members: Sequence[Member], collection: str, reading: Reading, progress: Progress | None
) -> Iterator[tuple[str, Document]]:
    """Yield source and document of each file, from the pages kept where it was read before."""
    jobs: dict[str, Job] = {}
    digests: dict[str, str] = {}
    for member in members:
        if member.path is None:
            continue
        digests[member.source] = sha256_of(member.path)
        before = _kept(member.source, digests[member.source], collection, reading)
        if before is not None:
            yield member.source, before
        else:
            jobs[member.source] = Job(member.source, member.path, member.source, collection)
    parsed = parse_all(list(jobs.values()), reading.options, workers=reading.workers, limits=reading.limits)
    for done, (source, document) in enumerate(parsed, start=1):
        if isinstance(document, RagError):
            raise InvalidDataset(f"{jobs[source].path} cannot be read: {document}") from document
        _keep(document, reading)
        if progress:
            progress("reading documents", done, len(jobs))
        yield source, document


def _key(source: str, digest: str, reading: Reading) -> str:
    return fingerprint("pages", source, digest, reading.options.recipe)


def _kept(source: str, digest: str, collection: str, reading: Reading) -> Document | None:
    rows = reading.kept.read(_PAGES, _key(source, digest, reading))
    if rows is None or not rows.num_rows:
        return None
    form = rows["format"][0].as_py()
    return Document(source, digest, form, tables.pages_from(rows), collection)


def _keep(document: Document, reading: Reading) -> None:
    key = _key(document.source, document.content_sha256, reading)
    rows = tables.pages_table(document, "{}")
    reading.kept.write(_PAGES, key, tables.PAGES, {document.document_id: (key, rows)})
