"""PDFs as offices make them: glyphs of a real font, shaped by HarfBuzz, and a Unicode map that lies."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymupdf
import pytest
import uharfbuzz
from fontTools import subset
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.t2CharStringPen import T2CharStringPen
from fontTools.ttLib import TTFont

from rag_platform.parsing.fontmap.matching import OcrPage, OcrWord

FONTS = {
    "noto-sans": Path("/usr/share/fonts/truetype/noto/NotoSansDevanagari-Regular.ttf"),
    "noto-serif": Path("/usr/share/fonts/truetype/noto/NotoSerifDevanagari-Regular.ttf"),
    "lohit": Path("/usr/share/fonts/truetype/lohit-devanagari/Lohit-Devanagari.ttf"),
    "annapurna": Path("/usr/share/fonts/truetype/annapurna/AnnapurnaSIL-Regular.ttf"),
}


def font_bytes(name: str) -> bytes:
    path = FONTS[name]
    if not path.is_file():
        pytest.skip(f"no {path.name}: install Debian's fonts-noto-core fonts-lohit-deva fonts-sil-annapurna")
    return path.read_bytes()


def without_tables(program: bytes, *tables: str) -> bytes:
    font = TTFont(io.BytesIO(program))
    for table in tables:
        if table in font:
            del font[table]
    return saved(font)


def shifted(program: bytes) -> bytes:
    """Move every outline by a hair, so that no dictionary knows it."""
    font = TTFont(io.BytesIO(program))
    for name in font.getGlyphOrder():
        glyph = font["glyf"][name]
        if glyph.isComposite():
            for component in glyph.components:
                component.x += 1
        elif glyph.numberOfContours > 0:
            glyph.coordinates.translate((1, 0))
            glyph.recalcBounds(font["glyf"])
    return saved(font)


def renumbered(program: bytes) -> bytes:
    """Keep some glyphs only, so that all of them get other numbers; the rules stay."""
    options = subset.Options(layout_features=["*"], layout_scripts=["*"], notdef_outline=True)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=[*range(0x900, 0x980), 0x20, 0x2C])
    font = TTFont(io.BytesIO(program))
    subsetter.subset(font)
    return saved(font)


def as_cff(program: bytes) -> bytes:
    """Return the same glyphs as a bare CFF program, as InDesign and XeTeX embed OpenType fonts."""
    font = TTFont(io.BytesIO(program))
    glyphs, order = font.getGlyphSet(), font.getGlyphOrder()
    strings = {}
    for name in order:
        pen = T2CharStringPen(glyphs[name].width, glyphs)
        glyphs[name].draw(pen)
        strings[name] = pen.getCharString()
    builder = FontBuilder(font["head"].unitsPerEm, isTTF=False)
    builder.setupGlyphOrder(order)
    builder.setupCFF("Kalam", {}, strings, {})
    out = io.BytesIO()
    builder.font["CFF "].cff.compile(out, builder.font)
    return out.getvalue()


def saved(font: TTFont) -> bytes:
    out = io.BytesIO()
    font.save(out)
    return out.getvalue()


@dataclass(frozen=True)
class Placed:
    """One glyph of a shaped word: its number, place and advance, in thousandths of an em."""

    glyph: int
    x: float
    y: float
    advance: float


def shaped(program: bytes, text: str) -> list[Placed]:
    """Shape text as a text processor does, with the language Nepali."""
    if not text:
        return []
    face = uharfbuzz.Face(program)
    buffer = uharfbuzz.Buffer()
    buffer.add_str(text)
    buffer.guess_segment_properties()
    buffer.language = "ne"
    uharfbuzz.shape(uharfbuzz.Font(face), buffer)
    scale = 1000 / face.upem
    pen, placed = 0.0, []
    for info, position in zip(buffer.glyph_infos, buffer.glyph_positions, strict=True):
        x, y = pen + position.x_offset * scale, position.y_offset * scale
        placed.append(Placed(info.codepoint, x, y, position.x_advance * scale))
        pen += position.x_advance * scale
    return placed


@dataclass
class PdfFont:
    """A font of a PDF.

    Attributes:
        shape_with: The program that shapes; ``embed`` is what the file carries, with the same glyph numbers.
        to_unicode: Characters by glyph number that the file claims; none: the map is missing.
    """

    shape_with: bytes
    embed: bytes = b""
    name: str = "ABCDEF+Kalam"
    to_unicode: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.embed = self.embed or self.shape_with


@dataclass(frozen=True)
class Run:
    """Text at a place of a page, in points from the top left corner."""

    font: PdfFont
    text: str
    x: float
    y: float
    size: float = 14
    bold: bool = False
    draw_spaces: bool = True


def pdf(pages: Sequence[Iterable[Run]], rotate: int = 0) -> pymupdf.Document:
    """Write pages of runs as a PDF and open it."""
    return pymupdf.open(stream=pdf_bytes(pages, rotate), filetype="pdf")


def pdf_bytes(pages: Sequence[Iterable[Run]], rotate: int = 0) -> bytes:
    writer = _Writer()
    listed = [list(page) for page in pages]
    fonts = {id(run.font): run.font for page in listed for run in page}
    numbers = {key: writer.font(font) for key, font in fonts.items()}
    resources = " ".join(f"/F{number} {number} 0 R" for number in numbers.values())
    tree = writer.reserve()
    kids = []
    for page in listed:
        content = writer.stream("\n".join(_drawn(run, numbers[id(run.font)]) for run in page).encode())
        kids.append(
            writer.add(
                f"<</Type/Page/Parent {tree} 0 R/MediaBox[0 0 595 842]/Rotate {rotate}"
                f"/Resources<</Font<<{resources}>>>>/Contents {content} 0 R>>".encode()
            )
        )
    references = " ".join(f"{kid} 0 R" for kid in kids)
    writer.put(tree, f"<</Type/Pages/Kids[{references}]/Count {len(kids)}>>".encode())
    return writer.done(writer.add(f"<</Type/Catalog/Pages {tree} 0 R>>".encode()))


def _drawn(run: Run, font: int) -> str:
    space = None if run.draw_spaces else {placed.glyph for placed in shaped(run.font.shape_with, " ")}
    shows = []
    for placed in shaped(run.font.shape_with, run.text):
        if space is not None and placed.glyph in space:
            continue
        x, y = run.x + placed.x * run.size / 1000, 842 - run.y + placed.y * run.size / 1000
        shows.append(f"1 0 0 1 {x:.3f} {y:.3f} Tm <{placed.glyph:04x}> Tj")
    once = f"BT /F{font} {run.size} Tf {{}} Tr\n" + "\n".join(shows) + "\nET"
    return once.format(0) + (f"\n0.3 w\n{once.format(1)}" if run.bold else "")


def ocr_of(runs: Iterable[Run]) -> OcrPage:
    """Return what a perfect OCR reads of runs: their words with the boxes of their ink."""
    words = []
    for run in runs:
        for found in re.finditer(r"\S+", run.text):
            before = shaped(run.font.shape_with, run.text[: found.start()])
            start = run.x + sum(placed.advance for placed in before) * run.size / 1000
            width = sum(placed.advance for placed in shaped(run.font.shape_with, found[0])) * run.size / 1000
            top, bottom = run.y - 0.75 * run.size, run.y + 0.2 * run.size
            words.append(OcrWord(found[0], start, top, start + width, bottom))
    return OcrPage(tuple(words))


class _Writer:
    def __init__(self) -> None:
        self._objects: list[bytes] = []

    def reserve(self) -> int:
        self._objects.append(b"")
        return len(self._objects)

    def put(self, number: int, body: bytes) -> None:
        self._objects[number - 1] = body

    def add(self, body: bytes) -> int:
        number = self.reserve()
        self.put(number, body)
        return number

    def stream(self, content: bytes, more: str = "") -> int:
        packed = zlib.compress(content)
        head = f"<</Length {len(packed)}/Filter/FlateDecode{more}>>\nstream\n".encode()
        return self.add(head + packed + b"\nendstream")

    def font(self, font: PdfFont) -> int:
        cff = font.embed[:1] == b"\x01"
        numbers = "" if cff else "/CIDToGIDMap/Identity"
        more = "/Subtype/CIDFontType0C" if cff else f"/Length1 {len(font.embed)}"
        file = self.stream(font.embed, more)
        opened = TTFont(io.BytesIO(font.shape_with))
        scale = 1000 / opened["head"].unitsPerEm
        widths = [opened["hmtx"][name][0] * scale for name in opened.getGlyphOrder()]
        listed = " ".join(f"{width:.1f}" for width in widths)
        descriptor = self.add(
            f"<</Type/FontDescriptor/FontName/{font.name}/Flags 4/FontBBox[-500 -500 1500 1200]/ItalicAngle 0"
            f"/Ascent 900/Descent -300/CapHeight 700/StemV 80/FontFile{3 if cff else 2} {file} 0 R>>".encode()
        )
        inner = self.add(
            f"<</Type/Font/Subtype/CIDFontType{0 if cff else 2}/BaseFont/{font.name}{numbers}/W[0[{listed}]]"
            f"/DW 1000/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>"
            f"/FontDescriptor {descriptor} 0 R>>".encode()
        )
        unicode = f"/ToUnicode {self._to_unicode(font.to_unicode)} 0 R" if font.to_unicode else ""
        return self.add(
            f"<</Type/Font/Subtype/Type0/BaseFont/{font.name}/Encoding/Identity-H"
            f"/DescendantFonts[{inner} 0 R]{unicode}>>".encode()
        )

    def _to_unicode(self, characters: dict[int, str]) -> int:
        entries = "\n".join(
            f"<{glyph:04x}> <{text.encode('utf-16-be').hex()}>" for glyph, text in sorted(characters.items())
        )
        return self.stream(
            b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def\n"
            b"1 begincodespacerange <0000> <ffff> endcodespacerange\n"
            + f"{len(characters)} beginbfchar\n{entries}\nendbfchar\n".encode()
            + b"endcmap CMapName currentdict /CMap defineresource pop end end"
        )

    def done(self, root: int) -> bytes:
        out = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
        places = []
        for number, body in enumerate(self._objects, start=1):
            places.append(len(out))
            out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
        table = len(out)
        out += f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n".encode()
        out += "".join(f"{place:010d} 00000 n \n" for place in places).encode()
        out += f"trailer\n<</Size {len(places) + 1}/Root {root} 0 R>>\nstartxref\n{table}\n%%EOF\n".encode()
        return bytes(out)


def poisoned(program: bytes, text: str) -> dict[int, str]:
    """Return a Unicode map in which every glyph of a text is a wrong letter."""
    wrong = iter("तहवधयकलम" * 200)
    return {placed.glyph: next(wrong) for word in text.split() for placed in shaped(program, word)}


def typeset(program: bytes, lines: Sequence[str], *, embed: bytes = b"", **run: Any) -> pymupdf.Document:
    """Write one page of lines whose Unicode map is wrong."""
    font = PdfFont(program, embed, to_unicode=poisoned(program, " ".join(lines)))
    return pdf([[Run(font, line, 60, 80 + 24 * at, **run) for at, line in enumerate(lines)]])


def type3(procedures: dict[str, str], text: str) -> pymupdf.Document:
    """Write a page in a font whose glyphs are drawings."""
    writer = _Writer()
    streams = {name: writer.stream(f"600 0 d0 {drawing}".encode()) for name, drawing in procedures.items()}
    listed = "".join(f"/{name} {number} 0 R" for name, number in streams.items())
    codes = "".join(f" {ord(name)}/{name}" for name in procedures)
    font = writer.add(
        f"<</Type/Font/Subtype/Type3/FontBBox[0 0 600 600]/FontMatrix[.001 0 0 .001 0 0]"
        f"/CharProcs<<{listed}>>/Encoding<</Type/Encoding/Differences[{codes}]>>"
        f"/FirstChar 97/LastChar 99/Widths[600 600 600]"
        f"/Resources<<>>>>".encode()
    )
    content = writer.stream(f"BT /F1 20 Tf 1 0 0 1 60 700 Tm ({text}) Tj ET".encode())
    tree = writer.reserve()
    page = writer.add(
        f"<</Type/Page/Parent {tree} 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 {font} 0 R>>>>"
        f"/Contents {content} 0 R>>".encode()
    )
    writer.put(tree, f"<</Type/Pages/Kids[{page} 0 R]/Count 1>>".encode())
    root = writer.add(f"<</Type/Catalog/Pages {tree} 0 R>>".encode())
    return pymupdf.open(stream=writer.done(root), filetype="pdf")
