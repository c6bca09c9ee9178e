"""The starter set's source format: a small Markdown subset with page marks, parsed into blocks.

What the containers look like stands in ``build_nepali_starter`` and ``starter_pages``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

AUTHOR = "nepali_starter"
PAGE_MARK = "<!-- page -->"
STAMP = datetime(2026, 1, 1, tzinfo=UTC)
"""The time of every container, so that a rebuild changes nothing."""

Kind = Literal["h1", "h2", "h3", "p", "list", "table", "note"]


@dataclass(frozen=True)
class Block:
    """A heading, paragraph, list, table or speaker note: its lines without the markup in front."""

    kind: Kind
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)

    @property
    def rows(self) -> list[list[str]]:
        """The cells of a table, header row first, without the rule below it."""
        cells = [[cell.strip() for cell in line.strip("| ").split("|")] for line in self.lines]
        return [row for row in cells if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]

    @property
    def level(self) -> int:
        """1 to 3 for a heading, 0 for everything else."""
        return int(self.kind[1]) if self.kind in ("h1", "h2", "h3") else 0


@dataclass(frozen=True)
class Source:
    """A parsed ``source.md``: ``pages`` are what stands between its page marks."""

    text: str
    pages: tuple[tuple[Block, ...], ...]

    @property
    def title(self) -> str:
        """The first heading."""
        return next(block.text for block in self.blocks if block.level)

    @property
    def blocks(self) -> Iterator[Block]:
        """All blocks in order."""
        return (block for page in self.pages for block in page)


def read_source(path: Path) -> Source:
    """Parse the small Markdown subset that the sources are written in."""
    text = unicodedata.normalize("NFC", path.read_text(encoding="utf-8"))
    pages = tuple(tuple(_blocks(page)) for page in text.split(PAGE_MARK))
    return Source(text=text, pages=pages)


def _blocks(text: str) -> Iterator[Block]:
    for chunk in re.split(r"\n\s*\n", text.strip()):
        lines = tuple(line.strip() for line in chunk.splitlines())
        if heading := re.fullmatch(r"(#{1,3}) (.+)", lines[0]):
            yield Block(f"h{len(heading[1])}", (heading[2],))  # type: ignore[arg-type]
        elif lines[0].startswith("|"):
            yield Block("table", lines)
        elif lines[0].startswith("- "):
            yield Block("list", tuple(line.removeprefix("- ") for line in lines))
        elif lines[0].startswith("> "):
            yield Block("note", tuple(line.removeprefix("> ") for line in lines))
        else:
            yield Block("p", lines)
