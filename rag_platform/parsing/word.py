"""Word documents (DOCX): the body in document order as a reader sees it in the final view.

Pages: Word records where its layout broke pages (``lastRenderedPageBreak``) and authors set breaks of
their own; both split pages here. A document with neither is one page: guessing page numbers from the
amount of text would cite pages that do not exist.

python-docx opens the package; its paragraph and table objects skip insertions, links, text boxes,
notes and content controls, so the tree itself is walked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from rag_platform.errors import ParseError
from rag_platform.parsing.archive import open_archive
from rag_platform.parsing.blocks import PageWriter, alt_text, cell_text, linked
from rag_platform.parsing.embedded import EmbeddedPictures
from rag_platform.parsing.numbering import whole_number
from rag_platform.parsing.reading import ParsedFile, ParseOptions, markup_pages, stated
from rag_platform.parsing.word_numbering import Numbering
from rag_platform.parsing.word_styles import WordStyles, is_on
from rag_platform.types import RegionKind

if TYPE_CHECKING:
    from docx.opc.part import Part
    from docx.package import Package
    from lxml.etree import _Element as Element

__all__ = ["read_docx"]

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_V = "{urn:schemas-microsoft-com:vml}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_VAL = _W + "val"
_BREAK, _RENDERED = "\x0c", "\x0e"
"""Page breaks inside a paragraph's text while it is built: set by the author, recorded by the layout."""
_REMOVED = frozenset({_W + "del", _W + "moveFrom", _W + "delText", _W + "rPr", _W + "pPr"})
_SYMBOLS = {"F0A8": "☐", "F06F": "☐", "F0FE": "☑", "F0FD": "☒", "F0FC": "✓", "F0B7": "•", "F0A7": "•"}
_SIGN_CODE = re.compile("[0-9A-F]{1,4}")
_LINK, _TARGET, _LINK_END = "\x01", "\x02", "\x03"
"""Around the text of a link that a field makes, and its target, while a paragraph is built."""
_LINKED = re.compile(f"{_LINK}([^{_LINK}{_TARGET}]*){_TARGET}([^{_LINK_END}]*){_LINK_END}")
_NO_MARKS = dict.fromkeys(map(ord, (_LINK, _TARGET, _LINK_END)))
_HYPERLINK = re.compile(r"""\s*HYPERLINK\s+"?([^"\s]+)""", re.I)
_PRIVATE = "\U000f0000"
_CHARACTERS = {
    "tab": "\t", "cr": "\n", "noBreakHyphen": "\u2011", "softHyphen": "", "lastRenderedPageBreak": _RENDERED,
    "ptab": "\t",
}  # fmt: skip


def read_docx(path: Path, options: ParseOptions) -> ParsedFile:
    """Read a Word document."""
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.package import Package

    open_archive(path).close()
    package = Package.open(str(path))
    main = package.main_document_part
    styles = WordStyles(
        _related_root(main, RELATIONSHIP_TYPE.STYLES), _related_root(main, RELATIONSHIP_TYPE.THEME)
    )
    numbering = Numbering(_related_root(main, RELATIONSHIP_TYPE.NUMBERING), styles.numbering())
    notes = _Notes(
        footnote=_related_root(main, RELATIONSHIP_TYPE.FOOTNOTES),
        endnote=_related_root(main, RELATIONSHIP_TYPE.ENDNOTES),
    )
    body = _root(main).find(_W + "body")
    if body is None:
        raise ParseError("the document has no body: damaged")
    pictures = EmbeddedPictures(options)
    walk = _Walk(main, styles, numbering, notes, pictures, _section_starts(body))
    headers, footers = _frames(main, body, walk, RELATIONSHIP_TYPE.SETTINGS)
    for line in headers:
        walk.out.block(line, item=True)
    walk.blocks(body)
    walk.finish()
    for line in footers:
        walk.out.block(line, item=True)
    return ParsedFile(markup_pages(styles.runs.pages(walk.out.pages())), _metadata(package))


def _metadata(package: Package) -> dict[str, str]:
    from docx.opc.constants import RELATIONSHIP_TYPE

    if not any(rel.reltype == RELATIONSHIP_TYPE.CORE_PROPERTIES for rel in package.rels.values()):
        return {}  # python-docx would make some up, with the current time
    core = package.core_properties
    return stated(
        title=core.title, author=core.author, subject=core.subject, keywords=core.keywords,
        language=core.language, created=core.created, modified=core.modified,
    )  # fmt: skip


