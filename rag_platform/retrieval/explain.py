"""Why a search found what it found: what was understood, what each part brought, how long each step took."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from rag_platform.text.romanize import TokenReading
from rag_platform.types import Condition, Fusion
from rag_platform.watching import spent

__all__ = ["Explanation", "Stopwatch"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reasons of one search.

    Attributes:
        normal_form: How the words of the question are compared: folded.
        language: Of the question.
        reading: The question in Devanagari, where it was typed in Latin letters; else empty.
        expansions: What each of its Latin words may mean.
        terms: Weight of each searched term, and the number of chunks that hold it.
        conditions: What had to hold for a passage to be searched.
        candidates: Number of passages each part brought.
        fusion: How the parts were fused; None where there was one part.
        match: What a full lexical match is worth as a difference of cosines; 0 where nothing is calibrated.
        reranker: What read question and candidates together; ``none``.
        wordings: The other wordings that were searched, too; the other fields are of the question itself.
        notes: What was done otherwise than asked, and why.
        milliseconds: Time of each step; ``memory`` alone where the same search was made before.
    """

    normal_form: str
    language: str
    reading: str = ""
    expansions: tuple[TokenReading, ...] = ()
    terms: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    candidates: Mapping[str, int] = field(default_factory=dict)
    fusion: Fusion | None = None
    match: float = 0.0
    reranker: str = "none"
    wordings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    milliseconds: Mapping[str, float] = field(default_factory=dict)


class Stopwatch:
    """Adds up the time of named steps, and tells it to whoever watches the request."""

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Count what runs inside."""
        start = time.perf_counter()
        try:
            yield
        finally:
            took = 1_000 * (time.perf_counter() - start)
            self.milliseconds[name] = round(self.milliseconds.get(name, 0.0) + took, 3)
            spent(name, took)
