"""Builds the containers of the Nepali starter set from their plain sources.

    python -m eval_datasets.build_nepali_starter [FOLDER]

Each item's ``source.md`` is the truth; this script writes ``FOLDER/<item>/documents/<file>`` (by default
in place) in ten formats. Timestamps are fixed and archives repacked, so that a second build with the same
library versions gives the same bytes. Reading documents is no business of this file.
"""

from __future__ import annotations

import html
import sys
import unicodedata
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from eval_datasets.starter_pages import FONT, write_pdf, write_scan
from eval_datasets.starter_source import AUTHOR, PAGE_MARK, STAMP, Block, Source, read_source

if TYPE_CHECKING:
    from docx.document import Document
    from docx.opc.coreprops import CoreProperties
    from odf.opendocument import OpenDocument
    from odf.table import Table
    from pptx.presentation import Presentation

STARTER = Path(__file__).parent / "nepali_starter"


def _fix_archive(path: Path) -> None:
    """Repack a zip container with a fixed time on each member, in the order it has."""
    with zipfile.ZipFile(path) as archive:
        members = [(entry, archive.read(entry)) for entry in archive.infolist()]
    with zipfile.ZipFile(path, "w") as archive:
        for entry, content in members:
            fixed = zipfile.ZipInfo(entry.filename, date_time=STAMP.timetuple()[:6])
            fixed.external_attr = 0o644 << 16
            fixed.compress_type = zipfile.ZIP_STORED if entry.filename == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(fixed, content)


def write_markdown(source: Source, path: Path) -> None:
    """Write the source itself, without page marks and notes."""
    path.write_text(source.text.replace(f"{PAGE_MARK}\n\n", ""), encoding="utf-8", newline="\n")


def write_text(source: Source, path: Path) -> None:
    """Write the blocks without markup, a blank line between them."""
    parts = [
        "\n".join(f"- {line}" for line in block.lines) if block.kind == "list" else block.text
        for block in source.blocks
    ]
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8", newline="\n")


def _html_block(block: Block) -> str:
    if block.level:
        return f"<{block.kind}>{html.escape(block.text)}</{block.kind}>"
    if block.kind == "list":
        return "<ul>\n" + "\n".join(f"<li>{html.escape(line)}</li>" for line in block.lines) + "\n</ul>"
    if block.kind == "table":
        head, *body = [[html.escape(cell) for cell in row] for row in block.rows]
        header = "".join(f'<th scope="col">{cell}</th>' for cell in head)
        rows = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in body)
        return f"<table>\n<thead>\n<tr>{header}</tr>\n</thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    return f"<p>{html.escape(block.text)}</p>"


