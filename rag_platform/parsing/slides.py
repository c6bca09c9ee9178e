"""PowerPoint presentations (PPTX): one page a slide, with tables, charts, groups and speaker notes.

python-pptx opens the package; the shape tree itself is walked, because its objects skip alternatives,
diagrams and what it has no class for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rag_platform.parsing.archive import open_archive
from rag_platform.parsing.blocks import PageWriter, WrittenPage, alt_text, cell_text, linked
from rag_platform.parsing.embedded import EmbeddedPictures
from rag_platform.parsing.legacy_runs import LegacyRuns
from rag_platform.parsing.numbering import in_format, whole_number
from rag_platform.parsing.reading import ParsedFile, ParseOptions, markup_pages, stated
from rag_platform.parsing.slide_fonts import SlideFonts

if TYPE_CHECKING:
    from lxml.etree import _Element as Element
    from pptx.opc.package import Part
    from pptx.package import Package
    from pptx.slide import Slide

__all__ = ["read_pptx"]

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_TITLES = frozenset({"title", "ctrTitle"})
_NUMBER_FORMATS = {
    "arabic": "decimal", "alphaLc": "a", "alphaUc": "A", "romanLc": "i", "romanUc": "I",
    "hindiNum": "१", "hindiAlpha": "क", "hindiAlpha1": "क",
}  # fmt: skip


def read_pptx(path: Path, options: ParseOptions) -> ParsedFile:
    """Read a presentation."""
    from pptx.package import Package

    open_archive(path).close()
    package = Package.open(str(path))
    slides = package.presentation_part.presentation.slides
    repeated: set[str] = set()
    written: list[WrittenPage] = []
    hidden: list[bool] = []
    runs, pictures = LegacyRuns(), EmbeddedPictures(options)
    for slide in slides:
        written.append(_Slide(slide.part, repeated, SlideFonts(slide, runs), pictures).page(slide))
        hidden.append(slide._element.get("show") in ("0", "false"))
    pages = tuple(
        replace(page, reason="; ".join(filter(None, ("hidden slide", page.reason)))) if is_hidden else page
        for page, is_hidden in zip(markup_pages(runs.pages(written), "slide"), hidden, strict=True)
    )
    return ParsedFile(pages, _metadata(package))


def _metadata(package: Package) -> dict[str, str]:
    from pptx.opc.constants import RELATIONSHIP_TYPE

    if not any(rel.reltype == RELATIONSHIP_TYPE.CORE_PROPERTIES for rel in package._rels.values()):
        return {}  # python-pptx would make some up, with the current time
    core = package.core_properties
    return stated(
        title=core.title, author=core.author, subject=core.subject, keywords=core.keywords,
        language=core.language, created=core.created, modified=core.modified,
    )  # fmt: skip


@dataclass
class _Slide:
    """The walk over one slide.

    Args:
        part: The slide's part: charts and diagrams are related to it.
        repeated: Footers that an earlier slide showed; they are written once a presentation.
        fonts: Finds the fonts of runs.
        pictures: Reads what is written on pictures.
    """

    part: Part
    repeated: set[str]
    fonts: SlideFonts
    pictures: EmbeddedPictures
    out: PageWriter = field(default_factory=PageWriter)

    def page(self, slide: Slide) -> WrittenPage:
        shapes = list(_shapes(slide.shapes._spTree))
        # The title is what a reader sees first, wherever it stands in the file.
        for shape in sorted(shapes, key=lambda shape: _placeholder(shape) not in _TITLES):
            self._shape(shape)
        if slide.has_notes_slide:
            for shape in _shapes(slide.notes_slide.shapes._spTree):
                if _placeholder(shape) == "body":
                    self._paragraphs(shape)
        return self.out.pages()[0]

    def _shape(self, shape: Element) -> None:
        kind = _placeholder(shape)
        if kind in ("sldNum", "dt", "hdr") or _is_hidden(shape):
            return
        if kind == "ftr":
            text = "\n".join(self._text(p, shape) for p in shape.iter(_A + "p"))
            if text in self.repeated:
                return
            self.repeated.add(text)
        if shape.tag == _P + "graphicFrame":
            self._frame(shape)
        elif shape.tag == _P + "pic":
            self._alt(shape)
            for blip in shape.iter(_A + "blip"):
                if (relationship := blip.get(_R + "embed")) in self.part.rels:
                    written = self.pictures.text(partial(_blob, self.part.related_part(relationship)))
                    self.out.block(written, kind="image")
        else:
            self._paragraphs(shape)

    def _paragraphs(self, shape: Element) -> None:
        counters: dict[int, int] = {}
        for body in shape.findall(_P + "txBody"):
            paragraphs = body.findall(_A + "p")
            if _placeholder(shape) in _TITLES:
                lines = [line for p in paragraphs if (line := self._text(p, shape).strip())]
                self.out.heading("\n".join(lines), 1)
                continue
            for paragraph in paragraphs:
                label = _label(paragraph, counters)
                if text := self._text(paragraph, shape).strip():
                    self.out.block(label + text, item=len(paragraphs) > 1)
        # Shapes are set apart even where both end in list items.
        self.out.separate()

    def _frame(self, frame: Element) -> None:
        for table in frame.iter(_A + "tbl"):
            rows = [[self._cell(cell) for cell in row.findall(_A + "tc")] for row in table.findall(_A + "tr")]
            self.out.table(rows)
        for chart in frame.iter(_C + "chart"):
            self._chart(chart.get(_R + "id"))
        for diagram in frame.iter(_DGM + "relIds"):
            self._diagram(diagram.get(_R + "dm"))

    def _alt(self, picture: Element) -> None:
        properties = picture.find(f"{_P}nvPicPr/{_P}cNvPr")
        if properties is not None:
            self.out.block(alt_text(str(properties.get("descr") or "")))

    def _chart(self, relationship: str | None) -> None:
        if relationship not in self.part.rels:
            return
        root = _parsed(self.part.related_part(relationship))
        titles = ["".join(t.text or "" for t in title.iter(_A + "t")) for title in root.iter(_C + "title")]
        for title in titles:
            self.out.block(title)
        series = [_series(node) for node in root.iter(_C + "ser")]
        categories = next((s[1] for s in series if s[1]), [])
        if not series:
            return
        rows = [["", *(cell_text([name]) for name, _, _ in series)]]
        length = max([len(categories), *(len(values) for _, _, values in series)])
        for at in range(length):
            cells = [_at(categories, at), *(_at(values, at) for _, _, values in series)]
            rows.append([cell_text([cell]) for cell in cells])
        self.out.table(rows)

    def _diagram(self, relationship: str | None) -> None:
        if relationship in self.part.rels:
            for paragraph in _parsed(self.part.related_part(relationship)).iter(_A + "p"):
                self.out.block(self._text(paragraph), item=True)

    def _cell(self, cell: Element) -> str:
        if cell.get("hMerge") in ("1", "true") or cell.get("vMerge") in ("1", "true"):
            return ""
        return cell_text(self._text(paragraph) for paragraph in cell.iter(_A + "p"))

    def _text(self, paragraph: Element, shape: Element | None = None) -> str:
        properties = paragraph.find(_A + "pPr")
        level = whole_number(properties.get("lvl")) if properties is not None else 0
        parts: list[str] = []
        for child in paragraph:
            if child.tag == _A + "br":
                parts.append("\n")
            elif child.tag in (_A + "r", _A + "fld"):
                parts.append(self._linked(child, self.fonts.marked(child, level, shape)))
        return "".join(parts)

    def _linked(self, run: Element, text: str) -> str:
        """Return a run's text with the target of its link, where it has one outside."""
        link = run.find(f"{_A}rPr/{_A}hlinkClick")
        relationship = link.get(_R + "id") if link is not None else None
        rel = self.part.rels.get(relationship) if relationship else None
        target = rel.target_ref if rel is not None and rel.is_external else ""
        return linked(text, target)


