r"""RTF files: prepared byte by byte, then turned into text by striprtf.

striprtf decodes escapes and fonts but drops or mangles structure: footnotes, headers, text boxes, hidden
text, table rows, page breaks, raw bytes above ASCII. ``_prepared`` rewrites those parts of the file into
control characters (as ``\'xx`` escapes, which survive), and ``_pages`` reads them back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from rag_platform.errors import ParseError
from rag_platform.parsing.blocks import PageWriter, WrittenPage, cell_text, linked
from rag_platform.parsing.embedded import EmbeddedPictures
from rag_platform.parsing.legacy_runs import LegacyRuns
from rag_platform.parsing.reading import ParsedFile, ParseOptions, markup_pages, stated
from rag_platform.text.legacy_fonts import family

__all__ = ["read_rtf"]

_PAGE, _CELL, _ROW, _TABLE = "\x0c", "\x1f", "\x1e", "\x1d"
_NOTE, _HEADER, _FOOTER, _END = "\x11", "\x12", "\x13", "\x14"
_FONT, _NO_FONT = "\x16", "\x17"
"""Before the letter of a legacy font that begins, and where its text ends."""
_LINK, _TARGET, _LINK_END = "\x18", "\x19", "\x1a"
"""Around a link's text and its target."""
_PICTURE = "\x0f"
"""Around the number of a picture."""
_OUTLINE = "\x15"
"""Before the digit of a heading's outline level, from 0."""
_TOKEN = re.compile(
    r"\\bin(\d{1,10}) ?|\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])"
    r"|([\r\n]+)|([^\\{}\r\n]+)",
    re.S,
)
_MARKS = {"page": _PAGE, "cell": _CELL, "row": _ROW, "trowd": _TABLE}
_STORIES = {"footnote": _NOTE, "header": _HEADER, "headerf": _HEADER, "headerl": _HEADER, "headerr": _HEADER,
            "footer": _FOOTER, "footerf": _FOOTER, "footerl": _FOOTER, "footerr": _FOOTER}  # fmt: skip
