"""JSON Lines: every record a page, its text first, then its other fields as ``name: value`` lines.

Nothing of a record is left out but empty values; a line that is no JSON refuses the file by its number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from rag_platform.errors import ParseError
from rag_platform.parsing.blocks import PageWriter
from rag_platform.parsing.decode import decode
from rag_platform.parsing.reading import ParsedFile, ParseOptions, markup_pages

__all__ = ["read_records"]

_TITLES = frozenset({"title", "heading", "headline", "शीर्षक"})
_TEXTS = frozenset({"text", "content", "body", "passage", "document", "summary", "abstract", "पाठ"})
_EXCERPT = 60

_Pairs = list[tuple[str, object]]


class _Record(_Pairs):
    """The members of an object in their order, repeated names included."""


def read_records(path: Path, options: ParseOptions) -> ParsedFile:
    """Read a file of one JSON value a line."""
    out = PageWriter()
    for ordinal, record in enumerate(_records(decode(path.read_bytes()))):
        if ordinal:
            out.page_break()
        _write(out, record)
    return ParsedFile(markup_pages(out.pages(), "record"))


def _records(text: str) -> Iterator[object]:
    # Not splitlines: U+2028 and its kin stand unescaped inside strings.
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if line.strip():
            try:
                yield json.loads(line, object_pairs_hook=_Record)
            except (ValueError, RecursionError) as error:
                why = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
                excerpt = line.strip()[:_EXCERPT]
                raise ParseError(
                    f"line {number} is no JSON value ({why}): {excerpt!r}; mend or drop the line"
                ) from error


def _write(out: PageWriter, record: object) -> None:
    if not isinstance(record, _Record):
        out.block(_value(record))
        return
    rest: _Pairs = []
    texts: list[str] = []
    titles: list[str] = []
    for name, value in record:
        place = titles if name.lower() in _TITLES else texts if name.lower() in _TEXTS else None
        if place is not None and isinstance(value, str):
            place.append(value)
        else:
            rest.append((name, value))
    for title in titles:
        out.heading(" ".join(title.split()), 1)
    for text in texts:
        out.block(text)
    for line in _fields(rest):
        out.block(line, item=True)


def _fields(pairs: _Pairs, above: str = "") -> Iterator[str]:
    """Yield a line for each value, an inner object's under the names above it (``author.name: …``)."""
    for name, value in pairs:
        if isinstance(value, _Record):
            yield from _fields(value, f"{above}{name}.")
        elif shown := _value(value):
            yield f"{above}{name}: {shown}"


def _value(value: object) -> str:
    """Return a value as a reader would write it; nothing for null and what is empty."""
    if isinstance(value, str):
        return value.strip()
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else json.dumps(value)
    if isinstance(value, list) and not isinstance(value, _Record):
        if any(isinstance(one, list) for one in value):
            return json.dumps(_plain(value), ensure_ascii=False) if value else ""
        return ", ".join(filter(None, map(_value, value)))
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: object) -> object:
    if isinstance(value, _Record):
        return {name: _plain(inner) for name, inner in cast(_Pairs, value)}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value
