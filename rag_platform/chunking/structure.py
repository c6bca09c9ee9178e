"""Where a passage stands: the headings and legal divisions of a document as paths.

Headings come from the regions that readers note; legal divisions (भाग, परिच्छेद, दफा, उपदफा, अनुसूची and their
English names) are recognised in text of any origin. Nothing is cut here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import regex

from rag_platform.types import Document, Region

__all__ = ["Division", "Outline", "outline"]

SEPARATOR = " > "
PART, CHAPTER, CLAUSE, SUBCLAUSE = 1, 2, 3, 4
"""Ranks of legal divisions; a schedule stands beside the parts."""

_MAX_TITLE = 60
_MAX_HEADING_LINE = 120
_MAX_CONTENTS_LINE = 140
_MIN_CONTENTS = 4
"""So many lines of titles without a body between them are a table of contents."""
_MIN_CLAUSES = 3
"""Fewer numbered lines with titles do not make a text an act."""

_MAX_GAP = 20
"""Clauses that extraction loses in a row, at most, before a number is taken for a stray one."""

_NUMBER = r"(?P<number>[०-९]{1,4}[क-ह]?|[0-9]{1,4}[A-Z]?)"
_DASH = r"[\s\-–—:ः.]*"
_DIVISION = regex.compile(
    rf"(?P<word>भाग|खण्ड|परिच्छेद|अनु?स[ुू]च[ीि]|दफा|धारा|नियम){_DASH}(?:{_NUMBER}|(?P<spelt>एक|दुई|तीन|चार|पाँच|छ|सात|"
    rf"आठ|नौ|दश|दस)(?=\s*(?:$|[:–—-])))(?![ऀ-ॿ0-9A-Za-z])(?P<rest>.*)"
    rf"|(?P<word>(?i:part|chapter|schedule|annex)|Section|SECTION|Article|ARTICLE){_DASH}"
    rf"(?:{_NUMBER}|(?P<number>[IVXLC]{{1,7}}))\b(?P<rest>.*)"
    r"|(?P<word>अनुसूची|Schedule|SCHEDULE)\s*(?P<rest>)$"
)
_BARE = regex.compile(rf"{_NUMBER}\s?[.।]\s*(?P<rest>[^\s\d].*)")
_SUB = regex.compile(r"\((?P<number>[०-९]{1,3}[क-ह]?|[0-9]{1,3}[a-z]?)\)\s+(?P<rest>\S.*)")
_RANKS = {
    "भाग": PART, "खण्ड": PART, "part": PART, "अनुसूची": PART, "schedule": PART, "annex": PART,
    "परिच्छेद": CHAPTER, "chapter": CHAPTER, "दफा": CLAUSE, "धारा": CLAUSE, "नियम": CLAUSE, "section": CLAUSE,
    "article": CLAUSE,
}  # fmt: skip
_SCHEDULES = frozenset({"अनुसूची", "schedule", "annex"})
_SUBCLAUSES = {
    "दफा": "उपदफा", "धारा": "उपधारा", "नियम": "उपनियम", "section": "Subsection", "article": "Clause",
}  # fmt: skip
_GOES_ON = regex.compile(
    r"(?:को|का|की|मा|ले|लाई|र|वा|तथा|एवं)(?![ऀ-ॿ])|(?:बाट|द्वारा|बमोजिम|अनुसार|सम्म|देखि|मध्ये|अन्तर्गत|भित्र|सँग|जस्तै|लगायत|समेत"
    r"|विपरीत|मुताबिक|बाहेक|सम्बन्धी)|\p{Ll}|[,;)”\"']|।\s*\S"
)
"""What stands after a number that a sentence mentions, not after that of a heading."""
_TITLE_END = regex.compile(r"\s?[:ः]-?(?=\s|$|\()|\s[–—-]\s*(?=\()|\s(?=\([१1]\))")
_ACT = regex.compile(
    r"(?:ऐन|संविधान|नियमावली|विधेयक|अध्यादेश|संहिता|कार्यविधि|निर्देशिका|मापदण्ड)(?![ऀ-ॿ])|\b(?:Act|Constitution|Rules|Regulations|Code|Bill)\b"
)
_MARKS = regex.compile(r"\s*(?:#{1,6}\s+)?[*_]{0,3}")
_LEADER = regex.compile(r"(?:\s*[.…·]{3,}\s*|\t+\s*|\s{3,})[०-९0-9]*\s*$")
_PAGE_NUMBER = regex.compile(r"[\s\-–—]*[०-९0-9]{1,4}[\s\-–—]*")


@dataclass(frozen=True, slots=True)
class Division:
    """A heading or the beginning of a legal division.

    Attributes:
        start: Its first code point in the document.
        end: One past its title: what follows is its body.
        label: As it stands in a path.
        rank: ``PART`` to ``SUBCLAUSE`` of a legal division; 0 of another heading.
        level: Of a heading that the source marks as one; 0 where only the text tells.
        key: Name and number of a legal division; the same again is a running head.
        number: Its number, inserted ones (``९क``) between; 0 without one.
    """

    start: int
    end: int
    label: str
    rank: int = 0
    level: int = 0
    key: str = ""
    number: float = 0


@dataclass(frozen=True, slots=True)
class _Line:
    """A line with what it may begin."""

    start: int
    text: str
    level: int
    division: Division | None
    is_bare: bool = False

    @property
    def is_title(self) -> bool:
        """Say whether it could stand in a table of contents."""
        return len(self.text) <= _MAX_CONTENTS_LINE and "।" not in self.text.rstrip("। ")[3:]


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
        stack: list[Division] = []
        for division in divisions:
            cut = next((at for at, above in enumerate(stack) if _closes(division, above)), len(stack))
            stack = [*stack[:cut], division]
            self._paths.append(SEPARATOR.join(one.label for one in stack))

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


def outline(document: Document) -> Outline:
    """Return the outline of a document."""
    lines = list(_lines(document))
    in_contents = _contents(lines)
    kept = [line for at, line in enumerate(lines) if at not in in_contents]
    clauses = _clauses(kept)
    return Outline(document.text, list(_divisions(kept, clauses, _clause_word(document.text))))


def _closes(new: Division, above: Division) -> bool:
    """Say whether a new division ends one that is open."""
    if new.level and above.level:
        return above.level >= new.level or bool(new.rank and above.rank >= new.rank)
    if new.rank:
        return above.rank >= new.rank
    return above.rank >= CLAUSE


def _lines(document: Document) -> Iterator[_Line]:
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
                yield _line(span.start + at, page.text[at:end], region.level if region else 0)
            at = end + 1


def _is_inside(at: int, regions: Sequence[Region]) -> bool:
    before = bisect_right(regions, at, key=lambda region: region.start) - 1
    return before >= 0 and at < regions[before].end


def _line(start: int, text: str, level: int) -> _Line:
    marks = _MARKS.match(text)
    first = marks.end() if marks else 0
    body = text[first:].rstrip("*_ ")
    found = _DIVISION.fullmatch(body.rstrip("# "))
    if found and (level or _is_heading(body, found["rest"])):
        return _Line(start, body, level, _named(found, start, first, level))
    bare = _BARE.fullmatch(body)
    if bare and (level or not _GOES_ON.match(bare["rest"]) or bare["rest"][0].islower()):
        title = _title(bare["rest"], whole=bool(level))
        if title:
            end = start + first + bare.start("rest") + len(title)
            division = Division(start, end, title, CLAUSE, level, "", _value(bare["number"]))
            return _Line(start, body, level, replace(division, key=bare["number"]), is_bare=True)
    if level:
        label = _short(" ".join(body.rstrip("# ").split()))
        return _Line(start, body, level, Division(start, start + len(text), label, 0, level))
    return _Line(start, body, 0, None)


def _is_heading(body: str, rest: str) -> bool:
    """Say whether a line that begins as a division is its heading, not a sentence that mentions it."""
    rest = rest.lstrip(" \t-–—:ः.")
    if not rest:
        return True
    if _GOES_ON.match(rest):
        return False
    word = _DIVISION.match(body)
    if word and _RANKS[_word(word["word"])] == CLAUSE:
        return bool(_title(rest))
    return len(body) <= _MAX_HEADING_LINE and "।" not in rest.rstrip("। ")


def _word(word: str) -> str:
    return "अनुसूची" if word.startswith("अन") else word.lower()


def _named(found: regex.Match[str], start: int, first: int, level: int) -> Division:
    word = _word(found["word"])
    number = found["number"] or found["spelt"] or ""
    rank = _RANKS[word]
    rest = found["rest"].lstrip(" \t-–—:ः.।")
    title = _title(rest, whole=rank < CLAUSE or bool(level))
    shown = word if word in _SUBCLAUSES or not word.isascii() else word.title()
    name = f"{shown if not word.isascii() else word.title()} {number}".strip()
    end = start + first + (found.end("rest") - len(rest) + len(title) if title else found.end())
    label = f"{name}: {_short(title)}" if title else name
    return Division(start, end, label, rank, level, f"{word} {number}", _value(number))


def _title(rest: str, *, whole: bool = False) -> str:
    """Return the title that begins a line; nothing where the line is a sentence without one."""
    rest = _LEADER.sub("", rest).rstrip("# ")
    end = _TITLE_END.search(rest)
    if end and end.start() <= _MAX_HEADING_LINE:
        return rest[: end.start()].rstrip()
    if whole or (len(rest) <= _MAX_HEADING_LINE and "।" not in rest):
        return rest.rstrip(":ः। ")
    return ""


def _short(title: str) -> str:
    if len(title) <= _MAX_TITLE:
        return title
    return title[: _MAX_TITLE + 1].rsplit(" ", 1)[0].rstrip(",;: ") + "…"


_SPELT = {
    "एक": 1, "दुई": 2, "तीन": 3, "चार": 4, "पाँच": 5, "छ": 6, "सात": 7, "आठ": 8, "नौ": 9, "दश": 10, "दस": 10,
}  # fmt: skip
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def _value(number: str) -> float:
    """Return a number for ordering; an inserted one (``९क``, ``9A``) stands right after its own."""
    if number in _SPELT:
        return _SPELT[number]
    digits = regex.match(r"\d+", number)
    if digits:
        letter = number[digits.end() :]
        return int(digits[0]) + (ord(letter) % 64 + 1) / 100 if letter else int(digits[0])
    values = [_ROMAN[letter] for letter in number if letter in _ROMAN]
    return sum(-v if any(w > v for w in values[at + 1 : at + 2]) else v for at, v in enumerate(values))


def _contents(lines: Sequence[_Line]) -> set[int]:
    """Return which lines belong to a table of contents: divisions one after the other without a body."""
    found: set[int] = set()
    run: list[int] = []
    for at, line in enumerate([*lines, _Line(0, "।" * _MAX_CONTENTS_LINE * 2, 0, None)]):
        if line.is_title and not line.level and not _SUB.match(line.text):
            run.append(at)
            continue
        found.update(_listed(lines, run))
        run = []
    return found


def _listed(lines: Sequence[_Line], run: Sequence[int]) -> Sequence[int]:
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


def _number(lines: Sequence[_Line], at: int) -> float:
    division = lines[at].division
    return division.number if division else 0


def _clauses(lines: Sequence[_Line]) -> set[int]:
    """Return the starts of the lines that are clauses: named ones, or numbers that rise through an act.

    A document writes its clauses in one of the two ways; the other is what they mention or list.
    """
    named = {line.start for line in lines if _is_named_clause(line)}
    marked = {line.start for line in lines if _is_named_clause(line) and line.level}
    numbered = _numbered_clauses(lines)
    return numbered | marked if len(numbered) > len(named) else named


def _numbered_clauses(lines: Sequence[_Line]) -> set[int]:
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


def _is_named_clause(line: _Line) -> bool:
    return line.division is not None and line.division.rank == CLAUSE and not line.is_bare


def _acts(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Part the lines where parts or chapters begin anew: another act follows. Schedules are left out."""
    act: list[_Line] = []
    last = {PART: 0.0, CHAPTER: 0.0}
    in_schedule = False
    for line in lines:
        division = line.division
        if division is not None and 0 < division.rank <= CHAPTER:
            in_schedule = division.key.split(" ")[0] in _SCHEDULES
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


