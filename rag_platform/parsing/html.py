"""HTML pages, and the walk from an HTML tree to text that EPUB chapters share.

Menus, scripts and hidden parts are left out; inline tags never split a word; tables become rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rag_platform.parsing.blocks import (
    WrittenPage,
    alt_text,
    cell_text,
    flat_lines,
    is_table,
    linked,
    table_lines,
)
from rag_platform.parsing.decode import decode, html_declared
from rag_platform.parsing.embedded import EmbeddedPictures
from rag_platform.parsing.html_fonts import HtmlFonts, LoadPicture, picture_within
from rag_platform.parsing.legacy_runs import converted_plain
from rag_platform.parsing.numbering import whole_number
from rag_platform.parsing.reading import ParsedFile, ParseOptions, markup_pages, stated
from rag_platform.types import Region, RegionKind

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, PageElement, Tag

    Step: TypeAlias = PageElement | int | "_HeadingEnd" | "_LinkEnd"

__all__ = ["html_page", "html_text", "parse_html", "read_html"]

_DROPPED = frozenset(
    [
        "script",
        "style",
        "template",
        "noscript",
        "nav",
        "head",
        "title",
        "iframe",
        "object",
        "embed",
        "audio",
        "video",
        "canvas",
        "select",
        "datalist",
        "button",
        "input",
        "textarea",
        "map",
        "rp",
        "rt",
    ]
)
_PARAGRAPHS = frozenset(
    [
        "p",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "dl",
        "table",
        "pre",
        "blockquote",
        "figure",
        "section",
        "article",
        "main",
        "aside",
        "header",
        "footer",
        "address",
        "fieldset",
        "form",
        "details",
        "hr",
        "center",
    ]
)
_LINES = frozenset(
    [
        "div",
        "li",
        "dt",
        "dd",
        "tr",
        "td",
        "th",
        "caption",
        "figcaption",
        "summary",
        "legend",
        "option",
        "body",
        "html",
    ]
)
_LEVELS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_ROLES = frozenset({"navigation", "search", "menu", "menubar"})
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
# ASCII only: NBSP and its kin do not collapse in HTML.
_WHITE = re.compile(r"[ \t\r\n\f]+")
_BOILERPLATE = re.compile(
    r"^(?:nav|navbar|navigation|menu|(?:main|top|site|mega|sub|footer)-?(?:menu|nav)|breadcrumbs?|skip-?link)$"
    r"|cookie[-_]?(?:bar|banner|notice|consent|law|popup|message|policy)|(?:^|[-_])(?:gdpr|cookies?)(?:$|[-_])"
    r"|consent[-_]?(?:bar|banner|popup|manager)",
    re.I,
)
"""Names of classes and identifiers of menus and cookie bars."""
_MAX_CELL = 1000
_MOST_NESTED = 4
"""Tables inside cells of tables: each level that turns out to be no data is walked twice."""
_MAX_SPAN = 100


def read_html(path: Path, options: ParseOptions) -> ParsedFile:
    """Read an HTML file as one page."""
    raw = path.read_bytes()
    soup = parse_html(decode(raw, declared=html_declared(raw)))
    names = {str(tag.get("name", "")).lower(): tag.get("content") for tag in soup.find_all("meta")}
    title = soup.find("title")
    root = soup.find("html")
    metadata = stated(
        title=_WHITE.sub(" ", title.get_text()) if title else None,
        author=names.get("author"),
        description=names.get("description"),
        keywords=names.get("keywords"),
        language=root.get("lang") if root else None,
    )
    page = html_page(soup, EmbeddedPictures(options))
    return ParsedFile(markup_pages([page]), metadata)


def parse_html(text: str) -> BeautifulSoup:
    """Return the tree of ``text`` as a browser would see it, omitted end tags and all."""
    from bs4 import BeautifulSoup

    # An XML declaration naming UTF-16 would make the parser read the decoded text a second time.
    return BeautifulSoup(re.sub(r"\A\s*<\?xml[^>]*\?>", "", text), "lxml")


@dataclass
class _LinkEnd:
    """A step of the walk: a link ends here.

    Attributes:
        target: Where it leads.
        place: How many lines were complete, and how much of the current one was there, when it began.
    """

    target: str
    place: tuple[int, int]


class _HeadingEnd:
    """A step of the walk: the heading that is open ends here."""


@dataclass
class _Text:
    """Text under construction: lines, and how far apart the next one stands.

    Attributes:
        depth: How many tables it stands in the cells of.
    """

    depth: int = 0
    parts: list[str] = field(default_factory=list)
    inline: list[str] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    gap: int = 0
    level: int = 0
    _length: int = 0
    _heading_start: int = -1

    def write(self, text: str) -> None:
        self.inline.append(text)

    def break_line(self, gap: int = 1) -> None:
        """End the current line; the next stands ``gap`` line breaks below."""
        line = _WHITE.sub(" ", "".join(self.inline)).strip(" ")
        self.inline.clear()
        if line:
            self.raw(line)
        self.gap = max(self.gap, gap)
        if gap > 1:
            self._write_pictures()

    def raw(self, text: str, kind: RegionKind | None = None) -> None:
        if self.parts:
            self._append("\n" * max(1, self.gap))
        if kind is not None:
            self.regions.append(Region(self._length, self._length + len(text), kind))
        if self.level and self._heading_start < 0:
            self._heading_start = self._length
        self._append(text)
        self.gap = 0

    def begin_link(self, target: str) -> _LinkEnd:
        """Note where a link begins."""
        return _LinkEnd(target, (len(self.parts), len(self.inline)))

    def end_link(self, link: _LinkEnd) -> None:
        """Add a link's target to its text, where that stands on the current line."""
        n_parts, n_inline = link.place
        if n_parts != len(self.parts):
            return
        text = _WHITE.sub(" ", "".join(self.inline[n_inline:]))
        added = linked(text.strip(), link.target).removeprefix(text.strip())
        if added:
            tail = text[len(text.rstrip(" ")) :]
            self.inline[n_inline:] = [text.rstrip(" "), added, tail]

    def end_heading(self) -> None:
        """Note the heading that was open, if it had any text."""
        self.break_line(2)
        if self._heading_start >= 0:
            self.regions.append(Region(self._heading_start, self._length, "heading", self.level))
        self.level, self._heading_start = 0, -1

    def _write_pictures(self) -> None:
        """Write what pictures of a paragraph say, below it."""
        pictures, self.pictures = self.pictures, []
        for text in filter(None, pictures):
            self.gap = 2
            self.raw(text, None if self.depth else "image")
            self.gap = 2

    def result(self) -> WrittenPage:
        self.break_line(2)
        return WrittenPage("".join(self.parts), tuple(self.regions))

    def _append(self, text: str) -> None:
        self.parts.append(text)
        self._length += len(text)


