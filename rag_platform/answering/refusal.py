"""Whether the documents answer a question at all, told from what was found: a calibrated probability.

A cosine alone does not tell it: near misses are as near as answers. What tells more is how near the best
sentence is in meaning and words, whether it has the kind of thing that is asked for, and how far the best
passage stands out; by words alone, how many of the question's the best passage and the best sentence hold.
The weights are of logistic regressions on development questions (``benchmarks/refusal.py`` fits and reports
them, docs/answers.md). What a refusal says stands in ``prompts``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, Protocol

import regex

from rag_platform.answering.citations import source_text
from rag_platform.answering.ranked import Ranked, question_words
from rag_platform.retrieval.search import SearchResult
from rag_platform.text.analyze import analyze
from rag_platform.text.language import detect_language, is_function_word, script_shares
from rag_platform.text.normalize import search_key
from rag_platform.text.segment import sentences
from rag_platform.types import Hit

__all__ = [
    "ALONE_RECIPE",
    "LACKING",
    "MODELS",
    "CalibratedGate",
    "Evidence",
    "Gate",
    "answers_alone",
    "evidence",
]

N_HITS = 5
"""Best hits that are looked at: the development questions were, too."""
_IN_SCRIPT = 0.3
"""Share of a passage's letters that must be in the question's script for its words to be compared."""
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}\u200c\u200d'’.-]*[\p{L}\p{M}\p{N}\u200c\u200d]")

LACKING = 0.1
"""What is left of a probability where a number or a date is asked for and the best sentence has none."""

View = Literal["near", "near_unscored", "scored", "worded", "foreign"]


class Gate(Protocol):
    """Tells that the documents do not answer."""

    def refuses(
        self, question: str, result: SearchResult, found: Ranked | None = None, *, is_read: bool = False
    ) -> bool | None:
        """Say whether a question is refused, None where nothing tells.

        Args:
            question: As it was searched.
            result: What was found.
            found: The sentences of the hits, the best first; None: they were not ranked.
            is_read: A model reads the hits and can refuse itself: only the hopeless are refused.
        """
        ...


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a search says about whether it found an answer.

    Attributes:
        view: What tells. ``near``: the meaning of sentences and calibrated scores; ``near_unscored``: their
            meaning alone (another fusion, a reranker, fewer than five hits). Without vectors of sentences
            ``scored``: words and calibrated scores; ``worded``: words alone; ``foreign``: scores alone, as
            all passages are in another script.
        best: The most that one sentence says, as ``Ranked``.
        foreign: The best sentence is in another language's script than the question.
        lacks_kind: A kind of thing is asked for that the best sentence has not.
        passage: Share of the question's words, rare ones more, in the best passage. 0 to 1.
        sentence: The same of the best sentence below its headings.
        margin: Of the scores of the first and the last hit; ``near``: in units of a full match of words.
        spread: Of the cosines of the nearest and the farthest hit.
        agreed: 1 where both parts of the search have the first hit first.
    """

    view: View
    best: float = 0.0
    foreign: bool = False
    lacks_kind: bool = False
    passage: float = 0.0
    sentence: float = 0.0
    margin: float = 0.0
    spread: float = 0.0
    agreed: float = 0.0


@dataclass(frozen=True, slots=True)
class _Model:
    """A logistic regression, and below which probability a question is refused."""

    intercept: float
    weights: Mapping[str, float]
    refused: float
    read: float

    def probability(self, found: Evidence) -> float:
        logit = self.intercept + sum(w * float(getattr(found, name)) for name, w in self.weights.items())
        return (LACKING if found.lacks_kind else 1.0) / (1 + math.exp(-logit))


MODELS: Mapping[View, _Model] = {
    "near": _Model(-4.55, {"best": 7.32, "margin": 8.80, "foreign": 1.22}, 0.58, 0.20),
    "near_unscored": _Model(-4.72, {"best": 10.00, "foreign": 1.24}, 0.58, 0.20),
    "scored": _Model(-2.96, {"passage": 1.92, "sentence": 0.87, "margin": 12.71, "agreed": 1.35}, 0.60, 0.09),
    "worded": _Model(-2.51, {"passage": 3.33, "sentence": 1.85}, 0.57, 0.07),
    "foreign": _Model(-2.21, {"margin": 25.40, "spread": 4.85}, 0.56, 0.30),
}
"""Fitted on the starter set's 160 questions, and on the answerable ones without the pages that answer (with
vectors these count 0.3: most questions have an answer). ``refused`` has the best F1 there, or nearly;
``read`` costs about one answerable question of a hundred."""


ALONE_RECIPE = str(MODELS["near_unscored"])
"""What decides where an answer is refused without a search: other weights make other answers."""


