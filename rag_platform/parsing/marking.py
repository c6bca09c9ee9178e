"""Where on a page a span of its stored text stands: the text beside the page's words with their boxes.

The words come from the route that gave the text, in its reading order, but may be spelt otherwise: a font map
of one page knows less than that of the document. So both are aligned by their letters, and words that are
spelt otherwise by their place between two that are not. What stays unsure gets no box.

Pure: no file, no picture; boxes are shares of the page's width and height, from its top left corner.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex
from rapidfuzz.distance import Indel

__all__ = ["Box", "Mark", "PlacedText", "boxes_of", "marks"]

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

_TOKEN = regex.compile(r"\S+")
_LETTER = regex.compile(r"[\p{L}\p{M}\p{N}]")
_MOST_LETTERS = 30_000
"""Of a page: an alignment takes memory by its square, 110 MB here; a dense broadsheet page has 20,000."""
_ALIKE = 0.6
"""Share of its letters that a word must find again to be in its place."""
_PART = 0.3
"""Share of a word's letters from which a printed word is a part of it, as where a line end divides it."""
_SURE = 0.75
"""Share of a span's words that must have a place; below, its boxes would be half of it, or another text."""
_SAME_LINE = 0.5
_WHITE = 1.5
"""White in line heights over which a box goes on to the next word; more is a gutter or another cell."""


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A printed word and its box."""

    text: str
    box: Box


@dataclass(frozen=True, slots=True)
class Mark:
    """A word of the stored text, code points of the page, and where it stands; no boxes: nobody knows."""

    start: int
    end: int
    boxes: tuple[Box, ...]


def marks(text: str, words: Sequence[PlacedText]) -> tuple[Mark, ...]:
    """Return the words of a page's text that have letters, each with its place.

    Args:
        text: As stored.
        words: As the page has them, nearly in the same order.
    """
    tokens = [match.span() for match in _TOKEN.finditer(text) if _LETTER.search(match[0])]
    found = _aligned(text, tokens, words)
    _fill(found, [at for at, word in enumerate(words) if _LETTER.search(word.text) or not word.text])
    return tuple(
        Mark(start, end, tuple(words[at].box for at in places))
        for (start, end), places in zip(tokens, found, strict=True)
    )


def boxes_of(marked: Sequence[Mark], start: int, end: int) -> tuple[Box, ...] | None:
    """Return the boxes of a span, one a line; None where too few of its words have a place to be sure.

    >>> page = [Mark(0, 3, ((0.1, 0.1, 0.2, 0.12),)), Mark(4, 8, ((0.21, 0.1, 0.4, 0.12),)), Mark(9, 12, ())]
    >>> boxes_of(page, 0, 8)
    ((0.1, 0.1, 0.4, 0.12),)
    >>> boxes_of(page, 4, 12) is None
    True
    """
    inside = [mark for mark in marked if mark.start < end and mark.end > start]
    placed = [mark for mark in inside if mark.boxes]
    if not placed or len(placed) < _SURE * len(inside):
        return None
    return tuple(_in_lines([box for mark in placed for box in mark.boxes]))


def _letters(text: str) -> Iterator[tuple[str, int]]:
    """Yield what is compared of a text, with its place: letters, signs and digits, decomposed."""
    for at, character in enumerate(text):
        if _LETTER.match(character):
            yield from ((part, at) for part in unicodedata.normalize("NFKD", character).casefold())


def _aligned(text: str, tokens: Sequence[tuple[int, int]], words: Sequence[PlacedText]) -> list[list[int]]:
    """Return for each token the words that have its letters, by number."""
    ours = [
        (letter, number) for number, span in enumerate(tokens) for letter, _ in _letters(text[slice(*span)])
    ]
    theirs = [(letter, number) for number, word in enumerate(words) for letter, _ in _letters(word.text)]
    found: list[list[int]] = [[] for _ in tokens]
    if max(len(ours), len(theirs)) > _MOST_LETTERS:
        return found
    shared: list[Counter[int]] = [Counter() for _ in tokens]
    pairs = Indel.opcodes("".join(one for one, _ in ours), "".join(one for one, _ in theirs))
    for block in pairs:
        if block.tag == "equal":
            for here, there in zip(
                range(block.src_start, block.src_end), range(block.dest_start, block.dest_end), strict=True
            ):
                shared[ours[here][1]][theirs[there][1]] += 1
    lengths, widths = Counter(number for _, number in ours), Counter(number for _, number in theirs)
    for number, counts in enumerate(shared):
        parts = sorted(at for at, n in counts.items() if n >= _PART * min(lengths[number], widths[at]))
        if sum(counts[at] for at in parts) >= _ALIKE * lengths[number]:
            found[number] = parts
    return found


def _fill(found: list[list[int]], words: Sequence[int]) -> None:
    """Give tokens between two that have a place the words between these, where there are as many of both."""
    order = {word: at for at, word in enumerate(words)}
    before, first = -1, 0
    for number in range(len(found) + 1):
        if number < len(found) and not found[number]:
            continue
        after = order.get(found[number][0], -1) if number < len(found) else len(words)
        if number - first == after - before - 1:
            for step in range(number - first):
                found[first + step] = [words[before + 1 + step]]
        if number < len(found):
            before, first = order.get(found[number][-1], before), number + 1


def _in_lines(boxes: Sequence[Box]) -> Iterator[Box]:
    """Join the boxes of words that stand beside each other on one line."""
    held: Box | None = None
    for box in boxes:
        if held is not None and _goes_on(held, box):
            held = (min(held[0], box[0]), min(held[1], box[1]), max(held[2], box[2]), max(held[3], box[3]))
        else:
            if held is not None:
                yield held
            held = box
    if held is not None:
        yield held


def _goes_on(held: Box, box: Box) -> bool:
    height = min(held[3] - held[1], box[3] - box[1])
    over = min(held[3], box[3]) - max(held[1], box[1])
    return over >= _SAME_LINE * height and held[0] <= box[0] + height and box[0] - held[2] <= _WHITE * height
