"""Plain text and Markdown. Markdown stays Markdown: only front matter and comments leave the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rag_platform.parsing.blocks import WrittenPage
from rag_platform.parsing.decode import decode
from rag_platform.parsing.legacy_runs import converted_plain
from rag_platform.parsing.reading import ParsedFile, ParseOptions, markup_pages, stated
from rag_platform.types import Region

__all__ = ["read_markdown", "read_text"]

_FRONT_MATTER = re.compile(r"\A\s*---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
_FENCE = re.compile(r"[ \t]{0,3}(```+|~~~+)")
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_HEADING = re.compile(r"[ ]{0,3}(#{1,6})(?:[ \t]+(?P<title>.*?))?(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r"[ ]{0,3}(?:={3,}|-{3,})[ \t]*")
_DELIMITER = re.compile(r"[ \t]{0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")


def read_text(path: Path, options: ParseOptions) -> ParsedFile:
    """Read plain text; a form feed begins a new page."""
    text = _unix(decode(path.read_bytes()))
    pages = text.split("\f")
    if len(pages) > 1 and not pages[-1].strip():
        pages.pop()
    return ParsedFile(markup_pages(converted_plain(WrittenPage(page)) for page in pages))


def read_markdown(path: Path, options: ParseOptions) -> ParsedFile:
    """Read Markdown: YAML front matter becomes metadata, comments go, tables get one delimiter row form."""
    text = _unix(decode(path.read_bytes()))
    metadata, body = _front_matter(text)
    return ParsedFile(markup_pages([converted_plain(_clean(body))]), metadata)


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """Split front matter off; what is not a YAML mapping is text (a rule between two lines)."""
    import yaml

    found = _FRONT_MATTER.match(text)
    if not found:
        return {}, text
    try:
        values = yaml.load(found[1], Loader=yaml.BaseLoader)
    except yaml.YAMLError:
        return {}, text
    if not isinstance(values, dict):
        return {}, text
    flat = {str(key): ", ".join(map(str, v)) if isinstance(v, list) else v for key, v in values.items()}
    return stated(**flat), text[found.end() :]


def _clean(text: str) -> WrittenPage:
    """Drop comments and normalise table delimiter rows outside code fences; note headings and tables."""
    lines: list[str] = []
    regions: list[Region] = []
    prose: list[str] = []
    fence, length = "", 0

    def add(some: list[str]) -> None:
        nonlocal length
        lines.extend(some)
        length += sum(len(line) + 1 for line in some)

    def add_prose() -> None:
        cleaned = _prose(prose)
        regions.extend(_regions(cleaned, length))
        add(cleaned)
        prose.clear()

    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            add([line])
            if mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence):
                fence = ""
        elif mark:
            add_prose()
            fence = mark[1]
            add([line])
        else:
            prose.append(line)
    add_prose()
    return WrittenPage("\n".join(lines), tuple(regions))


def _prose(lines: list[str]) -> list[str]:
    if not lines:
        return []
    cleaned = _COMMENT.sub("", "\n".join(lines)).split("\n")
    for number, line in enumerate(cleaned):
        if number and "|" in line and "|" in cleaned[number - 1] and _DELIMITER.fullmatch(line):
            n_columns = line.strip().strip("|").count("|") + 1
            cleaned[number] = "| " + " | ".join(["---"] * n_columns) + " |"
    return cleaned


def _regions(lines: list[str], start: int) -> Iterator[Region]:
    """Yield the headings and pipe tables of lines outside code, the first of which stands at ``start``."""
    at = 0
    table_end = 0
    for number, line in enumerate(lines):
        if level := _heading_level(lines, number):
            yield Region(start + at, start + at + len(line), "heading", level)
        elif number >= table_end and _begins_table(lines, number):
            table_end = next((n for n in range(number, len(lines)) if "|" not in lines[n]), len(lines))
            size = sum(len(row) + 1 for row in lines[number:table_end]) - 1
            yield Region(start + at, start + at + size, "table")
        at += len(line) + 1


def _heading_level(lines: list[str], number: int) -> int:
    """Return the level of a heading marked by ``#``, or underlined by ``===`` or ``---``; else 0."""
    mark = _HEADING.fullmatch(lines[number])
    if mark:
        return len(mark[1]) if mark["title"] else 0
    alone = number == 0 or not lines[number - 1].strip()
    following = lines[number + 1] if number + 1 < len(lines) else ""
    if alone and lines[number].strip() and "|" not in lines[number] and _UNDERLINE.fullmatch(following):
        return 1 if "=" in following else 2
    return 0


def _begins_table(lines: list[str], number: int) -> bool:
    following = lines[number + 1] if number + 1 < len(lines) else ""
    return "|" in lines[number] and "|" in following and _DELIMITER.fullmatch(following) is not None