def html_text(root: Tag) -> str:
    """Return the visible text below ``root`` in document order, without what is written on pictures."""
    return html_page(root, EmbeddedPictures(ParseOptions())).text


def html_page(root: Tag, pictures: EmbeddedPictures, load: LoadPicture | None = None) -> WrittenPage:
    """Return the visible text below ``root`` with its headings and tables, legacy fonts in Unicode.

    Args:
        root: The tree.
        pictures: Reads what is written on pictures.
        load: Returns the file that a picture's source names; by default only those within the page.
    """
    fonts = HtmlFonts(root, pictures, load or picture_within)
    (page,) = fonts.runs.pages([_walked(root, fonts)])
    return converted_plain(page) if page.reason == "" else page


def _walked(root: Tag, fonts: HtmlFonts, *, depth: int = 0) -> WrittenPage:
    """Return what stands below ``root``, which is inside the cells of ``depth`` tables."""
    out = _Text(depth=depth)
    # An explicit stack: pages generated by machines nest deeper than Python recurses.
    stack: list[Step] = list(reversed(list(root.children)))
    while stack:
        node = stack.pop()
        if isinstance(node, _LinkEnd):
            out.end_link(node)
        elif isinstance(node, int):
            out.break_line(node)
        elif isinstance(node, _HeadingEnd):
            out.end_heading()
        elif getattr(node, "name", None) is None:
            if type(node).__name__ in ("NavigableString", "CData"):
                out.write(fonts.marked(node))
        elif not _hidden(node):
            stack.extend(reversed(_opened(node, out, fonts)))
    return out.result()


