"""Makes the dictionary of outlines from fonts that still know their text. Run by hand, never at work.

``python -m rag_platform.parsing.fontmap.harvest OUT FONT_OR_PDF...`` reads font files and the fonts embedded
in PDFs, runs the rules of those that shape Devanagari backwards, and keeps fingerprint and string of each
outline, nothing else. An outline that means two things in two fonts is left out.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from rag_platform.parsing.fontmap.fonts import Font, open_renamed
from rag_platform.parsing.fontmap.outlines import packed
from rag_platform.parsing.fontmap.script import REPH

__all__ = ["harvested", "main"]

_DEVANAGARI = {str(digit): chr(0x966 + digit) for digit in range(10)}


def harvested(fonts: Iterable[Font]) -> dict[str, str]:
    """Return the strings of the outlines of fonts with rules for Devanagari."""
    meanings: defaultdict[str, set[str]] = defaultdict(set)
    for font in fonts:
        if font.inverted is None:
            continue
        native = _native_digits(font)
        for glyph, text in font.inverted.texts.items():
            key = font.outline(glyph) if _wanted(text) else ""
            if key:
                meanings[key].add(_DEVANAGARI[text] if native and text in _DEVANAGARI else text)
    return {key: text for key, texts in meanings.items() if (text := _chosen(texts))}


def _native_digits(font: Font) -> bool:
    """Say whether a font prints the keys 0 to 9 as Devanagari digits: two of them share a shape."""
    shapes: defaultdict[str, set[str]] = defaultdict(set)
    for glyph, text in (font.inverted.texts if font.inverted else {}).items():
        if text.isdigit() and len(text) == 1:
            shapes[font.outline(glyph)].add(text)
    shapes.pop("", None)
    return any(_DEVANAGARI.get(text) in texts for texts in shapes.values() for text in texts)


def _chosen(texts: Collection[str]) -> str:
    """Return the string of an outline; of several, the one character that is plainest, or none."""
    if len(texts) == 1:
        return next(iter(texts))
    single = [text for text in texts if len(text) == 1 and text not in ":\u0903"]
    return min(single, key=lambda text: (not "\u0900" <= text <= "\u097f", ord(text)), default="")


def _wanted(text: str) -> bool:
    """Say whether a string is one that Devanagari fonts are needed for, and not a private character."""
    return bool(text) and all(
        "\u0900" <= character <= "\u097f"
        or character == REPH
        or "!" <= character <= "~"
        or "\u200d" <= character <= "\u2027"
        or "\ua8e0" <= character <= "\ua8ff"
        for character in text
    )


def _fonts(paths: Iterable[Path]) -> Iterator[Font]:
    import pymupdf

    for path in paths:
        if path.suffix.lower() == ".pdf":
            with pymupdf.open(str(path)) as document:
                yield from open_renamed(document)[1].values()
        else:
            yield Font(path.stem, path.read_bytes(), "otf" if path.suffix.lower() == ".otf" else "ttf")


def main(arguments: Sequence[str]) -> None:
    """Write the dictionary of the fonts in some files."""
    out, *paths = map(Path, arguments)
    known = harvested(_fonts(paths))
    n_documents = sum(path.suffix.lower() == ".pdf" for path in paths)
    names = ", ".join(path.name for path in paths if path.suffix.lower() != ".pdf")
    header = (
        "Outlines of Devanagari glyphs: visual string, tab, fingerprints of eight letters each.",
        "Made by rag_platform.parsing.fontmap.harvest; hashes and strings only, no font program.",
        f"{len(known)} outlines of {names} and of fonts embedded in {n_documents} PDFs.",
    )
    out.write_bytes(packed(known, header))


if __name__ == "__main__":
    main(sys.argv[1:])
