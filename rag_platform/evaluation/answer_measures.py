"""Measures of an answer that need no judge: words, characters, numbers, citations, support, refusals.

Each is a function of texts; ``answer_scores`` gives all of one answer with a status, so that what was not
measured is never a value. Formulas stand in the docstrings; judged measures stand in ``judge``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import regex

from rag_platform.answering.facts import agreement
from rag_platform.answering.support import Claim, ClaimSupport, claims_of, support, without_marks
from rag_platform.text.analyze import analyze
from rag_platform.text.normalize import search_key
from rag_platform.text.segment import grapheme_boundaries
from rag_platform.types import Answer

__all__ = [
    "ANSWER_MEASURES",
    "VERSION",
    "Measured",
    "Refusals",
    "Unit",
    "answer_scores",
    "chrf",
    "citation_validity",
    "exact",
    "faithfulness",
    "refusals",
    "token_f1",
    "unsupported",
]

VERSION = "answer-measures-2"
"""Version of all formulas and rules here; part of the fingerprint of a score."""

Unit = Literal["word", "grapheme"]
Status = Literal["ok", "failed", "skipped"]

ANSWER_MEASURES = (
    "exact", "F1", "F1 graphemes", "chrF", "numbers", "citations", "faithful", "answered", "refusal",
)  # fmt: skip
"""In the order in which they are shown."""

_NOT_TOKEN = regex.compile(r"[^\p{L}\p{M}\p{N}%]+")
_ORDER = 6
_BETA = 2.0


@dataclass(frozen=True, slots=True)
class Measured:
    """A value with its status; NaN unless ``ok``, and then the reason is empty."""

    value: float
    status: Status = "ok"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Refusals:
    """How well a system knows what it cannot answer.

    Attributes:
        precision: Share of its refusals that were right; 0 without a refusal.
        recall: Share of the unanswerable questions that it refused; 0 without such a question.
        answered: Share of the answerable questions that it answered; 0 without such a question.
        n_refused: Refusals; ``n_unanswerable`` and ``n_answerable`` the questions of each kind.
    """

    precision: float
    recall: float
    answered: float
    n_refused: int
    n_unanswerable: int
    n_answerable: int


def exact(answer: str, reference: str, unit: Unit = "word") -> float:
    """Return 1 where the two are equal, else 0: folded words in order, or folded graphemes without spaces.

    >>> exact("सङ्घ २० गते।", "संघ 20 गते"), exact("प्रति दिन", "प्रतिदिन")
    (1.0, 0.0)
    >>> exact("प्रति दिन", "प्रतिदिन", "grapheme")
    1.0
    """
    return float(_units(answer, unit) == _units(reference, unit))


def token_f1(answer: str, reference: str, unit: Unit = "word") -> float:
    """Return the harmonic mean of precision and recall of the tokens that both have, as a bag.

    Words are folded and stemmed as in search, graphemes folded. Range 0 to 1; two empty texts are 1, one
    empty text 0. Rajpurkar et al., SQuAD, EMNLP 2016.

    >>> token_f1("कोठा १०४ मा", "कोठा नम्बर 104")  # two of three, two of three
    0.6666666666666666
    """
    ours, theirs = _tokens(answer, unit), _tokens(reference, unit)
    if not ours or not theirs:
        return float(not ours and not theirs)
    common = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * common / (len(ours) + len(theirs))


def chrf(answer: str, reference: str, *, order: int = _ORDER, beta: float = _BETA) -> float:
    """Return the F-score of character n-grams of 1 to ``order``, spaces aside.

    Precision and recall are averaged over n first. Range 0 to 1: sacreBLEU's chrF2 divided by 100. Texts
    are taken as they are: fold them first where spelling must not count. Popović, chrF, WMT 2015.

    >>> round(chrf("cat", "cats"), 4)
    0.6886
    """
    ours, theirs = "".join(answer.split()), "".join(reference.split())
    precisions, recalls = [], []
    for n in range(1, order + 1):
        some, others = _grams(ours, n), _grams(theirs, n)
        if some and others:
            common = sum((some & others).values())
            precisions.append(common / sum(some.values()))
            recalls.append(common / sum(others.values()))
    if not precisions:
        return 0.0
    precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    weighted = beta**2 * precision + recall
    return (1 + beta**2) * precision * recall / weighted if weighted else 0.0


def faithfulness(answer: str, passages: Sequence[str]) -> float | None:
    """Return the share of the answer's claims that the passages support.

    A lower bound: rules of ``answering.support`` pass no changed, denied or invented claim, and no free
    paraphrase. None where the answer states nothing, or in another script than all passages.
    """
    found = _supports(answer, passages)
    return sum(one.passage is not None for one in found) / len(found) if found else None


def unsupported(answer: str, passages: Sequence[str]) -> list[tuple[str, str]]:
    """Return the claims that the passages do not support, each with the reason."""
    return [(one.claim.text, one.reason) for one in _supports(answer, passages) if one.passage is None]


def citation_validity(answer: str, passages: Sequence[str]) -> float | None:
    """Return the share of the answer's claims whose citations hold.

    A claim's citations hold when it has one, each names a passage that there is, and one of these supports
    it. None where the answer states nothing, or in another script than the passages that it cites.
    """
    held = [one for claim in claims_of(answer) if (one := _holds(claim, passages)) is not None]
    return sum(held) / len(held) if held else None


def refusals(refused: Sequence[bool], answerable: Sequence[bool]) -> Refusals:
    """Count refusals over questions, answerable and not; the two run in parallel.

    >>> found = refusals([True, False, True, False], [False, False, True, True])
    >>> found.precision, found.recall, found.answered
    (0.5, 0.5, 0.5)
    """
    pairs = list(zip(refused, answerable, strict=True))
    right = sum(r and not a for r, a in pairs)
    n_refused, n_answerable = sum(r for r, _ in pairs), sum(a for _, a in pairs)
    n_unanswerable = len(pairs) - n_answerable
    return Refusals(
        precision=right / n_refused if n_refused else 0.0,
        recall=right / n_unanswerable if n_unanswerable else 0.0,
        answered=sum(a and not r for r, a in pairs) / n_answerable if n_answerable else 0.0,
        n_refused=n_refused,
        n_unanswerable=n_unanswerable,
        n_answerable=n_answerable,
    )


def answer_scores(
    answer: Answer, *, reference: str, passages: Sequence[str], answerable: bool = True
) -> dict[str, Measured]:
    """Return all measures of one answer by name, in the order of ``ANSWER_MEASURES``.

    A refused question that could be answered scores 0 where it is compared with the reference, and is left
    out (``skipped``) where there are no claims to judge; ``answered`` and ``refusal`` show it. A question
    that cannot be answered has no reference to be compared with.

    Args:
        answer: What the generator said.
        reference: A right answer; empty where none is known.
        passages: What the generator read, in the order of its citations.
        answerable: The documents answer the question.
    """
    text = without_marks(answer.text)
    compared = _compared(answer, text, reference, answerable=answerable)
    claims: dict[str, Callable[[str, Sequence[str]], float | None]] = {
        "citations": citation_validity,
        "faithful": faithfulness,
    }
    judged = {name: _claimed(answer, measure, passages) for name, measure in claims.items()}
    decided = {
        "answered": Measured(float(not answer.refused)) if answerable else _skipped("not answerable"),
        "refusal": Measured(float(answer.refused != answerable)),
    }
    found = compared | judged | decided
    return {name: found[name] for name in ANSWER_MEASURES}


def _compared(answer: Answer, text: str, reference: str, *, answerable: bool) -> dict[str, Measured]:
    names = ("exact", "F1", "F1 graphemes", "chrF", "numbers")
    if not answerable or not reference.strip():
        reason = "no reference answer" if answerable else "not answerable"
        return {name: _skipped(reason) for name in names}
    given = "" if answer.refused else text
    numbers = agreement(given, reference)
    return {
        "exact": Measured(exact(given, reference)),
        "F1": Measured(token_f1(given, reference)),
        "F1 graphemes": Measured(token_f1(given, reference, "grapheme")),
        "chrF": Measured(chrf(search_key(given), search_key(reference))),
        "numbers": _skipped("no number in the reference") if numbers is None else Measured(numbers),
    }


def _claimed(
    answer: Answer, measure: Callable[[str, Sequence[str]], float | None], passages: Sequence[str]
) -> Measured:
    if answer.refused:
        return _skipped("refused")
    value = measure(answer.text, passages)
    return _skipped("no claim that can be compared with the passages") if value is None else Measured(value)


def _skipped(reason: str) -> Measured:
    return Measured(float("nan"), "skipped", reason)


def _supports(answer: str, passages: Sequence[str]) -> list[ClaimSupport]:
    found = (support(claim, passages) for claim in claims_of(answer))
    return [one for one in found if one is not None]


def _holds(claim: Claim, passages: Sequence[str]) -> bool | None:
    """Say whether the citations of a claim hold, None where they cannot be compared with it."""
    numbers = claim.citations
    if not numbers or not all(1 <= number <= len(passages) for number in numbers):
        return False
    found = support(claim, [passages[number - 1] for number in numbers])
    return None if found is None else found.passage is not None


def _units(text: str, unit: Unit) -> list[str]:
    """Return folded words, or folded graphemes, without punctuation and citation marks."""
    key = search_key(without_marks(text))
    words = [kept for word in key.split() if (kept := _NOT_TOKEN.sub("", word))]
    if unit == "word":
        return words
    joined = "".join(words)
    ends = grapheme_boundaries(joined) if joined else []
    return [joined[start:end] for start, end in pairwise(ends)]


def _tokens(text: str, unit: Unit) -> list[str]:
    return analyze(without_marks(text)) if unit == "word" else _units(text, unit)


def _grams(text: str, n: int) -> Counter[str]:
    return Counter(text[start : start + n] for start in range(len(text) - n + 1))
