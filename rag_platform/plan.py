"""Which work is stale: fingerprints of the work each stage would do, compared with what was done.

A recipe decides the work (bytes, parser, chunker, model); a partition only selects it. Nothing is done
here, and no table is opened: the catalog knows the fingerprints of what was made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rag_platform.chunking.chunkers import chunk_recipe
from rag_platform.embedding.embed import points_recipe
from rag_platform.entries import Entry, StageRecord
from rag_platform.metadata.described import RECIPE as FIELDS_RECIPE
from rag_platform.parsing.reading import ParseOptions
from rag_platform.protocols import Encoder
from rag_platform.system import System
from rag_platform.types import fingerprint

__all__ = [
    "Plan",
    "chunks_work",
    "embedding_table",
    "embeddings_work",
    "live_documents",
    "pages_work",
    "parse_options",
    "plan",
]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is left to do.

    Attributes:
        documents: Partitions to read, parse or cut.
        embed: Model -> partitions to embed with it.
        publish: Models of which a collection is not what its live documents say.
    """

    documents: tuple[str, ...]
    embed: Mapping[str, tuple[str, ...]]
    publish: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.documents or self.embed or self.publish)


def plan(system: System, models: Sequence[str], *, owner: str | None = None) -> Plan:
    """Return the stale work for these models.

    Documents that another owner works on are left to it. What is embedded and published is judged by
    the tables as they stand, so ask again after each stage.

    Args:
        system: The wired platform.
        models: Catalogue names to embed and publish for.
        owner: Whose claimed documents belong to this plan, beside those that nobody claims.
    """
    entries = [e for e in system.catalog.entries() if e.owner in (None, owner) and e.claimed is not None]
    documents = {entry.partition for entry in entries if _stale_document(system, entry)}
    embed: dict[str, tuple[str, ...]] = {}
    publish = []
    for model in models:
        encoder = system.encoder(model)
        stale = {entry.partition for entry in entries if _stale_embedding(system, entry, encoder)}
        if stale:
            embed[encoder.name] = tuple(sorted(stale))
        if any(_stale_collection(system, name, encoder) for name in system.catalog.collections()):
            publish.append(encoder.name)
    return Plan(tuple(sorted(documents)), embed, tuple(publish))


def embedding_table(model: str) -> str:
    """Return the name of a model's embeddings table, which is its stage's name too."""
    return f"embeddings/{model.replace('/', '--')}"


def pages_work(system: System, entry: Entry) -> str:
    """Depend on bytes, suffix (it tells plain text from Markdown) and parser: a rename costs nothing."""
    suffix = Path(entry.source).suffix.lower()
    return fingerprint("pages", entry.content_sha256, suffix, parse_options(system, entry).recipe)


def parse_options(system: System, entry: Entry) -> ParseOptions:
    """Return how a document is read: as the settings say, unless its owner says otherwise."""
    options = system.parse_options
    return replace(
        options, languages=entry.languages or options.languages, kinds=entry.kinds or options.kinds
    )


def chunks_work(system: System, entry: Entry) -> str:
    """Depend on the document, its pages as they stand, how they are cut, which kinds are kept, its fields."""
    pages = entry.stages.get("pages")
    recipe = chunk_recipe(system.chunker, parse_options(system, entry).kinds)
    made = (recipe, FIELDS_RECIPE, entry.given)
    return fingerprint("chunks", entry.document_id, pages.fingerprint if pages else "", *made)


def embeddings_work(entry: Entry, encoder: Encoder) -> str:
    """Depend on the chunks as they stand and on the encoder."""
    chunks = entry.stages.get("chunks")
    return fingerprint("embeddings", chunks.fingerprint if chunks else "", encoder.recipe)


def live_documents(system: System, collection: str, encoder: Encoder) -> dict[str, str]:
    """Return ``document_id`` -> fingerprint of the documents that a generation is to hold now.

    A document whose chunks are newer than its embeddings keeps the points it has; embedding it again
    and publishing follow.
    """
    table = embedding_table(encoder.name)
    current = system.index.current(collection, encoder.name)
    kept = current.documents if current and current.recipe == points_recipe(encoder) else {}
    live = {}
    for entry in system.catalog.entries(collection):
        record = entry.stages.get(table)
        if not _has_rows(entry.stages.get("chunks")) or record is None or not _has_rows(record):
            continue
        if record.fingerprint == embeddings_work(entry, encoder):
            live[entry.document_id] = record.fingerprint
        elif entry.document_id in kept:
            live[entry.document_id] = kept[entry.document_id]
    return live


def _has_rows(record: StageRecord | None) -> bool:
    return record is not None and record.failure is None and record.n_rows > 0


def _stale_document(system: System, entry: Entry) -> bool:
    raw, pages, chunks = (entry.stages.get(name) for name in ("raw_documents", "pages", "chunks"))
    if raw is None or raw.fingerprint != entry.claimed:
        return True
    if raw.failure is not None:
        return raw.failure.retryable
    if pages is None or pages.fingerprint != pages_work(system, entry):
        return True
    if pages.failure is not None:
        return pages.failure.retryable
    if chunks is None or chunks.fingerprint != chunks_work(system, entry):
        return True
    return chunks.failure is not None and chunks.failure.retryable


def _stale_embedding(system: System, entry: Entry, encoder: Encoder) -> bool:
    chunks = entry.stages.get("chunks")
    if chunks is None or not _has_rows(chunks):
        return False
    if chunks.fingerprint != chunks_work(system, entry):
        return False  # its chunks come first
    record = entry.stages.get(embedding_table(encoder.name))
    if record is None or record.fingerprint != embeddings_work(entry, encoder):
        return True
    return record.failure is not None and record.failure.retryable


def _stale_collection(system: System, collection: str, encoder: Encoder) -> bool:
    live = live_documents(system, collection, encoder)
    current = system.index.current(collection, encoder.name)
    if current is None:
        return bool(live)
    return dict(current.documents) != live or current.recipe != points_recipe(encoder)
