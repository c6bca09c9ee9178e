"""Excel workbooks (XLSX, XLSM): a page a sheet, values as the cells show them, in the order of the tabs.

Macros are left unread. Formulas show their stored value; one that was never calculated shows itself. The
parts are read as streams, so that memory follows the cells with something in them.
"""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from rag_platform.errors import ParseError, RagError
from rag_platform.parsing.archive import open_archive
from rag_platform.parsing.blocks import PageWriter, cell_text
from rag_platform.parsing.cell_formats import BUILT_IN, displayed
from rag_platform.parsing.numbering import whole_number
from rag_platform.parsing.office_xml import (
    Relations,
    attribute,
    child,
    elements,
    local_name,
    relations,
)
from rag_platform.parsing.reading import ParsedFile, ParseOptions, is_seen, markup_pages, stated
from rag_platform.parsing.sheets import in_unicode, write_rows
from rag_platform.text.legacy_fonts import convert_span, family
from rag_platform.types import Origin, Page

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

__all__ = ["read_xlsx"]

_MAX_CELLS = 20_000_000
"""Rows times columns in use: more is a sheet with its few cells strewn about, made to fill the memory."""
_N_COLUMNS = 16_384
_ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")
_CELL = re.compile(r"\$?([A-Za-z]{1,3})\$?(\d{1,7})")
_PRINT_CODE = re.compile(r'&(?:"[^"]*"|K[0-9A-F]{6}|K\d\d[+-]\d{3}|\d+|[A-Z])', re.I)
_PAGE_WORDS = re.compile(r"\b(?:page|of)\b|पृष्ठ|पाना", re.I)
_TEXT_CELLS = ("s", "str", "inlineStr")
_TRUE = ("1", "true")


def read_xlsx(path: Path, options: ParseOptions) -> ParsedFile:
    """Read a workbook."""
    with open_archive(path) as archive:
        book = _Book.opened(archive)
        pages = tuple(book.page(number, sheet) for number, sheet in enumerate(book.sheets, start=1))
        if not pages:
            raise ParseError("the workbook has no sheets: damaged; save it anew")
        if all(page.suspect for page in pages):
            raise ParseError(pages[0].reason)
        return ParsedFile(pages, _metadata(archive))


def _metadata(archive: zipfile.ZipFile) -> dict[str, str]:
    values: dict[str, str] = {}
    for part in relations(archive).of_kind("core-properties")[:1]:
        names = ("title", "creator", "subject", "keywords", "language", "created", "modified")
        values.update({local_name(one): one.text or "" for one in elements(archive, part, *names)})
    values["author"] = values.pop("creator", "")
    return {name: value for name, value in stated(**values).items() if value}


@dataclass(frozen=True, slots=True)
class _Sheet:
    name: str
    part: str
    hidden: bool


@dataclass(frozen=True, slots=True)
class _Book:
    """What all sheets of a workbook share."""

    archive: zipfile.ZipFile
    sheets: tuple[_Sheet, ...]
    strings: tuple[str, ...]
    styles: _Styles
    since_1904: bool
    uncalculated: bool
    """A program wrote zeros for the values of formulas and asks the next one to calculate them."""

    @classmethod
    def opened(cls, archive: zipfile.ZipFile) -> _Book:
        main = next(iter(relations(archive).of_kind("officeDocument")), "xl/workbook.xml")
        related = relations(archive, main)
        sheets: list[_Sheet] = []
        since_1904 = uncalculated = False
        for element in elements(archive, main, "workbookPr", "sheet", "calcPr"):
            if local_name(element) == "workbookPr":
                since_1904 = element.get("date1904", "") in _TRUE
            elif local_name(element) == "calcPr":
                uncalculated = element.get("fullCalcOnLoad", "") in _TRUE
            else:
                target = related.by_id.get(attribute(element, "id"))
                hidden = element.get("state", "visible") != "visible"
                sheets.append(_Sheet(element.get("name", ""), target.target if target else "", hidden))
        strings = chain.from_iterable(_strings(archive, part) for part in related.of_kind("sharedStrings"))
        styles = _Styles()
        for part in related.of_kind("styles"):
            styles.read(archive, part)
        return cls(archive, tuple(sheets), tuple(strings), styles, since_1904, uncalculated)

    def page(self, number: int, sheet: _Sheet) -> Page:
        """Read one sheet; a damaged one becomes a suspect page that says so."""
        try:
            return self._page(number, sheet)
        except (RagError, zipfile.BadZipFile, ValueError, LookupError, EOFError, OSError) as error:
            reason = f"the sheet {sheet.name!r} cannot be read: {error}"
            return Page(number, "", "markup", confidence=0.0, reason=reason, suspect=True, label="sheet")

    def _page(self, number: int, sheet: _Sheet) -> Page:
        related = relations(self.archive, sheet.part)
        grid = _read_grid(self, sheet.part, related)
        fonts = grid.in_unicode()
        shapes = [text for part in related.of_kind("drawing") for text in _shapes(self.archive, part)]
        notes = ["hidden sheet"] if sheet.hidden else []
        out = PageWriter()
        if grid.cells or shapes:
            out.heading(" ".join(sheet.name.split()), 1)
            out.block(grid.header)
            write_rows(out, grid.rows())
            for text in shapes:
                out.block(text)
            out.block(grid.footer)
        else:
            notes.append(f"empty sheet {sheet.name!r}")
        if fonts:
            notes.append(f"typed for {', '.join(fonts)}")
        if grid.n_formulas:
            notes.append(f"{grid.n_formulas} formulas without a calculated value are shown themselves")
        (page,) = markup_pages(out.pages(), "sheet")
        origin: Origin = "legacy_font" if fonts else "markup"
        return replace(page, page_no=number, origin=origin, reason="; ".join(notes))


