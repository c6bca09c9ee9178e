"""Where a passage stands: the headings and legal divisions of a document as paths.

Headings come from the regions that readers note; legal divisions are recognised in text of any origin, line
by line in ``legal``. Nothing is cut here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

import regex

from rag_platform.chunking.legal import (
    CHAPTER,
    CLAUSE,
    PART,
    SCHEDULES,
    SUBCLAUSE,
    Division,
    Line,
    numbered,
    plain,
    read_line,
    read_split_line,
    subclause,
    subclause_after,
)
from rag_platform.text.dates import ascii_digits
from rag_platform.types import Document, Region

__all__ = ["Outline", "outline"]

SEPARATOR = " > "
_MIN_CONTENTS = 4
"""So many lines of titles without a body between them are a table of contents."""
_MIN_CLAUSES = 3
"""Fewer numbered lines with titles do not make a text an act."""
_MAX_GAP = 20
"""Clauses that extraction loses in a row, at most, before a number is taken for a stray one."""

_ACT = regex.compile(
    r"(?:ऐन|संविधान|नियमावली|विधेयक|अध्यादेश|संहिता|कार्यविधि|निर्देशिका|मापदण्ड)(?![ऀ-ॿ])|\b(?:Act|Constitution|Rules|Regulations|Code|Bill)\b"
)
_PAGE_NUMBER = regex.compile(r"[\s\-–—]*[०-९0-9]{1,4}[\s\-–—]*")


class Outline:
    """The divisions of a document with their paths.

    Args:
        text: The document's text.
        divisions: In order.
    """

    def __init__(self, text: str, divisions: Sequence[Division]) -> None:
        self.divisions = tuple(divisions)
        self._text = text
        self._starts = [division.start for division in divisions]
        self._paths: list[str] = []
        self._sections: list[str] = []
        stack: list[Division] = []
        for division in divisions:
            cut = next((at for at, above in enumerate(stack) if _closes(division, above)), len(stack))
            stack = [*stack[:cut], division]
            self._paths.append(SEPARATOR.join(one.label for one in stack))
            self._sections.append(next((_section(one) for one in stack if one.rank == CLAUSE), ""))

    def path(self, start: int, end: int) -> str:
        """Return the path of the passage ``[start, end)``: headings that begin it belong to it."""
        at = bisect_right(self._starts, start) - 1
        position = max(start, self.divisions[at].end) if at >= 0 else start
        while at + 1 < len(self.divisions):
            following = self.divisions[at + 1]
            between = self._text[position : following.start]
            if following.start >= end or following.rank == SUBCLAUSE or between.strip("#*_:ः।.–—- \t\n"):
                break
            at, position = at + 1, max(position, following.end)
        return self._paths[at] if at >= 0 else ""

    def sections(self, start: int, end: int) -> tuple[str, ...]:
        """Return the numbers of the sections, articles or rules that ``[start, end)`` is part of."""
        at = bisect_right(self._starts, start) - 1
        after = bisect_left(self._starts, end, lo=at + 1)
        begins_anew = at + 1 < after and not self._text[start : self._starts[at + 1]].strip()
        touched = self._sections[at + 1 if begins_anew or at < 0 else at : after]
        return tuple(dict.fromkeys(number for number in touched if number))


def outline(document: Document) -> Outline:
    """Return the outline of a document."""
    lines = list(_joined(document.text, list(_lines(document))))
    in_contents = _contents(lines)
    kept = [line for at, line in enumerate(lines) if at not in in_contents]
    clauses = _clauses(kept)
    return Outline(document.text, list(_divisions(kept, clauses, _clause_word(document.text))))


def _section(clause: Division) -> str:
    """Return the number of a clause with ASCII digits: that of ``दफा ९क`` is ``9क``."""
    return ascii_digits(clause.key.rpartition(" ")[2])


def _closes(new: Division, above: Division) -> bool:
    """Say whether a new division ends one that is open."""
    if new.level and above.level:
        return above.level >= new.level or bool(new.rank and above.rank >= new.rank)
    if new.rank:
        return above.rank >= new.rank
    return above.rank >= CLAUSE


def _lines(document: Document) -> Iterator[Line]:
    """Yield the lines that are not blank; a heading is one, however many lines it has."""
    for page, span in zip(document.pages, document.page_spans, strict=True):
        headings = {region.start: region for region in page.regions if region.kind == "heading"}
        skipped = sorted((r for r in page.regions if r.kind == "table"), key=lambda r: r.start)
        at = 0
        while at < len(page.text):
            region = headings.get(at)
            end = region.end if region else page.text.find("\n", at)
            end = len(page.text) if end < 0 else end
            if page.text[at:end].strip() and not _is_inside(at, skipped):
                yield read_line(span.start + at, page.text[at:end], region.level if region else 0)
            at = end + 1


def _joined(text: str, lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines with numbers that stand alone joined to the titles below them."""
    at = 0
    while at < len(lines):
        whole = read_split_line(text, lines[at], lines[at + 1]) if at + 1 < len(lines) else None
        yield whole or lines[at]
        at += 2 if whole else 1


def _is_inside(at: int, regions: Sequence[Region]) -> bool:
    before = bisect_right(regions, at, key=lambda region: region.start) - 1
    return before >= 0 and at < regions[before].end


def _contents(lines: Sequence[Line]) -> set[int]:
    """Return which lines belong to a table of contents: divisions one after the other without a body."""
    found: set[int] = set()
    run: list[int] = []
    for at, line in enumerate(lines):
        if line.is_title and not line.level:
            run.append(at)
            continue
        found.update(_listed(lines, run))
        run = []
    found.update(_listed(lines, run))
    return found


