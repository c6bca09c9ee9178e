"""The fonts embedded in a PDF, told apart one by one, and the glyphs that its pages draw with them.

A page's trace names fonts by at most 31 letters, and subsets of one font share a name while their glyph
numbers differ. So a private copy of the document is opened whose fonts are renamed. Reads no page text.
"""

from __future__ import annotations

import hashlib
import io
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_platform.errors import ParseError
from rag_platform.parsing.fontmap import gsub
from rag_platform.parsing.fontmap.damage import font_errors, pdf_errors
from rag_platform.parsing.fontmap.gsub import FontTables
from rag_platform.parsing.fontmap.outlines import Outlines, digest

if TYPE_CHECKING:
    import pymupdf

__all__ = ["Font", "Glyph", "Glyphs", "open_renamed"]

_LOG = logging.getLogger(__name__)
logging.getLogger("fontTools").setLevel(
    logging.ERROR
)  # it warns of dates and flags that every subset has wrong
_LABEL = "rag-font-"


@dataclass(eq=False)
class Font:
    """One font of a document.

    Attributes:
        name: The name that the PDF gives it, without the prefix of a subset.
        program: The embedded file; empty where none is embedded.
        kind: ``ttf``, ``otf``, ``cff``, ``cid``, ``type3`` or empty.
        procedures: Fingerprints of the drawing procedures of a ``type3`` font.
    """

    name: str
    program: bytes = b""
    kind: str = ""
    procedures: Mapping[int, str] = field(default_factory=dict)
    _shapes: dict[int, str | None] = field(default_factory=dict)

    @cached_property
    def sha(self) -> str:
        """Identify the program: equal files number their glyphs alike."""
        return hashlib.sha256(self.program or self.name.encode()).hexdigest()[:16]

    @cached_property
    def _tables(self) -> tuple[Any, FontTables | None, dict[int, str]]:
        """Open the program with fontTools: the font, its inverted rules, its characters."""
        if not self.program or self.kind not in {"ttf", "otf"}:
            return None, None, {}
        from fontTools.ttLib import TTFont

        try:
            font = gsub.named(TTFont(io.BytesIO(self.program), lazy=True, fontNumber=0))
            inverted = gsub.invert(font) if gsub.shapes_devanagari(font) else None
            return font, inverted, gsub.character_map(font)
        except font_errors() as error:  # whatever the reader of a damaged table stumbles over
            _LOG.debug("font %s cannot be read: %s", self.name, error)
            return None, None, {}

    @property
    def opened(self) -> Any:  # noqa: ANN401 - fontTools ships no types
        """The ``TTFont`` with numbered glyphs, or None."""
        return self._tables[0]

    @property
    def inverted(self) -> FontTables | None:
        """Its substitution rules run backwards; None where it has none for Devanagari."""
        return self._tables[1]

    @property
    def embedded(self) -> bool:
        """Say whether the document carries its shapes."""
        return bool(self.program) or self.kind == "type3"

    @cached_property
    def _codes(self) -> dict[int, str]:
        """Key codes of a font without Unicode: its symbol ``cmap`` numbers them from U+F000."""
        codes = dict(self.characters)
        if self.opened is not None and "cmap" in self.opened:
            for table in self.opened["cmap"].tables:
                if table.platformID == 3 and table.platEncID == 0:
                    codes.update(
                        {gsub.glyph_number(name): chr(code & 0xFF) for code, name in table.cmap.items()}
                    )
        return codes

    def code(self, glyph: int) -> str:
        """Return the key code that a legacy font gives a glyph; empty where it has none."""
        return self._codes.get(glyph, "")

    @cached_property
    def _outlines(self) -> Outlines:
        return Outlines(self.opened, self.program if self.kind in {"cff", "cid"} else b"")

    def outline(self, glyph: int) -> str:
        """Return the fingerprint of a glyph's shape; empty where there is none, or it is not known."""
        return self._shape(glyph) or ""

    def blank(self, glyph: int) -> bool:
        """Say whether a glyph is known to draw nothing."""
        return self._shape(glyph) == ""

    def _shape(self, glyph: int) -> str | None:
        if glyph not in self._shapes:
            known = self.procedures.get(glyph) if self.kind == "type3" else self._outlines.key(glyph)
            self._shapes[glyph] = known
        return self._shapes[glyph]

    @cached_property
    def characters(self) -> dict[int, str]:
        """What its ``cmap``, or the names of its glyphs, say of them."""
        return self._tables[2] or self._outlines.named()


@dataclass(frozen=True, slots=True)
class Glyph:
    """One glyph as drawn somewhere in the document.

    Attributes:
        font: Where it comes from.
        number: Its number in the font.
        layer: The characters that the text layer claims for it.
    """

    font: Font
    number: int
    layer: str


