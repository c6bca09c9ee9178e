"""Plain text and Markdown. Markdown stays Markdown: only front matter and comments leave the text."""

from __future__ import annotations

import re
from pathlib import Path

from rag_platform.parsing.decode import decode
from rag_platform.parsing.reading import ParsedFile, ParseOptions, markup_pages, stated

__all__ = ["read_markdown", "read_text"]

_FRONT_MATTER = re.compile(r"\A\s*---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
_FENCE = re.compile(r"[ \t]{0,3}(```+|~~~+)")
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_DELIMITER = re.compile(r"[ \t]{0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")


def read_text(path: Path, options: ParseOptions) -> ParsedFile:
    """Read plain text; a form feed begins a new page."""
    text = _unix(decode(path.read_bytes()))
    pages = text.split("\f")
    if len(pages) > 1 and not pages[-1].strip():
        pages.pop()
    return ParsedFile(markup_pages(pages))


def read_markdown(path: Path, options: ParseOptions) -> ParsedFile:
    """Read Markdown: YAML front matter becomes metadata, comments go, tables get one delimiter row form."""
    text = _unix(decode(path.read_bytes()))
    metadata, body = _front_matter(text)
    return ParsedFile(markup_pages([_clean(body)]), metadata)


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


def _clean(text: str) -> str:
    """Drop comments and normalise table delimiter rows outside code fences."""
    parts: list[str] = []
    prose: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            parts.append(line)
            if mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence):
                fence = ""
        elif mark:
            parts.extend(_prose(prose))
            prose, fence = [], mark[1]
            parts.append(line)
        else:
            prose.append(line)
    parts.extend(_prose(prose))
    return "\n".join(parts)


def _prose(lines: list[str]) -> list[str]:
    if not lines:
        return []
    cleaned = _COMMENT.sub("", "\n".join(lines)).split("\n")
    for number, line in enumerate(cleaned):
        if number and "|" in line and "|" in cleaned[number - 1] and _DELIMITER.fullmatch(line):
            n_columns = line.strip().strip("|").count("|") + 1
            cleaned[number] = "| " + " | ".join(["---"] * n_columns) + " |"
    return cleaned
