"""The sentences of passages by how well each answers a question: by its words and, with vectors, its meaning.

Nothing is written or refused here: answers are made in ``extractive``, refusals in ``refusal``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import regex

from rag_platform.answering.asked import Kind, asked_kind
from rag_platform.answering.nearness import Nearness
from rag_platform.retrieval.fusion import COVERAGE_POWER
from rag_platform.text.analyze import PIECE_WEIGHT, analyze, terms
from rag_platform.text.language import is_function_word
from rag_platform.text.normalize import search_key
from rag_platform.text.segment import sentences
from rag_platform.types import Passage

__all__ = ["Ranked", "Sentence", "question_words", "ranked"]

_COMPARED = 12
"""Sentences whose vectors are made: what a question costs at most (docs/answers.md)."""
_MEANING, _WORDS = 0.7, 0.3
"""Weights of cosine and shared words, those of a search."""
_FACT = 0.15
"""What a sentence gains by its words for having what is asked for: a number, a date."""
_KIND, _TITLE, _LATER = 0.09, 0.3, 0.015
"""In units of what all of a question's words are worth in search: what a sentence gains for having the kind
of thing that is asked for, what a title loses, and what each passage loses to the one before it."""
_RANK = 0.05
"""By words alone, what a sentence loses with each passage before its own: the order counts, but little."""
_LONGEST_TITLE = 8
_QUESTION_WORDS = (
    "के को कसले कसको कसलाई कहाँ कहिले कति किन कसरी कुन कस्तो कस्ता हो हुन् छ छन् हुन्छ गर्ने गर्नु गर्नुपर्छ पर्छ र वा को मा ले"
    " लाई का की बाट देखि सम्म लागि भने यो त्यो"
)
_QUESTION = regex.compile(r"""\?['")\]”’*_]*$""")
_BELOW_HEADER = regex.compile(r"[^\S\n]*\n[^\S\n]*\|[\s:|-]+\|")
_NO_TITLE = regex.compile(r"""\p{N}|\||[।॥.!?:;,)\]"'”’»]$|^[-*•–]\s|^\(?\p{L}{1,3}[.)।]\s""")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage.

    Attributes:
        passage: Number of its passage, from 1; ``position`` from 0 within it.
        share: How much of the question's words it holds, rare ones more, 0 to 1.
        score: What it is worth as an answer.
    """

    text: str
    passage: int
    position: int
    share: float
    score: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """Sentences, best first, and what they say together about whether the question is answered.

    Attributes:
        is_near: Their meaning was compared, too.
        best: The most that one says of the question, the order of the search apart.
        lacks_kind: A kind of thing is asked for that the best sentence has not.
    """

    sentences: tuple[Sentence, ...]
    is_near: bool = False
    best: float = 0.0
    lacks_kind: bool = False


def ranked(
    question: str, passages: Sequence[Passage], *, reading: str = "", near: Nearness | None = None
) -> Ranked:
    """Rank the sentences of passages.

    With vectors a sentence is worth what a passage is worth in a calibrated search: its cosine, and the share
    of the question's words that it has. Without, that share alone. Terms of the sentence before it and of
    what stands above count half.

    Args:
        question: As it was asked.
        passages: The best first.
        reading: The question in Devanagari, where it was typed in Latin letters.
        near: Compares meanings; None: words tell alone.
    """
    read = reading or question
    kind = asked_kind(question) or asked_kind(read)
    found = _shares(read, passages)
    if near is None or not found:
        worded = [_worded(one, kind) for one in found]
        best = sorted(worded, key=lambda one: -one.score)
        return Ranked(tuple(best), best=max((one.share for one in found), default=0.0))
    return _by_meaning(question, reading, found, kind, near)


def _worded(found: Sentence, kind: Kind | None) -> Sentence:
    gain = _FACT if kind and kind.is_in(found.text) else 0.0
    return _scored(found, found.share * (1 + gain - min(_RANK * (found.passage - 1), 0.5)))


def _by_meaning(
    question: str, reading: str, found: Sequence[Sentence], kind: Kind | None, near: Nearness
) -> Ranked:
    """Rank those sentences by meaning, too, that are most promising by their words and place."""
    told = np.array([_WORDS * one.share**COVERAGE_POWER - _TITLE * _is_title(one.text) for one in found])
    has = np.array([kind is not None and kind.is_in(one.text) for one in found])
    placed = _KIND * has - _LATER * np.array([one.passage - 1 for one in found])
    compared = np.argsort(-(told + placed), kind="stable")[:_COMPARED]
    cosines = near.of(question, reading, [found[i].text for i in compared])
    evidence = _MEANING * cosines + told[compared]
    scores = evidence + placed[compared]
    order = np.argsort(-scores, kind="stable")
    return Ranked(
        tuple(_scored(found[compared[i]], float(scores[i])) for i in order),
        is_near=True,
        best=float(evidence.max()),
        lacks_kind=kind is not None and not has[compared[order[0]]],
    )


def _scored(found: Sentence, score: float) -> Sentence:
    return Sentence(found.text, found.passage, found.position, found.share, score)


def _shares(question: str, passages: Sequence[Passage]) -> list[Sentence]:
    """Return the sentences in their order, each with its share of the question's words."""
    asked = _asked_terms(question)
    rarity = _rarity(asked, passages)
    total = sum(weight * rarity[term] for term, weight in asked.items())
    found = []
    for number, passage in enumerate(passages, start=1):
        last: frozenset[str] = frozenset()
        for position, (text, above) in enumerate(_sentences(passage.text)):
            own, before = frozenset(terms(text)), last | frozenset(terms(f"{passage.path} {above}"))
            held = sum(
                weight * rarity[term] * (1.0 if term in own else 0.5 if term in before else 0.0)
                for term, weight in asked.items()
            )
            found.append(Sentence(text, number, position, held / total if total else 0.0, 0.0))
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


def _is_title(sentence: str) -> bool:
    """Say whether a sentence looks like a title: short, without a stop, and with nothing to tell.

    >>> _is_title("नागरिकता सिफारिस सेवा"), _is_title("फोन: ०८०-५५५०१०१"), _is_title("कर तिर्नुपर्छ।")
    (True, False, False)
    """
    return len(sentence.split()) <= _LONGEST_TITLE and not _NO_TITLE.search(sentence)
