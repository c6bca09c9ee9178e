"""The part of a sweep that costs money: answers to the questions, their measures, a judge, and a budget.

A budget stops new calls only: what is kept is scored to the end, and the rest is marked as skipped, so that
repeating the sweep with a larger one goes on.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Protocol

from rag_platform.errors import RagError
from rag_platform.evaluation.answer_measures import ANSWER_MEASURES, VERSION, Measured, answer_scores
from rag_platform.evaluation.budget import Budget
from rag_platform.evaluation.judge.agreement import repeat_deviation
from rag_platform.evaluation.judge.cases import (
    RETRIEVAL_AVG,
    RETRIEVAL_METRICS,
    JudgeCase,
    Scored,
    retrieval_average,
)
from rag_platform.evaluation.memo import Memo
from rag_platform.evaluation.scoring import Found, answer_row, failed_rows, score_row
from rag_platform.evaluation.steps import Answered, Steps
from rag_platform.protocols import Generator
from rag_platform.types import fingerprint

__all__ = ["Answering", "Budget", "Judging", "Scores"]

Row = dict[str, object]
_LOCAL = ("extractive",)
"""Generators that call no language model."""
_UNREAD = Scored("skipped", math.nan, "answered without passages, on purpose")
_ABOUT_PASSAGES = ("citations", "faithful", "Faithfulness", "Supported Claims", *RETRIEVAL_METRICS)
"""Measures of which an answer without passages has none."""


class Judging(Protocol):
    """What judges answers."""

    @property
    def name(self) -> str:
        """LiteLLM's name of the model."""
        ...

    @property
    def recipe(self) -> str:
        """Model, prompts and options as one string."""
        ...

    def score(self, case: JudgeCase, metric: str, *, repeat: int = 0) -> Scored:
        """Return what became of one metric; a reply that was had before is not asked for again.

        Another ``repeat`` asks the same once more.
        """
        ...


@dataclass(slots=True)
class Scores:
    """Rows of one question, and why it could not be finished; empty: it was."""

    scores: list[Row]
    answer: Row
    stopped: str = ""
    repeats: list[Row] = field(default_factory=list)