def _strings(archive: zipfile.ZipFile, part: str) -> list[str]:
    return [_rich_text(element) for element in elements(archive, part, "si")]


def _rich_text(element: Element) -> str:
    """Return the text of a string in one or more runs, without its reading aid (``rPh``)."""
    texts = []
    for run in (element, *(one for one in element if local_name(one) == "r")):
        text = _unescaped("".join(one.text or "" for one in run if local_name(one) == "t"))
        look = child(run, "rPr")
        font = _legacy_name(look) if look is not None else ""
        texts.append(convert_span(text, font) if font else text)
    return "".join(texts)


def _unescaped(text: str) -> str:
    """Resolve the escapes of characters that XML has no place for (``_x000D_``)."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


@dataclass
class _Styles:
    """Of each cell style the format code, and the font where it is a legacy one."""

    formats: list[str] = field(default_factory=list)
    fonts: list[str] = field(default_factory=list)

    def read(self, archive: zipfile.ZipFile, part: str) -> None:
        codes = dict(BUILT_IN)
        fonts: list[str] = []
        for element in elements(archive, part, "numFmt", "fonts", "cellXfs"):
            match local_name(element):
                case "numFmt":
                    codes[whole_number(element.get("numFmtId"))] = element.get("formatCode", "")
                case "fonts":
                    fonts += [_legacy_name(font) for font in element]
                case "cellXfs":
                    for style in element:
                        self.formats.append(codes.get(whole_number(style.get("numFmtId")), ""))
                        font = whole_number(style.get("fontId"))
                        self.fonts.append(fonts[font] if 0 <= font < len(fonts) else "")

    def format_of(self, cell: Element) -> str:
        """Return the format code of a cell."""
        style = whole_number(cell.get("s"))
        return self.formats[style] if 0 <= style < len(self.formats) else ""

    def font_of(self, cell: Element) -> str:
        """Return the legacy font of a cell, or nothing."""
        style = whole_number(cell.get("s"))
        return self.fonts[style] if 0 <= style < len(self.fonts) else ""


def _legacy_name(font: Element) -> str:
    """Return a font's name if it is a legacy one, or nothing."""
    named = child(font, "name")
    if named is None:
        named = child(font, "rFont")
    name = named.get("val", "") if named is not None else ""
    return name if family(name) else ""


def _shapes(archive: zipfile.ZipFile, part: str) -> list[str]:
    """Return the texts of boxes drawn on a sheet."""
    texts = []
    for body in elements(archive, part, "txBody"):
        lines = ["".join(one.text or "" for one in line.iter("{*}t")) for line in body.iter("{*}p")]
        texts.append("\n".join(lines).strip())
    return list(dict.fromkeys(filter(None, texts)))


@dataclass
class _Grid:
    """The cells of one sheet that show something, by row and column."""

    cells: dict[int, dict[int, str]] = field(default_factory=dict)
    header: str = ""
    footer: str = ""
    n_formulas: int = 0
    fonts: dict[tuple[int, int], str] = field(default_factory=dict)
    """Legacy fonts of cells with text."""
    zeros: list[tuple[int, int, str]] = field(default_factory=list)
    """Formulas whose stored value is 0, as programs write it that calculate nothing."""
    calculated: bool = False

    def rows(self) -> list[list[str]]:
        """Return the rows over the columns in use, with one empty row where rows are missing between."""
        used = sorted({column for row in self.cells.values() for column in row})
        if len(self.cells) * len(used) > _MAX_CELLS:
            raise ParseError(f"{len(self.cells)} rows over {len(used)} columns are too many for one sheet")
        rows: list[list[str]] = []
        before = None
        for number in sorted(self.cells):
            if before is not None and number > before + 1:
                rows.append([])
            rows.append([cell_text([self.cells[number].get(column, "")]) for column in used])
            before = number
        return rows

    def in_unicode(self) -> list[str]:
        """Convert the cells of legacy fonts; return the names of those that had any."""
        found = []
        for font in dict.fromkeys(self.fonts.values()):
            places = [place for place, name in self.fonts.items() if name == font and self.has(place)]
            places.sort(key=lambda place: (place[1], place[0]))
            before = [self.cells[number][column] for number, column in places]
            after = in_unicode(before, font)
            for (number, column), text in zip(places, after, strict=True):
                self.cells[number][column] = text
            if after != before:
                found.append(font)
        return found

    def has(self, place: tuple[int, int]) -> bool:
        """Say whether a cell shows something."""
        return place[1] in self.cells.get(place[0], {})

    def merge(self, reference: str) -> None:
        """Drop what stands under a merged cell: it does not show."""
        corners = _corners(reference)
        if corners is None:
            return
        (top, left), (bottom, right) = corners
        for number in self._numbers(top, bottom):
            row = self.cells[number]
            for column in [at for at in row if left <= at <= right and (number, at) != (top, left)]:
                del row[column]

    def _numbers(self, first: int, last: int) -> list[int]:
        if last - first < len(self.cells):
            return [number for number in range(first, last + 1) if number in self.cells]
        return [number for number in self.cells if first <= number <= last]

    def link(self, reference: str, target: str) -> None:
        """Add the address that a cell links to."""
        corners = _corners(reference)
        if corners is None or not target.startswith(("http", "mailto:")):
            return
        (number, column), _ = corners
        text = self.cells.get(number, {}).get(column, "")
        address = target.removeprefix("mailto:")
        if text and address.strip("/") not in text:
            self.cells[number][column] = f"{text} ({address})"


