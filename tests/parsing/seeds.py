"""Small sound files of every format, rich in structure: what mutations begin with."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from pathlib import Path

import pymupdf
import xlsxwriter
from parsing.files import ACT, SCAN, STARTER, layer_pdf, odt_file, pack, word_file
from PIL import Image, ImageDraw
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE

CSV = 'क्रम,नाम,"ठेगाना"\n१,राम थापा,"काठमाडौँ, ३\nवडा ""क"""\n२,गीता,\n'
JSONL = '{"title": "हक", "text": "समानता", "पृष्ठ": [1, {"क": null}]}\n"वाक्य"\n'
MARKDOWN = (
    "---\ntitle: सूचना\ntags: [क, ख]\n---\n# शीर्षक\n\n| सेवा | दर |\n|:--|--:|\n| नक्सा | ५०० |\n\n"
    "```py\nx = 1\n```\n<!-- टिप्पणी -->\nउपशीर्षक\n---\n- बुँदा [लिङ्क](https://example.org)\n"
)
PREETI = "g]kfn ;/sf/ lzIff dGqfno gu/kflnsfsf] jflif{s ah]6 kfl/t ldlt @)*! j}zfv"
HTML = (
    "<!doctype html><html lang=ne><head><meta charset=utf-8><title>सूचना</title><style>.x{display:none}"
    "</style></head><body><nav>गृह</nav><h1>शीर्षक</h1><p>पाठ <b>मोटो</b>&nbsp;<a href=https://example.org>"
    "लिङ्क</a> &#2325;&amp;</p><ul><li>एक<ol start=3><li>दुई</ol></ul><dl><dt>क<dd>ख</dl><table><tr><th "
    "colspan=2>सेवा<th rowspan=2>दर<tr><td>क<td>ख<table><tr><td>भित्र<td>दुई</table></table>"
    f"<font face=Preeti>{PREETI}</font><img alt=नक्सा src='data:image/png;base64,%s'><script>x</script>"
    "<pre>क\n ख</pre><div hidden>लुकेको</div></body></html>"
)
RTF = (
    r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset0 Preeti;}}{\info{\title T}}"
    r"\uc1 {\header\pard Head\par}\pard\outlinelevel0 \u2325?\u2366?\'e9\par{\f1 g]kfn ;/sf/}\par{\v hidden}"
    r'{\field{\*\fldinst HYPERLINK "https://example.org"}{\fldrslt link}}{\footnote note}\page\trowd\cellx1'
    r"\cellx2\pard\intbl A\cell B\cell\row\pard {\pict\pngblip\picw9\pich9 %s}{\pict\bin4 }}}}}"
    r"{\shp{\*\shpinst{\shptxt box\par}}}\u55357?\u56898?\par}"
)
WORD = (
    '<w:p><w:pPr><w:pStyle w:val="h"/><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr>'
    '<w:r><w:t>परिच्छेद</w:t><w:footnoteReference w:id="2"/></w:r></w:p><w:p><w:hyperlink r:id="l"><w:r>'
    "<w:t>लिङ्क</w:t></w:r></w:hyperlink><w:del><w:r><w:delText>गयो</w:delText></w:r></w:del><w:ins><w:r>"
    "<w:t>आयो</w:t></w:r></w:ins></w:p><w:sdt><w:sdtContent><w:p><w:r><w:t>नियन्त्रण</w:t></w:r></w:p>"
    '</w:sdtContent></w:sdt><w:tbl><w:tr><w:trPr><w:gridBefore w:val="1"/></w:trPr><w:tc><w:tcPr><w:gridSpan '
    'w:val="2"/><w:vMerge w:val="restart"/></w:tcPr><w:p><w:r><w:t>सेवा</w:t></w:r></w:p></w:tc><w:tc><w:p/>'
    "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>भित्र</w:t></w:r></w:p></w:tc></w:tr></w:tbl><w:p/></w:tc></w:tr></w:tbl>"
    f'<w:p><w:r><w:rPr><w:rFonts w:ascii="Preeti"/></w:rPr><w:t>{PREETI}</w:t></w:r><w:r><w:sym w:font='
    '"Symbol" w:char="F0B7"/><w:br w:type="page"/><mc:AlternateContent><mc:Choice><wps:txbx><w:txbxContent>'
    "<w:p><w:r><w:t>बाकस</w:t></w:r></w:p></w:txbxContent></wps:txbx></mc:Choice></mc:AlternateContent></w:r>"
    '</w:p><w:sectPr><w:headerReference r:id="header1" w:type="default"/></w:sectPr>'
)
_LEVELS = (
    '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="hindiNumbers"/><w:lvlText w:val="%1."/></w:lvl>'
)
WORD_PARTS = {
    "styles": '<w:style w:type="paragraph" w:styleId="h"><w:name w:val="heading 1"/><w:basedOn w:val="h0"/>'
    '<w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style><w:style w:type="paragraph" w:styleId="h0"/>',
    "numbering": f'<w:abstractNum w:abstractNumId="0">{_LEVELS}</w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>',
    "footnotes": '<w:footnote w:id="2"><w:p><w:r><w:t>टिप्पणी</w:t></w:r></w:p></w:footnote>',
    "header1": "<w:p><w:r><w:t>कार्यालय</w:t></w:r></w:p>",
}
ODT = (
    '<text:h text:outline-level="1">शीर्षक</text:h><text:p>पाठ<text:s text:c="3"/>थप<text:tab/>'
    '<text:a xlink:href="https://example.org">लिङ्क</text:a><text:note text:note-class="footnote">'
    "<text:note-citation>1</text:note-citation><text:note-body><text:p>टिप्पणी</text:p></text:note-body>"
    '</text:note></text:p><text:list text:style-name="L"><text:list-item text:start-value="3"><text:p>'
    "एक</text:p></text:list-item></text:list><table:table><table:table-row table:number-rows-repeated='2'>"
    '<table:table-cell table:number-columns-spanned="2" table:number-rows-spanned="2"><text:p>सेवा</text:p>'
    '</table:table-cell><table:covered-table-cell/><table:table-cell table:number-columns-repeated="3">'
    "<text:p>दर</text:p></table:table-cell></table:table-row></table:table><text:p><draw:frame><draw:text-box>"
    "<text:p>बाकस</text:p></draw:text-box></draw:frame></text:p>"
)


