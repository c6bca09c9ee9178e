"""What drafting questions would take, counted before any model is called.

Passages and drafts are counted, calls are known between two ends; tokens are estimated from the very prompts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from rag_platform.evaluation.budget import Budget
from rag_platform.evaluation.judge.calls import JudgeModel
from rag_platform.evaluation.question_kinds import QUESTION_KINDS, check_prompt, draft_prompt
from rag_platform.evaluation.questions import DRAFTS_A_QUESTION, OTHERS, Corpus, generate, shares, targets
from rag_platform.remote import price_of
from rag_platform.types import Chunk

__all__ = ["KindPlan", "QuestionPlan", "plan_questions"]

_BYTES_A_TOKEN = 2
"""The most tokens: Claude's older tokenizer reads 2.2 bytes of Nepali in a token, GPT-4's 2.5, GPT-4o's 7."""
_DRAFTED, _CHECKED = 300, 20
"""Tokens of a reply: a question with answer and evidence in Devanagari, and a list of numbers."""


@dataclass(frozen=True, slots=True)
class KindPlan:
    """What one kind of question has before it.

    Attributes:
        kind: Its name.
        wanted: Questions, those included that kept replies give.
        kept: Questions that the replies of an earlier call give; they cost nothing.
        passages: Of the collection, that allow such a question.
        drafts: Still to be made at most.
    """

    kind: str
    wanted: int
    kept: int
    passages: int
    drafts: int


@dataclass(frozen=True, slots=True)
class QuestionPlan:
    """What drafting has before it.

    Attributes:
        kinds: Of each kind.
        calls: Fewest and most: two a question where every draft is kept, two a draft where each is tried to
            the end. A malformed reply is asked for up to twice more, beyond both.
        tokens: Read and written, for the fewest and for the most calls; estimated.
        cost: In US dollars, for both; None: the model's price is not known.
    """

    kinds: tuple[KindPlan, ...]
    calls: tuple[int, int]
    tokens: tuple[int, int]
    cost: tuple[float, float] | None


def plan_questions(
    corpus: Corpus, model: JudgeModel, *, kinds: Sequence[str], n: int, seed: int = 0
) -> QuestionPlan:
    """Return what ``generate`` with the same arguments would take; no model is called.

    Raises:
        UnknownName: There is no such kind.
        CallerError: No kind is named, or fewer than one question is wanted.
    """
    made = generate(corpus, model, kinds=kinds, n=n, seed=seed, budget=Budget(calls=0))  # from kept replies
    tried = Counter(one.kind for one in made.refused) + Counter(made.by_kind)
    plans, prompts, fewest = [], [], 0
    usual = _usual_passage(corpus)
    for kind, share in shares(kinds, n).items():
        found = [chunks for _, chunks in targets(corpus, kind, seed)]
        kept = made.by_kind.get(kind, 0)
        left = len(found) if kept < share else tried[kind]
        drafts = min(left, DRAFTS_A_QUESTION * share) - tried[kind]
        plans.append(KindPlan(kind, share, kept, len(found), drafts))
        prompts += [
            _tokens(kind, chunks, usual) for chunks in islice(found, tried[kind], tried[kind] + drafts)
        ]
        fewest += min(share - kept, drafts)
    read = sum(prompts) / len(prompts) if prompts else 0.0
    ends = (fewest, len(prompts))
    price = price_of(model.endpoint.model)
    written = _DRAFTED + _CHECKED
    return QuestionPlan(
        tuple(plans),
        (2 * ends[0], 2 * ends[1]),
        (round(ends[0] * (read + written)), round(ends[1] * (read + written))),
        None
        if price is None
        else (
            ends[0] * (read * price.read + written * price.written),
            ends[1] * (read * price.read + written * price.written),
        ),
    )


def _tokens(kind: str, chunks: Sequence[Chunk], usual: float) -> float:
    """Return the tokens that a draft and its check read."""
    drafted, checked = draft_prompt(QUESTION_KINDS[kind], chunks), check_prompt("", chunks)
    return (len(drafted.encode()) + len(checked.encode()) + OTHERS * usual) / _BYTES_A_TOKEN


def _usual_passage(corpus: Corpus) -> float:
    """Return the bytes of a passage in the mean."""
    sizes = [
        len(chunk.indexed_text.encode()) for source in corpus.sources for chunk in corpus.load(source)[1]
    ]
    return sum(sizes) / len(sizes) if sizes else 0.0
