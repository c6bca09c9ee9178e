"""The generator that needs no model: the sentences of the passages that answer, cited, or a refusal.

Deterministic: equal questions over equal passages give equal answers. Nothing is rewritten. How sentences are
ranked stands in ``ranked``.
"""

from __future__ import annotations

from collections.abc import Sequence

import regex

from rag_platform.answering.nearness import Nearness
from rag_platform.answering.prompts import refusal
from rag_platform.answering.ranked import Ranked, Sentence, ranked
from rag_platform.answering.refusal import ALONE_RECIPE, answers_alone
from rag_platform.retrieval.question import Question
from rag_platform.text.normalize import search_key
from rag_platform.text.romanize import WordVocabulary, reading
from rag_platform.types import Answer, Passage, fingerprint

__all__ = ["ExtractiveGenerator"]

_VERSION = 4
_SENTENCES = 2
_SUPPORT = 0.34
"""By words alone, the share of the question's weight that the best sentence must hold, or it is refused."""
_SECOND, _SECOND_NEAR = 0.75, 0.85
"""A further sentence is worth at least so much of what the best one is; by meaning sentences differ less."""
_STOP = regex.compile(r"[।॥.!]+[\"'”’»)]*$")


class ExtractiveGenerator:
    """Answers with sentences of the passages.

    Args:
        n_sentences: Sentences of an answer at most.
        support: By words alone, the share of the question's weight below which it is refused.
        near: Compares the meaning of sentences, so that a question in one language gets the sentences in
            another that answer it; None: words tell alone.
    """

    name = "extractive"

    def __init__(
        self, *, n_sentences: int = _SENTENCES, support: float = _SUPPORT, near: Nearness | None = None
    ) -> None:
        self._n_sentences, self._support, self._near = n_sentences, support, near
        by = f"near {near.recipe} {fingerprint(ALONE_RECIPE)}" if near else f"support {support}"
        self.recipe = f"extractive v{_VERSION}|{n_sentences} sentences|{by}"

    def by(self, near: Nearness | None) -> ExtractiveGenerator:
        """Return this one with what compares sentences."""
        return ExtractiveGenerator(n_sentences=self._n_sentences, support=self._support, near=near)

    def answer(self, question: str, passages: Sequence[Passage]) -> Answer:
        """Return the best sentences in the order of the passages, each with its citation, or a refusal."""
        found = self.ranked(question, passages, _read(question, passages))
        is_told = answers_alone(question, found) if found.is_near else found.best >= self._support
        return self.told(found) if is_told and found.sentences else Answer(refusal(question), refused=True)

    def ranked(self, question: str, passages: Sequence[Passage], reading: str = "") -> Ranked:
        """Return the sentences of the passages, the best first."""
        return ranked(question, passages, reading=reading, near=self._near)

    def told(self, found: Ranked) -> Answer:
        """Return the best of ranked sentences, one at least, as an answer."""
        best, second = found.sentences[0], _SECOND_NEAR if found.is_near else _SECOND
        chosen: list[Sentence] = []
        for one in found.sentences:
            is_new = all(search_key(one.text) != search_key(other.text) for other in chosen)
            if is_new and one.score >= second * best.score and len(chosen) < self._n_sentences:
                chosen.append(one)
        chosen = sorted(chosen or [best], key=lambda one: (one.passage, one.position))
        cited = tuple(sorted({one.passage for one in chosen}))
        return Answer(" ".join(map(_marked, chosen)), citations=cited)


def _read(question: str, passages: Sequence[Passage]) -> str:
    """Return romanized Nepali as the words of the passages read it; empty for any other question."""
    asked = Question.of(question)
    if not asked.is_romanized:
        return ""
    return reading(asked.text, WordVocabulary.of_texts(passage.text for passage in passages)).text


def _marked(found: Sentence) -> str:
    """Return a sentence with its citation before the full stop."""
    stop = _STOP.search(found.text)
    end = stop.start() if stop else len(found.text)
    return f"{found.text[:end].rstrip()} [{found.passage}]{found.text[end:] or '।'}"
