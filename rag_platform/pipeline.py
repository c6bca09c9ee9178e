"""The stages over partitions: raw documents, pages, chunks, embeddings, published collections.

Each reads the table before it, does only what its fingerprint says is new, writes its own table and
reports. A ``RagError`` of one document becomes a failure of that document; everything else flies. How a
file is read, cut or embedded is decided in the stages' own packages; who runs this is not known here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from rag_platform import tables
from rag_platform.chunking.chunkers import chunk_document
from rag_platform.embedding.embed import embed_chunks, points_recipe
from rag_platform.entries import Entry
from rag_platform.errors import ChunkTooLong, EncryptedFile, RagError, StorageError
from rag_platform.metadata.described import described
from rag_platform.metadata.sidecars import from_json, read_notes, to_json
from rag_platform.parsing.pool import Job, parse_all
from rag_platform.parsing.reading import ParseOptions
from rag_platform.plan import (
    Plan,
    chunks_work,
    embedding_table,
    embeddings_work,
    live_documents,
    pages_work,
    parse_options,
    plan,
)
from rag_platform.protocols import Encoder, FloatArray, Manifest, PointBatch
from rag_platform.stages import (
    Measures,
    Outcome,
    Progress,
    Result,
    Stage,
    StageReport,
    Work,
    drop_rows,
    each,
    read_rows,
)
from rag_platform.system import System
from rag_platform.types import Chunk, Document

__all__ = [
    "Outcome",
    "Plan",
    "Published",
    "StageReport",
    "chunks",
    "delete",
    "document",
    "embeddings",
    "forget",
    "pages",
    "plan",
    "publish",
    "purge",
    "raw_documents",
    "retry_locked",
]

_EMBED_AT_ONCE = 256
"""Chunks gathered over documents before they are encoded: enough for full batches, little to lose."""

_LOAD_AT_ONCE = 64
"""Documents whose points are in memory at once while publishing."""


@dataclass(frozen=True, slots=True)
class Published:
    """One collection after a publish; ``changed`` is false when the generation was current."""

    collection: str
    manifest: Manifest
    changed: bool


def raw_documents(
    system: System, partitions: Sequence[str], *, progress: Progress | None = None
) -> StageReport:
    """Copy the files of these partitions into the content-addressed store, and read what is said of them."""

    def make(entry: Entry) -> Work:
        notes = system.inbox.notes(entry.collection, entry.source)
        given = read_notes(notes, root=system.inbox.root)
        digest = _copied_before(system, entry)
        if digest is None:
            digest = system.raw.put(system.inbox.path(entry.collection, entry.source))
        copy = system.raw.path(digest)
        row = {
            "document_id": entry.document_id,
            "collection": entry.collection,
            "source": entry.source,
            "content_sha256": digest,
            "n_bytes": copy.stat().st_size,
            "raw_path": copy.relative_to(system.home).as_posix(),
            "metadata": to_json(given),
        }
        return Work(pa.Table.from_pylist([row], schema=tables.RAW_DOCUMENTS))

    stage = _stage(system, "raw_documents", tables.RAW_DOCUMENTS, progress)
    return stage.run(partitions, lambda entry: entry.claimed or "", lambda entries: each(make, entries))


def pages(system: System, partitions: Sequence[str], *, progress: Progress | None = None) -> StageReport:
    """Parse and OCR the raw copies of these partitions; the same bytes are never parsed twice."""

    def make(entries: Sequence[Entry]) -> Iterator[Result]:
        fresh: dict[str, Entry] = {}
        for entry in entries:
            rows = _parsed_before(system, entry)
            if rows is None:
                fresh[entry.document_id] = entry
            else:
                yield entry, Work(rows)
        for options, some in _by_options(system, fresh).items():
            limits, workers = system.parse_limits, system.settings.workers
            for key, result in parse_all(some, options, workers=workers, limits=limits):
                yield fresh[key], result if isinstance(result, RagError) else Work(_page_rows(result))

    stage = _stage(system, "pages", tables.PAGES, progress, after="raw_documents")
    return stage.run(partitions, lambda entry: pages_work(system, entry), make)


def chunks(system: System, partitions: Sequence[str], *, progress: Progress | None = None) -> StageReport:
    """Cut the pages of these partitions into chunks with their fields, the same for all embedding models."""

    def make(entry: Entry) -> Work:
        document = _document(entry, read_rows(system.tables, "pages", entry))
        kinds = parse_options(system, entry).kinds
        made = chunk_document(document, system.chunker, system.tokenizer, kinds=kinds)
        given = from_json(read_rows(system.tables, "raw_documents", entry)["metadata"][0].as_py())
        return Work(tables.chunks_table(described(document, made, given)))

    stage = _stage(system, "chunks", tables.CHUNKS, progress, after="pages")
    return stage.run(
        partitions, lambda entry: chunks_work(system, entry), lambda entries: each(make, entries)
    )


def embeddings(
    system: System, partitions: Sequence[str], model: str, *, progress: Progress | None = None
) -> StageReport:
    """Embed the chunks of these partitions with one model; a text embedded before is not embedded again."""
    encoder = system.encoder(model)

    def make(entries: Sequence[Entry]) -> Iterator[Result]:
        for batch in _gathered(system, entries):
            try:
                yield from _embed(system, encoder, batch)
            except ChunkTooLong:  # whose chunk it was is found one by one; the others go on
                for one in batch:
                    try:
                        yield from _embed(system, encoder, [one])
                    except ChunkTooLong as error:
                        yield one[0], error

    stage = _stage(
        system, embedding_table(encoder.name), tables.embeddings(encoder.dim), progress, after="chunks"
    )
    return stage.run(partitions, lambda entry: embeddings_work(entry, encoder), make)


def publish(system: System, model: str, *, rebuild: bool = False) -> list[Published]:
    """Publish every collection that has, or had, embedded documents of this model, and have it told."""
    encoder = system.encoder(model)
    done = []
    for collection in system.catalog.collections():
        before = system.index.current(collection, encoder.name)
        live = live_documents(system, collection, encoder)
        if before is None and not live:
            continue
        manifest = system.index.publish(
            collection,
            encoder.name,
            dim=encoder.dim,
            recipe=points_recipe(encoder),
            documents=live,
            load=_Loader(system, collection, encoder),
            rebuild=rebuild,
        )
        system.webhooks.announce(manifest)
        changed = before is None or before.generation != manifest.generation
        done.append(Published(collection, manifest, changed))
    return done


def forget(system: System, entries: Sequence[Entry]) -> None:
    """Drop what the stages made of these documents, so that it is all made again (``--force``)."""
    for entry in entries:
        for stage in entry.stages:
            drop_rows(system.tables, stage, entry)
    system.catalog.forget([entry.document_id for entry in entries])


def retry_locked(system: System, sources: Sequence[tuple[str, str]]) -> None:
    """Have documents read again that failed for want of a password; those of ``(collection, source)``.

    Which passwords were tried is recorded nowhere, so only who gives new ones knows that it is worth it.
    """
    wanted = set(sources)
    locked = [
        entry.document_id
        for entry in system.catalog.entries()
        if (entry.collection, entry.source) in wanted
        and (record := entry.stages.get("pages")) is not None
        and record.failure is not None
        and record.failure.code == EncryptedFile.code
    ]
    system.catalog.forget(locked, stages=["pages"])


def delete(system: System, collection: str, source: str) -> Entry:
    """Remove a document from the inbox and mark it as deleted; its points go with the next publish.

    Raises:
        UnknownName: The collection has no such document.
    """
    entry = system.catalog.entry(collection, source)
    system.inbox.remove(collection, entry.source)
    system.catalog.tombstone(entry.document_id)
    return entry


def document(system: System, entry: Entry) -> Document:
    """Return a document as it was read, from the table of pages.

    Raises:
        StorageError: It was not read yet, or its table is gone.
    """
    return _document(entry, read_rows(system.tables, "pages", entry))


def purge(system: System, *, before: float) -> int:
    """Remove tables and raw bytes of documents deleted before a time; return how many.

    Until then a file that comes back, or was only renamed, costs no parsing.
    """
    everything = system.catalog.entries(deleted=True)
    old = [entry for entry in everything if entry.deleted and entry.updated_at < before]
    gone = {entry.document_id for entry in old}
    kept = {entry.content_sha256 for entry in everything if entry.document_id not in gone}
    for entry in old:
        for stage in entry.stages:
            drop_rows(system.tables, stage, entry)
        if entry.content_sha256 and entry.content_sha256 not in kept:
            system.raw.remove(entry.content_sha256)
    system.catalog.purge(gone)
    return len(old)


def _stage(
    system: System, name: str, schema: pa.Schema, progress: Progress | None, *, after: str = ""
) -> Stage:
    measure = _MEASURES.get(name, lambda rows: {})
    return Stage(system.catalog, system.tables, name, schema, measure, after, progress)


def _measure_raw(rows: pa.Table) -> Measures:
    given = from_json(rows["metadata"][0].as_py())
    return {
        "content_sha256": rows["content_sha256"][0].as_py(),
        "n_bytes": rows["n_bytes"][0].as_py(),
        "given": given.work,
        "languages": given.languages,
        "kinds": ",".join(given.kinds),
    }


def _measure_pages(rows: pa.Table) -> Measures:
    if not rows.num_rows:
        return {}
    confidence = rows["confidence"].to_pylist()
    return {
        "format": rows["format"][0].as_py(),
        "n_ocr_pages": rows["origin"].to_pylist().count("ocr"),
        "n_suspect_pages": sum(rows["suspect"].to_pylist()),
        "confidence": round(sum(confidence) / len(confidence), 4),
    }


def _measure_chunks(rows: pa.Table) -> Measures:
    return {"n_tokens": sum(rows["token_count"].to_pylist())}


_MEASURES = {"raw_documents": _measure_raw, "pages": _measure_pages, "chunks": _measure_chunks}


def _page_rows(document: Document) -> pa.Table:
    return tables.pages_table(document, json.dumps(dict(document.metadata), ensure_ascii=False))


def _copied_before(system: System, entry: Entry) -> str | None:
    """Return the digest of a document's bytes where only what is said of it has changed."""
    record = entry.stages.get("raw_documents")
    if record is None or record.failure is not None or not entry.content_sha256 or entry.claimed is None:
        return None
    is_same = record.fingerprint.split("+")[0] == entry.claimed.split("+")[0]
    return entry.content_sha256 if is_same and system.raw.path(entry.content_sha256).exists() else None


