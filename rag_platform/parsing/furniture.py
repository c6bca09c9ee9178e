"""Running headers, footers and page numbers: which printed lines of a document are its pages' furniture.

Works on the lines of all pages, whoever read them. A line is furniture where lines like it stand at the same
edge and height of half of the pages around, or of the left or right ones: the same words, with numbers that
stay or count pages. What is not at the very edge, and whatever heads a table, is content.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property

from rag_platform.parsing.layout import Line

__all__ = ["furniture"]

_MIN_PAGES = 4
_REACH = 4
"""Pages before and after that are looked at: headers change with the chapter, and with left and right."""
_SHARE = 0.5
_SIDE_SHARE = 0.75
_ROWS = 4
"""Rows from an edge that may be furniture."""
_SAME_PLACE = 18.0
"""Points by which the height of furniture varies: scans shift, printers cut."""
_ALIKE = 0.8
"""How much alike two readings of one printed line are by OCR."""
_MIN_LETTERS = 3
_NEAR = 3.0
"""A table's row follows its header within so many line heights."""
_BARE = 6
"""Characters of a page number with what is around it."""
_PAGE_WORDS = re.compile(r"(?:पृष्ठ|पाना|पेज|page|pages|pg|of|को|मध्ये|p)", re.I)
_COUNTED = re.compile(
    r"(?:भाग|परिच्छेद|दफा|उपदफा|अनुसूची|खण्ड|धारा|नियम|तालिका|फाराम|अध्याय|प्रकरण|चित्र|विधेयक|नं|सं|संख्या|क्र"
    r"|part|chapter|section|article|schedule|annex|appendix|table|figure|form|clause|rule|no|number)[.:–—-]*$",
    re.I,
)
"""What numbers things of the text: such a number counts no pages."""
_ROMAN = re.compile(r"[^\w]*([ivxl]{1,7})[^\w]*", re.I)
_ROMAN_DIGITS = {"i": 1, "v": 5, "x": 10, "l": 50}
_INVISIBLE = re.compile("[\\s\u200b-\u200d\u00ad]+")


