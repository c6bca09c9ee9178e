"""OpenDocument texts (ODT) in document order: headings, lists with their labels, tables, notes, frames.

Pages split at breaks that the author set and at soft page breaks where the writing program saved them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rag_platform.errors import EncryptedFile, ParseError
from rag_platform.parsing.archive import open_archive
from rag_platform.parsing.blocks import PageWriter, alt_text, cell_text, linked
from rag_platform.parsing.embedded import EmbeddedPictures
from rag_platform.parsing.legacy_runs import LegacyRuns
from rag_platform.parsing.numbering import in_format, whole_number
from rag_platform.parsing.reading import ParsedFile, ParseOptions, markup_pages, stated
from rag_platform.types import RegionKind

if TYPE_CHECKING:
    from odf.element import Element
    from odf.opendocument import OpenDocument

__all__ = ["read_odt"]

_TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
_TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
_DRAW = "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"
_OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
_STYLE = "urn:oasis:names:tc:opendocument:xmlns:style:1.0"
_FO = "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"
_SVG = "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"
_XLINK = "http://www.w3.org/1999/xlink"
_SKIPPED = frozenset({
    (_TEXT, "tracked-changes"), (_OFFICE, "annotation"), (_OFFICE, "annotation-end"), (_OFFICE, "forms"),
    (_TEXT, "ruby-text"), (_TEXT, "page-number"), (_TEXT, "page-count"), (_TEXT, "hidden-text"),
    (_TEXT, "hidden-paragraph"), (_TEXT, "sequence-decls"), (_TEXT, "variable-decls"),
    (_TEXT, "user-field-decls"), (_TEXT, "note-citation"),
})  # fmt: skip
_MAX_REPEAT = 64
_BREAK = "\x0c"


def read_odt(path: Path, options: ParseOptions) -> ParsedFile:
    """Read an OpenDocument text."""
    from odf.opendocument import load

    _check(path)
    document = load(str(path))
    styles = _Styles(document, path, options)
    walk = _Walk(styles)
    headers, footers = _frames(document, styles)
    for line in headers:
        walk.out.block(line, item=True)
    # odfpy's own ``document.text`` stays empty when the file is pretty-printed.
    for story in _children(document.body, (_OFFICE, "text")):
        walk.blocks(story)
    for line in footers:
        walk.out.block(line, item=True)
    return ParsedFile(markup_pages(styles.runs.pages(walk.out.pages())), _metadata(document))


def _check(path: Path) -> None:
    """Refuse what odfpy would read wrongly: it swallows XML errors and returns the text up to them."""
    import xml.sax

    with open_archive(path) as archive:
        names = set(archive.namelist())
        if "META-INF/manifest.xml" in names and b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise EncryptedFile("the document is under a password; save it without one")
        if "content.xml" not in names:
            raise ParseError("the document has no content.xml: damaged")
        for part in sorted(names & {"content.xml", "styles.xml", "meta.xml"}):
            with archive.open(part) as stream:
                xml.sax.parse(stream, xml.sax.ContentHandler())


def _metadata(document: OpenDocument) -> dict[str, str]:
    values = {_name(node)[1]: _plain(node) for node in _elements(document.meta)}
    return stated(
        title=values.get("title"), author=values.get("creator") or values.get("initial-creator"),
        subject=values.get("subject"), keywords=values.get("keyword"), language=values.get("language"),
        created=values.get("creation-date"), modified=values.get("date"),
    )  # fmt: skip


def _name(node: Element) -> tuple[str, str]:
    return getattr(node, "qname", None) or ("", "")


def _elements(node: Element) -> Iterator[Element]:
    for child in node.childNodes:
        if getattr(child, "qname", None):
            yield child


def _attribute(node: Element, namespace: str, name: str) -> str:
    return str(node.attributes.get((namespace, name)) or "")


def _number(node: Element, namespace: str, name: str) -> int:
    return whole_number(_attribute(node, namespace, name), 1)


def _plain(node: Element) -> str:
    if not getattr(node, "qname", None):
        return str(getattr(node, "data", "") or "")
    return "".join(_plain(child) for child in node.childNodes)


def _children(node: Element, *path: tuple[str, str]) -> Iterator[Element]:
    for child in _elements(node):
        if _name(child) == path[0]:
            if len(path) == 1:
                yield child
            else:
                yield from _children(child, *path[1:])


class _Styles:
    """What styles say about hiding, page breaks and lists, through their chain of parents."""

    def __init__(self, document: OpenDocument, path: Path, options: ParseOptions) -> None:
        self.runs = LegacyRuns()
        self._pictures, self._path = EmbeddedPictures(options), path
        self._fonts: dict[str, str] = {}
        self._default_font = ""
        self._families = {
            _attribute(face, _STYLE, "name"): _attribute(face, _SVG, "font-family").strip("'\" ")
            for face in _elements(document.fontfacedecls)
        }
        self._styles: dict[str, Element] = {}
        self.lists: dict[str, dict[int, Element]] = {}
        for holder in (document.styles, document.automaticstyles):
            for style in _elements(holder):
                name = _attribute(style, _STYLE, "name")
                if _name(style) == (_STYLE, "default-style"):
                    if _attribute(style, _STYLE, "family") == "paragraph":
                        self._default_font = self._stated_font(style)
                elif _name(style) == (_STYLE, "style"):
                    self._styles[name] = style
                elif _name(style) == (_TEXT, "list-style"):
                    self.lists[name] = {_number(level, _TEXT, "level"): level for level in _elements(style)}
                elif _name(style) == (_TEXT, "outline-style"):
                    self.lists["\0outline"] = {
                        _number(level, _TEXT, "level"): level for level in _elements(style)
                    }

    def _chain(self, name: str) -> Iterator[Element]:
        seen: set[str] = set()
        while name in self._styles and name not in seen:
            seen.add(name)
            yield self._styles[name]
            name = _attribute(self._styles[name], _STYLE, "parent-style-name")

    def stated(self, name: str, properties: str, namespace: str, attribute: str) -> str:
        """Return the nearest value of a formatting property in the style's chain."""
        for style in self._chain(name):
            for holder in _children(style, (_STYLE, properties)):
                if value := _attribute(holder, namespace, attribute):
                    return value
        return ""

    def font(self, name: str, outer: str = "") -> str:
        """Return the font that a style's chain states; else that of what stands around it, or the default."""
        if name not in self._fonts:
            stated = (font for style in self._chain(name) if (font := self._stated_font(style)))
            self._fonts[name] = next(stated, "")
        return self._fonts[name] or outer or self._default_font

    def _stated_font(self, style: Element) -> str:
        for holder in _children(style, (_STYLE, "text-properties")):
            named = _attribute(holder, _STYLE, "font-name")
            family = self._families.get(named, named) or _attribute(holder, _FO, "font-family")
            if family:
                return family.strip("'\" ")
        return ""

    def hides(self, name: str) -> bool:
        return self.stated(name, "text-properties", _TEXT, "display") == "none"

    def picture(self, name: str) -> str:
        """Return what is written on a picture of the package."""

        def load() -> bytes | None:
            with open_archive(self._path) as archive:
                return archive.read(name) if name in archive.namelist() else None

        return self._pictures.text(load)

    def breaks_before(self, name: str) -> bool:
        master = any(_attribute(style, _STYLE, "master-page-name") for style in self._chain(name))
        return master or self.stated(name, "paragraph-properties", _FO, "break-before") == "page"

    def breaks_after(self, name: str) -> bool:
        return self.stated(name, "paragraph-properties", _FO, "break-after") == "page"


