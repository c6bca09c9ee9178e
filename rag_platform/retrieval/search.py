"""Search over the published generations: one snapshot a request, its parts fused, reranked, explained.

A ``Searcher`` follows new generations by itself. It neither publishes nor answers; how a question is read,
how parts are fused and which passages are shown is decided in the modules beside.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.calibration import CalibratedEncoder
from rag_platform.embedding.embed import points_recipe
from rag_platform.errors import CallerError, NotPublished, UnknownName
from rag_platform.protocols import CollectionReader, Encoder, FloatArray, Index, Reranker
from rag_platform.retrieval.context import context
from rag_platform.retrieval.explain import Explanation, Stopwatch
from rag_platform.retrieval.fusion import calibrated, mean_scores, weighted_rrf, weighted_scores
from rag_platform.retrieval.keywords import keywords
from rag_platform.retrieval.memory import SearchMemory, encoder_key, options_key, reranker_key
from rag_platform.retrieval.openings import Key, Opened, Openings
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.question import Meaning, Question
from rag_platform.retrieval.result import SearchResult
from rag_platform.retrieval.select import Shown, select
from rag_platform.types import Chunk, Fusion, Hit, Scored
from rag_platform.watching import spent

__all__ = ["Embed", "SearchResult", "Searcher", "Snapshot"]

_DEFAULTS = SearchOptions()

Embed = Callable[[Encoder, str], FloatArray]
"""Returns the vector of a question: ``(dim,)`` float32, L2-normalised."""


class Searcher:
    """Searches the latest published generation of any (collection, model); safe to share between threads.

    A running request keeps the generation it began with; while one thread opens a new one, the others go
    on with the old. Old readers are dropped, not closed.

    Args:
        index: Where collections are published.
        load_encoder: Returns the encoder of a model name, loaded once; not called in lexical mode.
        cache: Keeps query vectors; None: every query is encoded.
        load_reranker: Returns the reranker of a catalogue name; None: there is none.
        memory: What is kept of searches; None: nothing.
    """

    def __init__(
        self,
        index: Index,
        load_encoder: Callable[[str], Encoder],
        cache: EmbeddingCache | None = None,
        load_reranker: Callable[[str], Reranker] | None = None,
        memory: SearchMemory | None = None,
    ) -> None:
        self._openings, self._load_encoder, self._cache = Openings(index), load_encoder, cache
        self._load_reranker, self.memory = load_reranker, memory or SearchMemory()

    def search(
        self,
        query: str,
        *,
        collection: str | Sequence[str],
        model: str,
        options: SearchOptions = _DEFAULTS,
        embed: Embed | None = None,
    ) -> SearchResult:
        """Return the best chunks.

        Args:
            query: A question or words, in any language.
            collection: The named corpus, or several.
            model: The embedding model whose published generations are searched.
            options: How it is searched.
            embed: Returns the vector of a question, instead of the memory's; for many questions at once.

        Raises:
            CallerError: The query is blank, or an option is out of range.
            UnknownName: Nothing is published under this collection or model, but under others; or an option
                is no name of its kind.
            NotPublished: Nothing is published at all.
        """
        return self.snapshot(collection=collection, model=model).search(query, options, embed=embed)

    def snapshot(self, *, collection: str | Sequence[str], model: str) -> Snapshot:
        """Return several searches of the same generations: those that the first of them finds.

        Raises:
            CallerError: No collection is named.
        """
        names = [collection] if isinstance(collection, str) else collection
        if not names:
            raise CallerError("no collection is named; name at least one")
        return Snapshot(self, [(name, model) for name in dict.fromkeys(names)])

    def _begin(self, query: str, options: SearchOptions, keys: Sequence[Key], embed: Embed | None) -> _Run:
        """Return a search that is checked and has what it needs; nothing is searched yet."""
        question = Question.of(query)
        if not question.text:
            raise CallerError("the query is blank; ask for something")
        options.check()
        return self._run(question, options, keys, embed or self._embed)

    def _latest(self, keys: Sequence[Key]) -> list[Opened]:
        """Return the latest generations."""
        return [self._openings.latest(key) for key in keys]

    def _forget(self, keys: Sequence[Key]) -> None:
        """Let go of generations that are gone."""
        for key in keys:
            self._openings.forget(key)

    def _result(self, query: str, run: _Run, opened: Sequence[Opened]) -> SearchResult:
        """Return the result of these very generations: from memory, where such a search was made before."""
        readers, made, start = [one.reader for one in opened], False, time.perf_counter()
        fitting = run.fitting(readers)

        def make() -> SearchResult:
            nonlocal made
            made = True
            hits, explanation = fitting.over(readers)
            generations = {reader.manifest.collection: reader.manifest.generation for reader in readers}
            return SearchResult(query, hits, generations, fitting.model, fitting.options.mode, explanation)

        result = self.memory.results.get((query, fitting.key, *(one.serial for one in opened)), make)
        if made:
            return result
        took = 1_000 * (time.perf_counter() - start)
        spent("memory", took)
        return result.recalled(took)

    def _run(self, question: Question, options: SearchOptions, keys: Sequence[Key], embed: Embed) -> _Run:
        """Load what the search needs, once all it reads is known to be there: loading may take long."""
        for key in keys:
            self._openings.version(key)
        encoder = None if options.mode == "lexical" else self._load_encoder(keys[0][1])
        reranker = None
        if options.reranker != "none":
            if self._load_reranker is None:
                raise UnknownName("reranker", options.reranker, ["none"])
            reranker = self._load_reranker(options.reranker)
        return _Run(question, options, keys[0][1], encoder, embed, reranker)

    def _embed(self, encoder: Encoder, text: str) -> FloatArray:
        return self.memory.vector(encoder, self._cache, text)

    def reader(self, collection: str, model: str) -> CollectionReader:
        """Return a reader of the latest generation, opened only when that is new.

        Raises:
            UnknownName: Nothing is published under this collection or model, but under others.
            NotPublished: Nothing is published at all.
        """
        return self._openings.latest((collection, model)).reader

    def version(self, collection: str, model: str) -> str:
        """Return what changes with every generation: of the one that a search after this finds, or an older.

        Raises:
            UnknownName: Nothing is published under this collection or model, but under others.
            NotPublished: Nothing is published at all.
        """
        return self._openings.latest((collection, model)).version


class Snapshot:
    """Searches that belong together, as those of one answer: all see the same generations.

    For one thread at a time. Where an engine has let go of a generation meanwhile (a server, by the second
    publish), the latest is searched from then on, and ``SearchResult.generations`` tells.
    """

    def __init__(self, searcher: Searcher, keys: Sequence[Key]) -> None:
        self._searcher, self._keys = searcher, keys
        self._opened: list[Opened] = []

    def search(
        self, query: str, options: SearchOptions = _DEFAULTS, *, embed: Embed | None = None
    ) -> SearchResult:
        """Return the best chunks, as ``Searcher.search``."""
        run = self._searcher._begin(query, options, self._keys, embed)
        self._opened = self._opened or self._searcher._latest(self._keys)
        try:
            return self._searcher._result(query, run, self._opened)
        except NotPublished:
            self._searcher._forget(self._keys)
            self._opened = self._searcher._latest(self._keys)
            return self._searcher._result(query, run, self._opened)


@dataclass(frozen=True, slots=True)
class _Found:
    """What one generation has to say: dense cosines and BM25 scores, best first."""

    reader: CollectionReader
    meaning: Meaning
    dense: list[Scored]
    lexical: list[Scored]

    @property
    def ids(self) -> set[str]:
        """The chunks that either part found."""
        return {one.chunk_id for one in (*self.dense, *self.lexical)}

    @property
    def coverage(self) -> list[Scored]:
        """BM25 as a share of the best score there could be."""
        return [Scored(one.chunk_id, one.score / self.meaning.ideal) for one in self.lexical]


@dataclass(frozen=True, slots=True)
class _Ranking:
    """What one wording of a question brought: of each generation, of each part, and fused."""

    found: list[_Found]
    dense: list[Scored]
    lexical: list[Scored]
    ranked: list[Scored]

    @property
    def scores(self) -> dict[str, dict[str, float]]:
        """Score and rank of each part by chunk id."""
        return _parts(dense=self.dense, lexical=self.lexical)


@dataclass(frozen=True, slots=True)
class _Run:
    """One question on its way through the parts."""

    question: Question
    options: SearchOptions
    model: str
    encoder: Encoder | None
    embed: Embed
    reranker: Reranker | None
    notes: tuple[str, ...] = ()

    @property
    def key(self) -> Hashable:
        """What decides a result, beside the words of the question and the generations."""
        parts = (options_key(self.options), encoder_key(self.encoder), reranker_key(self.reranker))
        return (*parts, self.model, self.notes)

    def fitting(self, readers: Sequence[CollectionReader]) -> _Run:
        """Return this search with its questions embedded as the passages were, or with a note.

        A calibration that came after the collections were published is not used.
        """
        published, encoder = {reader.manifest.recipe for reader in readers}, self.encoder
        if encoder is None or published == {points_recipe(encoder)}:
            return self
        remedy = "rag ingest makes the collection anew"
        if isinstance(encoder, CalibratedEncoder) and published == {points_recipe(encoder.inner)}:
            note = f"vectors are not centred: published before the calibration of {encoder.name}; {remedy}"
            return replace(self, encoder=encoder.inner, notes=(note,))
        note = (
            f"published with another version or calibration of {encoder.name}, so results are worse; {remedy}"
        )
        return replace(self, notes=(note,))

    def over(self, readers: Sequence[CollectionReader]) -> tuple[tuple[Hit, ...], Explanation]:
        """Search these generations, rank, and fetch what is shown."""
        watch, options = Stopwatch(), self.options
        asked = [self, *(replace(self, question=Question.of(other)) for other in options.wordings)]
        rankings = [one._ranking(readers, watch) for one in asked]
        with watch.step("fusion"):
            ranked = self._joined([one.ranked for one in rankings])
        found = [one for ranking in rankings for one in ranking.found]
        with watch.step("fetch"):
            everything = options.picky or self.reranker is not None
            chunks = _fetched(found, ranked if everything else ranked[: options.k])
        scores: dict[str, dict[str, float]] = {}
        for one in reversed(rankings):  # of a passage that several wordings found, those of the first
            scores |= one.scores
        with watch.step("rerank"):
            ranked = self._reranked(ranked, chunks, scores)
        with watch.step("select"):
            shown = select(ranked, chunks, self._shown)
            reader_of = {key: one.reader for one in found for key in one.ids}
            hits = tuple(
                self._hit(rank, one, scores, reader_of[one.chunk.chunk_id])
                for rank, one in enumerate(shown, start=1)
            )
        return hits, self._explained(rankings[0], watch)

    def _ranking(self, readers: Sequence[CollectionReader], watch: Stopwatch) -> _Ranking:
        """Search these generations and fuse what both parts found."""
        found = [self._found(reader, watch) for reader in readers]
        dense = _best([one.dense for one in found], self.options.depth)
        coverage = _best([one.coverage for one in found], self.options.depth)
        # BM25 of several collections does not compare: the larger one's words are rarer.
        lexical = found[0].lexical if len(found) == 1 else coverage
        with watch.step("fusion"):
            ranked = self._fused(dense, lexical, coverage)
        return _Ranking(found, dense, lexical, ranked)

    def _joined(self, rankings: Sequence[list[Scored]]) -> list[Scored]:
        """Join the rankings of several wordings: by score where scores compare, else by rank.

        What is below the threshold has no rank; of scores, the joined ones are held against it.
        """
        if len(rankings) == 1:
            return rankings[0]
        if self._compares:
            return mean_scores(rankings)
        low = -math.inf if self.options.threshold is None or self.reranker else self.options.threshold
        kept = [[one for one in ranking if one.score >= low] for ranking in rankings]
        return weighted_rrf(kept, [1.0] * len(kept))

    @property
    def _compares(self) -> bool:
        """Whether scores of two wordings are on one scale."""
        return bool(self._match) and self._fusion in ("calibrated", None) and self.options.mode != "lexical"

    @property
    def _shown(self) -> SearchOptions:
        """The limits of what is shown: a threshold is of scores, and rankings joined by rank have none."""
        by_rank = self.options.wordings and not self.reranker and not self._compares
        return replace(self.options, threshold=None) if by_rank else self.options

    def _found(self, reader: CollectionReader, watch: Stopwatch) -> _Found:
        depth, where = self.options.depth, self.options.conditions
        with watch.step("analysis"):
            meaning = self.question.meaning(reader.lexicon)
        dense, lexical = [], []
        if self.encoder is not None:
            with watch.step("encoding"):
                vector = meaning.vector(self.question.text, partial(self.embed, self.encoder))
            with watch.step("dense"):
                dense = reader.dense(vector, limit=depth, where=where)
        if self.options.mode != "dense" and meaning.ideal:
            with watch.step("lexical"):
                lexical = reader.lexical(meaning.terms, limit=depth, where=where)
        return _Found(reader, meaning, dense, lexical)

    @property
    def _match(self) -> float:
        return self.encoder.calibration.match if isinstance(self.encoder, CalibratedEncoder) else 0.0

    @property
    def _fusion(self) -> Fusion | None:
        """Return how parts are fused; ranks where scores of an uncalibrated model say nothing."""
        if self.options.mode != "hybrid":
            return None
        return "rrf" if self.options.fusion == "calibrated" and not self._match else self.options.fusion

    def _fused(self, dense: list[Scored], lexical: list[Scored], coverage: list[Scored]) -> list[Scored]:
        weights = self.options.weights
        if self._fusion is None:
            return dense or lexical
        if self._fusion == "calibrated":
            return calibrated(dense, coverage, weights, match=self._match)
        fuse = weighted_rrf if self._fusion == "rrf" else weighted_scores
        return fuse([dense, lexical], weights)

    def _reranked(
        self, ranked: list[Scored], chunks: Mapping[str, Chunk], scores: dict[str, dict[str, float]]
    ) -> list[Scored]:
        """Order the best candidates as the reranker does; the others are no hits any more."""
        if self.reranker is None:
            return ranked
        read = [one for one in ranked if one.chunk_id in chunks][: self.options.depth]
        judged = self.reranker.score(self.question.text, [chunks[one.chunk_id].indexed_text for one in read])
        for one in read:
            scores[one.chunk_id]["fused"] = one.score
        again = [Scored(one.chunk_id, float(score)) for one, score in zip(read, judged, strict=True)]
        return sorted(again, key=lambda one: -one.score)

    def _hit(
        self, rank: int, shown: Shown, scores: Mapping[str, dict[str, float]], reader: CollectionReader
    ) -> Hit:
        chunk = shown.chunk
        around = context(reader, chunk, self.options)
        words = keywords(chunk.text, reader.lexicon, self.options.keywords) if self.options.keywords else ()
        return Hit(rank, shown.score, chunk, scores[chunk.chunk_id], around, tuple(shown.duplicates), words)

    def _explained(self, first: _Ranking, watch: Stopwatch) -> Explanation:
        """Return the reasons; of several collections or wordings, terms and reading are of the first."""
        meaning = first.found[0].meaning
        read = meaning.romanized
        notes = list(self.notes)
        if self._fusion == "rrf" and self.options.fusion == "calibrated" and self.encoder and not notes:
            notes.append(
                f"ranks were fused: {self.encoder.name} has no calibration; make one with: rag calibrate"
                f" --embedding {self.encoder.name}"
            )
        return Explanation(
            normal_form=self.question.normal_form,
            language=self.question.language,
            reading=read.text if read else "",
            expansions=read.tokens if read else (),
            terms={term: (weight, meaning.frequencies[term]) for term, weight in meaning.terms.items()},
            conditions=self.options.conditions,
            candidates={"dense": len(first.dense), "lexical": len(first.lexical)},
            fusion=self._fusion,
            match=self._match,
            reranker=self.options.reranker,
            wordings=tuple(self.options.wordings),
            notes=tuple(notes),
            milliseconds=watch.milliseconds,
        )


def _best(rankings: Sequence[list[Scored]], limit: int) -> list[Scored]:
    """Return the best of several collections' rankings; that of one as it is."""
    if len(rankings) == 1:
        return rankings[0]
    everything = (one for ranking in rankings for one in ranking)
    return sorted(everything, key=lambda one: (-one.score, one.chunk_id))[:limit]


def _fetched(found: Sequence[_Found], ranked: Sequence[Scored]) -> dict[str, Chunk]:
    """Return the chunks of these ids, from the generations they are in."""
    ids = [one.chunk_id for one in ranked]
    chunks: dict[str, Chunk] = {}
    for one in found:
        own = one.ids
        chunks.update(one.reader.fetch([key for key in ids if key in own]))
    return chunks


def _parts(**rankings: Sequence[Scored]) -> dict[str, dict[str, float]]:
    """Return score and rank of each part by chunk id."""
    parts: dict[str, dict[str, float]] = {}
    for name, ranking in rankings.items():
        for rank, one in enumerate(ranking, start=1):
            parts.setdefault(one.chunk_id, {}).update({name: one.score, f"{name}_rank": rank})
    return parts