class CalibratedGate:
    """Refuses where an answer is less probable than on the development questions pays off."""

    def probability(self, question: str, result: SearchResult, found: Ranked | None = None) -> float:
        """Return how probable it is that one of the first hits answers. 0 without hits."""
        if not result.hits:
            return 0.0
        seen = evidence(question, result, found)
        return MODELS[seen.view].probability(seen)

    def refuses(
        self, question: str, result: SearchResult, found: Ranked | None = None, *, is_read: bool = False
    ) -> bool | None:
        """Say whether a question is refused, None where neither scores nor words tell.

        Who reads the hits may find what is asked for beside the best sentence.
        """
        if not result.hits:
            return True
        seen = evidence(question, result, found)
        if seen.view == "foreign" and not _is_scored(result):
            return None
        model = MODELS[seen.view]
        if is_read:
            return model.probability(replace(seen, lacks_kind=False)) < model.read
        return model.probability(seen) < model.refused


def answers_alone(question: str, found: Ranked) -> bool:
    """Say whether sentences that were compared by meaning answer, where nothing is known of a search."""
    if not found.sentences:
        return False
    seen = Evidence("near_unscored", found.best, _is_foreign(question, found), found.lacks_kind)
    model = MODELS[seen.view]
    return model.probability(seen) >= model.refused


def evidence(question: str, result: SearchResult, found: Ranked | None = None) -> Evidence:
    """Return what a search with hits says about whether it found an answer.

    Args:
        question: As it was searched.
        result: What was found.
        found: The sentences of its hits, where they were ranked.
    """
    hits, scored = result.hits[:N_HITS], _is_scored(result)
    nearest = sorted((hit.scores["dense"] for hit in hits if "dense" in hit.scores), reverse=True)
    first = hits[0].scores
    margin = hits[0].score - hits[-1].score
    spread = nearest[0] - nearest[-1] if nearest else 0.0
    read = result.explanation.reading or question
    if found is not None and found.is_near:
        return Evidence(
            "near" if scored else "near_unscored",
            found.best,
            _is_foreign(question, found),
            found.lacks_kind,
            margin=margin / result.explanation.match if scored else 0.0,
        )
    if not any(_in_script(read, hit.chunk.text) for hit in hits):
        return Evidence("foreign", margin=margin, spread=spread)
    words = _asked(question, result)
    passages = [set(analyze(f"{hit.chunk.path} {source_text(hit)}")) for hit in hits]
    return Evidence(
        "scored" if scored else "worded",
        passage=max(_share(words, held) for held in passages),
        sentence=max((_share(words, held) for hit in hits for held in _sentences(hit)), default=0.0),
        margin=margin,
        spread=spread,
        agreed=float(first.get("dense_rank") == 1 and first.get("lexical_rank") == 1),
    )


def _is_scored(result: SearchResult) -> bool:
    """Say whether scores mean what they meant on the development questions."""
    told = result.explanation
    as_then = told.fusion == "calibrated" and told.reranker == "none" and not told.wordings
    return as_then and len(result.hits) >= N_HITS


def _is_foreign(question: str, found: Ranked) -> bool:
    """Say whether the best sentence is of another language; romanized Nepali is none, read or not."""
    if not found.sentences or detect_language(question) == "romanized":
        return False
    return not _in_script(question, found.sentences[0].text)


def _in_script(question: str, text: str) -> bool:
    script = next(iter(script_shares(question)), "")
    return script_shares(text).get(script, 0.0) > _IN_SCRIPT


def _asked(question: str, result: SearchResult) -> list[tuple[frozenset[str], float]]:
    """Return the words that say what is asked: the terms that each may be, and its weight, rare ones more."""
    told, words = result.explanation, list[frozenset[str]]()
    if told.reading:
        for token in told.expansions:
            if search_key(token.word or token.token) not in question_words():
                terms = {term for option in token.options for term in option} | set(analyze(token.word or ""))
                words.append(frozenset(terms))
    else:
        for word in _WORD.findall(question):
            key = search_key(word)
            if key not in question_words() and not is_function_word(key):
                words.append(frozenset(analyze(word)))
    return [(terms, _weight(terms, told.terms)) for terms in words if terms]


def _weight(terms: frozenset[str], searched: Mapping[str, tuple[float, int]]) -> float:
    frequency = max((searched[term][1] for term in terms if term in searched), default=0)
    return 1 / math.log(3 + frequency)


def _share(words: Sequence[tuple[frozenset[str], float]], held: set[str]) -> float:
    total = sum(weight for _, weight in words)
    return sum(weight for terms, weight in words if terms & held) / total if total else 0.0


def _sentences(hit: Hit) -> list[set[str]]:
    return [set(_terms(text)) | set(_terms(hit.chunk.path)) for text in _split(source_text(hit))]


@lru_cache(maxsize=2_000)
def _split(text: str) -> tuple[str, ...]:
    return tuple(text[span.start : span.end] for span in sentences(text))


@lru_cache(maxsize=20_000)
def _terms(text: str) -> tuple[str, ...]:
    return tuple(analyze(text))