def _listed(lines: Sequence[Line], run: Sequence[int]) -> Sequence[int]:
    """Return the part of a run of title-like lines that lists divisions; the last may be a real heading."""
    inked = [at for at in run if not _PAGE_NUMBER.fullmatch(lines[at].text)]
    legal = [at for at in inked if (division := lines[at].division) is not None and division.rank]
    clauses = [at for at in legal if lines[at].division.rank == CLAUSE]  # type: ignore[union-attr]
    if len(clauses) < _MIN_CONTENTS:
        return ()
    # The first clause of the body follows the list directly where it begins with headings.
    last = clauses[-1]
    drops = [a for a, b in pairwise(clauses) if _number(lines, b) <= _number(lines, a)]
    if drops:
        last = drops[0]
    listed = [at for at in run if at <= last]
    titles = [at for at in inked if legal[0] <= at <= last]
    n_legal = sum(at <= last for at in legal)
    return listed if n_legal >= max(_MIN_CONTENTS, 0.4 * len(titles)) else ()


def _number(lines: Sequence[Line], at: int) -> float:
    division = lines[at].division
    return division.number if division else 0


def _clauses(lines: Sequence[Line]) -> set[int]:
    """Return the starts of the lines that are clauses: named ones, or numbers that rise through an act.

    A document writes its clauses in one of the two ways; the other is what they mention or list.
    """
    named = {line.start for line in lines if _is_named_clause(line)}
    marked = {line.start for line in lines if _is_named_clause(line) and line.level}
    numbered = _numbered_clauses(lines)
    return numbered | marked if len(numbered) > len(named) else named


def _numbered_clauses(lines: Sequence[Line]) -> set[int]:
    has_parts = any(line.division and 0 < line.division.rank <= CHAPTER for line in lines)
    if not has_parts and not any(_ACT.search(line.text) for line in lines[:6] if line.is_title):
        return set()
    marked = any(line.is_bare and line.level for line in lines)
    accepted: set[int] = set()
    for act in _acts(lines):
        candidates = [line for line in act if line.is_bare and bool(line.level) == marked]
        numbers = [line.division.number for line in candidates if line.division]
        accepted.update(candidates[at].start for at in _rising(numbers))
    return accepted if len(accepted) >= _MIN_CLAUSES else set()


def _is_named_clause(line: Line) -> bool:
    return line.division is not None and line.division.rank == CLAUSE and not line.is_bare


def _acts(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Part the lines where parts or chapters begin anew: another act follows. Schedules are left out."""
    act: list[Line] = []
    last = {PART: 0.0, CHAPTER: 0.0}
    in_schedule = False
    for line in lines:
        division = line.division
        if division is not None and 0 < division.rank <= CHAPTER:
            in_schedule = division.key.split(" ")[0] in SCHEDULES
            if not in_schedule:
                if division.number == 1 and last[division.rank] > 1:
                    yield act
                    act = []
                last[division.rank] = division.number
                if division.rank == PART:
                    last[CHAPTER] = 0.0
        if not in_schedule:
            act.append(line)
    yield act


def _rising(numbers: Sequence[float]) -> list[int]:
    """Return the positions of the longest strictly rising choice of numbers; among equals the earliest end.

    A misread number or a list inside a clause then costs itself, not what follows.
    """
    tails: list[float] = []
    ends: list[int] = []
    before: list[int] = []
    for at, number in enumerate(numbers):
        place = bisect_left(tails, number)
        before.append(ends[place - 1] if place else -1)
        if place == len(tails):
            tails.append(number)
            ends.append(at)
        else:
            tails[place], ends[place] = number, at
    chosen: list[int] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        chosen.append(at)
        at = before[at]
    return _without_strays([*reversed(chosen)], numbers)


def _without_strays(chosen: list[int], numbers: Sequence[float]) -> list[int]:
    """Drop one or two numbers at the end that stand far above the rest: years, sums, page numbers."""
    for n_strays in (1, 2):
        if len(chosen) > n_strays and numbers[chosen[-n_strays]] - numbers[chosen[-n_strays - 1]] > _MAX_GAP:
            return chosen[:-n_strays]
    return chosen


def _clause_word(text: str) -> str:
    """Return what the document calls its clauses: by the name of their parts, which it mentions."""
    names = {"दफा": "उपदफा", "धारा": "उपधारा", "नियम": "उपनियम"}
    return max(names, key=lambda word: text.count(names[word]))


def _divisions(lines: Sequence[Line], clauses: set[int], word: str) -> Iterator[Division]:
    """Yield what really opens: headings, named divisions, accepted clauses with their sub-clauses."""
    running: dict[int, str] = {}
    clause = ""
    last_sub = 0.0
    for line in lines:
        division = line.division
        if line.is_bare and division is not None:
            division = numbered(line, division, word) if line.start in clauses else plain(line, division)
        elif _is_named_clause(line) and line.start not in clauses:
            division = None
        if division is None:
            sub = subclause(line, clause, last_sub)
            if sub is not None:
                last_sub = sub.number
                yield sub
            continue
        if 0 < division.rank <= CHAPTER:
            if running.get(division.rank) == division.key:
                continue
            running[division.rank] = division.key
            if division.rank == PART:
                running.pop(CHAPTER, None)
        yield division
        clause, last_sub = "", 0.0
        if division.rank == CLAUSE:
            clause = division.key.split(" ")[0]
            sub = subclause_after(line, division, clause)
            if sub is not None:
                last_sub = sub.number
                yield sub