def _read_grid(book: _Book, part: str, related: Relations) -> _Grid:
    grid = _Grid()
    number = 0
    tags = ("row", "mergeCell", "hyperlink", "oddHeader", "oddFooter")
    for element in elements(book.archive, part, *tags):
        match local_name(element):
            case "row":
                number = int(element.get("r", number + 1))
                if cells := _read_row(book, grid, number, element):
                    grid.cells[number] = cells
            case "mergeCell":
                grid.merge(element.get("ref", ""))
            case "hyperlink":
                target = related.by_id.get(attribute(element, "id"))
                if target is not None and target.external:
                    grid.link(element.get("ref", ""), target.target)
            case "oddHeader":
                grid.header = _printed(element.text or "")
            case "oddFooter":
                grid.footer = _printed(element.text or "")
    if book.uncalculated and not grid.calculated:
        for row_no, column, formula in grid.zeros:
            if grid.has((row_no, column)):
                grid.cells[row_no][column] = formula
                grid.n_formulas += 1
    return grid


def _read_row(book: _Book, grid: _Grid, number: int, row: Element) -> dict[int, str]:
    cells: dict[int, str] = {}
    column = 0
    for cell in row:
        place = _CELL.fullmatch(cell.get("r", ""))
        column = _column(place[1]) if place else column + 1
        if column > _N_COLUMNS:
            raise ParseError(f"row {number} has a cell in column {column}; there are {_N_COLUMNS}")
        text = " ".join(_cell(book, grid, (number, column), cell).split())
        if is_seen(text):
            cells[column] = text
            font = book.styles.font_of(cell)
            if font and cell.get("t", "n") in _TEXT_CELLS:
                grid.fonts[number, column] = font
    return cells


def _cell(book: _Book, grid: _Grid, place: tuple[int, int], cell: Element) -> str:
    """Return what a cell shows; a formula without a value shows itself."""
    kind = cell.get("t", "n")
    parts = {local_name(part): part for part in cell}
    stored, formula = parts.get("v"), parts.get("f")
    value = (stored.text or "") if stored is not None else ""
    if formula is not None:
        if not value and not (kind == "str" and stored is not None):
            grid.n_formulas += 1
            return f"={formula.text or '…'}"
        if kind == "n" and value == "0":
            grid.zeros.append((*place, f"={formula.text or '…'}"))
        else:
            grid.calculated = True
    match kind:
        case "s":
            return book.strings[int(value)] if value else ""
        case "inlineStr":
            return _rich_text(parts["is"]) if "is" in parts else ""
        case "b":
            return {"1": "TRUE", "0": "FALSE"}.get(value, value)
        case "d":
            return value.replace("T00:00:00", "").replace("T", " ").rstrip("Z")
        case "n":
            return displayed(value, book.styles.format_of(cell), since_1904=book.since_1904) if value else ""
    return _unescaped(value)


def _column(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number


def _corners(reference: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return the first and last cell of a range as ``(row, column)``; None for what is no range."""
    first, _, last = reference.partition(":")
    one, other = _CELL.fullmatch(first), _CELL.fullmatch(last or first)
    if one is None or other is None:
        return None
    return (int(one[2]), _column(one[1])), (int(other[2]), _column(other[1]))


def _printed(code: str) -> str:
    """Return the words of a printed header or footer, without page numbers, dates and fonts."""
    parts = [_PRINT_CODE.sub("", part).strip() for part in re.split("&[LCR]", code)]
    return "\n".join(part for part in parts if any(map(str.isalpha, _PAGE_WORDS.sub("", part))))
