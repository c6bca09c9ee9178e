"""Printed lines to paragraphs: which line breaks are the author's and which only the paper's width.

Works on lines with boxes, whoever made them (a text layer, OCR). Knows no file format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby, pairwise

__all__ = ["Line", "paragraphs"]

_STARTS_ITEM = re.compile(
    r"\s*(?:[-–—•▪●○■□➢*]\s|\(?[0-9०-९]{1,4}[.)।]|\(\s*[^\s()]{1,4}\s*\)|[a-zA-Zक-ह]{1,2}[.)]\s|\|)"
)
_ENDS_TEXT = re.compile(r"[।॥?!:]\s*$")
_FULL_SHARE = 0.12


@dataclass(frozen=True, slots=True)
class Line:
    """One printed line: its text, its box, and the block that its source put it in."""

    text: str
    x0: float
    x1: float
    y0: float
    y1: float
    block: int


def paragraphs(lines: Iterable[Line]) -> str:
    """Return lines as text: blocks apart by a blank line, wrapped lines joined, other lines kept.

    A line is wrapped when it reaches the right edge of its block and the next one does not begin a list
    item. So prose reads as prose, while addresses, lists and forms keep their lines.
    """
    blocks = [_block(list(members)) for _, members in groupby(lines, key=lambda line: line.block)]
    return "\n\n".join(block for block in blocks if block)


def _block(lines: list[Line]) -> str:
    lines = [line for line in lines if line.text.strip()]
    if not lines:
        return ""
    left, right = min(line.x0 for line in lines), max(line.x1 for line in lines)
    parts = [lines[0].text.strip()]
    for before, line in pairwise(lines):
        height = max(before.y1 - before.y0, 1.0)
        reaches = before.x1 >= right - max(_FULL_SHARE * (right - left), 1.5 * height)
        long = right - left > 8 * height
        wrapped = reaches and long and not _STARTS_ITEM.match(line.text)
        ended = _ENDS_TEXT.search(before.text) and before.x1 < right - height
        parts.append(" " if wrapped and not ended else "\n")
        parts.append(line.text.strip())
    return "".join(parts)