_KEPT = {
    "pntext": "",
    "nestcell": " ",
    "nestrow": "\\par ",
    "nesttableprops": "",
    "listtext": "",
    "shppict": "",
    "shp": "",
    "shpinst": "",
    "do": "",
    "shptxt": "\\par ",
    "dptxbxtext": "\\par ",
}
"""Words that striprtf drops although a reader sees what they stand for, with what takes their place."""
_FORMATTING = frozenset({"v", "deleted", "plain"})
_DROPPED = frozenset({"shprslt", "nonshppict", "annotation", "atnid", "atnauthor", "pict", "nonesttables"})
_HEADING = re.compile(f"{_OUTLINE}([0-8])")
_MARKED = re.compile(f"{_OUTLINE}[0-8]?")
_FONT_MARK = re.compile(f"({_FONT}.|{_NO_FONT})")
_FIRST_LETTER, _MAX_FONTS = 0x41, 26
_PLACED = re.compile(f"{_PICTURE}([0-9]+){_PICTURE}")
_PIXELS = frozenset({"pngblip", "jpegblip"})
"""Pictures of pixels; the others are drawings (WMF, EMF, QuickDraw) and bitmaps of ancient programs."""
_NO_CHARACTER, _NOTHING = r"\u-3 ", r"\u8203 "
"""U+FFFD for a number that stands for no character, U+200B, which is not stored, for one that none sees."""
_FIRST_SEEN, _WHITE = 0x20, (9, 10, 13)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""What a file has of these would pass for a mark of ours."""
_HYPERLINK = re.compile(r"""\s*HYPERLINK\s+"?([^"\s]+)""")
_LINKED = re.compile(f"{_LINK}([^{_LINK}{_TARGET}]*){_TARGET}([^{_LINK_END}]*){_LINK_END}")
_MAX_FIELD_CODE = 2_000
_SHAPE = re.compile(r"\\(?:shppict|shpinst|shptxt|footnote|pntext|do|nesttableprops)\b")
_INFO = re.compile(r"\{\\(title|author|subject|keywords|company|doccomm) ((?:[^{}]|\\[{}])*)\}")


def read_rtf(path: Path, options: ParseOptions) -> ParsedFile:
    """Read an RTF file."""
    source = path.read_bytes().decode("latin-1").lstrip("\ufeffï»¿ \r\n\t")
    if source.count("{") == 0 or not source.rstrip("\0 \r\n\t").endswith("}"):
        raise ParseError("the RTF file ends before its last group is closed: truncated")
    names = _font_names(source)
    runs = LegacyRuns()
    rewriter = _rewriter(source, names)
    text = _marked(_decoded(rewriter.run()), names, runs)
    info = {
        name: _decoded("{\\rtf1" + _encoding_of(source) + " " + value + "}").strip()
        for name, value in _INFO.findall(source)
    }
    metadata = stated(
        title=info.get("title"), author=info.get("author"), subject=info.get("subject"),
        keywords=info.get("keywords"),
    )  # fmt: skip
    pictures = _Pictures(source, rewriter.pictures, EmbeddedPictures(options))
    return ParsedFile(markup_pages(runs.pages(_pages(text, pictures))), metadata)


def _encoding_of(source: str) -> str:
    return found[0] if (found := re.search(r"\\ansicpg\d+", source)) else ""


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
    link: str = ""
    font: int | None = None
    closing: str = ""
    dropped: bool = False
    unseen: bool = False


@dataclass
class _Rewriter:
    """Rewrites one RTF source; see the module docstring.

    Attributes:
        destinations: Words whose groups striprtf leaves out, the font table among them.
        pictures: Where each picture's group goes on after its name, by the number that stands in its place.
    """

    source: str
    legacy: tuple[int, ...] = ()
    default_font: int | None = None
    destinations: frozenset[str] = frozenset()
    out: list[str] = field(default_factory=list)
    stack: list[_Group] = field(default_factory=list)
    pictures: list[int] = field(default_factory=list)
    _written: int | None = None

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
        if word == "plain":
            self.stack[-1].font = self.default_font

    def _silent(self) -> bool:
        return bool(self.stack) and (self.stack[-1].hidden or self.stack[-1].dropped)

    def _brace(self, brace: str, at: int) -> None:
        if brace == "{":
            outer = self.stack[-1] if self.stack else _Group(font=self.default_font)
            self.stack.append(replace(outer, link="", closing=""))
            if not self._silent():
                self.out.append("{")
        elif self.stack:
            group = self.stack.pop()
            if not self._silent():
                self.out.append(group.closing + "}")

    def _token(self, token: re.Match[str], at: int) -> None:
        word = token[2]
        if word == "f" and self.stack:
            self.stack[-1].font = int(token[3] or 0)
        if word in (None, "u"):
            self._switch_font()
        if word is None:
            self.out.append(self._plain(token))
        elif word in _DROPPED and self.stack:
            if word == "pict":
                self._written = None
                number = f"{_escaped(_PICTURE)}{len(self.pictures)}{_escaped(_PICTURE)}"
                self.out.append(_escaped(_NO_FONT) + number)
                self.pictures.append(at)
            self.stack[-1].dropped = True
        elif word == "u" and (instead := _instead(int(token[3] or 0))):
            self.out.append(instead)
        elif word in _STORIES:
            self.stack[-1].closing = _escaped(_END)
            self.out.append(_escaped(_STORIES[word]))
        elif word == "outlinelevel" and (token[3] or "") in tuple("012345678"):
            self._written = None
            self.out.append(_escaped(_NO_FONT) + _escaped(_OUTLINE) + _escaped(str(token[3])))
        elif word == "fldinst":
            self._begin_link(at)
            self.out.append(token[0])
        elif word == "fldrslt" and len(self.stack) > 1 and self.stack[-2].link:
            self.stack[-1].closing = "".join(map(_escaped, f"{_TARGET}{self.stack[-2].link}{_LINK_END}"))
            self._written = None
            self.out.append(token[0] + " " + _escaped(_NO_FONT) + _escaped(_LINK))
        elif word in _KEPT:
            self.out.append(_KEPT[word])
        elif word in _MARKS:
            self.out.append(_escaped(_MARKS[word]))
        else:
            if self.stack and word in self.destinations:
                self.stack[-1].unseen = True
            self.out.append(token[0])

    def _begin_link(self, at: int) -> None:
        """Note the target of a field that is a link, for the text that follows it."""
        code = re.sub(r"[{}]|\\[a-z]+-?\d* ?", " ", self.source[at : at + _MAX_FIELD_CODE])
        target = _HYPERLINK.match(code)
        for group in self.stack[-2:]:
            group.link = target[1] if target and target[1].isascii() else ""

    def _switch_font(self) -> None:
        """Mark where text in a legacy font begins and ends, but for groups that striprtf leaves out."""
        if self.stack and self.stack[-1].unseen:
            return
        font = self.stack[-1].font if self.stack else None
        font = font if font in self.legacy else None
        if font != self._written:
            self._written = font
            letter = "" if font is None else chr(_FIRST_LETTER + self.legacy.index(font))
            self.out.append(_escaped(_NO_FONT) if font is None else _escaped(_FONT) + _escaped(letter))

    def _plain(self, token: re.Match[str]) -> str:
        if token[5] == "*":
            if self._opens_shape(token.end()):
                return ""
            if self.stack:
                self.stack[-1].unseen = True
        if token[4] and int(token[4], 16) < _FIRST_SEEN and int(token[4], 16) not in _WHITE:
            return ""
        text = _CONTROL.sub("", token[0])
        return "".join(c if c < "\x80" else f"\\'{ord(c):02x}" for c in text)

    def _opens_shape(self, at: int) -> bool:
        r"""Say whether a ``\\*`` stands before a destination that holds text a reader sees."""
        return _SHAPE.match(self.source, at) is not None


def _rewriter(source: str, names: Mapping[int, str]) -> _Rewriter:
    from striprtf.striprtf import destinations

    default = re.search(r"\\deff(\d{1,9})", source)
    return _Rewriter(source, tuple(names), int(default[1]) if default else None, destinations)


@dataclass(frozen=True)
class _Pictures:
    """The pictures of one RTF source, by number."""

    source: str
    places: list[int]
    embedded: EmbeddedPictures

    def of(self, text: str) -> list[str]:
        """Return what is written on the pictures whose numbers stand in a text."""
        numbers = (int(found) for found in _PLACED.findall(text))
        written = (self._text(number) for number in numbers if number < len(self.places))
        return [one for one in written if one]

    def inside(self, text: str) -> str:
        """Return a cell's text with what is written on its pictures in their places."""
        if not _PLACED.search(text):
            return text
        return _PLACED.sub(lambda found: f" {cell_text(self.of(found[0]))} ", text).strip()

    def _text(self, number: int) -> str:
        return self.embedded.text(partial(_picture, self.source, self.places[number]))


