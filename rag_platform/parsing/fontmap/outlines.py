"""Glyphs by their outline: a fingerprint of the drawn shape, and the shipped dictionary of known shapes.

A producer that drops all tables of a font still draws its glyphs, point by point as the font's maker set
them. The dictionary holds fingerprints and strings, no shapes; ``harvest`` makes it.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import logging
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

from rag_platform.parsing.fontmap.damage import font_errors
from rag_platform.parsing.fontmap.script import HALANT, RA, REPH

__all__ = ["DICTIONARY", "Outlines", "dictionary", "digest", "packed"]

_LOG = logging.getLogger(__name__)

DICTIONARY = "outlines.tsv.gz"
_BYTES = 6
"""48 bits: some thousand known shapes against some thousand of a document collide once in ten million."""


class Outlines:
    """Fingerprints of the glyphs of one font.

    Args:
        font: A ``TTFont``, or None where the program is bare CFF.
        cff: The bare CFF program.
    """

    def __init__(self, font: Any, cff: bytes = b"") -> None:  # noqa: ANN401 - fontTools ships no types
        self._font: Any = font if font is not None and "glyf" in font else None
        self._strings: tuple[list[str], Any] | None = None
        try:
            if self._font is not None:
                self._em = int(self._font["head"].unitsPerEm)
            elif font is not None and "CFF " in font:
                self._strings = _char_strings(font["CFF "].cff)
            elif cff:
                self._strings = _bare(cff)
        except font_errors() as error:
            self._font = None
            _LOG.debug("a font has no outlines that can be read: %s", error)

    def key(self, glyph: int) -> str | None:
        """Return the fingerprint of a glyph; empty where it draws nothing, None where its shape is lost."""
        try:
            if self._strings is not None:
                return self._drawn(self._strings, glyph)
            if self._font is not None:
                return self._contours(glyph)
        except font_errors():
            return None  # a glyph cut off at the end of a damaged program
        return None

    def named(self) -> dict[int, str]:
        """Return what the names of CFF glyphs say: ``uni0915`` is ka; other kinds of names say nothing."""
        if self._strings is None:
            return {}
        from fontTools.agl import toUnicode

        found = {}
        for glyph, name in enumerate(self._strings[0]):
            text = toUnicode(name) if name.startswith("uni") else ""
            if text:
                found[glyph] = REPH if text == RA + HALANT and "." in name else text
        return found

    def _contours(self, glyph: int) -> str:
        table = self._font["glyf"]
        drawn = table[f"g{glyph}"]
        if drawn.numberOfContours == 0:
            return ""
        points, ends, flags = drawn.getCoordinates(table)
        shape = [(round(x), round(y), flag & 1) for (x, y), flag in zip(points, flags, strict=True)]
        return digest(repr((self._em, shape, list(ends))).encode())

    def _drawn(self, strings: tuple[list[str], Any], glyph: int) -> str:
        from fontTools.pens.recordingPen import RecordingPen

        names, drawings = strings
        pen = RecordingPen()
        drawings[names[glyph]].draw(pen)
        if not pen.value:
            return ""
        shape = [(verb, [(round(x), round(y)) for x, y in points]) for verb, points in pen.value]
        return digest(repr(shape).encode())


def _bare(program: bytes) -> tuple[list[str], Any]:
    from fontTools.cffLib import CFFFontSet

    fonts = CFFFontSet()
    fonts.decompile(io.BytesIO(program), None)
    return _char_strings(fonts)


def _char_strings(fonts: Any) -> tuple[list[str], Any]:  # noqa: ANN401
    top = fonts.topDictIndex[0]
    return top.charset, top.CharStrings


def digest(drawing: bytes) -> str:
    """Return the fingerprint of a drawing: eight letters."""
    return base64.urlsafe_b64encode(hashlib.sha256(drawing).digest()[:_BYTES]).decode()


@lru_cache(maxsize=1)
def dictionary() -> Mapping[str, str]:
    """Return the shipped dictionary: fingerprint to visual string."""
    packed_bytes = resources.files(__package__).joinpath(DICTIONARY).read_bytes()
    lines = gzip.decompress(packed_bytes).decode().splitlines()
    known: dict[str, str] = {}
    for line in lines:
        if not line.startswith("#"):
            text, _, keys = line.partition("\t")
            known.update((keys[at : at + 8], text) for at in range(0, len(keys), 8))
    return known


def packed(known: Mapping[str, str], header: Iterable[str]) -> bytes:
    """Return a dictionary as the file that ``dictionary`` reads: per line a string and its fingerprints."""
    by_text: dict[str, list[str]] = {}
    for key, text in known.items():
        by_text.setdefault(text, []).append(key)
    lines = [f"# {line}" for line in header]
    lines += [f"{text}\t{''.join(sorted(keys))}" for text, keys in sorted(by_text.items())]
    return gzip.compress("\n".join(lines).encode(), compresslevel=9, mtime=0)
