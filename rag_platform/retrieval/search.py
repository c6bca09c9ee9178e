"""Search over the published generations: one snapshot a request, three modes, fused and fetched.

A ``Searcher`` follows new generations by itself. It neither publishes nor reranks nor answers.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import get_args

from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.embed import embed_texts
from rag_platform.errors import CallerError, NotPublished, UnknownName
from rag_platform.index.lexical import query_terms
from rag_platform.protocols import CollectionReader, Encoder, FloatArray, Index
from rag_platform.retrieval.fusion import weighted_rrf
from rag_platform.text.normalize import stored_text
from rag_platform.types import ALL_KINDS, Condition, Hit, Kind, Mode, Scored

__all__ = ["SearchResult", "Searcher"]

_MODES: tuple[str, ...] = get_args(Mode)
_MOST = 1_000
"""Upper limit of results and candidates: more is a scan, not a search."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits of one query, all from one generation.

    A hit's ``score`` is the fused one in mode hybrid, the cosine in dense, BM25 in lexical. Its ``scores``
    hold ``dense`` and ``lexical`` with ``dense_rank`` and ``lexical_rank`` (from 1) where that part found it.
    """

    query: str
    hits: tuple[Hit, ...]
    collection: str
    model: str
    generation: int
    mode: Mode


@dataclass(frozen=True, slots=True)
class _Opened:
    """A reader with the version it was opened at; replaced as a whole, never changed."""

    version: str
    reader: CollectionReader


class Searcher:
    """Searches the latest published generation of any (collection, model); safe to share between threads.

    A running request keeps the generation it began with; while one thread opens a new one, the others go
    on with the old. Old readers are dropped, not closed.

    Args:
        index: Where collections are published.
        load_encoder: Returns the encoder of a model name, loaded once; not called in lexical mode.
        cache: Keeps query vectors; None: every query is encoded.
    """

    def __init__(
        self, index: Index, load_encoder: Callable[[str], Encoder], cache: EmbeddingCache | None = None
    ) -> None:
        self._index, self._load_encoder, self._cache = index, load_encoder, cache
        self._opened: dict[tuple[str, str], _Opened] = {}
        self._opening: dict[tuple[str, str], threading.Lock] = {}
        self._lock = threading.Lock()

    def search(
        self,
        query: str,
        *,
        collection: str,
        model: str,
        k: int = 5,
        candidates: int = 20,
        mode: Mode = "hybrid",
        weights: tuple[float, float] = (0.7, 0.3),
        kinds: Sequence[Kind] | None = None,
        where: Sequence[Condition] = (),
    ) -> SearchResult:
        """Return the best ``k`` chunks.

        Args:
            query: A question or words, in any language.
            collection: The named corpus.
            model: The embedding model whose published generation is searched.
            k: Number of hits at most.
            candidates: Hits each part brings to the fusion; at least ``k`` are taken.
            mode: ``hybrid`` (both parts fused by reciprocal rank), ``dense`` or ``lexical``.
            weights: Of dense and lexical in the fusion.
            kinds: Only passages of these kinds (``text``, ``table``, ``image``); None: of all.
            where: Only passages for which all of these hold; applied before ranking.

        Raises:
            CallerError: The query is blank, or an option is out of range.
            UnknownName: Nothing is published under this collection or model, but under others; or no kind
                has this name.
            NotPublished: Nothing is published at all.
        """
        request = _Request(stored_text(query).strip(), k, max(k, candidates), mode, weights, kinds, where)
        request.check(candidates)
        vector = None if mode == "lexical" else self._vector(request.text, model, collection)
        try:
            reader = self.reader(collection, model)
            hits = request.hits(reader, vector)
        except NotPublished:  # a server's generation, removed by the second publish since it was opened
            self._forget(collection, model)
            reader = self.reader(collection, model)
            hits = request.hits(reader, vector)
        return SearchResult(query, hits, collection, model, reader.manifest.generation, mode)

    def reader(self, collection: str, model: str) -> CollectionReader:
        """Return a reader of the latest generation, opened only when that is new.

        Raises:
            UnknownName: Nothing is published under this collection or model, but under others.
            NotPublished: Nothing is published at all.
        """
        key = (collection, model)
        version, opened = self._version(key), self._opened.get(key)
        if opened and opened.version == version:
            return opened.reader
        with self._lock:
            opening = self._opening.setdefault(key, threading.Lock())
        if opened and opening.locked():
            return opened.reader
        with opening:
            version, opened = self._version(key), self._opened.get(key)
            if not opened or opened.version != version:
                opened = self._opened[key] = _Opened(version, self._index.open(*key))
            return opened.reader

    def _version(self, key: tuple[str, str]) -> str:
        version = self._index.version(*key)
        if version is None:
            self._forget(*key)
            raise self._unpublished(*key)
        return version

    def _forget(self, collection: str, model: str) -> None:
        self._opened.pop((collection, model), None)

    def _vector(self, text: str, model: str, collection: str) -> FloatArray:
        """Embed a query, after the model is known to be published: loading one may take long."""
        self._version((collection, model))
        embedded = embed_texts(self._load_encoder(model), self._cache, [text], "query")
        vector: FloatArray = embedded.vectors[0]
        return vector

    def _unpublished(self, collection: str, model: str) -> CallerError | NotPublished:
        published = self._index.published()
        if not published:
            return NotPublished("nothing is published yet; ingest documents first: rag ingest PATH")
        models = [manifest.model for manifest in published if manifest.collection == collection]
        if not models:
            known = {manifest.collection for manifest in published}
            return UnknownName("published collection", collection, known)
        return UnknownName("published model", model, models)


@dataclass(frozen=True, slots=True)
class _Request:
    """One query with its options."""

    text: str
    k: int
    candidates: int
    mode: Mode
    weights: tuple[float, float]
    kinds: Sequence[Kind] | None
    where: Sequence[Condition]

    def check(self, candidates: int) -> None:
        """Refuse a blank query, and options out of range; ``candidates`` as the caller gave them."""
        if not self.text:
            raise CallerError("the query is blank; ask for something")
        for name, value in (("k", self.k), ("candidates", candidates)):
            if not 1 <= value <= _MOST:
                raise CallerError(f"{name} is {value}, allowed are 1 to {_MOST}")
        if self.mode not in _MODES:
            raise UnknownName("mode", self.mode, _MODES)
        if self.kinds is not None and not self.kinds:
            raise CallerError(f"kinds are empty, so nothing would be searched; name some of {ALL_KINDS}")
        for kind in self.kinds or ():
            if kind not in ALL_KINDS:
                raise UnknownName("kind", kind, ALL_KINDS)
        weights = self.weights
        if len(weights) != 2 or not all(0 <= w < math.inf for w in weights) or not any(weights):
            raise CallerError(f"weights are {weights!r}, allowed are two numbers of 0 or more, not both 0")

    def hits(self, reader: CollectionReader, vector: FloatArray | None) -> tuple[Hit, ...]:
        """Rank and fetch from one reader."""
        of_kinds = () if self.kinds is None else (Condition("kind", "=", tuple(self.kinds)),)
        where = (*self.where, *of_kinds)
        dense = [] if vector is None else reader.dense(vector, limit=self.candidates, where=where)
        lexical = []
        if self.mode != "dense":
            lexical = reader.lexical(query_terms(self.text), limit=self.candidates, where=where)
        ranked = weighted_rrf([dense, lexical], self.weights) if self.mode == "hybrid" else dense or lexical
        best = ranked[: self.k]
        chunks = reader.fetch([one.chunk_id for one in best])
        parts = _parts(dense=dense, lexical=lexical)
        return tuple(
            Hit(rank, one.score, chunks[one.chunk_id], parts[one.chunk_id])
            for rank, one in enumerate(best, start=1)
        )


def _parts(**rankings: Sequence[Scored]) -> dict[str, dict[str, float]]:
    """Return score and rank of each part by chunk id."""
    parts: dict[str, dict[str, float]] = {}
    for name, ranking in rankings.items():
        for rank, one in enumerate(ranking, start=1):
            parts.setdefault(one.chunk_id, {}).update({name: one.score, f"{name}_rank": rank})
    return parts