@dataclass(slots=True)
class Answering:
    """Answers and scores one question of a cell.

    Attributes:
        generator: What answers; None: nothing does.
        budget: What the calls may cost.
        judge: What judges; None: nothing does.
        metrics: Of the judge.
        workers: Metrics of a question that are judged at once: so many calls a killed sweep may repeat.
        repeats: Times that everything is judged; the first is the score, the others show how sure it is.
        done: Work that was not kept from before.
        repeated: Of each metric, the values of all repeats case by case.
        stopped: Why no call is made any more.
    """

    generator: Generator | None = None
    budget: Budget = field(default_factory=Budget)
    judge: Judging | None = None
    metrics: Sequence[str] = ()
    workers: int = 1
    repeats: int = 1
    done: Counter[str] = field(default_factory=Counter)
    repeated: dict[str, list[list[float]]] = field(default_factory=dict)
    stopped: str = ""

    @property
    def deviations(self) -> dict[str, float]:
        """How far each metric moves when the same is judged again: the judge's own standard deviation."""
        return {name: repeat_deviation(values) for name, values in self.repeated.items()}

    @property
    def judged(self) -> tuple[str, ...]:
        """Names of what a judge says; without answers only of what is about passages."""
        if self.judge is None:
            return ()
        about_passages = [name for name in self.metrics if name in RETRIEVAL_METRICS]
        asked = self.metrics if self.generator else about_passages
        return (*asked, *([RETRIEVAL_AVG] if len(about_passages) == len(RETRIEVAL_METRICS) else []))

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of all measures beside those of ranking."""
        return (*(ANSWER_MEASURES if self.generator else ()), *self.judged)

    @property
    def recipe(self) -> str:
        """What the scores of answers depend on, passages apart."""
        generator, judge = (one.recipe if one else "" for one in (self.generator, self.judge))
        again = (self.repeats,) if self.repeats > 1 else ()
        return fingerprint(generator, judge, VERSION, self.measures, *again)

    def of(self, found: Found, steps: Steps) -> Scores:
        """Answer a question from its passages and score the answer."""
        contexts, case = found.contexts, found.case
        answered = None
        if self.generator is not None:
            try:
                answered = self._answered(self.generator, found, steps)
            except RagError as error:
                rows = failed_rows(case, self.measures, f"no answer: {error}")
                return Scores(rows, answer_row(case, contexts, None))
            if answered is None:
                rows = failed_rows(case, self.measures, self.stopped, status="skipped")
                return Scores(rows, answer_row(case, contexts, None), self.stopped)
        measured = [] if answered is None else list(_measured(found, answered, steps.memo))
        judged, repeats, stopped = self._judged(found, answered, steps)
        return Scores([*measured, *judged], answer_row(case, contexts, answered), stopped, repeats)

    def _answered(self, generator: Generator, found: Found, steps: Steps) -> Answered | None:
        """Return the answer, or None where a call is due and the budget is spent."""
        chunks = [hit.chunk for hit in found.contexts]
        is_local = generator.name in _LOCAL
        if not is_local and self.budget.exhausted:
            key = steps.answer_key(generator, found.case, chunks, alone=found.is_alone)
            kept = steps.memo.get(key)
            if kept is None:
                self.stopped = self.budget.exhausted
                return None
        answered = steps.answered(generator, found.case, chunks, alone=found.is_alone)
        if not answered.repeated and not is_local:
            self.budget.take(answered.answer.usage.cost)
        return answered

    def _judged(
        self, found: Found, answered: Answered | None, steps: Steps
    ) -> tuple[list[Row], list[Row], str]:
        """Return the judge's scores of one question, its repeats, and why some are missing."""
        if self.judge is None:
            return [], [], ""
        answer = answered.answer if answered else None
        unread = {name: _UNREAD for name in _ABOUT_PASSAGES if found.is_alone}
        case = JudgeCase(
            found.case.query,
            answer.text if answer else "",
            tuple(hit.chunk.indexed_text for hit in found.contexts),
            found.case.reference_answer,
            bool(answer and answer.refused),
        )
        names = [name for name in self.judged if name != RETRIEVAL_AVG]
        with ThreadPoolExecutor(self.workers) as pool:
            asked = pool.map(lambda name: unread.get(name) or self._asked(case, name, steps.memo), names)
            scores = dict(zip(names, asked, strict=True))
        repeats = [
            _repeat_row(found, metric, repeat, one)
            for metric, asked_again in self._repeat(case, scores, steps.memo).items()
            for repeat, one in enumerate(asked_again)
        ]
        if RETRIEVAL_AVG in self.judged:
            scores[RETRIEVAL_AVG] = retrieval_average(scores)
        made = fingerprint(self.judge.recipe, case)
        rows = [_judged_row(found, name, one, fingerprint(made, name)) for name, one in scores.items()]
        is_stopped = any(one.status == "skipped" and one.reason == self.stopped for one in scores.values())
        return rows, repeats, self.stopped if is_stopped else ""

    def _repeat(self, case: JudgeCase, scores: Mapping[str, Scored], memo: Memo) -> dict[str, list[Scored]]:
        """Have what was judged judged again, as often as is wanted; return all that the judge said of it."""
        found = {}
        for metric, first in scores.items():
            if first.status == "ok" and self.repeats > 1:
                others = [self._asked(case, metric, memo, repeat) for repeat in range(1, self.repeats)]
                found[metric] = [first, *others]
                self.repeated.setdefault(metric, []).append([one.value for one in found[metric]])
        return found

    def _asked(self, case: JudgeCase, metric: str, memo: Memo, repeat: int = 0) -> Scored:
        """Return one score: kept, or asked for; with the budget spent, nothing is asked."""
        assert self.judge is not None
        again = (repeat,) if repeat else ()
        key = fingerprint("judged", self.judge.recipe, case, metric, *again)
        kept = memo.get(key)
        if kept is not None:
            return Scored(**{**kept, "calls": 0, "details": tuple(kept["details"])})
        if self.budget.exhausted:
            self.stopped = self.budget.exhausted
            return Scored("skipped", float("nan"), self.stopped)
        scored = self.judge.score(case, metric, repeat=repeat)
        if scored.status == "ok":
            memo.put(key, asdict(scored))
        if scored.calls:
            self.budget.take(scored.cost, scored.calls)
            self.done["judge calls"] += scored.calls
        return scored


def _measured(found: Found, answered: Answered, memo: Memo) -> Iterator[Row]:
    """Yield the measures of an answer that need no judge, computed once for the same answer."""
    case = found.case
    for name, one in _kept_scores(found, answered, memo).items():
        if found.is_alone and name in _ABOUT_PASSAGES:
            one = Measured(math.nan, "skipped", _UNREAD.reason)
        made = fingerprint(answered.fingerprint, case.reference_answer, case.answerable, VERSION, name)
        yield score_row(case, name, one.value, status=one.status, reason=one.reason, made=made)


def _kept_scores(found: Found, answered: Answered, memo: Memo) -> dict[str, Measured]:
    case, answer = found.case, answered.answer
    said = (answered.fingerprint, answer.text, answer.refused)
    key = fingerprint("answer measures", VERSION, *said, case.reference_answer, case.answerable)
    kept = memo.get(key)
    if kept is None:
        texts = [hit.chunk.indexed_text for hit in found.contexts]
        scores = answer_scores(
            answer, reference=case.reference_answer, passages=texts, answerable=case.answerable
        )
        memo.put(key, {name: asdict(one) for name, one in scores.items()})
        return scores
    return {name: Measured(**one) for name, one in kept.items()}


def _repeat_row(found: Found, metric: str, repeat: int, one: Scored) -> Row:
    return {
        "query_id": found.case.case_id,
        "measure": metric,
        "repeat": repeat,
        "value": one.value if one.status == "ok" else math.nan,
        "status": one.status,
        "reason": one.reason,
    }


def _judged_row(found: Found, name: str, one: Scored, made: str) -> Row:
    return score_row(
        found.case,
        name,
        one.value,
        status=one.status,
        reason=one.reason,
        seconds=one.seconds,
        tokens=one.tokens,
        cost=one.cost,
        made=made,
    )