def _picture(source: str, at: int) -> bytes | None:
    """Return the picture file in a group that goes on at a place; None for what is no PNG or JPEG."""
    content, pixels, depth = bytearray(), False, 1
    while depth and (token := _TOKEN.match(source, at)):
        at = token.end()
        if token[1] is not None:
            content += source[at : at + int(token[1])].encode("latin-1")
            at += int(token[1])
        elif token[6] is not None:
            depth += 1 if token[6] == "{" else -1
        elif token[2] in _PIXELS:
            pixels = True
        elif token[8] is not None and depth == 1:
            digits = re.sub("[^0-9a-fA-F]", "", token[8])
            content += bytes.fromhex(digits[: len(digits) // 2 * 2])
    return bytes(content) if pixels else None


def _font_names(source: str) -> dict[int, str]:
    """Return the names of the legacy fonts of the font table, by number."""
    start = source.find("{\\fonttbl")
    if start < 0:
        return {}
    table = source[start : _group_end(source, start)]
    entries = re.split(r"\\f(\d+)(?![\da-zA-Z])", table)
    found: dict[int, str] = {}
    for number, entry in zip(entries[1::2], entries[2::2], strict=True):
        words = re.sub(r"\{[^{}]*\}|\\[a-z]+-?\d* ?|[{}\r\n]", "", entry)
        name = words.split(";")[0].strip()
        if family(name) is not None and len(found) < _MAX_FONTS:
            found[int(number)] = name
    return found


def _group_end(source: str, start: int) -> int:
    depth = 0
    for brace in re.finditer(r"(?<!\\)[{}]", source[start:]):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return start + brace.end()
    return len(source)


def _marked(text: str, names: Mapping[int, str], runs: LegacyRuns) -> str:
    """Mark the stretches of decoded text that are set in legacy fonts."""
    fonts = list(names.values())
    parts = []
    font = ""
    for piece in _FONT_MARK.split(text):
        if piece[:1] in (_FONT, _NO_FONT):
            font = fonts[ord(piece[1]) - _FIRST_LETTER] if piece[0] == _FONT else ""
        else:
            parts.append(runs.mark(piece, font))
    return "".join(parts)


def _instead(code: int) -> str:
    """Return what takes the place of a character that is none or that no one sees; nothing where it stays."""
    if not -0x8000 <= code <= 0xFFFF:
        return _NO_CHARACTER
    return _NOTHING if 0 <= code < _FIRST_SEEN and code not in _WHITE else ""


def _escaped(mark: str) -> str:
    return f"\\'{ord(mark):02x}"


def _pages(text: str, pictures: _Pictures) -> list[WrittenPage]:
    """Turn decoded text with marks into pages: stories sorted out, rows joined to tables."""
    text = _LINKED.sub(lambda found: linked(found[1], found[2]), text)
    text, headers = _stories(text, _HEADER)
    text, footers = _stories(text, _FOOTER)
    out = PageWriter()
    for line in headers:
        _write_line(out, line, pictures)
    for number, page in enumerate(text.split(_PAGE)):
        if number:
            out.page_break()
        for block in _blocks(page):
            _write(out, block, pictures)
    for line in footers:
        _write_line(out, line, pictures)
    return out.pages()


def _write(out: PageWriter, block: str | list[list[str]], pictures: _Pictures) -> None:
    """Write a table's rows, or a paragraph that may carry the mark of a heading, and its pictures."""
    if isinstance(block, list):
        out.table([[pictures.inside(cell) for cell in row] for row in block])
        return
    mark = _HEADING.match(block)
    text = _PLACED.sub("", _MARKED.sub("", block))
    out.heading(text.strip(" "), int(mark[1]) + 1 if mark else 0)
    for written in pictures.of(block):
        out.block(written, kind="image")


def _write_line(out: PageWriter, line: str, pictures: _Pictures) -> None:
    """Write a line of a header or footer, and its pictures."""
    out.block(_PLACED.sub("", line).strip(), item=True)
    for written in pictures.of(line):
        out.block(written, kind="image")


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
    *ended, rest = page.split(_ROW)
    for piece in ended:
        before, row = _row(piece, follows=bool(rows))
        if before:
            if rows:
                yield rows
                rows = []
            yield from _paragraphs(before, numbers)
        if row:
            rows.append(row)
    if rows:
        yield rows
    yield from _paragraphs(_unmarked(rest), numbers)


def _row(piece: str, *, follows: bool) -> tuple[str, list[str]]:
    """Return the text before a row and the row's cells; ``follows``: another row stands directly before.

    A row need not say where it begins: its properties hold until others come.
    """
    cell = piece.find(_CELL)
    if cell < 0:
        return _unmarked(piece), []
    start = piece.find(_TABLE)
    if not 0 <= start < cell:
        start = 0 if follows else piece.rfind("\n", 0, cell) + 1
    cells = piece[start:].replace(_TABLE, "").split(_CELL)[:-1]
    row = [cell_text(_MARKED.sub("", cell).split("\n")) for cell in cells]
    return _unmarked(piece[:start]), row


def _unmarked(text: str) -> str:
    text = text.replace(_TABLE, "").replace(_CELL, " ")
    return text if text.strip() else ""


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
