"""Building a page's text from blocks: paragraphs, list items, table rows, page breaks.

Shared by the readers of structured formats, so that a paragraph, a list and a table look the same
whatever file they came from; what is a heading or a table is noted where it is written. No format is known
here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rag_platform.types import Region, RegionKind

__all__ = [
    "PageWriter",
    "WrittenPage",
    "alt_text",
    "cell_text",
    "flat_lines",
    "is_table",
    "linked",
    "markdown_table",
    "table_lines",
]

_MAX_LEVEL = 9
_FILE_NAME = re.compile(r"(?:\S|\S.{0,200}\S)\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svg|webp)", re.I)
_WHITE = re.compile(r"[ \t\r\n\f\v]+")


def cell_text(parts: Iterable[str]) -> str:
    r"""Return a table cell's paragraphs as one line, with ``|`` escaped so that the row stays a row.

    >>> cell_text(["रु. ५०", "मात्र | थप"])
    'रु. ५० मात्र \\| थप'
    """
    return _WHITE.sub(" ", " ".join(parts)).strip().replace("|", r"\|")


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def alt_text(description: str) -> str:
    """Return what a picture's description says; nothing for the file name that programs put there.

    >>> alt_text(" वडाको नक्सा "), alt_text("image 1.png")
    ('वडाको नक्सा', '')
    """
    text = description.strip()
    return "" if _FILE_NAME.fullmatch(text) else text


def linked(text: str, target: str) -> str:
    """Return a link's text with its target after it, unless the text shows it or it leads nowhere outside.

    >>> linked("फाराम", "https://example.org/form"), linked("example.org", "http://example.org/")
    ('फाराम (https://example.org/form)', 'example.org (http://example.org/)')
    """
    shown = target.removeprefix("mailto:")
    if not text.strip() or not target.startswith(("http:", "https:", "mailto:")) or shown.strip("/") in text:
        return text
    return f"{text} ({shown})"


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return Markdown lines, one a row, the first row being the header.

    A table of one column is a frame or a list, not a table: its cells come back as plain lines. Empty
    rows are dropped, short rows are filled up, columns that are empty throughout are dropped.

    Args:
        rows: Cells made by ``cell_text``; a merged cell has its text once, in its first place.
    """
    width = max((len(row) for row in rows), default=0)
    filled = [[*row, *[""] * (width - len(row))] for row in rows if any(row)]
    used = [column for column in range(width) if any(row[column] for row in filled)]
    if len(used) < 2:
        return [row[column].replace(r"\|", "|") for row in filled for column in used]
    lines = [_row([row[column] for column in used]) for row in filled]
    return [lines[0], _row(["---"] * len(used)), *lines[1:]]


def flat_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table that stands inside another one's cell: a line a row, without bars.

    >>> flat_lines([["क", "ख"], ["", "ग"]])
    ['क, ख;', 'ग']
    """
    lines = [", ".join(cell.replace(r"\|", "|") for cell in row if cell) for row in rows if any(row)]
    return [f"{line};" for line in lines[:-1]] + lines[-1:]


def is_table(lines: Sequence[str]) -> bool:
    """Say whether ``table_lines`` made a table of its rows: not plain lines, and not a header alone."""
    return len(lines) > 2 and lines[1].startswith("| ---")


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Return ``table_lines`` as one text.

    >>> print(markdown_table([["सेवा", "शुल्क"], ["रगत जाँच", "रु. १५०"]]))
    | सेवा | शुल्क |
    | --- | --- |
    | रगत जाँच | रु. १५० |
    """
    return "\n".join(table_lines(rows))


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """A page's text with the regions found while it was written, and what else is to be said of it."""

    text: str
    regions: tuple[Region, ...] = ()
    reason: str = ""


@dataclass
class _Page:
    parts: list[str] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    length: int = 0

    def append(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)


@dataclass
class PageWriter:
    """Collects blocks into pages: a blank line between paragraphs, one line break between list items.

    Attributes:
        in_cell: What is written goes into a table's cell: tables in it come without bars.
    """

    in_cell: bool = False
    _pages: list[_Page] = field(default_factory=lambda: [_Page()])
    _opened: bool = False
    _in_list: bool = False

    def block(self, text: str, *, item: bool = False, kind: RegionKind | None = None, level: int = 0) -> None:
        """Add a block; items that follow each other are not set apart by a blank line.

        Args:
            text: One or more lines.
            item: It is one of a list.
            kind: What it is, where it is more than text.
            level: Of a heading: 1 is the highest.
        """
        text = text.strip("\n ")
        if not text:
            return
        page = self._pages[-1]
        if page.parts:
            page.append("\n" if item and self._in_list else "\n\n")
        if kind is not None:
            depth = min(max(1, level), _MAX_LEVEL) if kind == "heading" else 0
            page.regions.append(Region(page.length, page.length + len(text), kind, depth))
        page.append(text)
        self._in_list = item

    def heading(self, text: str, level: int) -> None:
        """Add a heading; one without a level (0) is a paragraph."""
        self.block(text, kind="heading" if level else None, level=level)

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Add a table; one of a single column comes as plain lines."""
        if self.in_cell:
            self.block("\n".join(flat_lines(rows)))
            return
        lines = table_lines(rows)
        self.block("\n".join(lines), kind="table" if is_table(lines) else None)

    def separate(self) -> None:
        """Set the next block apart by a blank line, even if it and the last one are items."""
        self._in_list = False

    def page_break(self) -> None:
        """Begin a new page, even if the one before is empty: page numbers must stay right."""
        self._pages.append(_Page())
        self._opened = True

    def soft_page_break(self) -> None:
        """Begin a new page unless a break just did: layout programs record the same break twice."""
        if self._pages[-1].parts or not self._opened:
            self.page_break()

    def at_top(self) -> bool:
        """Say whether the current page is still empty."""
        return not self._pages[-1].parts

    def texts(self) -> list[str]:
        """Return the pages' texts alone."""
        return [page.text for page in self.pages()]

    def pages(self) -> list[WrittenPage]:
        """Return the pages, empty ones included; a break at the very end opens no page."""
        pages = self._pages
        while len(pages) > 1 and not pages[-1].parts:
            pages = pages[:-1]
        return [WrittenPage("".join(page.parts), tuple(page.regions)) for page in pages]
