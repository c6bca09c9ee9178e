"""Tables that are whole files: CSV and TSV, and how the rows of any sheet become a page.

Encoding and delimiter are found in the content. Workbooks are read in ``workbook``.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Literal

from rag_platform.errors import ParseError
from rag_platform.parsing.blocks import PageWriter, cell_text
from rag_platform.parsing.decode import decode
from rag_platform.parsing.reading import ParsedFile, ParseOptions, markup_pages
from rag_platform.text.legacy_fonts import convert_plain, convert_span, looks_legacy
from rag_platform.types import Origin

__all__ = ["in_unicode", "read_csv", "read_tsv", "write_rows"]

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_SAMPLE_ROWS = 500
_LEGACY_SAMPLE, _LEGACY_SHARE = 20_000, 0.3
"""Without a font's name: codes and abbreviations in a table must not turn into letters."""
_MIN_FITNESS = 0.25
"""Half of the rows in two columns; less is a sign in the text of a single column."""
_MAX_LINES = 20
"""Lines of one cell, where the quotes are not all right: more is a quote that swallows rows."""
_SEP_LINE = re.compile(r'\A"?sep=([,;|:~^\t])"?[ ]*(?:\r\n|\r|\n)', re.I)
"""The line in which Excel states the delimiter; it is no row."""
_NUMBER = re.compile(r"[-+(]?[^\w]{0,3}\d[\d.,\s]*[%)]?")


def read_csv(path: Path, options: ParseOptions) -> ParsedFile:
    """Read a file of delimited values: one table, its first full row the header."""
    return _read(path, "")


def read_tsv(path: Path, options: ParseOptions) -> ParsedFile:
    """Read a file of tab-separated values."""
    return _read(path, "\t")


def _read(path: Path, named: str) -> ParsedFile:
    text = decode(path.read_bytes())
    if stated := _SEP_LINE.match(text):
        text, delimiter = text[stated.end() :], stated[1]
    else:
        delimiter = named if named and named in text else _delimiter(text)
    rows, note = _rows(text, delimiter)
    reason = f"columns separated by {_DELIMITERS.get(delimiter, repr(delimiter))}{note}"
    origin: Origin = "markup"
    if looks_legacy("\n".join(cell for row in rows for cell in row)[:_LEGACY_SAMPLE]) > _LEGACY_SHARE:
        origin, reason = "legacy_font", f"{reason}; typed for a legacy font"
        rows = _in_unicode(rows)
    out = PageWriter()
    write_rows(out, [[cell_text([cell]) for cell in row] for row in rows])
    (page,) = markup_pages(out.pages(), "sheet")
    return ParsedFile((replace(page, reason=reason, origin=origin),))


def _in_unicode(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    places = sorted((column, number) for number, row in enumerate(rows) for column in range(len(row)))
    converted = dict(zip(places, in_unicode([rows[at][column] for column, at in places]), strict=True))
    return [[converted[column, number] for column in range(len(row))] for number, row in enumerate(rows)]


def in_unicode(cells: Sequence[str], font: str = "") -> list[str]:
    """Return cells typed for a legacy font in Unicode; those that are not stay as they are.

    They are weighed together, so give them column by column: a cell alone is too short to tell what it is,
    and serial numbers are known by each other.
    """
    lines = [" ".join(cell.split()) for cell in cells]
    text = "\n".join(lines)
    converted = convert_span(text, font) if font else convert_plain(text)
    found = converted.split("\n")
    return found if len(found) == len(lines) else [convert_span(line, font) for line in lines]


def _delimiter(text: str) -> str:
    """Return the delimiter that cuts most rows into the same, largest number of columns.

    ``csv.Sniffer`` takes letters for delimiters and fails on quoted line breaks.
    """
    fitness, found = max(((_fitness(text, one), one) for one in _DELIMITERS), key=lambda pair: pair[0])
    return found if fitness >= _MIN_FITNESS else ","


def _fitness(text: str, delimiter: str) -> float:
    """Return how well a delimiter fits: the share of rows of the usual width, more for wide rows."""
    try:
        rows = list(islice(_parsed(text, delimiter, csv.QUOTE_MINIMAL), _SAMPLE_ROWS))
    except csv.Error:
        return 0.0
    widths = Counter(len(row) for row in rows if any(cell.strip() for cell in row))
    wide = {width: n for width, n in widths.items() if width > 1}
    if not wide:
        return 0.0
    usual, n_rows = max(wide.items(), key=lambda found: (found[1], found[0]))
    return n_rows / widths.total() * (1 - 1 / usual)


def _rows(text: str, delimiter: str) -> tuple[list[list[str]], str]:
    """Return the rows, and a note where the quotes could not be taken for quotes.

    One quote that is never closed would swallow all rows after it.
    """
    try:
        return list(_parsed(text, delimiter, csv.QUOTE_MINIMAL, strict=True)), ""
    except csv.Error as error:
        unclosed = "unexpected end" in str(error)
    try:
        rows = [] if unclosed else list(_parsed(text, delimiter, csv.QUOTE_MINIMAL))
        if rows and not any(cell.count("\n") > _MAX_LINES for row in rows for cell in row):
            return rows, ""
        return list(_parsed(text, delimiter, csv.QUOTE_NONE)), "; a quote is never closed: quotes are text"
    except csv.Error as error:
        raise ParseError(f"the rows cannot be told apart ({error}); save the table as CSV anew") from error


def _parsed(
    text: str, delimiter: str, quoting: Literal[0, 3], *, strict: bool = False
) -> Iterator[list[str]]:
    file = io.StringIO(text, newline="")
    return csv.reader(file, delimiter=delimiter, quoting=quoting, strict=strict, skipinitialspace=True)


def write_rows(out: PageWriter, rows: Sequence[Sequence[str]]) -> None:
    """Write the rows of one sheet as the tables and lines that a reader sees in it.

    Rows of a single cell above a table are its title, not its header. Empty rows set tables apart, unless
    what follows has no header of its own: then they are only gaps.

    Args:
        out: Where the blocks go.
        rows: Cells made by ``cell_text``; empty rows included.
    """
    table: list[Sequence[str]] = []
    used: set[int] = set()
    for block in _blocks(rows):
        n_titles = next((at for at, row in enumerate(block) if _n_filled(row) > 1), len(block))
        body = block[n_titles:]
        columns = _columns(block)
        headless = not body or any(map(_NUMBER.fullmatch, body[0])) or (n_titles == 0 and columns <= used)
        if table and headless:
            table += block
            used |= columns
            continue
        out.table(table)
        for row in block[:n_titles]:
            out.block(next(filter(None, row)).replace(r"\|", "|"), item=True)
        out.separate()
        table, used = list(body), columns
    out.table(table)


def _blocks(rows: Sequence[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    block: list[Sequence[str]] = []
    for row in [*rows, ()]:
        if any(row):
            block.append(row)
        elif block:
            yield block
            block = []


def _n_filled(row: Sequence[str]) -> int:
    return sum(map(bool, row))


def _columns(rows: Sequence[Sequence[str]]) -> set[int]:
    return {at for row in rows for at, cell in enumerate(row) if cell}
