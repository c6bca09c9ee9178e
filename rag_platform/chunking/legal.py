"""Lines that begin a legal division: भाग, परिच्छेद, दफा, उपदफा, अनुसूची, their English names, bare numbers.

One line at a time, with no view of the document: which of them really open something, ``structure`` decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import regex

__all__ = [
    "CHAPTER",
    "CLAUSE",
    "PART",
    "SCHEDULES",
    "SUBCLAUSE",
    "Division",
    "Line",
    "numbered",
    "plain",
    "read_line",
    "read_split_line",
    "subclause",
    "subclause_after",
]

PART, CHAPTER, CLAUSE, SUBCLAUSE = 1, 2, 3, 4
"""Ranks of legal divisions; a schedule stands beside the parts."""

_MAX_TITLE = 60
_MAX_HEADING_LINE = 120
_MAX_CONTENTS_LINE = 140

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
_NUMBER_ALONE = regex.compile(rf"{_NUMBER}\s?[.।]")
_SUB = regex.compile(r"\((?P<number>[०-९]{1,3}[क-ह]?|[0-9]{1,3}[a-z]?)\)\s+(?P<rest>\S.*)")
_RANKS = {
    "भाग": PART, "खण्ड": PART, "part": PART, "अनुसूची": PART, "schedule": PART, "annex": PART,
    "परिच्छेद": CHAPTER, "chapter": CHAPTER, "दफा": CLAUSE, "धारा": CLAUSE, "नियम": CLAUSE, "section": CLAUSE,
    "article": CLAUSE,
}  # fmt: skip
SCHEDULES = frozenset({"अनुसूची", "schedule", "annex"})
_SUBCLAUSES = {
    "दफा": "उपदफा", "धारा": "उपधारा", "नियम": "उपनियम", "section": "Subsection", "article": "Clause",
}  # fmt: skip
_GOES_ON = regex.compile(
    r"(?:को|का|की|मा|ले|लाई|र|वा|तथा|एवं)(?![ऀ-ॿ])|(?:बाट|द्वारा|बमोजिम|अनुसार|सम्म|देखि|मध्ये|अन्तर्गत|भित्र|सँग|जस्तै|लगायत|समेत"
    r"|विपरीत|मुताबिक|बाहेक|सम्बन्धी)|\p{Ll}|[,;)”\"']|।\s*\S"
)
"""What stands after a number that a sentence mentions, not after that of a heading."""
_TITLE_END = regex.compile(r"\s?[:ः]-?(?=\s|$|\()|\s[–—-]\s*(?=\()|\s(?=\([१1]\))")
_MARKS = regex.compile(r"\s*(?:#{1,6}\s+)?[*_]{0,3}")
_LEADER = regex.compile(r"(?:\s*[.…·]{3,}\s*|\t+\s*|\s{3,})[०-९0-9]*\s*$")


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
class Line:
    """A line with what it may begin."""

    start: int
    text: str
    level: int
    division: Division | None
    is_bare: bool = False

    @property
    def is_title(self) -> bool:
        """Say whether it could stand in a table of contents."""
        is_short = len(self.text) <= _MAX_CONTENTS_LINE and "।" not in self.text.rstrip("। ")[3:]
        return is_short and _SUB.match(self.text) is None


def read_line(start: int, text: str, level: int) -> Line:
    """Return a line with the division it may begin.

    Args:
        start: Its place in the document.
        text: The line; a heading may be several.
        level: Of a heading that the source marks; 0 of others.
    """
    marks = _MARKS.match(text)
    first = marks.end() if marks else 0
    body = text[first:].rstrip("*_ ")
    found = _DIVISION.fullmatch(body.rstrip("# "))
    if found and (level or _is_heading(body, found["rest"])):
        return Line(start, body, level, _named(found, start, first, level))
    bare = _BARE.fullmatch(body)
    if bare and (level or not _GOES_ON.match(bare["rest"]) or bare["rest"][0].islower()):
        title = _title(bare["rest"], whole=bool(level))
        if title:
            end = start + first + bare.start("rest") + len(title)
            division = Division(start, end, title, CLAUSE, level, "", _value(bare["number"]))
            return Line(start, body, level, replace(division, key=bare["number"]), is_bare=True)
    if level:
        label = _short(" ".join(body.rstrip("# ").split()))
        return Line(start, body, level, Division(start, start + len(text), label, 0, level))
    return Line(start, body, 0, None)


def read_split_line(text: str, number: Line, title: Line) -> Line | None:
    """Return a clause whose number stands on a line of its own above its title, None where it is no such.

    Args:
        text: The document's text.
        number: The line with nothing but the number.
        title: The next line.
    """
    found = _NUMBER_ALONE.fullmatch(number.text)
    if found is None or title.division is not None or number.level or _GOES_ON.match(title.text):
        return None
    end = _TITLE_END.search(title.text)
    if end is None or not 0 < end.start() <= _MAX_HEADING_LINE:
        return None
    stop = title.start + end.start()
    shown = title.text[: end.start()].rstrip()
    division = Division(number.start, stop, shown, CLAUSE, 0, found["number"], _value(found["number"]))
    whole = text[number.start : title.start + len(title.text)]
    return Line(number.start, whole, 0, division, is_bare=True)


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


def numbered(line: Line, division: Division, word: str) -> Division:
    """Return a numbered line as a clause, called as the document calls its clauses."""
    title = division.label
    name = word if regex.search(r"\p{Devanagari}", line.text) else "section"
    shown = name if not name.isascii() else name.title()
    return replace(division, label=f"{shown} {division.key}: {_short(title)}", key=f"{name} {division.key}")


def plain(line: Line, division: Division) -> Division | None:
    """Return a numbered line that is no clause: a heading if the source says so, else nothing."""
    if not line.level:
        return None
    return replace(division, label=_short(line.text.rstrip("# :")), rank=0, key="", number=0)


def subclause(line: Line, clause: str, last: float) -> Division | None:
    """Return the sub-clause that a line begins, if its number follows the last one."""
    found = _SUB.fullmatch(line.text) if clause else None
    if found is None or (_GOES_ON.match(found["rest"]) and not found["rest"][0].isascii()):
        return None
    number = _value(found["number"])
    if not last < number <= last + 3:
        return None
    return _sub(found["number"], line.start, line.start + len(f"({found['number']})"), clause)


def subclause_after(line: Line, division: Division, clause: str) -> Division | None:
    """Return the sub-clause that begins on its clause's own line."""
    offset = division.end - line.start
    found = regex.compile(r"[\s:ः–—-]*(\((?P<number>[१1])\))\s").match(line.text, offset)
    if found is None:
        return None
    return _sub(found["number"], line.start + found.start(1), line.start + found.end(1), clause)


def _sub(number: str, start: int, end: int, clause: str) -> Division:
    name = _SUBCLAUSES[clause]
    return Division(start, end, f"{name} ({number})", SUBCLAUSE, 0, f"{name} {number}", _value(number))
