"""Retrieval measured on a labelled set with the platform's own parts: the wiring of ``evaluation.retrieval``.

A throw-away collection is built from the set's documents; what was read and embedded is kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rag_platform.embedding.catalogue import resolve
from rag_platform.evaluation.collection import Reading, publish_set, read_set
from rag_platform.evaluation.datasets import Dataset
from rag_platform.evaluation.ranking import Measure
from rag_platform.evaluation.retrieval import (
    Evaluation,
    Search,
    embed_queries,
    evaluate_retrieval,
    searchable,
)
from rag_platform.profiles import named_models
from rag_platform.settings import Settings
from rag_platform.storage import TableStore
from rag_platform.system import System

__all__ = ["Measured", "measure_retrieval"]


@dataclass(frozen=True, slots=True)
class Measured:
    """An evaluation, with the system that was measured and the number of chunks it searched."""

    evaluation: Evaluation
    system: System
    n_chunks: int


def measure_retrieval(
    dataset: Dataset,
    settings: Settings,
    measures: Sequence[Measure],
    progress: Callable[[str, int, int], None] | None = None,
) -> Measured:
    """Publish the set in a temporary folder and search all its questions.

    Raises:
        UnknownName: There is no such model.
        InvalidDataset: A file of the set cannot be read, or a label is wrong.
    """
    from rag_platform.index.edge import EdgeIndex

    resolve(settings.embedding_model, named_models(settings.model_profiles).encoders)
    with tempfile.TemporaryDirectory(prefix="rag-evaluate-") as folder:
        system = System.from_settings(settings, index=EdgeIndex(Path(folder), hnsw_ef=settings.hnsw_ef))
        system.reranker(system.search_options.reranker)  # a wrong name is told at once
        kept = TableStore(system.home / "cache")  # what was read, and embedded, makes the next run cheap
        reading = Reading(system.parse_options, system.parse_limits, kept, settings.workers)
        documents = read_set(dataset, reading, progress)
        searchable(dataset, documents)  # a wrong label is told before anything is embedded
        encoder = system.encoder(settings.embedding_model)
        n_chunks = publish_set(
            dataset,
            documents,
            system.index,
            encoder,
            chunker=system.chunker,
            tokenizer=system.tokenizer,
            cache=system.cache,
            kinds=settings.kinds,
            progress=progress,
        )
        if settings.mode != "lexical":
            embed_queries(dataset, encoder, system.cache, progress)
        search = _search(system, max(measure.k for measure in measures))
        evaluation = evaluate_retrieval(dataset, documents, search, measures=measures, progress=progress)
        return Measured(evaluation, system, n_chunks)


def _search(system: System, depth: int) -> Search:
    """Return the search that is measured: what `rag search` does, to a depth that the measures need.

    Several chunks of a document are one place of the ranking, so all candidates are asked for.
    """
    options = system.search_options
    search = partial(
        system.searcher.search,
        model=system.encoder(system.settings.embedding_model).name,
        options=replace(options, k=max(depth, options.candidates)),
    )
    return lambda query, collection: search(query, collection=collection).hits