def _blob(part: Part) -> bytes:
    return bytes(part.blob)


def _parsed(part: Part) -> Element:
    from pptx.oxml import parse_xml

    return parse_xml(part.blob)


def _series(node: Element) -> tuple[str, list[str], list[str]]:
    def values(tag: str) -> list[str]:
        holder = node.find(_C + tag)
        points = [] if holder is None else list(holder.iter(_C + "v"))
        return [point.text or "" for point in points]

    return " ".join(values("tx")), values("cat") or values("xVal"), values("val") or values("yVal")


def _at(values: list[str], index: int) -> str:
    return values[index] if index < len(values) else ""


def _shapes(tree: Element) -> Iterator[Element]:
    """Yield the shapes of a tree in its order, groups opened at any depth, one branch of alternatives."""
    for child in tree:
        if child.tag == _P + "grpSp":
            if not _is_hidden(child):
                yield from _shapes(child)
        elif child.tag == _MC + "AlternateContent":
            yield from _shapes(child[0]) if len(child) else ()
        elif child.tag in (_P + "sp", _P + "graphicFrame", _P + "pic", _P + "cxnSp"):
            yield child


def _properties(shape: Element) -> Element | None:
    for child in shape:
        if isinstance(child.tag, str) and child.tag.startswith(_P + "nv"):
            return child
    return None


def _placeholder(shape: Element) -> str:
    """Return the type of a placeholder (``body`` where it names none), nothing for other shapes."""
    properties = _properties(shape)
    holder = properties.find(f"{_P}nvPr/{_P}ph") if properties is not None else None
    return "" if holder is None else str(holder.get("type") or "body")


def _is_hidden(shape: Element) -> bool:
    properties = _properties(shape)
    named = properties.find(_P + "cNvPr") if properties is not None else None
    return named is not None and named.get("hidden") in ("1", "true")


def _label(paragraph: Element, counters: dict[int, int]) -> str:
    """Count an automatically numbered paragraph and return its label."""
    properties = paragraph.find(_A + "pPr")
    depth = whole_number(properties.get("lvl")) if properties is not None else 0
    numbered = properties.find(_A + "buAutoNum") if properties is not None else None
    for deeper in [at for at in counters if at > depth or (at == depth and numbered is None)]:
        del counters[deeper]
    if numbered is None:
        return ""
    counters[depth] = counters.get(depth, whole_number(numbered.get("startAt"), 1) - 1) + 1
    kind = str(numbered.get("type") or "arabicPeriod")
    name = next(
        (known for known in sorted(_NUMBER_FORMATS, key=len, reverse=True) if kind.startswith(known)), ""
    )
    number = in_format(counters[depth], _NUMBER_FORMATS.get(name, "decimal"))
    if kind.endswith("ParenBoth"):
        return f"({number}) "
    return f"{number}{')' if kind.endswith('ParenR') else '.' if kind.endswith('Period') else ''} "