def _root(part: Part) -> Element:
    """Return the part's tree, also of parts that python-docx keeps as bytes (macros, templates, notes)."""
    from docx.opc.oxml import parse_xml

    element = getattr(part, "element", None)
    return element if element is not None else parse_xml(part.blob)


def _related_root(part: Part, relationship: str) -> Element | None:
    for rel in part.rels.values():
        if rel.reltype == relationship and not rel.is_external:
            return _root(rel.target_part)
    return None


def _visible(node: Element) -> Iterator[Element]:
    """Yield the children of ``node`` as in the final view: deletions gone, one branch of alternatives."""
    for child in node:
        if child.tag in _REMOVED or not isinstance(child.tag, str):
            continue
        if child.tag == _MC + "AlternateContent":
            branches = [branch for branch in child if isinstance(branch.tag, str)]
            # Choice is what a modern Word shows; Fallback repeats it for older ones.
            yield from _visible(branches[0]) if branches else ()
        else:
            yield child


@dataclass
class _Notes:
    """The document's notes, and how many have been called so far."""

    footnote: Element | None = None
    endnote: Element | None = None
    n_called: int = 0


@dataclass
class _Walk:
    """One pass over a story (body, header, note), writing blocks in document order."""

    part: Part
    styles: WordStyles
    numbering: Numbering
    notes: _Notes
    pictures: EmbeddedPictures
    section_starts: dict[Element, str] = field(default_factory=dict)
    out: PageWriter = field(default_factory=PageWriter)
    _floating: list[tuple[str, RegionKind | None]] = field(default_factory=list)
    _noted: list[str] = field(default_factory=list)
    _carried: str = ""
    _style: str = ""
    _field_codes: list[str] = field(default_factory=list)

    def blocks(self, parent: Element) -> None:
        """Write everything below ``parent``: paragraphs, tables, content controls."""
        for child in _visible(parent):
            if child.tag == _W + "p":
                self._paragraph(child)
            elif child.tag == _W + "tbl":
                self._table(child)
            elif child.tag in (_W + "sectPr", _W + "sdtPr", _W + "sdtEndPr") or _is_prompt(child):
                continue
            else:
                self.blocks(child)

    def finish(self) -> None:
        """Write what a last deleted paragraph mark left over."""
        self.out.block(self._carried)
        self._carried = ""

    def lines(self, parent: Element, *, in_cell: bool = False) -> list[str]:
        """Return the text below ``parent`` as lines, for cells, notes, text boxes and headers."""
        out = PageWriter(in_cell=in_cell)
        inner = _Walk(self.part, self.styles, self.numbering, self.notes, self.pictures, out=out)
        inner.blocks(parent)
        inner.finish()
        text = "\n".join(inner.out.texts())
        return [line for line in text.split("\n") if line.strip()]

    def _paragraph(self, paragraph: Element) -> None:
        properties = paragraph.find(_W + "pPr")
        style = _style_of(properties)
        self._style = style
        text = self._inline(paragraph, self.styles.hides(style))
        text = self._carried + _LINKED.sub(lambda m: linked(m[1], m[2]), text).translate(_NO_MARKS)
        self._carried = ""
        mark = properties.find(f"{_W}rPr") if properties is not None else None
        if mark is not None and (mark.find(_W + "del") is not None or mark.find(_W + "moveFrom") is not None):
            self._carried = text  # its end was deleted: it runs on into the next paragraph
            return
        own = is_on(properties, "pageBreakBefore")
        if (own if own is not None else self.styles.breaks_before(style)) and not self.out.at_top():
            self.out.page_break()
        label = self.numbering.label(properties, style)
        self._write(text, label, self.styles.heading_level(properties, style))
        for text, kind in self._floating:
            self.out.block(text, kind=kind)
        for note in self._noted:
            self.out.block(note, item=True)
        self._floating, self._noted = [], []
        self._section_end(properties)

    def _write(self, text: str, label: str, level: int) -> None:
        piece = ""
        for character in text + "\0":
            if character not in (_BREAK, _RENDERED, "\0"):
                piece += character
                continue
            if piece.strip():
                self._block(label, piece.strip(" "), level)
                label = ""
            piece = ""
            if character == _BREAK:
                self.out.page_break()
            elif character == _RENDERED:
                self.out.soft_page_break()

    def _block(self, label: str, text: str, level: int) -> None:
        if level:
            self.out.heading(label + text, level)
        else:
            self.out.block(label + text, item=bool(label))

    def _section_end(self, properties: Element) -> None:
        section = properties.find(_W + "sectPr") if properties is not None else None
        if section is None:
            return
        if self.section_starts.get(section, "nextPage") in ("nextPage", "oddPage", "evenPage"):
            self.out.page_break()

    def _inline(self, node: Element, hidden: bool) -> str:
        parts: list[str] = []
        for child in _visible(node):
            tag = child.tag.rpartition("}")[2] if child.tag.startswith((_W, _M)) else ""
            if tag == "r":
                parts.append(self._run(child, hidden))
            elif tag == "hyperlink":
                parts.append(self._link(child, hidden))
            elif tag == "t" and child.tag.startswith(_M):
                parts.append(child.text or "")
            elif tag == "fldSimple":
                parts.append(self._simple_field(child, hidden))
            elif tag not in ("sdtPr", "sdtEndPr") and not _is_prompt(child):
                parts.append(self._inline(child, hidden))
        return "".join(parts)

    def _link(self, link: Element, hidden: bool) -> str:
        text = self._inline(link, hidden)
        rel = self.part.rels.get(link.get(_R + "id")) if link.get(_R + "id") else None
        target = rel.target_ref if rel is not None and rel.is_external else ""
        return linked(text, target)

    def _simple_field(self, field_: Element, hidden: bool) -> str:
        code = str(field_.get(_W + "instr") or "")
        if _is_page_number(code):
            return ""
        text = self._inline(field_, hidden)
        target = _HYPERLINK.match(code)
        return linked(text, target[1]) if target else text

    def _run(self, run: Element, hidden: bool) -> str:
        properties = run.find(_W + "rPr")
        named = properties.find(_W + "rStyle") if properties is not None else None
        style = "" if named is None else str(named.get(_VAL))
        vanished = is_on(properties, "vanish")
        if vanished is None:
            vanished = hidden or self.styles.hides(style)
        font = self.styles.font(properties, style, self._style)
        return "".join(self._run_piece(child, vanished, font) for child in _visible(run))

    def _run_piece(self, child: Element, hidden: bool, font: str) -> str:
        tag = child.tag.rpartition("}")[2]
        if tag in ("fldChar", "instrText"):
            return self._field(child, tag)
        if tag == "lastRenderedPageBreak":
            return _RENDERED
        if hidden or self._in_page_number():
            return ""
        if tag == "t":
            return self.styles.runs.mark(child.text or "", font)
        if tag == "br":
            return _BREAK if child.get(_W + "type") == "page" else "\n"
        if tag == "sym":
            code = str(child.get(_W + "char") or "").upper()
            sign = chr(int(code, 16)) if _SIGN_CODE.fullmatch(code) else ""
            drawn = self.styles.runs.mark(sign, str(child.get(_W + "font"))) if sign else ""
            if drawn >= _PRIVATE:
                return drawn
            return _SYMBOLS.get(code, "" if code.startswith(("F0", "E")) else sign)
        if tag in ("footnoteReference", "endnoteReference"):
            return self._note(tag.removesuffix("Reference"), str(child.get(_W + "id")))
        if tag in ("drawing", "pict", "object"):
            self._drawing(child)
            return ""
        return _CHARACTERS.get(tag, "")

    def _field(self, child: Element, tag: str) -> str:
        """Follow complex fields: page numbers, which are no page's text, are left out; links are marked."""
        if tag == "instrText":
            if self._field_codes:
                self._field_codes[-1] += child.text or ""
            return ""
        kind = child.get(_W + "fldCharType")
        if kind == "begin":
            self._field_codes.append("")
        elif kind == "separate" and self._field_codes:
            return _LINK if _HYPERLINK.match(self._field_codes[-1]) else ""
        elif kind == "end" and self._field_codes:
            target = _HYPERLINK.match(self._field_codes.pop())
            return f"{_TARGET}{target[1]}{_LINK_END}" if target else ""
        return ""

    def _in_page_number(self) -> bool:
        return any(map(_is_page_number, self._field_codes))

    def _note(self, kind: str, identifier: str) -> str:
        root = self.notes.footnote if kind == "footnote" else self.notes.endnote
        for note in root if root is not None else ():
            if note.get(_W + "id") == identifier:
                self.notes.n_called += 1
                mark = f"[^{self.notes.n_called}]"
                self._noted.append(f"{mark}: " + " ".join(self.lines(note)))
                return mark
        return ""

    def _drawing(self, drawing: Element) -> None:
        boxes = [node for node in _within(drawing) if node.tag == _W + "txbxContent"]
        for box in boxes:
            self._floating.append(("\n".join(self.lines(box)), None))
        if not boxes:
            for node in drawing.iter():
                if (
                    isinstance(node.tag, str)
                    and node.tag.endswith("}docPr")
                    and (text := alt_text(str(node.get("descr") or "")))
                ):
                    self._floating.append((text, None))
        for node in _within(drawing):
            name = {_A + "blip": _R + "embed", _V + "imagedata": _R + "id"}.get(node.tag)
            rel = self.part.rels.get(node.get(name)) if name and node.get(name) else None
            if rel is not None and not rel.is_external:
                self._floating.append((self.pictures.text(partial(_blob, rel.target_part)), "image"))

    def _table(self, table: Element) -> None:
        rows: list[list[str]] = []
        for row in _rows(table):
            cells = [""] * _skipped_columns(row)
            for cell in _cells(row):
                properties = cell.find(_W + "tcPr")
                span = properties.find(_W + "gridSpan") if properties is not None else None
                merge = properties.find(_W + "vMerge") if properties is not None else None
                continued = merge is not None and merge.get(_VAL) != "restart"
                cells.append("" if continued else cell_text(self.lines(cell, in_cell=True)))
                cells.extend([""] * (min(63, whole_number(span.get(_VAL), 1)) - 1 if span is not None else 0))
            rows.append(cells)
        self.out.table(rows)


