"""What calls of language models may cost, and how many there may be.

A budget stops new calls only: what was kept from before is free. Who counts, and what a stop leaves, is the
callers' (``answering``, ``questions``).
"""

from __future__ import annotations

from dataclasses import dataclass

from rag_platform.errors import RagError

__all__ = ["Budget", "BudgetSpent"]


class BudgetSpent(RagError):
    """A call was due and none is allowed any more; who set the budget tells why there is no more."""


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

    def require(self) -> None:
        """Allow one more call.

        Raises:
            BudgetSpent: None is allowed.
        """
        if self.exhausted:
            raise BudgetSpent(self.exhausted)

    def take(self, cost: float, calls: int = 1) -> None:
        """Count calls that were made."""
        self.spent += cost
        self.called += calls