def _opened(tag: Tag, out: _Text, fonts: HtmlFonts) -> list[Step]:
    """Write what ``tag`` itself says and return what is to be walked: children, and breaks around them."""
    name = tag.name
    if name == "br":
        out.break_line()
        return []
    if name == "img":
        out.write(f" {alt} " if (alt := alt_text(str(tag.get("alt") or ""))) else "")
        out.pictures.append(fonts.picture(str(tag.get("src") or "")))
        return []
    if name == "a" and tag.get("href"):
        return [*tag.children, out.begin_link(str(tag["href"]).strip())]
    if name == "pre":
        out.break_line(2)
        out.raw(tag.get_text().strip("\n"))
        out.gap = 2
        return []
    if name == "table" and (rows := _data_table(tag, fonts, out.depth)) is not None:
        _write_table(tag, rows, out, fonts)
        return []
    if name in _LEVELS and not out.level:
        out.break_line(2)
        out.level = _LEVELS[name]
        return [*tag.children, _HeadingEnd()]
    if name in _PARAGRAPHS:
        nested_list = name in ("ul", "ol") and tag.find_parent("li") is not None
        gap = 1 if nested_list else 2
        out.break_line(gap)
        return [*tag.children, gap]
    if name in _LINES:
        out.break_line()
        if name == "li":
            out.write(_item_label(tag))
        return [*tag.children, 1]
    return list(tag.children)


def _hidden(tag: Tag) -> bool:
    if tag.name in _DROPPED or tag.has_attr("hidden") or tag.get("aria-hidden") == "true":
        return True
    if str(tag.get("role", "")).lower() in _ROLES or (tag.name == "dialog" and not tag.has_attr("open")):
        return True
    names = [str(tag.get("id") or ""), *map(str, tag.get("class") or [])]
    if tag.name not in ("html", "body") and any(map(_BOILERPLATE.search, names)):
        return True
    return bool(_HIDDEN_STYLE.search(str(tag.get("style", ""))))


def _item_label(item: Tag) -> str:
    parent = item.parent
    if parent is None or parent.name != "ol":
        return "- "
    first = whole_number(parent.get("start"), 1)
    before = item.find_previous_siblings("li")
    number = whole_number(item.get("value"), first + len(before))
    return f"{number}. "


def _own_rows(table: Tag) -> list[Tag]:
    """Return the rows of a table, not those of tables inside it: to look there, too, takes hours in nests."""
    rows: list[Tag] = []
    stack = list(reversed(table.find_all(recursive=False)))
    while stack:
        tag = stack.pop()
        if tag.name == "tr":
            rows.append(tag)
        elif tag.name not in ("table", "td", "th"):
            stack += reversed(tag.find_all(recursive=False))
    return rows


def _data_table(table: Tag, fonts: HtmlFonts, depth: int) -> list[list[str]] | None:
    """Return the rows of a table of data; None for one that only lays a page out."""
    if depth >= _MOST_NESTED or id(table) in fonts.layouts:
        return None
    trs = _own_rows(table)
    is_nesting = table.find("table") is not None
    if is_nesting and not any(tr.find("th", recursive=False) for tr in trs):
        return None
    shown = set(fonts.pictures.shown)
    rows: list[list[str]] = []
    below: dict[int, int] = {}
    for tr in trs:
        row: list[str] = []
        for cell in tr.find_all(["td", "th"], recursive=False):
            while below.get(len(row), 0):
                below[len(row)] -= 1
                row.append("")
            text = "" if _hidden(cell) else cell_text([_walked(cell, fonts, depth=depth + 1).text])
            if len(text) > _MAX_CELL:
                fonts.pictures.shown = shown  # its cells are walked again
                fonts.layouts.add(id(table))
                return None
            span = max(1, min(_MAX_SPAN, whole_number(cell.get("colspan"), 1)))
            depth = max(1, whole_number(cell.get("rowspan"), 1))
            for column in range(len(row), len(row) + span):
                below[column] = depth - 1
            row.extend([text, *[""] * (span - 1)])
        rows.append(row)
    return rows


def _write_table(table: Tag, rows: list[list[str]], out: _Text, fonts: HtmlFonts) -> None:
    out.break_line(2)
    caption = table.find("caption")
    if caption is not None and not _hidden(caption):
        out.write(_walked(caption, fonts).text)
        out.break_line(1)
    if lines := flat_lines(rows) if out.depth else table_lines(rows):
        out.raw("\n".join(lines), "table" if is_table(lines) else None)
    out.gap = 2
