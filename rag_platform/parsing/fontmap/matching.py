"""Words of a page's picture beside words of its trace: what OCR read where the page drew which glyphs.

OCR comes from outside, as words with boxes; nothing here runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rag_platform.parsing.fontmap.trace import Box, TracedLine, TracedWord, framed

__all__ = ["OcrPage", "OcrWord", "Pair", "pairs"]

_CENTRE = 0.3
"""The middle of a printed word's box stands about this far above the baseline, in em."""
_REACH = 0.6
_EDGE = 0.5
_TOUCH = 0.12


@dataclass(frozen=True, slots=True)
class OcrWord:
    """A word that OCR read; its box in points of the page as it is shown, from the top left corner.

    ``confidence`` is 0 to 1.
    """

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class OcrPage:
    """The words of one page's picture."""

    words: tuple[OcrWord, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """The same ink twice: words as traced, and the text that OCR read there."""

    words: tuple[TracedWord, ...]
    text: str
    confidence: float

    @property
    def glyphs(self) -> tuple[int, ...]:
        """Its glyphs in drawn order."""
        return tuple(glyph for word in self.words for glyph in word.glyphs)


@dataclass(frozen=True, slots=True)
class _Item:
    start: float
    end: float
    content: TracedWord | OcrWord


def pairs(lines: Iterable[TracedLine], ocr: Iterable[tuple[OcrWord, Box]]) -> Iterator[Pair]:
    """Yield the words that both sides see between the same edges.

    Words that overlap on a line, of either side, form a group; a group whose edges agree is a pair. So a
    word that OCR split or glued is still matched.

    Args:
        lines: Of one page, as traced.
        ocr: Its OCR words, with their boxes in points of the page as it is stored.
    """
    upright = [line for line in lines if line.words]
    for line, read in _on_lines(upright, list(ocr)):
        em = max(word.size for word in line.words)
        items = [_Item(word.start, word.end, word) for word in line.words]
        items += [_Item(start, end, word) for word, start, end in read]
        for group in _groups(sorted(items, key=lambda item: item.start), _TOUCH * em):
            if pair := _pair(group, _EDGE * em):
                yield pair


def _on_lines(
    lines: Sequence[TracedLine], ocr: Sequence[tuple[OcrWord, Box]]
) -> Iterator[tuple[TracedLine, list[tuple[OcrWord, float, float]]]]:
    """Give each OCR word to the line whose middle is nearest."""
    turns = {line.words[0].turn for line in lines}
    taken: dict[int, list[tuple[OcrWord, float, float]]] = {}
    boxes = {turn: [(word, framed(box, turn)) for word, box in ocr] for turn in turns}
    by_row: dict[tuple[int, int], list[int]] = {}
    for at, line in enumerate(lines):
        by_row.setdefault((line.words[0].turn, int(_middle(line) // 32)), []).append(at)
    for turn in turns:
        for word, (start, top, end, bottom) in boxes[turn]:
            centre = (top + bottom) / 2
            row = int(centre // 32)
            near = [at for step in (-1, 0, 1) for at in by_row.get((turn, row + step), ())]
            best = min(near, key=lambda at: abs(_middle(lines[at]) - centre), default=None)
            if best is not None and abs(_middle(lines[best]) - centre) < _REACH * lines[best].words[0].size:
                taken.setdefault(best, []).append((word, start, end))
    for at, read in taken.items():
        yield lines[at], read


def _middle(line: TracedLine) -> float:
    word = line.words[0]
    return word.baseline - _CENTRE * word.size


def _groups(items: Sequence[_Item], touch: float) -> Iterator[list[_Item]]:
    group: list[_Item] = []
    reach = float("-inf")
    for item in items:
        if group and item.start > reach - touch:
            yield group
            group = []
            reach = float("-inf")
        group.append(item)
        reach = max(reach, item.end)
    if group:
        yield group


def _pair(group: Sequence[_Item], slack: float) -> Pair | None:
    drawn = [item for item in group if isinstance(item.content, TracedWord)]
    read = [item for item in group if isinstance(item.content, OcrWord)]
    if not drawn or not read:
        return None
    left = abs(min(item.start for item in drawn) - min(item.start for item in read))
    right = abs(max(item.end for item in drawn) - max(item.end for item in read))
    if left > slack or right > slack:
        return None
    words = tuple(item.content for item in drawn if isinstance(item.content, TracedWord))
    texts = [item.content for item in read if isinstance(item.content, OcrWord)]
    return Pair(words, "".join(word.text for word in texts), min(word.confidence for word in texts))
