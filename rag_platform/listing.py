"""What there is: documents, collections, models and what they need; only looked at, nothing is loaded."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from rag_platform import pipeline
from rag_platform.embedding import encoders
from rag_platform.entries import Entry
from rag_platform.errors import RagError, UnknownName
from rag_platform.protocols import Manifest
from rag_platform.reranking import rerankers
from rag_platform.stages import read_rows
from rag_platform.states import (
    CollectionState,
    GenerationState,
    GeneratorState,
    Info,
    Models,
    ModelState,
    StoredDocument,
)
from rag_platform.system import System
from rag_platform.tables import chunks_from
from rag_platform.types import Condition, Document

__all__ = ["among", "collections", "info", "models", "stored"]


def among(system: System, documents: Sequence[str], collections: Sequence[str]) -> Condition:
    """Return what holds of passages of these documents alone.

    Args:
        system: The wired platform.
        documents: Ids, or sources in one of the collections.
        collections: Where is searched.

    Raises:
        UnknownName: One of them is none.
    """
    ids: dict[str, list[str]] = {}
    for name in collections:
        for entry in system.catalog.entries(name):
            for key in (entry.document_id, entry.source):
                ids.setdefault(key, []).append(entry.document_id)
    for one in documents:
        if one not in ids:
            raise UnknownName("document", one, difflib.get_close_matches(one, ids, n=3, cutoff=0.5))
    return Condition("document_id", "=", tuple(key for one in documents for key in ids[one]))


def stored(system: System, entry: Entry) -> StoredDocument:
    """Return a document with its pages and chunks.

    Raises:
        StorageError: A table of it is gone or damaged.
    """
    empty = Document(entry.source, entry.content_sha256, entry.format, (), entry.collection)
    return StoredDocument(
        entry,
        pipeline.document(system, entry) if _made(entry, "pages") else empty,
        tuple(chunks_from(read_rows(system.tables, "chunks", entry))) if _made(entry, "chunks") else (),
    )


def info(system: System) -> Info:
    """Return what a system is set to, and how much it holds."""
    settings, catalog = system.settings, system.catalog
    return Info(
        home=system.home,
        collection=settings.collection_name,
        embedding_model=system.embedding().name,
        reranker=system.search_options.reranker,
        llm_provider=settings.llm_provider,
        n_collections=len(catalog.collections()),
        n_documents=len(catalog.entries()),
    )


def collections(system: System) -> list[CollectionState]:
    """Return the collections, the owner of the inbox's root first."""
    published = system.index.published()
    return [
        CollectionState(
            name,
            len(system.catalog.entries(name)),
            tuple(_generation(manifest) for manifest in published if manifest.collection == name),
        )
        for name in system.catalog.collections()
    ]


def models(system: System) -> Models:
    """Return the catalogues, with what of them is active."""
    used = {system.embedding().name, *system.embedders()}
    reranker = rerankers.resolve(system.search_options.reranker).name
    return Models(
        tuple(
            ModelState(
                spec.name, spec.dim, spec.max_tokens, spec.licence, spec.name in used, encoders.can_load(spec)
            )
            for spec in (*encoders.ENCODERS.values(), *system.profiles.encoders.values())
        ),
        tuple(
            ModelState(
                spec.name,
                None,
                spec.max_tokens,
                spec.licence,
                spec.name == reranker,
                rerankers.can_load(spec),
            )
            for spec in rerankers.RERANKERS.values()
        ),
        tuple(_generators(system)),
    )


def _generation(manifest: Manifest) -> GenerationState:
    return GenerationState(
        manifest.model,
        manifest.generation,
        manifest.points,
        len(manifest.documents),
        manifest.dim,
        manifest.alias,
    )


def _made(entry: Entry, stage: str) -> bool:
    record = entry.stages.get(stage)
    return record is not None and record.failure is None


def _generators(system: System) -> Iterator[GeneratorState]:
    """Yield whom ``System.generator`` knows by name."""
    settings = system.settings
    yield GeneratorState("extractive", not settings.llm_provider)
    yield GeneratorState("prompt", False)
    if settings.llm_provider:
        yield from _provider_models(system)
    for name in system.profiles.chat:
        try:
            system.connection(name)
        except RagError as error:
            yield GeneratorState(name, name == settings.llm_provider, str(error))
        else:
            yield GeneratorState(name, name == settings.llm_provider)


def _provider_models(system: System) -> Iterator[GeneratorState]:
    settings = system.settings
    try:
        default = system.chat_model()
    except RagError as error:
        if settings.llm_provider not in system.profiles.chat:  # which tell it themselves
            yield GeneratorState(settings.llm_provider, True, str(error))
        return
    for name in dict.fromkeys((default.model, *settings.llm_models)):
        yield GeneratorState(name, name == default.model)