def picture(kind: str, *, n_pages: int = 1) -> bytes:
    """Return a picture with a line of text, several pages of a TIFF."""
    pages = [Image.new("L", (150, 70), "white") for _ in range(n_pages)]
    for page in pages:
        ImageDraw.Draw(page).text((20, 20), "Ward Office", fill="black")
    file = io.BytesIO()
    more = {"save_all": True, "append_images": pages[1:]} if n_pages > 1 else {}
    pages[0].save(file, format=kind, **more)
    return file.getvalue()


def workbook(_: Path | None = None) -> bytes:
    """Return a workbook with merged cells, a formula, a link and a text box."""
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        date = book.add_format({"num_format": "yyyy-mm-dd"})
        for name in ("क", "ख"):
            sheet = book.add_worksheet(name)
            sheet.merge_range("A1:C1", "आम्दानी")
            sheet.write_row("A2", ["सेवा", 12.5, "=SUM(1,2)"])
            sheet.write_url("A3", "https://example.org")
            sheet.write_number("B3", 45000.5, date)
            sheet.insert_textbox("D5", "नोट")
    return file.getvalue()


def slides(_: Path) -> bytes:
    """Return a presentation with a table, a chart, a group and notes."""
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "पहिलो"
    box = (914400, 914400, 3657600, 914400)
    table = slide.shapes.add_table(2, 2, *box).table
    table.cell(0, 0).merge(table.cell(0, 1))
    table.cell(1, 1).text = "दर"
    chart = CategoryChartData()
    chart.categories = ["२०८१", "२०८२"]
    chart.add_series("विद्यार्थी", (120, 150))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *box, chart)
    slide.shapes.add_group_shape().shapes.add_textbox(*box).text_frame.text = PREETI
    slide.shapes.add_picture(io.BytesIO(picture("PNG")), 0, 0)
    slide.notes_slide.notes_text_frame.text = "टिप्पणी"
    file = io.BytesIO()
    deck.save(file)
    return file.getvalue()