def _divisions(lines: Sequence[_Line], clauses: set[int], word: str) -> Iterator[Division]:
    """Yield what really opens: headings, named divisions, accepted clauses with their sub-clauses."""
    running: dict[int, str] = {}
    clause = ""
    last_sub = 0.0
    for line in lines:
        division = line.division
        if line.is_bare and division is not None:
            division = _numbered(line, division, word) if line.start in clauses else _plain(line, division)
        elif _is_named_clause(line) and line.start not in clauses:
            division = None
        if division is None:
            sub = _subclause(line, clause, last_sub)
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
            sub = _subclause_after(line, division, clause)
            if sub is not None:
                last_sub = sub.number
                yield sub


def _numbered(line: _Line, division: Division, word: str) -> Division:
    title = division.label
    name = word if regex.search(r"\p{Devanagari}", line.text) else "section"
    shown = name if not name.isascii() else name.title()
    return replace(division, label=f"{shown} {division.key}: {_short(title)}", key=f"{name} {division.key}")


def _plain(line: _Line, division: Division) -> Division | None:
    """Return a numbered line that is no clause: a heading if the source says so, else nothing."""
    if not line.level:
        return None
    return replace(division, label=_short(line.text.rstrip("# :")), rank=0, key="", number=0)


def _subclause(line: _Line, clause: str, last: float) -> Division | None:
    found = _SUB.fullmatch(line.text) if clause else None
    if found is None or (_GOES_ON.match(found["rest"]) and not found["rest"][0].isascii()):
        return None
    number = _value(found["number"])
    if not last < number <= last + 3:
        return None
    return _sub(found["number"], line.start, line.start + len(f"({found['number']})"), clause)


def _subclause_after(line: _Line, division: Division, clause: str) -> Division | None:
    """Return the sub-clause that begins on its clause's own line."""
    offset = division.end - line.start
    found = regex.compile(r"[\s:ः–—-]*(\((?P<number>[१1])\))\s").match(line.text, offset)
    if found is None:
        return None
    return _sub(found["number"], line.start + found.start(1), line.start + found.end(1), clause)


def _sub(number: str, start: int, end: int, clause: str) -> Division:
    name = _SUBCLAUSES[clause]
    return Division(start, end, f"{name} ({number})", SUBCLAUSE, 0, f"{name} {number}", _value(number))