@dataclass
class _Walk:
    """One pass over a story, writing blocks in document order."""

    styles: _Styles
    out: PageWriter = field(default_factory=PageWriter)
    n_notes: list[int] = field(default_factory=lambda: [0])
    _counters: dict[str, dict[int, int]] = field(default_factory=dict)
    _floating: list[tuple[str, RegionKind | None]] = field(default_factory=list)
    _noted: list[str] = field(default_factory=list)

    def blocks(self, parent: Element, label: str = "") -> None:
        """Write everything below ``parent``; ``label`` goes before its first paragraph."""
        for child in _elements(parent):
            name = _name(child)
            if name in _SKIPPED:
                continue
            if name in ((_TEXT, "p"), (_TEXT, "h")):
                self._paragraph(child, label)
                label = ""
            elif name == (_TEXT, "list"):
                self._list(child, "", 1)
            elif name == (_TABLE, "table"):
                self.out.table(list(self._rows(child)))
            elif name == (_TEXT, "soft-page-break"):
                self.out.page_break()
            elif name == (_DRAW, "frame") or name[0] == _DRAW:
                self._frame(child)
                self._flush()
            elif not self._hidden_section(child):
                self.blocks(child)

    def lines(self, parent: Element, *, in_cell: bool = False) -> list[str]:
        """Return the text below ``parent`` as lines, for cells, notes, frames and headers."""
        inner = _Walk(self.styles, PageWriter(in_cell=in_cell), self.n_notes)
        inner.blocks(parent)
        return [line for line in "\n".join(inner.out.texts()).split("\n") if line.strip()]

    def _hidden_section(self, node: Element) -> bool:
        return _attribute(node, _TEXT, "display") == "none"

    def _paragraph(self, paragraph: Element, label: str) -> None:
        style = _attribute(paragraph, _TEXT, "style-name")
        if self.styles.breaks_before(style) and not self.out.at_top():
            self.out.page_break()
        if not label and _name(paragraph) == (_TEXT, "h"):
            label = self._outline(paragraph)
        text = "" if self.styles.hides(style) else self._inline(paragraph, self.styles.font(style))
        level = _heading_level(paragraph)
        for number, piece in enumerate(text.split(_BREAK)):
            if number:
                self.out.page_break()
            if piece.strip() and level:
                self.out.heading(label + piece.strip(" "), level)
            elif piece.strip():
                self.out.block(label + piece.strip(" "), item=bool(label))
            label = "" if piece.strip() else label
        self._flush()
        if self.styles.breaks_after(style):
            self.out.page_break()

    def _flush(self) -> None:
        for text, kind in self._floating:
            self.out.block(text, kind=kind)
        for note in self._noted:
            self.out.block(note, item=True)
        self._floating, self._noted = [], []

    def _inline(self, node: Element, font: str) -> str:
        parts: list[str] = []
        for child in node.childNodes:
            name = _name(child)
            if name == ("", ""):
                # White space is collapsed as in HTML: real spaces are text:s.
                text = _collapsed(str(getattr(child, "data", "") or ""))
                parts.append(self.styles.runs.mark(text, font))
            elif name == (_TEXT, "s"):
                parts.append(" " * min(1000, _number(child, _TEXT, "c")))
            elif name == (_TEXT, "tab"):
                parts.append("\t")
            elif name == (_TEXT, "line-break"):
                parts.append("\n")
            elif name == (_TEXT, "soft-page-break"):
                parts.append(_BREAK)
            elif name == (_TEXT, "note"):
                parts.append(self._note(child))
            elif name[0] == _DRAW and name[1] != "a":
                self._frame(child)
            elif name not in _SKIPPED and not self.styles.hides(_attribute(child, _TEXT, "style-name")):
                own = self.styles.font(_attribute(child, _TEXT, "style-name"), font)
                parts.append(self._link(child, own) if name == (_TEXT, "a") else self._inline(child, own))
        return "".join(parts)

    def _link(self, link: Element, font: str) -> str:
        text = self._inline(link, font)
        return linked(text, _attribute(link, _XLINK, "href"))

    def _note(self, note: Element) -> str:
        self.n_notes[0] += 1
        mark = f"[^{self.n_notes[0]}]"
        for body in _children(note, (_TEXT, "note-body")):
            self._noted.append(f"{mark}: " + " ".join(self.lines(body)))
        return mark

    def _frame(self, frame: Element) -> None:
        """Keep a frame's text box (or the description of its picture) for after the paragraph."""
        lines: list[str] = []
        for child in _elements(frame):
            if _name(child) == (_DRAW, "text-box"):
                lines = self.lines(child)
                break
            if _name(child) in ((_TEXT, "p"), (_TEXT, "list")):  # a drawn shape holds its text directly
                lines = self.lines(frame)
                break
            if _name(child)[0] == _DRAW and _name(child)[1] not in (
                "image",
                "object",
                "object-ole",
                "glue-point",
            ):
                self._frame(child)
        if not lines:
            lines = [text for node in _children(frame, (_SVG, "desc")) if (text := alt_text(_plain(node)))]
        if lines:
            self._floating.append(("\n".join(lines), None))
        for image in _children(frame, (_DRAW, "image")):
            name = _attribute(image, _XLINK, "href")
            self._floating.append((self.styles.picture(name), "image"))

    def _list(self, node: Element, style: str, depth: int) -> None:
        style = _attribute(node, _TEXT, "style-name") or style
        if (
            depth == 1
            and _attribute(node, _TEXT, "continue-numbering") != "true"
            and not _attribute(node, _TEXT, "continue-list")
        ):
            self._counters.pop(style, None)
        counters = self._counters.setdefault(style, {})
        if depth > 1:
            counters.pop(depth, None)
        for item in _elements(node):
            if _name(item) not in ((_TEXT, "list-item"), (_TEXT, "list-header")):
                continue
            label = self._item_label(item, style, depth)
            self._item(item, label, style, depth)

    def _item(self, item: Element, label: str, style: str, depth: int) -> None:
        for child in _elements(item):
            if _name(child) == (_TEXT, "list"):
                self._list(child, style, depth + 1)
            elif _name(child) in ((_TEXT, "p"), (_TEXT, "h")):
                self._paragraph(child, label)
                label = ""
            elif _name(child) == (_TEXT, "soft-page-break"):
                self.out.page_break()
            elif _name(child) == (_TABLE, "table"):
                self.out.table(list(self._rows(child)))

    def _item_label(self, item: Element, style: str, depth: int) -> str:
        level = self.styles.lists.get(style, {}).get(depth)
        if _name(item) == (_TEXT, "list-header"):
            return ""
        if not any(
            _inked(child) for child in _elements(item) if _name(child) in ((_TEXT, "p"), (_TEXT, "h"))
        ):
            return ""
        if level is None or _name(level)[1] != "list-level-style-number":
            return "- "
        counters = self._counters.setdefault(style, {})
        first = _number(level, _TEXT, "start-value")
        stated_value = _attribute(item, _TEXT, "start-value")
        counters[depth] = whole_number(stated_value, counters.get(depth, first - 1) + 1)
        return self._shown(level, self.styles.lists[style], counters, depth)

    def _outline(self, heading: Element) -> str:
        levels = self.styles.lists.get("\0outline", {})
        depth = _number(heading, _TEXT, "outline-level")
        level = levels.get(depth)
        if level is None or not _attribute(level, _STYLE, "num-format") or not _inked(heading):
            return ""
        counters = self._counters.setdefault("\0outline", {})
        first = _number(level, _TEXT, "start-value")
        counters[depth] = counters.get(depth, first - 1) + 1
        for deeper in [at for at in counters if at > depth]:
            del counters[deeper]
        return self._shown(level, levels, counters, depth)

    def _shown(self, level: Element, levels: dict[int, Element], counters: dict[int, int], depth: int) -> str:
        n_shown = _number(level, _TEXT, "display-levels")
        numbers = [
            in_format(counters.get(at, 1), _attribute(levels[at], _STYLE, "num-format"))
            for at in sorted(levels)
            if depth - n_shown < at <= depth and _attribute(levels[at], _STYLE, "num-format")
        ]
        if not numbers:
            return ""
        prefix, suffix = _attribute(level, _STYLE, "num-prefix"), _attribute(level, _STYLE, "num-suffix")
        return f"{prefix}{'.'.join(numbers)}{suffix}".strip() + " "

    def _rows(self, table: Element) -> Iterator[list[str]]:
        for child in _elements(table):
            name = _name(child)
            if name == (_TABLE, "table-row"):
                cells: list[str] = []
                for cell in _elements(child):
                    if _name(cell) not in ((_TABLE, "table-cell"), (_TABLE, "covered-table-cell")):
                        continue
                    covered = _name(cell)[1] == "covered-table-cell"
                    repeat = min(_MAX_REPEAT, _number(cell, _TABLE, "number-columns-repeated"))
                    cells.extend(["" if covered else cell_text(self.lines(cell, in_cell=True))] * repeat)
                yield cells
            elif name[0] == _TABLE and name[1] in ("table-header-rows", "table-rows", "table-row-group"):
                yield from self._rows(child)


def _heading_level(paragraph: Element) -> int:
    if _name(paragraph) != (_TEXT, "h"):
        return 0
    return _number(paragraph, _TEXT, "outline-level")


def _inked(node: Element) -> bool:
    return bool(_plain(node).strip())


def _collapsed(text: str) -> str:
    """Fold line breaks and runs of blanks of the XML source into single blanks."""
    text = text.replace("\n", " ").replace("\r", " ").replace("\t", " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text


def _frames(document: OpenDocument, styles: _Styles) -> tuple[list[str], list[str]]:
    """Return the lines of headers and of footers, each once a document."""
    headers: dict[str, None] = {}
    footers: dict[str, None] = {}
    for master in _elements(document.masterstyles):
        for child in _elements(master):
            kind = _name(child)[1]
            if _name(child)[0] != _STYLE or _attribute(child, _STYLE, "display") == "false":
                continue
            lines = headers if kind.startswith("header") else footers if kind.startswith("footer") else None
            if lines is not None:
                lines.update(dict.fromkeys(_Walk(styles).lines(child)))
    return list(headers), list(footers)
