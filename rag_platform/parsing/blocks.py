"""Building a page's text from blocks: paragraphs, list items, table rows, page breaks.

Shared by the readers of structured formats, so that a paragraph, a list and a table look the same
whatever file they came from. No format is known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

__all__ = ["PageWriter", "cell_text", "markdown_table", "table_lines"]

_WHITE = re.compile(r"[ \t\r\n\f\v]+")


def cell_text(parts: Iterable[str]) -> str:
    r"""Return a table cell's paragraphs as one line, with ``|`` escaped so that the row stays a row.

    >>> cell_text(["रु. ५०", "मात्र | थप"])
    'रु. ५० मात्र \\| थप'
    """
    return _WHITE.sub(" ", " ".join(parts)).strip().replace("|", r"\|")


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


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


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Return ``table_lines`` as one text.

    >>> print(markdown_table([["सेवा", "शुल्क"], ["रगत जाँच", "रु. १५०"]]))
    | सेवा | शुल्क |
    | --- | --- |
    | रगत जाँच | रु. १५० |
    """
    return "\n".join(table_lines(rows))


@dataclass
class PageWriter:
    """Collects blocks into pages: a blank line between paragraphs, one line break between list items."""

    _pages: list[list[str]] = field(default_factory=lambda: [[]])
    _opened: bool = False
    _in_list: bool = False

    def block(self, text: str, *, item: bool = False) -> None:
        """Add a block; items that follow each other are not set apart by a blank line."""
        text = text.strip("\n ")
        if text:
            page = self._pages[-1]
            if page:
                page.append("\n" if item and self._in_list else "\n\n")
            page.append(text)
            self._in_list = item

    def separate(self) -> None:
        """Set the next block apart by a blank line, even if it and the last one are items."""
        self._in_list = False

    def page_break(self) -> None:
        """Begin a new page, even if the one before is empty: page numbers must stay right."""
        self._pages.append([])
        self._opened = True

    def soft_page_break(self) -> None:
        """Begin a new page unless a break just did: layout programs record the same break twice."""
        if self._pages[-1] or not self._opened:
            self.page_break()

    def at_top(self) -> bool:
        """Say whether the current page is still empty."""
        return not self._pages[-1]

    def texts(self) -> list[str]:
        """Return the pages, empty ones included; a break at the very end opens no page."""
        pages = self._pages
        while len(pages) > 1 and not pages[-1]:
            pages = pages[:-1]
        return ["".join(page) for page in pages]