def write_html(source: Source, path: Path) -> None:
    """Write one HTML5 page."""
    body = "\n".join(_html_block(block) for block in source.blocks)
    style = "body { max-width: 42rem; margin: auto } td, th { border: 1px solid; padding: .3rem }"
    page = (
        '<!DOCTYPE html>\n<html lang="ne">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{html.escape(source.title)}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )
    path.write_text(page, encoding="utf-8", newline="\n")


def _rtf_escape(text: str) -> str:
    escaped = []
    for character in text:
        if character in "\\{}":
            escaped.append("\\" + character)
        elif character == "\n":
            escaped.append("\\line ")
        elif character.isascii():
            escaped.append(character)
        else:
            unit = ord(character)  # all in the basic plane; RTF numbers are signed 16-bit
            escaped.append(f"\\u{unit - 65536 if unit > 32767 else unit}?")
    return "".join(escaped)


def write_rtf(source: Source, path: Path) -> None:
    r"""Write RTF by hand: headings by style and outline level, every Devanagari letter as ``\uN?``."""
    header = (
        r"{\rtf1\ansi\ansicpg1252\deff0\uc1{\fonttbl{\f0\fnil Annapurna SIL;}}"
        r"{\stylesheet{\s0 Normal;}{\s1\b\fs32 heading 1;}{\s2\b\fs28 heading 2;}{\s3\b\fs26 heading 3;}}"
        r"{\info{\title " + _rtf_escape(source.title) + r"}{\creatim\yr2026\mo1\dy1\hr0\min0}}"
    )
    parts = [header]
    for block in source.blocks:
        if block.level:
            size = {1: 32, 2: 28, 3: 26}[block.level]
            style = rf"\pard\s{block.level}\outlinelevel{block.level - 1}\sb200\sa120\b\f0\fs{size} "
            parts.append(style + _rtf_escape(block.text) + r"\b0\par")
        else:
            parts.append(r"\pard\s0\sa120\f0\fs24 " + _rtf_escape(block.text) + r"\par")
    path.write_text("\n".join(parts) + "\n}\n", encoding="ascii", newline="\n")


def _docx_fonts(document: Document) -> None:
    """Name the font for Latin and for complex scripts in every style used."""
    from docx.oxml.ns import qn

    for name in ("Normal", "Heading 1", "Heading 2", "Heading 3"):
        fonts = document.styles[name].element.get_or_add_rPr().get_or_add_rFonts()
        for attribute in list(fonts.attrib):
            del fonts.attrib[attribute]
        for script in ("ascii", "hAnsi", "cs"):
            fonts.set(qn(f"w:{script}"), FONT)


def _docx_table(document: Document, rows: list[list[str]]) -> None:
    table = document.add_table(rows=len(rows), cols=len(rows[0]), style="Table Grid")
    for cells, row in zip(table.rows, rows, strict=True):
        for cell, text in zip(cells.cells, row, strict=True):
            cell.text = text
    for cell in table.rows[0].cells:
        for run in cell.paragraphs[0].runs:
            run.bold = True


def _core_properties(properties: CoreProperties, title: str) -> None:
    properties.title, properties.author, properties.language = title, AUTHOR, "ne"
    properties.created = properties.modified = STAMP.replace(tzinfo=None)
    properties.last_modified_by, properties.revision, properties.comments = AUTHOR, 1, ""


def write_docx(source: Source, path: Path) -> None:
    """Write a Word document; a page mark of the source becomes a page break."""
    import docx

    document = docx.Document()
    _docx_fonts(document)
    _core_properties(document.core_properties, source.title)
    for number, page in enumerate(source.pages):
        if number:
            document.add_page_break()
        for block in page:
            if block.level:
                document.add_heading(block.text, block.level)
            elif block.kind == "table":
                _docx_table(document, block.rows)
                document.add_paragraph()
            else:
                style = "List Bullet" if block.kind == "list" else "Normal"
                for line in block.lines:
                    document.add_paragraph(line, style=style)
    document.save(str(path))
    _fix_archive(path)


def _slide(presentation: Presentation, blocks: tuple[Block, ...], *, first: bool) -> None:
    from pptx.util import Inches, Pt

    table = next((block for block in blocks if block.kind == "table"), None)
    layout = presentation.slide_layouts[0 if first else 5 if table else 1]
    slide = presentation.slides.add_slide(layout)
    slide.shapes.title.text = next(block.text for block in blocks if block.level)
    if table:
        size = (len(table.rows), len(table.rows[0]))
        frame = slide.shapes.add_table(*size, Inches(0.5), Inches(1.8), Inches(9), Inches(3))
        for at, row in enumerate(table.rows):
            for column, text in enumerate(row):
                cell = frame.table.cell(at, column)
                cell.text = text
                cell.text_frame.paragraphs[0].font.size = Pt(18)
    else:
        lines = [line for block in blocks if block.kind in ("p", "list") for line in block.lines]
        body = slide.placeholders[1].text_frame
        body.text = "\n".join(lines)
        for paragraph in body.paragraphs:
            paragraph.font.size = Pt(24)
    if notes := [block.text for block in blocks if block.kind == "note"]:
        slide.notes_slide.notes_text_frame.text = "\n".join(notes)


def write_pptx(source: Source, path: Path) -> None:
    """Write one slide a page: its heading as the title, ``>`` lines as speaker notes."""
    import pptx

    presentation = pptx.Presentation()
    _core_properties(presentation.core_properties, source.title)
    for number, page in enumerate(source.pages):
        _slide(presentation, page, first=number == 0)
    presentation.save(str(path))
    _fix_archive(path)


def _odt_styles(document: OpenDocument) -> None:
    from odf import style

    document.fontfacedecls.addElement(style.FontFace(name=FONT, fontfamily=f"'{FONT}'"))
    for level, size in {0: "12pt", 1: "17pt", 2: "14pt", 3: "13pt"}.items():
        name = f"Heading {level}" if level else "Standard"
        bold: dict[str, str] = {"fontweight": "bold", "fontweightcomplex": "bold"} if level else {}
        entry = style.Style(name=name, family="paragraph")
        entry.addElement(style.ParagraphProperties(margintop="0.2cm", marginbottom="0.2cm"))
        fonts = {"fontname": FONT, "fontnamecomplex": FONT, "fontsize": size, "fontsizecomplex": size}
        entry.addElement(style.TextProperties(**fonts, **bold))
        document.styles.addElement(entry)
    border = style.Style(name="Cell", family="table-cell")
    border.addElement(style.TableCellProperties(border="0.5pt solid #000000", padding="0.1cm"))
    document.automaticstyles.addElement(border)


def _odt_table(rows: list[list[str]]) -> Table:
    from odf import table, text

    grid = table.Table(name="Table1")
    grid.addElement(table.TableColumn(numbercolumnsrepeated=len(rows[0])))
    head = table.TableHeaderRows()
    for number, cells in enumerate(rows):
        row = table.TableRow()
        for content in cells:
            cell = table.TableCell(stylename="Cell", valuetype="string")
            cell.addElement(text.P(stylename="Standard", text=content))
            row.addElement(cell)
        (grid if number else head).addElement(row)
        if not number:
            grid.addElement(head)
    return grid


def write_odt(source: Source, path: Path) -> None:
    """Write an OpenDocument text."""
    from odf import dc, meta, text
    from odf.opendocument import OpenDocumentText

    document = OpenDocumentText()
    _odt_styles(document)
    document.meta.addElement(dc.Title(text=source.title))
    document.meta.addElement(meta.CreationDate(text=STAMP.strftime("%Y-%m-%dT%H:%M:%S")))
    for block in source.blocks:
        if block.level:
            heading = text.H(outlinelevel=block.level, stylename=f"Heading {block.level}", text=block.text)
            document.text.addElement(heading)
        elif block.kind == "table":
            document.text.addElement(_odt_table(block.rows))
        elif block.kind == "list":
            bullets = text.List()
            for line in block.lines:
                item = text.ListItem()
                item.addElement(text.P(stylename="Standard", text=line))
                bullets.addElement(item)
            document.text.addElement(bullets)
        else:
            document.text.addElement(text.P(stylename="Standard", text=block.text))
    document.save(str(path))
    _fix_archive(path)


def write_epub(source: Source, path: Path) -> None:
    """Write one chapter a page; the navigation document stays out of the spine."""
    from ebooklib import epub

    book = epub.EpubBook()
    book.set_identifier("urn:uuid:3b0f7a6e-1c1d-5a55-9e0b-6c1f0a2d4e01")
    book.set_title(source.title)
    book.set_language("ne")
    book.add_author(AUTHOR)
    chapters = []
    for number, page in enumerate(source.pages, start=1):
        name = next(block.text for block in page if block.level == 2)
        chapter = epub.EpubHtml(
            uid=f"chapter{number}", file_name=f"chapter{number}.xhtml", title=name, lang="ne"
        )
        chapter.content = "\n".join(_html_block(block) for block in page)
        book.add_item(chapter)
        chapters.append(chapter)
    book.toc = tuple(chapters)
    book.add_item(epub.EpubNcx())
    book.add_item(epub.EpubNav())
    book.spine = list(chapters)
    epub.write_epub(str(path), book, {"mtime": STAMP})
    _fix_archive(path)


ITEMS: dict[str, tuple[str, Callable[[Source, Path], None]]] = {
    "municipal_notice": ("सम्पत्ति-कर-सूचना-२०८२.pdf", write_scan),
    "library_act": ("पुस्तकालय-ऐन-२०८०.pdf", write_pdf),
    "budget_summary": ("बजेट-सारांश-२०८२-८३.docx", write_docx),
    "school_circular": ("परीक्षा-र-बिदा-परिपत्र.odt", write_odt),
    "health_leaflet": ("dengue-leaflet.html", write_html),
    "news_report": ("news-suspension-bridge.rtf", write_rtf),
    "history_page": ("कल्पनापुरको-इतिहास.epub", write_epub),
    "bilingual_faq": ("online-services-faq.md", write_markdown),
    "citizenship_guide": ("नागरिकता-सिफारिस-guide.pptx", write_pptx),
    "water_committee_letter": ("खानेपानी-समितिको-पत्र.txt", write_text),
}


def build(folder: Path, items: list[str] | None = None) -> list[Path]:
    """Write the containers of ``items`` (all by default) below ``folder`` and return their paths."""
    built = []
    for item in items or list(ITEMS):
        name, write = ITEMS[item]
        path = folder / item / "documents" / unicodedata.normalize("NFC", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        write(read_source(STARTER / item / "source.md"), path)
        built.append(path)
    return built


def main(arguments: list[str]) -> None:
    """Build into the given folder, or in place."""
    folder = Path(arguments[0]) if arguments else STARTER
    for path in build(folder):
        print(f"{path.stat().st_size:>8}  {path}")


if __name__ == "__main__":
    main(sys.argv[1:])
