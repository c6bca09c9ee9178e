"""Gaps in the numbers of a document's दफा (or धारा, नियम, Section, Article): what extraction may have lost.

The numbers that must not miss a neighbour come from the chunks' paths, which the outline of the whole
document made; numbers at the beginning of lines only fill: a list inside a clause invents no gap.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import regex

__all__ = ["Clauses", "Gap"]

_IN_PATH = regex.compile(
    r"(?:दफा|धारा|नियम|Section|Article)\s+(?P<number>[०-९]{1,4}|[0-9]{1,4})(?=[^\d०-९]|$)"
)
_SCHEDULE = ("अनुसूची", "Schedule", "Annex")
_IN_TEXT = regex.compile(
    r"^[#*_\s|]*(?:दफा|धारा|नियम|Section|SECTION|Article|ARTICLE)?[\s:–-]*(?P<number>[०-९]{1,4}|[0-9]{1,4})"
    r"(?:[क-ह]|[A-Z])?(?![\d०-९,/])",
    regex.M,
)
_MIN_CLAUSES = 3
"""Fewer do not make an act."""
_MAX_LOST = 20
"""More in a row are not lost: the numbers are of another count."""
_FIRST = 2
"""A number up to this after higher ones begins another act in the same document."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Numbers that are missing between two that are there."""

    after: int
    before: int
    missing: tuple[int, ...]


@dataclass(slots=True)
class Clauses:
    """The numbers of one document's clauses, chunk by chunk in any order."""

    _by_chunk: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list)

    def add(self, ordinal: int, path: str, text: str) -> None:
        """Take a chunk's numbers: that of its path (0: none), and those that begin its lines."""
        parts = path.split(" > ")
        if any(part.startswith(_SCHEDULE) for part in parts):
            return
        numbers = [int(found["number"]) for part in parts if (found := _IN_PATH.match(part))]
        begun = tuple(int(found["number"]) for found in _IN_TEXT.finditer(text))
        insort(self._by_chunk, (ordinal, numbers[-1] if numbers else 0, begun))

    def gaps(self) -> list[Gap]:
        """Return the gaps, act by act; inserted clauses (९क) neither are nor make one."""
        return [gap for named, begun in self._acts() for gap in _gaps(named, begun)]

    def _acts(self) -> list[tuple[set[int], set[int]]]:
        """Return, for each act in the document, the numbers of its paths and those that begin lines."""
        acts: list[tuple[set[int], set[int]]] = [(set(), set())]
        for _, number, begun in self._by_chunk:
            named = acts[-1][0]
            if number and number <= _FIRST and named and max(named) > _FIRST + 1:
                acts.append((set(), set()))
            if number:
                acts[-1][0].add(number)
            acts[-1][1].update(begun)
        return acts


def _gaps(named: set[int], begun: set[int]) -> Sequence[Gap]:
    if len(named) < _MIN_CLAUSES:
        return []
    found = []
    for after, before in pairwise(sorted(named)):
        missing = tuple(number for number in range(after + 1, before) if number not in begun)
        if missing and before - after - 1 <= _MAX_LOST:
            found.append(Gap(after, before, missing))
    return found
