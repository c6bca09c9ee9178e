"""What a page draws, as words of glyphs on lines: positions only, no meaning.

The order inside a word is that of the content stream: the x of a Devanagari mark says little. Only words are
sorted by x. Spaces are not believed: producers squeeze the glyph of a space to nothing where a joiner stood,
or draw none. White paper parts words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rag_platform.parsing.fontmap.fonts import Font, Glyphs

if TYPE_CHECKING:
    import pymupdf

__all__ = ["Box", "TracedLine", "TracedWord", "framed", "trace"]

Box = tuple[float, float, float, float]
_INVISIBLE = 3
_SAME_LINE = 0.4
"""Baselines closer than this, in em, are one line; a mark may be drawn raised by less."""
_GAP, _GAP_AT_SPACE = 0.16, 0.07
"""White from this width on, in em, parts words: without a drawn space, and with one."""
_BACK = 0.35
_ECHO = 0.08
"""The same glyph again within this distance, in em, only makes it bold."""


@dataclass(slots=True)
class TracedWord:
    """Glyphs without white between them.

    Attributes:
        glyphs: Their numbers in the document's ``Glyphs``, in drawn order.
        start, end: Extent along the line; ``baseline`` across it. Upright text: x and y in points.
        size: Em in points.
        turn: Direction of the line in quarter turns.
    """

    glyphs: list[int]
    start: float
    end: float
    baseline: float
    size: float
    turn: int
    order: int
    spaced: bool = False

    @property
    def box(self) -> Box:
        """Box in points of the page as it is stored, unrotated."""
        top, bottom = self.baseline - 0.8 * self.size, self.baseline + 0.25 * self.size
        along, across = (self.start, self.end), (top, bottom)
        if self.turn == 0:
            return along[0], across[0], along[1], across[1]
        if self.turn == 2:
            return -along[1], -across[1], -along[0], -across[0]
        if self.turn == 1:
            return -across[1], along[0], -across[0], along[1]
        return across[0], -along[1], across[1], -along[0]


def framed(box: Box, turn: int) -> Box:
    """Return a box of the stored page in the frame of lines of one direction: start, top, end, bottom."""
    x0, y0, x1, y1 = box
    if turn == 0:
        return box
    if turn == 2:
        return -x1, -y1, -x0, -y0
    if turn == 1:
        return y0, -x1, y1, -x0
    return -y1, x0, -y0, x1


@dataclass(slots=True)
class TracedLine:
    """Words on one baseline, left to right."""

    words: list[TracedWord] = field(default_factory=list)


class _Tracer:
    """Collects the words of one page."""

    def __init__(self, glyphs: Glyphs, fonts: dict[str, Font]) -> None:
        self.words: list[TracedWord] = []
        self._glyphs = glyphs
        self._fonts = fonts
        self._word: TracedWord | None = None
        self._spaced = False
        self._drawn: dict[tuple[int, int], list[tuple[float, float]]] = {}

    def span(self, span: dict[str, Any]) -> None:
        font = self._fonts.get(span["font"])
        if font is None:
            font = self._fonts[span["font"]] = Font(span["font"])
        drawn = span["type"] != _INVISIBLE or font.kind == "type3"  # whose glyphs MuPDF draws as pictures
        if not drawn or span["opacity"] == 0 or span["size"] <= 0:
            return
        turn = _turn(span["dir"])
        size = span["size"]
        chars = span["chars"]
        for at, (code, number, origin, box) in enumerate(chars):
            if number < 0 and at:
                continue  # a further character of the glyph before it
            layer = chr(code)
            after = at + 1
            while after < len(chars) and chars[after][1] < 0:
                layer += chr(chars[after][0])
                after += 1
            if layer.isspace() or font.blank(number):
                self._spaced = True
                continue
            start, baseline, width = _placed(origin, box, turn)
            self._add(self._glyphs.number(font, number, layer), start, width, baseline, size, turn)

    def _add(self, glyph: int, start: float, width: float, baseline: float, size: float, turn: int) -> None:
        if self._echo(glyph, start, baseline, size):
            return
        word = self._word
        if word is not None and word.turn == turn and self._continues(word, start, baseline, size):
            word.glyphs.append(glyph)
            word.start = min(word.start, start)
            word.end = max(word.end, start + width)
            if width > 0.1 * size:
                word.size = max(word.size, size)
        else:
            word = TracedWord(
                [glyph], start, start + width, baseline, size, turn, len(self.words), self._spaced
            )
            self.words.append(word)
            self._word = word
        self._spaced = False

    def _continues(self, word: TracedWord, start: float, baseline: float, size: float) -> bool:
        em = max(word.size, size)
        if abs(baseline - word.baseline) > _SAME_LINE * em or start < word.start - _BACK * em:
            return False
        return start - word.end < (_GAP_AT_SPACE if self._spaced else _GAP) * em

    def _echo(self, glyph: int, start: float, baseline: float, size: float) -> bool:
        """Say whether a glyph was drawn already on this spot, and remember it."""
        near = _ECHO * size
        row = int(baseline // 4)
        for other in (row, row - 1, row + 1):
            for x, y in self._drawn.get((glyph, other), ()):
                if abs(x - start) < near and abs(y - baseline) < near:
                    return True
        self._drawn.setdefault((glyph, row), []).append((start, baseline))
        return False


def trace(page: pymupdf.Page, glyphs: Glyphs, fonts: dict[str, Font]) -> list[TracedLine]:
    """Return the lines of a page in the order of its content.

    Args:
        page: Of the copy that ``fonts.open_renamed`` made.
        glyphs: Grows by the glyphs that are new.
        fonts: By the names of the copy; fonts that are not embedded are added by name.
    """
    tracer = _Tracer(glyphs, fonts)
    for span in page.get_texttrace():
        tracer.span(span)
    return list(_lines(tracer.words))


def _turn(direction: tuple[float, float]) -> int:
    across, down = direction
    if abs(across) >= abs(down):
        return 0 if across >= 0 else 2
    return 1 if down > 0 else 3


def _placed(origin: tuple[float, float], box: Box, turn: int) -> tuple[float, float, float]:
    """Return start and baseline in the frame of the line, and the advance."""
    x, y = origin
    if turn == 0:
        return x, y, box[2] - box[0]
    if turn == 2:
        return -x, -y, box[2] - box[0]
    if turn == 1:
        return y, -x, box[3] - box[1]
    return -y, x, box[3] - box[1]


def _lines(words: list[TracedWord]) -> Iterator[TracedLine]:
    """Group words of one baseline; a line stands where its first word stood in the content."""
    lines: list[TracedLine] = []
    rows: dict[tuple[int, int], list[TracedLine]] = {}
    for word in words:
        line = _found(word, rows)
        if line is None:
            line = TracedLine()
            lines.append(line)
            rows.setdefault((word.turn, int(word.baseline // 8)), []).append(line)
        line.words.append(word)
    for line in lines:
        line.words.sort(key=lambda word: (word.start, word.order))
        line.words = list(_merged(line.words))
        yield line


def _found(word: TracedWord, rows: dict[tuple[int, int], list[TracedLine]]) -> TracedLine | None:
    row = int(word.baseline // 8)
    for near in (row, row - 1, row + 1):
        for line in rows.get((word.turn, near), ()):
            first = line.words[0]
            if abs(first.baseline - word.baseline) < _SAME_LINE * max(first.size, word.size):
                return line
    return None


def _merged(words: list[TracedWord]) -> Iterator[TracedWord]:
    """Join neighbours that no white parts: a word whose pieces were drawn in another order."""
    held: TracedWord | None = None
    last = -1
    for word in words:
        if held is not None:
            parted = word.spaced and word.order == last + 1
            gap = (_GAP_AT_SPACE if parted else _GAP) * max(held.size, word.size)
            if word.start - held.end < gap:
                held.glyphs.extend(word.glyphs)
                held.end = max(held.end, word.end)
                last = word.order
                continue
            yield held
        held, last = word, word.order
    if held is not None:
        yield held