def _is_page_number(code: str) -> bool:
    return code.split()[:1] in (["PAGE"], ["NUMPAGES"], ["SECTIONPAGES"])


def _is_prompt(node: Element) -> bool:
    """Say whether a content control still shows its prompt ("Click here to enter text")."""
    return node.tag == _W + "sdt" and bool(is_on(node.find(_W + "sdtPr"), "showingPlcHdr"))


def _within(node: Element) -> Iterator[Element]:
    """Yield all visible descendants, not going into a text box: its own walk does."""
    for child in _visible(node):
        yield child
        if child.tag != _W + "txbxContent":
            yield from _within(child)


def _rows(table: Element) -> Iterator[Element]:
    for child in _visible(table):
        if child.tag == _W + "tr":
            properties = child.find(_W + "trPr")
            if properties is None or properties.find(_W + "del") is None:
                yield child
        elif child.tag not in (_W + "tblPr", _W + "tblGrid", _W + "sdtPr"):
            yield from _rows(child)


def _skipped_columns(row: Element) -> int:
    """Return how many columns of the grid stand empty before a row's first cell."""
    skipped = row.find(f"{_W}trPr/{_W}gridBefore")
    return 0 if skipped is None else min(63, whole_number(skipped.get(_VAL)))


def _cells(row: Element) -> Iterator[Element]:
    for child in _visible(row):
        if child.tag == _W + "tc":
            yield child
        elif child.tag not in (_W + "trPr", _W + "tblPrEx", _W + "sdtPr"):
            yield from _cells(child)


