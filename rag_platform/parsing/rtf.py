r"""RTF files: prepared byte by byte, then turned into text by striprtf.

striprtf decodes escapes and fonts but drops or mangles structure: footnotes, headers, text boxes, hidden
text, table rows, page breaks, raw bytes above ASCII. ``_prepared`` rewrites those parts of the file into
control characters (as ``\'xx`` escapes, which survive), and ``_pages`` reads them back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rag_platform.errors import ParseError
from rag_platform.parsing.blocks import PageWriter, WrittenPage, cell_text
from rag_platform.parsing.reading import ParsedFile, ParseOptions, markup_pages, stated

__all__ = ["read_rtf"]

_PAGE, _CELL, _ROW, _TABLE = "\x0c", "\x1f", "\x1e", "\x1d"
_NOTE, _HEADER, _FOOTER, _END = "\x11", "\x12", "\x13", "\x14"
_OUTLINE = "\x15"
"""Before the digit of a heading's outline level, from 0."""
_TOKEN = re.compile(
    r"\\bin(\d+) ?|\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])"
    r"|([\r\n]+)|([^\\{}\r\n]+)",
    re.S,
)
_MARKS = {"page": _PAGE, "cell": _CELL, "nestcell": _CELL, "row": _ROW, "nestrow": _ROW, "trowd": _TABLE}
_SECTION_BREAKS = frozenset({"sbkpage", "sbkodd", "sbkeven"})
_STORIES = {"footnote": _NOTE, "header": _HEADER, "headerf": _HEADER, "headerl": _HEADER, "headerr": _HEADER,
            "footer": _FOOTER, "footerf": _FOOTER, "footerl": _FOOTER, "footerr": _FOOTER}  # fmt: skip
_KEPT = {
    "pntext": "",
    "listtext": "",
    "shp": "",
    "shpinst": "",
    "do": "",
    "shptxt": "\\par ",
    "dptxbxtext": "\\par ",
}
"""Destinations that striprtf drops although a reader sees their text, by what stands for their names."""
_FORMATTING = frozenset({"v", "deleted", "plain"})
_DROPPED = frozenset({"shprslt", "nonshppict", "annotation", "atnid", "atnauthor", "pict", "nonesttables"})
_HEADING = re.compile(f"{_OUTLINE}([0-8])")
_MARKED = re.compile(f"{_OUTLINE}[0-8]?")
_INFO = re.compile(r"\{\\(title|author|subject|keywords|company|doccomm) ((?:[^{}]|\\[{}])*)\}")


def read_rtf(path: Path, options: ParseOptions) -> ParsedFile:
    """Read an RTF file."""
    source = path.read_bytes().decode("latin-1").lstrip("\ufeffï»¿ \r\n\t")
    if source.count("{") == 0 or not source.rstrip("\0 \r\n\t").endswith("}"):
        raise ParseError("the RTF file ends before its last group is closed: truncated")
    text = _decoded(_prepared(source))
    info = {
        name: _decoded("{\\rtf1" + _encoding_of(source) + " " + value + "}").strip()
        for name, value in _INFO.findall(source)
    }
    metadata = stated(
        title=info.get("title"), author=info.get("author"), subject=info.get("subject"),
        keywords=info.get("keywords"),
    )  # fmt: skip
    return ParsedFile(markup_pages(_pages(text)), metadata)


def _encoding_of(source: str) -> str:
    found = re.search(r"\\ansicpg\d+", source)
    return found[0] if found else ""


def _decoded(rtf: str) -> str:
    from striprtf.striprtf import rtf_to_text

    try:
        text: str = rtf_to_text(rtf, errors="strict")
    except (UnicodeDecodeError, LookupError) as error:
        raise ParseError(f"the RTF file holds bytes that its code page does not have ({error})") from error
    return text


@dataclass
class _Group:
    hidden: bool = False
    closing: str = ""
    dropped: bool = False


