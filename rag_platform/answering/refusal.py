"""Whether the documents answer a question at all, told from what was found; calibrated, with its features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rag_platform.types import Hit

__all__ = ["Gate"]


class Gate(Protocol):
    """Tells that the documents do not answer."""

    def refuses(self, question: str, hits: Sequence[Hit], *, is_read: bool) -> bool:
        """Say whether a question is refused; ``is_read``: a model reads the hits and can refuse itself."""
        ...
