"""Printed lines to paragraphs: which line breaks are the author's and which only the paper's width.

Works on lines with boxes, whoever made them (a text layer, OCR). Knows no file format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

__all__ = ["WIDE", "Cell", "Line", "paragraphs", "with_labels"]

WIDE = 1.8
"""White from this width on, in em, parts cells: justified prose stays below it."""

_STARTS_ITEM = re.compile(
    r"\s*(?:[-–—•▪●○■□➢*]\s|\(?[0-9०-९]{1,4}[.)।]|\(\s*[^\s()]{1,4}\s*\)|[a-zA-Zक-ह]{1,2}[.)]\s|\|)"
)
_LABEL = re.compile(r"[-–—•▪]|\(\S{1,4}\)|[0-9०-९]{1,4}[.)।]?|[a-zA-Zक-ह]{1,2}[.)]")
_ENDS_SENTENCE = re.compile(r"[।॥?!]\s*$")
_HYPHEN = re.compile(r"(?P<head>[A-Za-z]*[a-z])[-\u2010]$|[\w\u0900-\u0963][-\u2010]$")
_COMPOUNDS = frozenset({"self", "non", "co", "multi", "anti", "semi", "ex", "vice", "well", "sub"})
"""What begins words that are written with a hyphen."""
_SOFT_HYPHEN = "\u00ad"
_FULL_SHARE = 0.12
_NARROW = 8
"""A block narrower than this, in line heights, is a column of a form: its lines are not prose."""
_SAME_PITCH = 1.12
_HANGING = 6
"""How far, in line heights, a label may stand from its text."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A stretch of a line with wide white on both sides."""

    text: str
    x0: float
    x1: float


@dataclass(frozen=True, slots=True)
class Line:
    """One printed line: its text, its box, the block that its source put it in, and its cells, if split.

    Boxes of lines that do not run from left to right are in the frame of their direction, ``turn`` quarters.
    """

    text: str
    x0: float
    x1: float
    y0: float
    y1: float
    block: int
    cells: tuple[Cell, ...] = ()
    turn: int = 0

    @property
    def height(self) -> float:
        """Height of the box, never 0."""
        return max(self.y1 - self.y0, 1.0)


def paragraphs(lines: Iterable[Line]) -> str:
    """Return lines as text: blocks apart by a blank line, wrapped lines joined, other lines kept.

    A line is wrapped when it reaches the right edge of its block and the next one does not begin a list
    item or a paragraph. So prose reads as prose, while addresses, lists and forms keep their lines.
    """
    inked = [line for line in lines if line.text.strip()]
    hyphens = _Hyphens.of(inked)
    return "\n\n".join(_block(block, hyphens) for block in _blocks(inked))


def with_labels(lines: Sequence[Line]) -> list[Line]:
    """Return lines with hanging labels put before the text that stands on the same height to their right.

    Layout analysis takes the labels of a list, ``(१)`` below ``(२)``, for a column of their own.
    """
    taken: dict[int, Line] = {}
    left: list[int] = []
    for at, label in enumerate(lines):
        beside = [
            (other.x0, to)
            for to, other in enumerate(lines)
            if to not in taken and 0 <= other.x0 - label.x1 < _HANGING * label.height and _level(label, other)
        ]
        if _LABEL.fullmatch(label.text.strip()) and beside:
            _, to = min(beside)
            text = f"{label.text.strip()} {lines[to].text.strip()}"
            taken[to] = replace(lines[to], text=text, x0=label.x0)
            left.append(at)
    return [taken.get(at, line) for at, line in enumerate(lines) if at not in left]


def _level(one: Line, other: Line) -> bool:
    high = min(one.y1, other.y1) - max(one.y0, other.y0)
    return high > 0.5 * min(one.height, other.height)


def _blocks(lines: Sequence[Line]) -> list[list[Line]]:
    """Group lines by the blocks of their source, and blocks that stand one line's pitch apart.

    Sources see wide line spacing as paragraphs of one line each.
    """
    pitches = [after.y0 - before.y0 for before, after in pairwise(lines) if _below(before, after)]
    pitch = median(pitches) if pitches else 0.0
    blocks: list[list[Line]] = []
    for line in lines:
        before = blocks[-1][-1] if blocks else None
        if before is not None and (
            before.block == line.block
            or (_below(before, line) and line.y0 - before.y0 <= _SAME_PITCH * pitch)
        ):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    return blocks


def _below(before: Line, after: Line) -> bool:
    """Say whether a line continues the column of the one before, as far as boxes tell."""
    over = min(before.x1, after.x1) - max(before.x0, after.x0)
    step = after.y0 - before.y0
    alike = abs(before.height - after.height) < 0.25 * max(before.height, after.height)
    return over > 0 and 0 < step < 3 * before.height and alike


@dataclass(frozen=True, slots=True)
class _Hyphens:
    """What a page tells of the hyphens at the ends of its lines.

    Attributes:
        words: Of the page, in lower case.
        divides: Its words are divided at line ends; programs for office letters never do that.
    """

    words: frozenset[str]
    divides: bool = False

    @classmethod
    def of(cls, lines: Sequence[Line]) -> _Hyphens:
        """Look at a page."""
        found = cls(frozenset(word.lower() for line in lines for word in re.findall("[A-Za-z]+", line.text)))
        breaks = ((_HYPHEN.search(one.text.rstrip()), other.text) for one, other in pairwise(lines))
        return replace(found, divides=any(found._is_known(hyphen, text) for hyphen, text in breaks))

    def resolved(self, before: str, text: str) -> str | None:
        """Return what stands before a line break as it is without the break; None where no hyphen ends it."""
        if before.endswith(_SOFT_HYPHEN):
            return before[:-1]
        hyphen = _HYPHEN.search(before)
        if hyphen is None or not text[:1].isalnum():
            return None
        head = (hyphen["head"] or "").lower()
        divided = self.divides and text[0].islower() and head and head not in _COMPOUNDS
        return before[:-1] if divided or self._is_known(hyphen, text) else before

    def _is_known(self, hyphen: re.Match[str] | None, text: str) -> bool:
        """Say whether the page has the word without its hyphen."""
        tail = re.match("[a-z]+", text)
        if hyphen is None or hyphen["head"] is None or tail is None:
            return False
        return hyphen["head"].lower() + tail[0] in self.words


def _block(lines: Sequence[Line], hyphens: _Hyphens) -> str:
    left, right = min(line.x0 for line in lines), max(line.x1 for line in lines)
    parts = [lines[0].text.strip()]
    for before, line in pairwise(lines):
        text = line.text.strip()
        wraps = _wraps(before, line, left, right) or parts[-1].endswith(_SOFT_HYPHEN)
        if not wraps:
            parts.extend(["\n", text])
        elif (head := hyphens.resolved(parts[-1], text)) is not None:
            parts[-1:] = [head, text]
        else:
            parts.extend([" ", text])
    return "".join(parts)


def _wraps(before: Line, line: Line, left: float, right: float) -> bool:
    """Say whether the line break between two lines is only the paper's width."""
    full = before.x1 >= right - max(_FULL_SHARE * (right - left), 1.5 * before.height)
    narrow = right - left <= _NARROW * before.height
    if narrow or not full or line.y0 <= before.y0 or _STARTS_ITEM.match(line.text):
        return False
    if _ENDS_SENTENCE.search(before.text) or (before.text.rstrip()[-1] in ".:" and line.text[:1].isupper()):
        return False  # whether the paragraph ends there or not, a line break after a sentence harms nothing
    return not (before.text.rstrip()[-1] in ".:" and before.x1 < right - before.height)
