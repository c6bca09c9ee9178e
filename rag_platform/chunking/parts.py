"""A document in parts that are cut on their own: running text, tables, pictures' texts.

Only where parts begin and end, and what heads a table; cutting inside a part is the chunker's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rag_platform.protocols import Tokenizer
from rag_platform.types import Document, Kind

__all__ = ["Part", "fitting_header", "parts"]

_MAX_CAPTION = 160
"""Characters of a line that introduces a table, at most."""
_PAGE_NUMBERS = re.compile(r"[\s\d–—-]*\n\n[\s\d–—-]*")
"""What stands between the halves of a table over two pages: the break, and page numbers."""
_CELL_END = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a document's text.

    Attributes:
        start: First code point.
        end: One past the last.
        kind: What it is.
        body: Where the table itself begins; before it stands the line that introduces it.
        header: Header row of a table.
        is_continued: The table began on the page before: its own first row is no header.
    """

    start: int
    end: int
    kind: Kind
    body: int = 0
    header: str = ""
    is_continued: bool = False


def parts(document: Document, *, joined: bool = True) -> Iterator[Part]:
    """Yield the parts of a document in order; without regions it is one.

    Args:
        document: What is parted.
        joined: The line that introduces a table goes with the table.
    """
    text, at = document.text, 0
    for part in _marked(document):
        start = part.start
        if joined and part.kind == "table" and not part.is_continued:
            start = _caption_start(text, at, part.start)
        if text[at:start].strip():
            yield Part(at, start, "text")
        yield replace(part, start=start)
        at = part.end
    if text[at:].strip():
        yield Part(at, len(text), "text")


def _marked(document: Document) -> Iterator[Part]:
    """Yield tables and pictures, none inside another, a table with the header that counts for it."""
    previous: Part | None = None
    for page, span in zip(document.pages, document.page_spans, strict=True):
        for region in page.regions:
            start, end = span.start + region.start, span.start + region.end
            if region.kind == "heading" or (previous is not None and start < previous.end):
                continue
            part = Part(start, end, region.kind, body=start)
            if region.kind == "table":
                part = replace(part, header=document.text[start:end].split("\n", 1)[0])
                is_read = page.origin != "markup"
                if previous is not None and is_read and _continues(document.text, previous, part):
                    is_repeated = part.header == previous.header
                    part = replace(part, header=previous.header, is_continued=not is_repeated)
            yield part
            previous = part


def _continues(text: str, previous: Part, part: Part) -> bool:
    """Say whether a table goes on from the page before: no text between, and the columns agree."""
    between = text[previous.end : part.start]
    same_width = len(_cells(previous.header)) == len(_cells(part.header))
    return previous.kind == "table" and same_width and _PAGE_NUMBERS.fullmatch(between) is not None


def _caption_start(text: str, lowest: int, start: int) -> int:
    """Return where the line that introduces a table begins; ``start`` where none does."""
    before = text[lowest:start].rstrip()
    line = before.rpartition("\n")[2]
    gap = text[lowest + len(before) : start]
    is_alone = len(before) == len(line) or before[: len(before) - len(line)].endswith("\n\n")
    is_caption = is_alone and 0 < len(line.strip()) <= _MAX_CAPTION and gap.count("\n") <= 2
    return lowest + len(before) - len(line) if is_caption else start


def fitting_header(header: str, tokenizer: Tokenizer, limit: int) -> str:
    """Return a header row of at most ``limit`` tokens: its first cells, nothing where not even two fit.

    >>> from rag_platform.chunking.tokenizers import GraphemeTokenizer
    >>> fitting_header("| सेवा | शुल्क | कैफियत |", GraphemeTokenizer(), 8)
    '| सेवा | शुल्क |'
    """
    ends = [found.end() for found in _CELL_END.finditer(header)]
    for end in reversed(ends[2:] or ends):
        if tokenizer.count(header[:end]) <= limit:
            return header[:end]
    return ""


def _cells(row: str) -> list[str]:
    return _CELL_END.split(row.strip().strip("|"))