@dataclass(eq=False)
class _Mark:
    """A line near an edge of its page."""

    page: int
    line: Line
    is_top: bool
    heads_table: bool
    by_ocr: bool
    like: list[_Mark] = field(default_factory=list)

    @property
    def place(self) -> float:
        return self.line.y0 if self.is_top else self.line.y1

    @cached_property
    def words(self) -> tuple[str, ...]:
        """What stands before, between and after the numbers."""
        return self._split[0]

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        return self._split[1]

    @cached_property
    def _split(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        text = _folded(self.line.text)
        if roman := _ROMAN.fullmatch(text):
            return (text[: roman.start(1)], text[roman.end(1) :]), (_roman(roman[1].lower()),)
        pieces = re.split(r"(\d{1,12})", text)
        return tuple(pieces[::2]), tuple(map(int, pieces[1::2]))

    @cached_property
    def says(self) -> str:
        """What it says beside page numbers."""
        return _PAGE_WORDS.sub("", "".join(self.words)) if self.numbers else "".join(self.words)


def furniture(
    pages: Mapping[int, Sequence[Line]], *, by_ocr: Collection[int] = ()
) -> dict[int, tuple[set[int], list[str]]]:
    """Find the furniture of a document.

    What furniture says is kept once, where it says more than a page number and no other text says the same:
    headers on the first page that has them, so that a letterhead stays, footers on the last.

    Args:
        pages: Lines of the pages that have any, by number, in points from the page's top.
        by_ocr: Numbers of the pages whose lines may be misread.

    Returns:
        Of each page with furniture that goes: the positions of its lines, and what they say.
    """
    if len(pages) < _MIN_PAGES:
        return {}
    numbers = sorted(pages)
    marks = {number: list(_marks(number, pages[number], number in by_ocr)) for number in numbers}
    for likeness in (_alike, _is_misread_number):
        _compare(marks, likeness)
    standing = [mark for number in numbers for mark in _outermost(pages[number], marks[number])]
    kept = set(map(id, _kept(standing, pages)))
    gone: dict[int, tuple[set[int], list[str]]] = {}
    for mark in standing:
        if id(mark) not in kept:
            places, said = gone.setdefault(mark.page, (set(), []))
            places.add(next(at for at, line in enumerate(pages[mark.page]) if line is mark.line))
            said.append(mark.line.text.strip())
    return gone


def _compare(marks: Mapping[int, Sequence[_Mark]], likeness: Callable[[_Mark, _Mark], bool]) -> None:
    """Note at each line that is not known yet as furniture which lines of the pages around are like it."""
    numbers = sorted(marks)
    for at, number in enumerate(numbers):
        around = numbers[max(0, at - _REACH) : at] + numbers[at + 1 : at + 1 + _REACH]
        for mark in marks[number]:
            if not mark.like:
                found = [next((one for one in marks[other] if likeness(mark, one)), None) for other in around]
                like = [other for other in found if other is not None]
                mark.like = like if _is_usual(mark, like, around) else []


def _marks(number: int, lines: Sequence[Line], by_ocr: bool) -> Iterator[_Mark]:
    rows = _rows(lines)
    for at, row in enumerate(rows[:_ROWS]):
        is_head = at + 1 < len(rows) and _is_table(row, rows[at + 1])
        for line in row:
            yield _Mark(number, line, True, is_head, by_ocr)
    for row in rows[-_ROWS:]:
        for line in row:
            yield _Mark(number, line, False, False, by_ocr)


def _rows(lines: Sequence[Line]) -> list[list[Line]]:
    """Return the lines of the page's main direction in rows from top to bottom."""
    turns = [line.turn for line in lines]
    main = max(set(turns), key=turns.count, default=0)
    rows: list[list[Line]] = []
    for line in sorted((line for line in lines if line.turn == main), key=lambda line: line.y0):
        middle = (line.y0 + line.y1) / 2
        if rows and middle < rows[-1][0].y1 and middle - rows[-1][0].y0 < rows[-1][0].height:
            rows[-1].append(line)
        else:
            rows.append([line])
    return rows


def _is_table(row: Sequence[Line], below: Sequence[Line]) -> bool:
    """Say whether two rows look like a table's header and its first row."""
    if below[0].y0 - row[0].y1 > _NEAR * row[0].height:
        return False
    return all(sum(max(1, len(line.cells)) for line in one) > 1 for one in (row, below))


def _is_usual(mark: _Mark, like: Sequence[_Mark], around: Sequence[int]) -> bool:
    """Say whether enough of the pages around, or of those on the same side of the book, have such a line."""
    beside = [number for number in around if (number - mark.page) % 2 == 0]
    n_beside = sum(other.page in beside for other in like)
    return len(like) >= max(2, _SHARE * len(around)) or n_beside >= max(2, _SIDE_SHARE * len(beside))


def _alike(one: _Mark, other: _Mark) -> bool:
    if one.is_top != other.is_top or abs(one.place - other.place) > _SAME_PLACE:
        return False
    if len(one.numbers) != len(other.numbers):
        return False
    if one.words != other.words and not _misread(one, other):
        return False
    step = other.page - one.page
    counting = [at for at, number in enumerate(one.numbers) if other.numbers[at] != number]
    if any(other.numbers[at] - one.numbers[at] != step or _COUNTED.search(one.words[at]) for at in counting):
        return False
    return _letters(one) >= _MIN_LETTERS or (bool(counting) and not one.words[-1].startswith("."))


def _misread(one: _Mark, other: _Mark) -> bool:
    if not (one.by_ocr or other.by_ocr):
        return False
    here, there = "".join(one.words), "".join(other.words)
    if min(len(here), len(there)) < 2 * _MIN_LETTERS or abs(len(here) - len(there)) > 0.3 * len(here):
        return False
    return SequenceMatcher(None, here, there, autojunk=False).ratio() >= _ALIKE


def _is_misread_number(one: _Mark, other: _Mark) -> bool:
    """Say whether OCR found some number where the other page has its page number."""
    if not one.by_ocr or not other.like or one.is_top != other.is_top:
        return False
    is_bare = not any(map(_letters, (one, other))) and max(len(one.line.text), len(other.line.text)) <= _BARE
    return is_bare and abs(one.place - other.place) <= _SAME_PLACE


def _outermost(lines: Sequence[Line], marks: Sequence[_Mark]) -> Iterator[_Mark]:
    """Yield the furniture that stands outside of everything else on its page."""
    known = {(id(mark.line), mark.is_top): mark for mark in marks if mark.like and not _heads_tables(mark)}
    rows = _rows(lines)
    for is_top, inwards in ((True, rows[:_ROWS]), (False, rows[: -_ROWS - 1 : -1])):
        for row in inwards:
            found = [known.get((id(line), is_top)) for line in row]
            if None in found:
                break
            yield from (mark for mark in found if mark is not None)


def _heads_tables(mark: _Mark) -> bool:
    heads = [other.heads_table for other in (mark, *mark.like)]
    return 2 * sum(heads) >= len(heads)


def _kept(standing: Sequence[_Mark], pages: Mapping[int, Sequence[Line]]) -> Iterator[_Mark]:
    """Yield the one of each kind that stays."""
    kinds: list[list[_Mark]] = []
    kind_of: dict[int, list[_Mark]] = {}
    for mark in standing:
        kind = next((kind_of[id(other)] for other in mark.like if id(other) in kind_of), None)
        if kind is None:
            kind = []
            kinds.append(kind)
        kind.append(mark)
        kind_of[id(mark)] = kind
    lines = {id(mark.line) for mark in standing}
    content = "\n".join(
        _folded(line.text) for page in pages.values() for line in page if id(line) not in lines
    )
    for kind in kinds:
        if len(kind[0].says) >= _MIN_LETTERS and not any(_folded(mark.line.text) in content for mark in kind):
            yield kind[0] if kind[0].is_top else kind[-1]


def _folded(text: str) -> str:
    return _INVISIBLE.sub("", unicodedata.normalize("NFC", text)).lower()


def _letters(mark: _Mark) -> int:
    return sum(unicodedata.category(character)[0] in "LM" for character in "".join(mark.words))


def _roman(digits: str) -> int:
    values = [_ROMAN_DIGITS[digit] for digit in digits]
    return sum(-value if value < max(values[at:]) else value for at, value in enumerate(values))
