"""The steps of a sweep, each done once for the same inputs: candidates, reranking, answers.

Every step asks the memo first and counts what it really does. Which cells need which step is decided in
``sweep``; how a score is computed in ``scoring``.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from rag_platform.answering.prompts import ALONE_VERSION
from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.calibration import CalibratedEncoder
from rag_platform.embedding.catalogue import EncoderSpec
from rag_platform.errors import GateFailed, MissingDependency, RagError
from rag_platform.evaluation.collection import Collections
from rag_platform.evaluation.contexts import Contexts
from rag_platform.evaluation.datasets import Case, Dataset
from rag_platform.evaluation.memo import Memo
from rag_platform.evaluation.retrieval import embed_queries
from rag_platform.index import lexical, lexicon
from rag_platform.protocols import Encoder, Generator, KnowsAlone, Reranker
from rag_platform.reranking.catalogue import resolve as resolve_reranker
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.search import Searcher
from rag_platform.retrieval.select import select
from rag_platform.sanity import PAIRS, gate_of
from rag_platform.text.normalize import stored_text
from rag_platform.types import Answer, Chunk, Hit, Passage, Scored, Usage, fingerprint

__all__ = [
    "Answered",
    "Arm",
    "Corpus",
    "Models",
    "Ranking",
    "Rankings",
    "Steps",
    "gated",
    "options_recipe",
    "recipe_of",
]

SEARCH = "search/1"
"""Raised by hand when search itself ranks otherwise than before: kept candidates are then found anew."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents of a set under one way to read and cut them.

    Attributes:
        documents: As they were read.
        names: Part of the set -> the name that its collection is published under.
        fingerprint: Of the documents' bytes and of how they are read and cut.
    """

    documents: Collections
    names: Mapping[str, str]
    fingerprint: str


class Models(Protocol):
    """Where encoders and rerankers come from, behind the sanity gate."""

    def embedding(self, name: str) -> EncoderSpec:
        """Return what is known of an embedding model."""
        ...

    def encoder(self, name: str) -> Encoder:
        """Return the encoder of a catalogue name."""
        ...

    def reranker(self, name: str) -> Reranker:
        """Return the reranker of a catalogue name."""
        ...

    def release_models(self) -> None:
        """Let go of every loaded model."""
        ...


@dataclass(frozen=True, slots=True)
class Arm:
    """One variant, ready to be searched.

    Attributes:
        name: Of the variant; empty: nothing is changed.
        options: How it is searched; the reranker is the cell's.
        corpus: What is searched.
        searcher: What searches it.
        models: Where its encoders come from.
        publish: Embeds and publishes the corpus for an embedding model where that is due.
        contexts: What questions are answered from instead of hits; None: from hits.
    """

    name: str
    options: SearchOptions
    corpus: Corpus
    searcher: Searcher
    models: Models
    publish: Callable[[str], None]
    contexts: Contexts | None = None


class Ranking(NamedTuple):
    """Chunks that were found for a question, best first, and what it took."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    seconds_retrieve: float
    seconds_rerank: float = 0.0


class Answered(NamedTuple):
    """An answer, and what it took."""

    answer: Answer
    seconds: float
    fingerprint: str
    repeated: bool


Rankings = dict[str, Ranking | RagError]
"""By question: what was found, or why nothing could be."""


def recipe_of(encoder: Encoder) -> str:
    """Return what decides which passages a question finds: the encoder and all of its calibration."""
    if not isinstance(encoder, CalibratedEncoder):
        return encoder.recipe
    means = {style: mean.tobytes() for style, mean in sorted(encoder.calibration.query_means.items())}
    return fingerprint(encoder.recipe, encoder.calibration.match, encoder.calibration.share, means)


def gated(memo: Memo, model: Encoder | Reranker, mode: str) -> bool:
    """Say whether a model passed the sanity gate; one that was asked before is not loaded for it.

    Args:
        memo: Where the outcome is kept.
        model: An encoder or a reranker.
        mode: ``refuse`` or ``record``.

    Raises:
        GateFailed: It ranks wrongly, and the mode is ``refuse``.
        RagError: It cannot be loaded.
    """
    key = fingerprint("gate", mode, repr(PAIRS), model.recipe)
    kept = memo.get(key)
    if kept is None:
        try:
            result = gate_of(model)
            kept = {"passed": result is None or result.passed, "message": ""}
        except GateFailed as error:
            kept = {"passed": False, "message": str(error)}
        memo.put(key, kept)
    if kept["message"]:
        raise GateFailed(kept["message"])
    return bool(kept["passed"])