def _by_options(system: System, entries: Mapping[str, Entry]) -> dict[ParseOptions, list[Job]]:
    """Return the files to parse by how they are read: owners may want other languages and kinds."""
    jobs: dict[ParseOptions, list[Job]] = {}
    for key, entry in entries.items():
        job = Job(key, system.raw.path(entry.content_sha256), entry.source, entry.collection)
        jobs.setdefault(parse_options(system, entry), []).append(job)
    return jobs


def _parsed_before(system: System, entry: Entry) -> pa.Table | None:
    """Return the pages of a document with the same bytes, under this document's name."""
    wanted = pages_work(system, entry)
    for other in system.catalog.same_work("pages", wanted):
        found = system.tables.fingerprints("pages", other.partition).get(other.document_id)
        if other.document_id == entry.document_id or found != wanted:
            continue
        rows = read_rows(system.tables, "pages", other)
        for name in ("document_id", "collection", "source"):
            column = pa.array([getattr(entry, name)] * rows.num_rows, pa.string())
            rows = rows.set_column(rows.schema.get_field_index(name), tables.PAGES.field(name), column)
        return rows.cast(tables.PAGES)
    return None


def _document(entry: Entry, rows: pa.Table) -> Document:
    first: dict[str, Any] = rows.slice(0, 1).to_pylist()[0] if rows.num_rows else {}
    return Document(
        source=entry.source,
        content_sha256=entry.content_sha256,
        format=first.get("format", ""),
        pages=tables.pages_from(rows),
        collection=entry.collection,
        metadata=json.loads(first.get("metadata", "{}")),
    )


