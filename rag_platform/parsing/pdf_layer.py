"""The text layer of a PDF page as printed lines, fragments put together. No OCR, no judgement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rag_platform.parsing.layout import Line

if TYPE_CHECKING:
    import pymupdf

__all__ = ["Fragment", "by_font", "layer_lines"]

_SAME_LINE = 0.35
_SMALL_GAP = 0.2
_COVERED = 0.6

Glyph = tuple[float, float, float]
"""Left edge, right edge and baseline of a drawn glyph."""


@dataclass
class Fragment:
    """A stretch of text on one baseline, growing while its continuations are found."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    baseline: float
    upright: bool
    block: int
    fonts: list[tuple[str, str]] = field(default_factory=list)

    @property
    def line(self) -> Line:
        """The fragment as a printed line."""
        return Line(self.text, self.x0, self.x1, self.y0, self.y1, self.block)


def layer_lines(page: pymupdf.Page) -> Iterator[Fragment]:
    """Yield the printed lines of a page's text layer in the order of its content.

    MuPDF ends a line wherever the pen jumps. Producers that write a whole word's text on its first glyph
    (ActualText) jump inside words, so whether a gap is white is asked of the glyphs drawn there.
    """
    import pymupdf

    flags = pymupdf.TEXTFLAGS_DICT & ~pymupdf.TEXT_PRESERVE_IMAGES
    glyphs: list[Glyph] | None = None
    for number, block in enumerate(page.get_text("dict", flags=flags)["blocks"]):
        held: Fragment | None = None
        for raw in block.get("lines", ()):
            piece = _fragment(raw, number)
            if not piece.text:
                continue
            if held is not None and _same_baseline(held, piece):
                glyphs = _glyphs(page) if glyphs is None else glyphs
                _join(held, piece, glyphs)
                continue
            if held is not None:
                yield held
            held = piece
        if held is not None:
            yield held


def by_font(fragments: Iterable[Fragment]) -> dict[str, str]:
    """Return the text that each font writes."""
    written: dict[str, list[str]] = {}
    for fragment in fragments:
        for font, text in fragment.fonts:
            written.setdefault(font, []).append(text)
    return {font: " ".join(texts) for font, texts in written.items()}


def _fragment(raw: dict[str, Any], block: int) -> Fragment:
    spans = raw["spans"]
    x0, y0, x1, y1 = raw["bbox"]
    return Fragment(
        text="".join(span["text"] for span in spans),
        x0=x0, y0=y0, x1=x1, y1=y1,
        size=max((span["size"] for span in spans), default=1.0),
        baseline=spans[-1]["origin"][1] if spans else y1,
        upright=abs(raw["dir"][1]) < 0.01 and raw["dir"][0] > 0,
        block=block,
        fonts=[(span["font"], span["text"]) for span in spans],
    )  # fmt: skip


def _same_baseline(one: Fragment, other: Fragment) -> bool:
    near = abs(one.baseline - other.baseline) < _SAME_LINE * max(one.size, other.size)
    return one.upright and other.upright and near


def _join(held: Fragment, piece: Fragment, glyphs: list[Glyph]) -> None:
    held.size = max(held.size, piece.size)
    white = piece.x0 - held.x1 >= _SMALL_GAP * held.size and not _is_inked(held, piece, glyphs)
    spaced = held.text.endswith(" ") or piece.text.startswith(" ")
    held.text += (" " if white and not spaced else "") + piece.text
    held.x0, held.x1 = min(held.x0, piece.x0), max(held.x1, piece.x1)
    held.y0, held.y1 = min(held.y0, piece.y0), max(held.y1, piece.y1)
    held.fonts += piece.fonts


def _glyphs(page: pymupdf.Page) -> list[Glyph]:
    # Glyph -1 stands for further characters of the glyph before it: nothing is drawn for it.
    return [
        (char[3][0], char[3][2], char[2][1])
        for span in page.get_texttrace()
        for char in span["chars"]
        if char[1] >= 0
    ]


def _is_inked(held: Fragment, piece: Fragment, glyphs: list[Glyph]) -> bool:
    left, right = held.x1, piece.x0
    covered = sum(
        min(right, x1) - max(left, x0)
        for x0, x1, baseline in glyphs
        if abs(baseline - held.baseline) < _SAME_LINE * held.size and x1 > left and x0 < right
    )
    return covered > _COVERED * (right - left)