def unpacked_pdf(_: Path) -> bytes:
    """Return one page of the library act, its streams unpacked so that mutations reach them."""
    with pymupdf.open(str(ACT)) as act:
        act.select([0])
        act.subset_fonts()
        content: bytes = act.tobytes(garbage=4, expand=255)
    return content


def table_pdf(_: Path) -> bytes:
    """Return a PDF of two pages with a table and a picture."""
    rows = [
        (60.0 + 100 * column, 700.0 - 20 * row, f"दर{row}{column}") for row in range(4) for column in range(3)
    ]
    with pymupdf.open("pdf", layer_pdf([rows, rows])) as document:
        for row in range(5):
            document[0].draw_line((50, 80 + 20 * row), (400, 80 + 20 * row))
        document[1].insert_image(pymupdf.Rect(60, 400, 300, 500), stream=picture("PNG"))
        content: bytes = document.tobytes()
    return content


def _starter(suffix: str) -> bytes:
    (path,) = STARTER.glob(f"*/documents/*.{suffix}")
    return path.read_bytes()


def _encoded(kind: str) -> str:
    return base64.b64encode(picture(kind)).decode()


SEEDS: dict[str, Callable[[Path], bytes]] = {
    "act.pdf": unpacked_pdf,
    "table.pdf": table_pdf,
    "scan.pdf": lambda _: SCAN.read_bytes(),
    "rich.docx": lambda folder: word_file(
        folder / "a", WORD, links={"l": "https://example.org"}, **WORD_PARTS
    ).read_bytes(),
    "budget.docx": lambda _: _starter("docx"),
    "rich.pptx": slides,
    "guide.pptx": lambda _: _starter("pptx"),
    "rich.odt": lambda folder: odt_file(folder / "a", ODT, meta="<dc:title>क</dc:title>").read_bytes(),
    "circular.odt": lambda _: _starter("odt"),
    "rich.rtf": lambda _: (RTF % picture("PNG").hex()).encode(),
    "news.rtf": lambda _: _starter("rtf"),
    "rich.html": lambda _: (HTML % _encoded("PNG")).encode(),
    "leaflet.html": lambda _: _starter("html"),
    "history.epub": lambda _: _starter("epub"),
    "rich.md": lambda _: MARKDOWN.encode(),
    "letter.txt": lambda _: f"{PREETI}\n\f{PREETI}\nनेपाल सरकार\r\n".encode(),
    "wide.txt": lambda _: "शिक्षा कार्यालय\r\nसूचना\u2028\n".encode("utf-16"),
    "rates.csv": lambda _: CSV.encode(),
    "rates.tsv": lambda _: CSV.replace(",", "\t").encode("utf-16"),
    "records.jsonl": lambda _: JSONL.encode(),
    "book.xlsx": workbook,
    "a.png": lambda _: picture("PNG"),
    "a.jpeg": lambda _: picture("JPEG"),
    "a.tiff": lambda _: picture("TIFF", n_pages=2),
    "a.webp": lambda _: picture("WEBP"),
    "a.bmp": lambda _: picture("BMP"),
    "files.zip": lambda folder: pack(
        folder / "a", {"क/दर.csv": CSV, "a.jsonl": JSONL, "a.xlsx": workbook(), "a.html": HTML % ""}
    ).read_bytes(),
}
"""A file by name: its suffix is the format."""