def _gathered(system: System, entries: Sequence[Entry]) -> Iterator[list[tuple[Entry, list[Chunk]]]]:
    """Yield documents with their chunks, so many at once that batches are full."""
    batch: list[tuple[Entry, list[Chunk]]] = []
    n_chunks = 0
    for entry in entries:
        batch.append((entry, tables.chunks_from(read_rows(system.tables, "chunks", entry))))
        n_chunks += len(batch[-1][1])
        if n_chunks >= _EMBED_AT_ONCE:
            yield batch
            batch, n_chunks = [], 0
    if batch:
        yield batch


def _embed(
    system: System, encoder: Encoder, batch: Sequence[tuple[Entry, list[Chunk]]]
) -> list[tuple[Entry, Work]]:
    embedded = embed_chunks(encoder, system.cache, [chunk for _, made in batch for chunk in made])
    done, start = [], 0
    for entry, made in batch:
        vectors = embedded.vectors[start : start + len(made)]
        start += len(made)
        done.append((entry, Work(_vector_rows(made, vectors))))
    return done


def _vector_rows(made: Sequence[Chunk], vectors: FloatArray) -> pa.Table:
    schema = tables.embeddings(vectors.shape[1])
    flat = pa.array(np.ascontiguousarray(vectors).reshape(-1), pa.float32())
    return pa.Table.from_arrays(
        [
            pa.array([chunk.chunk_id for chunk in made], pa.string()),
            pa.array([chunk.document_id for chunk in made], pa.string()),
            pa.FixedSizeListArray.from_arrays(flat, type=schema.field("vector").type),
        ],
        schema=schema,
    )


@dataclass(frozen=True, slots=True)
class _Loader:
    """Reads chunks and vectors of some documents for the index, a bounded number at once."""

    system: System
    collection: str
    encoder: Encoder

    def __call__(self, document_ids: Sequence[str]) -> Iterator[PointBatch]:
        entries = {entry.document_id: entry for entry in self.system.catalog.entries(self.collection)}
        for start in range(0, len(document_ids), _LOAD_AT_ONCE):
            batch = [self._points(entries[key]) for key in document_ids[start : start + _LOAD_AT_ONCE]]
            made = [chunk for chunks, _ in batch for chunk in chunks]
            yield PointBatch(made, np.concatenate([vectors for _, vectors in batch]))

    def _points(self, entry: Entry) -> tuple[list[Chunk], FloatArray]:
        made = tables.chunks_from(read_rows(self.system.tables, "chunks", entry))
        rows = read_rows(self.system.tables, embedding_table(self.encoder.name), entry)
        if rows["chunk_id"].to_pylist() != [chunk.chunk_id for chunk in made]:
            raise StorageError(
                f"the embeddings of {entry.source!r} are not of its chunks; "
                f"ingest {entry.source!r} again with --force"
            )
        vectors = rows["vector"].combine_chunks().flatten().to_numpy()
        return made, vectors.reshape(-1, self.encoder.dim).astype(np.float32)
