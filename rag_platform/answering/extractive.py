"""The generator that needs no model: the sentences of the passages that answer, cited, or a refusal.

Deterministic: equal questions over equal passages give equal answers. Nothing is rewritten.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex

from rag_platform.answering.prompts import refusal
from rag_platform.text.analyze import PIECE_WEIGHT, analyze, terms
from rag_platform.text.language import is_function_word
from rag_platform.text.normalize import search_key
from rag_platform.text.segment import sentences
from rag_platform.types import Answer, Passage

__all__ = ["ExtractiveGenerator", "question_words"]

_VERSION = 3
_SENTENCES = 2
_SUPPORT = 0.34
"""Share of the question's weight that the best sentence must hold; below, the question is refused."""
_SECOND = 0.75
"""A further sentence holds at least so much of what the best one holds."""
_RANK = 0.05
"""What a sentence loses with each passage before its own: the order of the search counts, but little."""
_FACT = 0.15
"""What a sentence gains for a number or date where the question asks for one."""
_ASKS_NUMBER = regex.compile(
    r"कति|कहिले|मिति|कुन (?:दिन|साल|वर्ष)"
    r"|\b(?:when|how (?:many|much|long|old)|what (?:date|time|year)|kati|kahile)\b",
    regex.I,
)
_QUESTION_WORDS = (
    "के को कसले कसको कसलाई कहाँ कहिले कति किन कसरी कुन कस्तो कस्ता हो हुन् छ छन् हुन्छ गर्ने गर्नु गर्नुपर्छ पर्छ र वा को मा ले"
    " लाई का की बाट देखि सम्म लागि भने यो त्यो"
)
_STOP = regex.compile(r"[।॥.!]+[\"'”’»)]*$")
_QUESTION = regex.compile(r"""\?['")\]”’*_]*$""")
_BELOW_HEADER = regex.compile(r"[^\S\n]*\n[^\S\n]*\|[\s:|-]+\|")


class ExtractiveGenerator:
    """Answers with sentences of the passages.

    A sentence weighs as much as the question's terms that it holds, each by how rare it is among the
    passages; terms of the sentence before it and of what stands above count half.

    Args:
        n_sentences: Sentences of an answer at most.
        support: Share of the question's weight below which it is refused.
    """

    name = "extractive"

    def __init__(self, *, n_sentences: int = _SENTENCES, support: float = _SUPPORT) -> None:
        self._n_sentences, self._support = n_sentences, support
        self.recipe = f"extractive v{_VERSION}|{n_sentences} sentences|support {support}"

    def unrefusing(self) -> ExtractiveGenerator:
        """Return one that always answers, for a caller who has decided that there is an answer."""
        return ExtractiveGenerator(n_sentences=self._n_sentences, support=0.0)

    def answer(self, question: str, passages: Sequence[Passage]) -> Answer:
        """Return the best sentences in the order of the passages, each with its citation, or a refusal."""
        asked = _asked_terms(question)
        ranked = sorted(_ranked(question, asked, passages), key=lambda found: -found.score)
        if not ranked or ranked[0].share < self._support:
            return Answer(refusal(question), refused=True)
        chosen: list[_Sentence] = []
        for found in ranked:
            is_new = all(search_key(found.text) != search_key(other.text) for other in chosen)
            if is_new and found.score >= _SECOND * ranked[0].score and len(chosen) < self._n_sentences:
                chosen.append(found)
        chosen.sort(key=lambda found: (found.passage, found.position))
        cited = tuple(sorted({found.passage for found in chosen}))
        return Answer(" ".join(map(_marked, chosen)), citations=cited)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a passage; ``share`` is how much of the question it holds, ``score`` what it is worth."""

    text: str
    passage: int
    position: int
    share: float
    score: float


def _ranked(question: str, asked: Mapping[str, float], passages: Sequence[Passage]) -> list[_Sentence]:
    rarity = _rarity(asked, passages)
    total = sum(weight * rarity[term] for term, weight in asked.items())
    wants_number = bool(_ASKS_NUMBER.search(question))
    found = []
    for number, passage in enumerate(passages, start=1):
        last: frozenset[str] = frozenset()
        for position, (text, above) in enumerate(_sentences(passage.text)):
            own, before = frozenset(terms(text)), last | frozenset(terms(f"{passage.path} {above}"))
            held = sum(
                weight * rarity[term] * (1.0 if term in own else 0.5 if term in before else 0.0)
                for term, weight in asked.items()
            )
            share = held / total if total else 0.0
            gain = _FACT if wants_number and any(map(str.isnumeric, text)) else 0.0
            score = share * (1 + gain - min(_RANK * (number - 1), 0.5))
            found.append(_Sentence(text, number, position, share, score))
            last = own
    return found


def _asked_terms(question: str) -> dict[str, float]:
    """Return the terms of a question that say what is asked, words at 1 and pieces below."""
    words = [word for word in question.split() if search_key(word).strip("?।.,") not in question_words()]
    kept = " ".join(word for word in words if not is_function_word(word.strip("?.,!").lower())) or question
    whole = set(analyze(kept))
    return {term: 1.0 if term in whole else PIECE_WEIGHT for term in terms(kept)}


@lru_cache(maxsize=1)
def question_words() -> frozenset[str]:
    """Return the words that ask and name nothing, folded."""
    return frozenset(map(search_key, _QUESTION_WORDS.split()))


def _rarity(asked: Mapping[str, float], passages: Sequence[Passage]) -> dict[str, float]:
    """Return ``log(1 + (n + 1) / (df + 0.5))`` over the sentences of the passages."""
    held = [frozenset(terms(text)) for passage in passages for text, _ in _sentences(passage.text)]
    counts = {term: sum(term in one for one in held) for term in asked}
    return {term: math.log(1 + (len(held) + 1) / (n + 0.5)) for term, n in counts.items()}


@lru_cache(maxsize=2_000)
def _sentences(text: str) -> tuple[tuple[str, str], ...]:
    """Return the sentences of a passage that can answer, each with the heading or question above it.

    A heading and a question answer nothing; a row of a table is said with the names of its columns.
    """
    found: list[tuple[str, str]] = []
    above, columns = "", []
    for span in sentences(text):
        sentence = " ".join(text[span.start : span.end].split())
        is_row = sentence.startswith("|") and sentence.endswith("|")
        if is_row and _BELOW_HEADER.match(text, span.end):
            columns = _cells(sentence)
        elif is_row:
            found.append((_row(_cells(sentence), columns), f"{above} {' '.join(columns)}"))
        elif sentence.startswith("#") or _QUESTION.search(sentence):
            above, columns = sentence, []
        else:
            columns = []
            found.append((sentence, above))
    return tuple(found)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def _row(cells: Sequence[str], columns: Sequence[str]) -> str:
    """Return a row as words.

    >>> _row(["शिक्षा", "", "१,०५०"], ["क्षेत्र", "चालु", "जम्मा"])
    'क्षेत्र: शिक्षा; जम्मा: १,०५०'
    """
    names = columns if len(columns) == len(cells) else [""] * len(cells)
    return "; ".join(
        f"{n.rstrip('?:। ')}: {cell}" if n else cell for n, cell in zip(names, cells, strict=True) if cell
    )


def _marked(found: _Sentence) -> str:
    """Return a sentence with its citation before the full stop."""
    stop = _STOP.search(found.text)
    end = stop.start() if stop else len(found.text)
    return f"{found.text[:end].rstrip()} [{found.passage}]{found.text[end:] or '।'}"