def _section_starts(body: Element) -> dict[Element, str]:
    """Return how the section after each one begins: that stands in the following section's properties."""
    sections = list(body.iter(_W + "sectPr"))
    starts = {}
    for section, following in pairwise(sections):
        kind = following.find(_W + "type")
        starts[section] = "nextPage" if kind is None else str(kind.get(_VAL))
    return starts


def _style_of(properties: Element) -> str:
    style = properties.find(_W + "pStyle") if properties is not None else None
    return "" if style is None else str(style.get(_VAL))


def _blob(part: Part) -> bytes:
    return bytes(part.blob)


def _frames(main: Part, body: Element, story: _Walk, settings_type: str) -> tuple[list[str], list[str]]:
    """Return the lines of the headers and of the footers that are shown, each once a document."""
    settings = _related_root(main, settings_type)
    even = is_on(settings, "evenAndOddHeaders")
    headers: dict[str, None] = {}
    footers: dict[str, None] = {}
    for section in body.iter(_W + "sectPr"):
        shown = {"default": True, "first": bool(is_on(section, "titlePg")), "even": bool(even)}
        for reference in section:
            lines = {_W + "headerReference": headers, _W + "footerReference": footers}.get(reference.tag)
            if lines is None or not shown.get(str(reference.get(_W + "type")), False):
                continue
            rel = main.rels.get(reference.get(_R + "id"))
            if rel is not None:
                walk = _Walk(rel.target_part, story.styles, Numbering(None, {}), _Notes(), story.pictures)
                lines.update(dict.fromkeys(walk.lines(_root(rel.target_part))))
    return list(headers), list(footers)
