"""A passage as it is laid out: paragraphs, headings and tables, with the words of the question marked.

Stored text has tables as Markdown rows (``| a | b |``) and the headings of Markdown files as ``##``; readers
see tables and headings. Nothing is added and no word is lost; escaping is the template's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import regex

from serving.page.highlight import Piece

__all__ = ["Block", "Cells", "blocks"]

Cells = tuple[tuple[Piece, ...], ...]
"""A row of a table."""

_BAR = regex.compile(r"(?<!\\)\|")
_RULE = regex.compile(r"\|(?:\s*:?-{3,}:?\s*\|)+")
_HEADING = regex.compile(r"#{1,6}\s+")


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a heading or a table.

    Attributes:
        pieces: Of a paragraph or heading; line breaks are kept.
        head: The header row of a table, where it has one; ``rows`` the others.
    """

    pieces: tuple[Piece, ...] = ()
    heading: bool = False
    head: Cells = ()
    rows: tuple[Cells, ...] = ()

    @property
    def is_table(self) -> bool:
        """Whether it is one."""
        return bool(self.head or self.rows)


def blocks(pieces: Sequence[Piece]) -> tuple[Block, ...]:
    r"""Return the blocks of a passage.

    >>> found = blocks([Piece("दस्तुर\n\n| सेवा | रकम |\n| --- | --- |\n| नाता | १०० |", False)])
    >>> [block.is_table for block in found]
    [False, True]
    """
    lines = list(_lines(pieces))
    found: list[Block] = []
    for kind, run in groupby(lines, key=_kind):
        if kind == "table":
            found.append(_table(list(run)))
        elif kind == "heading":
            found += [Block(_without_sign(line), heading=True) for line in run]
        elif kind == "text":
            found.append(Block(tuple(_joined(list(run)))))
    return tuple(found)


def _lines(pieces: Sequence[Piece]) -> Iterator[tuple[Piece, ...]]:
    line: list[Piece] = []
    for piece in pieces:
        first, *others = piece.text.split("\n")
        line.append(Piece(first, piece.hit))
        for other in others:
            yield tuple(line)
            line = [Piece(other, piece.hit)]
    yield tuple(line)


def _kind(line: Sequence[Piece]) -> str:
    text = _text(line).strip()
    if text.startswith("|") and text.endswith("|") and len(text) > 1:
        return "table"
    return "heading" if _HEADING.match(text) else "text" if text else "white"


def _table(lines: Sequence[tuple[Piece, ...]]) -> Block:
    rules = [at for at, line in enumerate(lines) if _RULE.fullmatch(_text(line).strip())]
    rows = [tuple(_cells(line)) for at, line in enumerate(lines) if at not in rules]
    if rules == [1]:
        return Block(head=rows[0], rows=tuple(rows[1:]))
    return Block(rows=tuple(rows))


def _cells(line: Sequence[Piece]) -> Iterator[tuple[Piece, ...]]:
    cell: list[Piece] = []
    is_first = True
    for piece in line:
        first, *others = _BAR.split(piece.text)
        cell.append(Piece(first, piece.hit))
        for other in others:
            if not is_first:  # what stands before the first bar is no cell
                yield tuple(_stripped(cell))
            is_first, cell = False, [Piece(other, piece.hit)]


def _stripped(cell: Sequence[Piece]) -> Iterator[Piece]:
    for at, piece in enumerate(cell):
        text = piece.text.replace(r"\|", "|")
        text = text.lstrip() if at == 0 else text
        text = text.rstrip() if at == len(cell) - 1 else text
        if text:
            yield Piece(text, piece.hit)


def _joined(lines: Sequence[tuple[Piece, ...]]) -> Iterator[Piece]:
    for at, line in enumerate(lines):
        if at:
            yield Piece("\n", False)
        yield from (piece for piece in line if piece.text)


def _without_sign(line: Sequence[Piece]) -> tuple[Piece, ...]:
    first = Piece(_HEADING.sub("", line[0].text.lstrip(), count=1), line[0].hit)
    return tuple(piece for piece in (first, *line[1:]) if piece.text)


def _text(line: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in line)
