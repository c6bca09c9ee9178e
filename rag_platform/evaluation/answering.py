"""The part of a sweep that costs money: answers to the questions, their measures, a judge, and a budget.

A budget stops new calls only: what is kept is scored to the end, and the rest is marked as skipped, so that
repeating the sweep with a larger one goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rag_platform.errors import RagError
from rag_platform.evaluation.scoring import Found, answer_row, failed_rows
from rag_platform.evaluation.steps import Answered, Steps
from rag_platform.protocols import Generator
from rag_platform.types import fingerprint

__all__ = ["Answering", "Budget", "Scores"]

Row = dict[str, object]


@dataclass(slots=True)
class Budget:
    """What calls to language models may cost, and how many there may be.

    Attributes:
        cost: US dollars; None: any.
        calls: Number of calls; None: any.
    """

    cost: float | None = None
    calls: int | None = None
    spent: float = 0.0
    called: int = 0

    @property
    def exhausted(self) -> str:
        """Why no call is allowed any more; empty: one is."""
        if self.cost is not None and self.spent >= self.cost:
            return f"the budget of {self.cost:g} US dollars is spent"
        if self.calls is not None and self.called >= self.calls:
            return f"the budget of {self.calls} calls is used up"
        return ""

    def take(self, cost: float, calls: int = 1) -> None:
        """Count calls that were made."""
        self.spent += cost
        self.called += calls


@dataclass(slots=True)
class Scores:
    """Rows of one question, and why it could not be finished; empty: it was."""

    scores: list[Row]
    answer: Row
    stopped: str = ""


@dataclass(slots=True)
class Answering:
    """Answers and scores one question of a cell.

    Attributes:
        generator: What answers; None: nothing does.
        budget: What the calls may cost.
    """

    generator: Generator | None = None
    budget: Budget = field(default_factory=Budget)
    done: Counter[str] = field(default_factory=Counter)
    stopped: str = ""
    judged: Sequence[str] = ()
    measures: Sequence[str] = ()

    @property
    def recipe(self) -> str:
        """What the scores of answers depend on, passages apart."""
        return fingerprint(self.generator.recipe if self.generator else "", self.measures, self.judged)

    def of(self, found: Found, steps: Steps) -> Scores:
        """Answer a question from its passages and score the answer."""
        contexts = found.contexts
        if self.generator is None:
            return Scores([], answer_row(found.case, contexts, None))
        try:
            answered = self._answered(self.generator, found, steps)
        except RagError as error:
            return Scores(
                failed_rows(found.case, self.measures, str(error)), answer_row(found.case, contexts, None)
            )
        if answered is None:
            self.stopped = self.budget.exhausted
            rows = failed_rows(found.case, self.measures, self.stopped, status="skipped")
            return Scores(rows, answer_row(found.case, contexts, None), self.stopped)
        return Scores([], answer_row(found.case, contexts, answered))

    def _answered(self, generator: Generator, found: Found, steps: Steps) -> Answered | None:
        """Return the answer, or None where a call is due and the budget is spent."""
        chunks = [hit.chunk for hit in found.contexts]
        is_local = generator.name == "extractive"
        if not is_local and self.budget.exhausted:
            kept = steps.memo.get(steps.answer_key(generator, found.case, chunks))
            if kept is None:
                return None
        answered = steps.answered(generator, found.case, chunks)
        if not answered.repeated and not is_local:
            self.budget.take(answered.answer.usage.cost)
        return answered