@dataclass(slots=True)
class Steps:
    """The steps over one set; ``done`` counts the work that the memo did not save.

    Attributes:
        dataset: The questions.
        memo: What was done before.
        cache: Vectors of texts.
        tell: Told after each piece of work: the step, how many are done, how many there are.
    """

    dataset: Dataset
    memo: Memo
    cache: EmbeddingCache
    tell: Callable[[str, int, int], None]
    done: Counter[str] = field(default_factory=Counter)

    def candidates(self, arm: Arm, encoder: Encoder) -> Rankings:
        """Search every question that was not searched before; publishing and loading only for these.

        In mode lexical all encoders find the same, so they share it.
        """
        recipe = "" if arm.options.mode == "lexical" else recipe_of(encoder)
        keys = {case.case_id: self._search_key(arm, recipe, case) for case in self.dataset.cases}
        kept = self.memo.get_many(list(keys.values()))
        missing = [case for case in self.dataset.cases if keys[case.case_id] not in kept]
        found: Rankings = {}
        if missing:
            arm.publish(encoder.name)
            if recipe:
                embed_queries(replace(self.dataset, cases=tuple(missing)), encoder, self.cache, self.tell)
        for done, case in enumerate(missing, start=1):
            try:
                value = self._searched(arm, encoder.name, case)
            except RagError as error:
                found[case.case_id] = error
            else:
                self.memo.put(keys[case.case_id], value)
                kept[keys[case.case_id]] = value
            self.done["searches"] += 1
            self.tell("searching", done, len(missing))
        for own, key in keys.items():
            if key in kept:
                value = kept[key]
                found[own] = Ranking(tuple(value["ids"]), tuple(value["scores"]), value["seconds"])
        return found

    def _search_key(self, arm: Arm, recipe: str, case: Case) -> str:
        collection = arm.corpus.names[case.collection]
        made = (arm.corpus.fingerprint, lexical.RECIPE, lexicon.RECIPE, SEARCH)
        how = options_recipe(_wide(arm.options))
        return fingerprint("candidates", recipe, made, how, collection, case.query)

    def _searched(self, arm: Arm, model: str, case: Case) -> dict[str, Any]:
        begin = time.perf_counter()
        collection = arm.corpus.names[case.collection]
        hits = arm.searcher.search(
            case.query, collection=collection, model=model, options=_wide(arm.options)
        ).hits
        return {
            "ids": [hit.chunk.chunk_id for hit in hits],
            "scores": [hit.score for hit in hits],
            "seconds": time.perf_counter() - begin,
        }

    def chunks(self, arm: Arm, model: str, rankings: Rankings) -> dict[str, Chunk]:
        """Return the chunks of all candidates, from the published collections."""
        wanted: dict[str, dict[str, None]] = {}
        for case in self.dataset.cases:
            ranking = rankings.get(case.case_id)
            if isinstance(ranking, Ranking):
                wanted.setdefault(case.collection, {}).update(dict.fromkeys(ranking.ids))
        found: dict[str, Chunk] = {}
        for part, ids in wanted.items():
            if ids:
                found.update(arm.searcher.reader(arm.corpus.names[part], model).fetch(list(ids)))
        return found

    def reranked(self, reranker: Reranker, rankings: Rankings, chunks: Mapping[str, Chunk]) -> Rankings:
        """Order the candidates of every question as a reranker does; a pair that it judged before is kept.

        A listwise one judges passages against each other, so its unit is the whole list.

        Raises:
            MissingDependency: It cannot be loaded.
            GateFailed: It ranks wrongly.
        """
        found: Rankings = {}
        whole = resolve_reranker(reranker.name).engine == "listwise"
        for done, case in enumerate(self.dataset.cases, start=1):
            ranking = rankings[case.case_id]
            if isinstance(ranking, Ranking) and ranking.ids:
                try:
                    ranking = self._judged(reranker, case, ranking, chunks, whole=whole)
                except (MissingDependency, GateFailed):
                    raise
                except RagError as error:
                    ranking = error
            found[case.case_id] = ranking
            self.tell(f"reranking with {reranker.name}", done, len(self.dataset.cases))
        return found

    def _judged(
        self, reranker: Reranker, case: Case, ranking: Ranking, chunks: Mapping[str, Chunk], *, whole: bool
    ) -> Ranking:
        question = stored_text(case.query).strip()
        texts = [chunks[one].indexed_text for one in ranking.ids]
        beside = tuple(texts) if whole else ()
        keys = [fingerprint("rerank", reranker.recipe, question, beside, text) for text in texts]
        kept = self.memo.get_many(keys)
        new = [i for i, key in enumerate(keys) if key not in kept]
        if new:
            begin = time.perf_counter()
            judged = reranker.score(question, [texts[i] for i in new])
            each = (time.perf_counter() - begin) / len(new)
            fresh = {keys[i]: {"score": float(s), "seconds": each} for i, s in zip(new, judged, strict=True)}
            self.memo.put_many(fresh)
            kept.update(fresh)
            self.done["rerank calls"] += 1
            self.done["rerank pairs"] += len(new)
        scores = np.array([kept[key]["score"] for key in keys])
        order = np.argsort(-scores, kind="stable")
        return Ranking(
            tuple(ranking.ids[i] for i in order),
            tuple(float(scores[i]) for i in order),
            ranking.seconds_retrieve,
            sum(kept[key]["seconds"] for key in keys),
        )

    def answered(
        self, generator: Generator, case: Case, contexts: Sequence[Chunk], *, alone: bool = False
    ) -> Answered:
        """Answer a question from its contexts; the same question with the same contexts is answered once.

        ``alone`` asks a language model for what it knows by itself; a generator that knows nothing refuses.

        Raises:
            RagError: The generator failed.
        """
        passages = [Passage(one.indexed_text, one.source, one.page_first, one.path) for one in contexts]
        key = self.answer_key(generator, case, contexts, alone=alone)
        value = self.memo.get(key)
        repeated = value is not None
        if value is None:
            begin = time.perf_counter()
            if alone and isinstance(generator, KnowsAlone):
                answer = generator.answer_alone(case.query)
            else:
                answer = generator.answer(case.query, passages)
            usage = answer.usage
            value = {
                "text": answer.text,
                "refused": answer.refused,
                "citations": list(answer.citations),
                "usage": [usage.prompt_tokens, usage.completion_tokens, usage.cost],
                "seconds": time.perf_counter() - begin,
            }
            self.memo.put(key, value)
            self.done["answers"] += 1
        answer = Answer(value["text"], value["refused"], tuple(value["citations"]), Usage(*value["usage"]))
        return Answered(answer, value["seconds"], key, repeated)

    def answer_key(
        self, generator: Generator, case: Case, contexts: Sequence[Chunk], *, alone: bool = False
    ) -> str:
        """Return what an answer depends on."""
        if alone:
            return fingerprint("answer alone", generator.recipe, ALONE_VERSION, case.query)
        read = [(one.indexed_text, one.source, one.page_first, one.path) for one in contexts]
        return fingerprint("answer", generator.recipe, case.query, read)

    @staticmethod
    def shown(ranking: Ranking, chunks: Mapping[str, Chunk], options: SearchOptions) -> tuple[Hit, ...]:
        """Return the hits of a ranking under the limits of a search, to the depth of its candidates."""
        ranked = [Scored(one, score) for one, score in zip(ranking.ids, ranking.scores, strict=True)]
        picked = select(ranked, chunks, replace(options, k=options.depth))
        return tuple(Hit(rank, one.score, one.chunk) for rank, one in enumerate(picked, start=1))


def options_recipe(options: SearchOptions) -> str:
    """Return what of the options decides which passages are found and shown, the reranker apart.

    Written out, so that an option which search learns later leaves what was measured as it is.
    """
    shown = {
        "k": options.k,
        "candidates": options.depth,
        "mode": options.mode,
        "fusion": options.fusion if options.mode == "hybrid" else "",
        "weights": "/".join(map(str, options.weights)) if options.mode == "hybrid" else "",
        "threshold": options.threshold,
        "per document": options.per_document,
        "per page": options.per_page,
        "distinct": options.distinct,
        "where": "; ".join(map(repr, options.conditions)),
    }
    return ", ".join(f"{name}={value}" for name, value in shown.items() if value not in ("", None, 0, False))


def _wide(options: SearchOptions) -> SearchOptions:
    """Return options that bring all candidates: what is shown of them is picked after reranking."""
    return replace(
        options,
        k=options.depth,
        candidates=options.depth,
        reranker="none",
        threshold=None,
        per_document=0,
        per_page=0,
        distinct=False,
        neighbours=0,
        around="nothing",
    )