@dataclass
class Glyphs:
    """Every distinct glyph of a document, by small whole numbers."""

    known: list[Glyph] = field(default_factory=list)
    _numbers: dict[tuple[Font, int, str], int] = field(default_factory=dict)

    def number(self, font: Font, glyph: int, layer: str) -> int:
        """Return the place of a glyph in ``known``."""
        key = (font, glyph, layer)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.known)
            self.known.append(Glyph(font, glyph, layer))
        return found

    def __getitem__(self, number: int) -> Glyph:
        return self.known[number]

    def __len__(self) -> int:
        return len(self.known)


def open_renamed(document: pymupdf.Document) -> tuple[pymupdf.Document, dict[str, Font]]:
    """Open a private copy of a document whose embedded fonts bear unique names.

    Returns:
        The copy, and the fonts by the name that its traces show.

    Raises:
        ParseError: It is no PDF, or too damaged.
    """
    if not document.is_pdf:
        raise ParseError(f"{document.name or 'the document'} is no PDF; fonts are read from PDF only")
    try:
        copy = _copied(document)
    except pdf_errors() as error:
        raise ParseError(f"the PDF is too damaged for its fonts to be read ({error})") from error
    fonts: dict[str, Font] = {}
    programs: dict[str, Font] = {}
    for xref in _used(copy):
        try:
            font = _font(copy, xref)
            if font.embedded:
                font = programs.setdefault(f"{font.sha}/{font.name}", font)
                fonts[_rename(copy, xref, font)] = font
        except pdf_errors() as error:
            _LOG.debug("object %d is damaged: %s", xref, error)
    return copy, fonts


def _copied(document: pymupdf.Document) -> pymupdf.Document:
    """Open a document once more, from where it came; a locked one as it is unlocked now."""
    import pymupdf

    if not (document.metadata or {}).get("encryption"):  # asking for needs_pass would lock it again
        if document.stream:
            return pymupdf.open(stream=document.stream, filetype="pdf")
        if document.name and Path(document.name).is_file():
            return pymupdf.open(str(document.name), filetype="pdf")
    return pymupdf.open(stream=document.tobytes(), filetype="pdf")


def _used(document: pymupdf.Document) -> list[int]:
    """List the numbers of the fonts of all pages and their forms."""
    found: set[int] = set()
    for number in range(document.page_count):
        try:
            found.update(entry[0] for entry in document.get_page_fonts(number, full=True))
        except pdf_errors() as error:
            _LOG.debug("the fonts of page %d cannot be listed: %s", number + 1, error)
    return sorted(found - {0})  # 0: written into the page, with no number to rename it by


def _font(document: pymupdf.Document, xref: int) -> Font:
    """Return the font with a number."""
    if document.xref_get_key(xref, "Subtype")[1] == "/Type3":
        return Font(f"Type3-{xref}", b"", "type3", _procedures(document, xref))
    name = _decoded(document.xref_get_key(xref, "BaseFont")[1].lstrip("/"))
    _, kind, _, program = document.extract_font(xref)
    return Font(name, program or b"", kind if program else "")


def _procedures(document: pymupdf.Document, xref: int) -> dict[int, str]:
    """Return the fingerprints of a Type 3 font's drawing procedures by character code."""
    streams = dict(re.findall(r"/([^\s/<>\[\]()]+)\s+(\d+) 0 R", _value(document, xref, "CharProcs")))
    differences = re.search(r"/Differences\s*\[([^\]]*)\]", _value(document, xref, "Encoding"))
    found: dict[int, str] = {}
    code = 0
    for token in re.findall(r"/[^\s/\]]+|\d+", differences[1] if differences else ""):
        if token.isdigit():
            code = int(token)
            continue
        if (number := streams.get(token[1:])) is not None and (drawn := document.xref_stream(int(number))):
            found[code] = digest(drawn)
        code += 1
    return found


def _value(document: pymupdf.Document, xref: int, key: str) -> str:
    """Return a value of a dictionary as text, one reference followed."""
    kind, value = document.xref_get_key(xref, key)
    return str(document.xref_object(int(value.split()[0])) if kind == "xref" else value)


def _decoded(name: str) -> str:
    """Return a PDF name without escapes and subset prefix."""
    parts = name.split("#")
    text = parts[0]
    for part in parts[1:]:
        try:
            text += chr(int(part[:2], 16)) + part[2:]
        except ValueError:
            text += "#" + part
    head, plus, tail = text.partition("+")
    return tail if plus and len(head) == 6 else text


def _rename(document: pymupdf.Document, xref: int, font: Font) -> str:
    label = f"{_LABEL}{xref}"
    if font.kind == "type3":
        document.xref_set_key(xref, "Name", f"/{label}")
        return label
    kind, value = document.xref_get_key(xref, "DescendantFonts")
    document.xref_set_key(xref, "BaseFont", f"/{label}")
    if kind == "xref":
        value = _value(document, xref, "DescendantFonts")
    if kind in {"xref", "array"}:
        for part in value.strip("[] ").split(" R"):
            numbers = part.split()
            if len(numbers) == 2 and numbers[0].isdigit():
                document.xref_set_key(int(numbers[0]), "BaseFont", f"/{label}")
    return label