@dataclass
class _Rewriter:
    """Rewrites one RTF source; see the module docstring."""

    source: str
    out: list[str] = field(default_factory=list)
    stack: list[_Group] = field(default_factory=list)

    def run(self) -> str:
        at = 0
        while at < len(self.source):
            token = _TOKEN.match(self.source, at)
            if token is None:  # a lone backslash at the very end
                break
            at = token.end()
            if token[1] is not None:
                at += int(token[1])
            elif token[6] is not None:
                self._brace(token[6], at)
            elif token[2] in _FORMATTING and self.stack:
                self._format(token[2], token[3])
            elif not self._silent():
                self._token(token, at)
        return "".join(self.out)

    def _format(self, word: str, argument: str | None) -> None:
        r"""Follow what hides text; ``\\plain`` shows it again."""
        self.stack[-1].hidden = word != "plain" and argument != "0"

    def _silent(self) -> bool:
        return bool(self.stack) and (self.stack[-1].hidden or self.stack[-1].dropped)

    def _brace(self, brace: str, at: int) -> None:
        if brace == "{":
            outer = self.stack[-1] if self.stack else _Group()
            self.stack.append(_Group(hidden=outer.hidden, dropped=outer.dropped))
            if not self._silent():
                self.out.append("{")
        elif self.stack:
            group = self.stack.pop()
            outer_silent = self._silent()
            if not outer_silent:
                self.out.append(group.closing + "}")

    def _token(self, token: re.Match[str], at: int) -> None:
        word = token[2]
        if word is None:
            self.out.append(self._plain(token))
        elif word in _DROPPED:
            self.stack[-1].dropped = True
        elif word in _STORIES:
            self.stack[-1].closing = _escaped(_END)
            self.out.append(_escaped(_STORIES[word]))
        elif word == "outlinelevel" and (token[3] or "") in tuple("012345678"):
            self.out.append(_escaped(_OUTLINE) + _escaped(str(token[3])))
        elif word in _KEPT:
            self.out.append(_KEPT[word])
        elif word in _MARKS:
            self.out.append(_escaped(_MARKS[word]))
        else:
            self.out.append(token[0])

    def _plain(self, token: re.Match[str]) -> str:
        if token[5] == "*" and self._opens_shape(token.end()):
            return ""
        return "".join(c if c < "\x80" else f"\\'{ord(c):02x}" for c in token[0])

    def _opens_shape(self, at: int) -> bool:
        r"""Say whether a ``\\*`` stands before a destination that holds text a reader sees."""
        return re.match(r"\\(?:shpinst|shptxt|footnote|pntext|do)\b", self.source[at : at + 16]) is not None


def _prepared(source: str) -> str:
    return _Rewriter(source).run()


def _escaped(mark: str) -> str:
    return f"\\'{ord(mark):02x}"


def _pages(text: str) -> list[WrittenPage]:
    """Turn decoded text with marks into pages: stories sorted out, rows joined to tables."""
    text, headers = _stories(text, _HEADER)
    text, footers = _stories(text, _FOOTER)
    out = PageWriter()
    for line in headers:
        out.block(line, item=True)
    for number, page in enumerate(text.split(_PAGE)):
        if number:
            out.page_break()
        for block in _blocks(page):
            _write(out, block)
    for line in footers:
        out.block(line, item=True)
    return out.pages()


def _write(out: PageWriter, block: str | list[list[str]]) -> None:
    """Write a table's rows, or a paragraph that may carry the mark of a heading."""
    if isinstance(block, list):
        out.table(block)
        return
    mark = _HEADING.match(block)
    out.heading(_MARKED.sub("", block).strip(" "), int(mark[1]) + 1 if mark else 0)


def _stories(text: str, mark: str) -> tuple[str, list[str]]:
    """Cut headers or footers out of the text; return it and their lines, each once."""
    lines: dict[str, None] = {}

    def cut(found: re.Match[str]) -> str:
        clean = _MARKED.sub("", found[1])
        lines.update(dict.fromkeys(line.strip() for line in clean.split("\n") if line.strip()))
        return ""

    return re.sub(f"{mark}([^{_END}]*){_END}", cut, text), list(lines)


def _blocks(page: str) -> Iterator[str | list[list[str]]]:
    rows: list[list[str]] = []
    numbers = iter(range(1, page.count(_NOTE) + 1))
    for piece in re.split(f"((?:{_TABLE}[^{_ROW}]*)?{_CELL}[^{_ROW}]*{_ROW})", page):
        if _ROW in piece:
            cells = piece.strip(_ROW).replace(_TABLE, "").split(_CELL)
            rows.append([cell_text(_MARKED.sub("", cell).split("\n")) for cell in cells[:-1]])
        elif piece.replace(_TABLE, "").strip():
            if rows:
                yield rows
                rows = []
            yield from _paragraphs(piece.replace(_TABLE, "").replace(_ROW, "").replace(_CELL, " "), numbers)
    if rows:
        yield rows


def _paragraphs(text: str, numbers: Iterator[int]) -> Iterator[str]:
    notes: list[str] = []

    def called(found: re.Match[str]) -> str:
        mark = f"[^{next(numbers, 0)}]"
        notes.append(f"{mark}: {' '.join(_MARKED.sub('', found[1]).split())}")
        return mark

    text = re.sub(f"{_NOTE}([^{_END}]*){_END}", called, text)
    for paragraph in text.split("\n"):
        if paragraph.strip():
            yield paragraph.strip(" ")
        called_here = [note for note in notes if note[: note.index("]") + 1] in paragraph]
        yield from called_here
