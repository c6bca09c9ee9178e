"""What there is: collections with their generations, models with what they need; nothing is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rag_platform.embedding import encoders
from rag_platform.errors import RagError
from rag_platform.protocols import Manifest
from rag_platform.reranking import rerankers
from rag_platform.system import System

__all__ = ["CollectionState", "GeneratorState", "ModelState", "Models", "collections", "models"]


@dataclass(frozen=True, slots=True)
class CollectionState:
    """A named corpus: how many documents it has, and its published generations, one an embedding model."""

    name: str
    n_documents: int
    generations: tuple[Manifest, ...]


@dataclass(frozen=True, slots=True)
class ModelState:
    """A model of a catalogue.

    Attributes:
        dim: Vector size; None of what makes no vectors.
        max_tokens: What it reads of a text; None where nothing limits it.
        active: The settings use it.
        remedy: What is needed to load it here; None: nothing.
    """

    name: str
    dim: int | None
    max_tokens: int | None
    licence: str
    active: bool
    remedy: str | None


@dataclass(frozen=True, slots=True)
class GeneratorState:
    """Who may answer a question; ``remedy`` says what is missing, None where nothing is."""

    name: str
    active: bool
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class Models:
    """The models of every family."""

    embedding: tuple[ModelState, ...]
    rerankers: tuple[ModelState, ...]
    generators: tuple[GeneratorState, ...]


def collections(system: System) -> list[CollectionState]:
    """Return the collections, the owner of the inbox's root first."""
    published = system.index.published()
    return [
        CollectionState(
            name,
            len(system.catalog.entries(name)),
            tuple(manifest for manifest in published if manifest.collection == name),
        )
        for name in system.catalog.collections()
    ]


def models(system: System) -> Models:
    """Return the catalogues, with what of them is active."""
    settings = system.settings
    used = {encoders.resolve(name).name for name in (*settings.active_embedders, settings.embedding_model)}
    reranker = rerankers.resolve(system.search_options.reranker).name
    return Models(
        tuple(
            ModelState(
                spec.name, spec.dim, spec.max_tokens, spec.licence, spec.name in used, encoders.can_load(spec)
            )
            for spec in encoders.ENCODERS.values()
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


def _generators(system: System) -> Iterator[GeneratorState]:
    settings = system.settings
    yield GeneratorState("extractive", not settings.llm_provider)
    yield GeneratorState("prompt", False)
    if not settings.llm_provider:
        return
    try:
        default = system.chat_model()
    except RagError as error:
        yield GeneratorState(settings.llm_provider, True, str(error))
        return
    for name in dict.fromkeys((default.model, *settings.llm_models)):
        yield GeneratorState(name, name == default.model)
