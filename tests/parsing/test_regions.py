"""What readers note of a page's structure: where headings and tables stand in its stored text."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from parsing.files import Odt, Read, Word, Write

from rag_platform.parsing.blocks import PageWriter
from rag_platform.parsing.reading import markup_pages, stored_page
from rag_platform.text.normalize import stored_text
from rag_platform.types import Document, Page, Region


def found(document: Document) -> list[tuple[str, int, str]]:
    """Return kind, level and text of every region, page by page."""
    return [
        (region.kind, region.level, page.text[region.start : region.end])
        for page in document.pages
        for region in page.regions
    ]


TABLE = "| सेवा | शुल्क |\n| --- | --- |\n| दर्ता | रु. ५० |"


def test_word_headings_by_style_chain_and_outline_level(word: Word, read: Read) -> None:
    styles = (
        '<w:style w:type="paragraph" w:styleId="Heading2"><w:name w:val="heading 2"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="Own"><w:name w:val="मेरो"/>'
        '<w:basedOn w:val="Heading2"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style>'
    )

    def p(text: str, properties: str = "") -> str:
        return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"

    def tc(text: str) -> str:
        return "<w:tc>" + p(text, '<w:outlineLvl w:val="0"/>') + "</w:tc>"

    body = (
        p("ऐन", '<w:pStyle w:val="T"/>')
        + p("प्रारम्भिक", '<w:pStyle w:val="Own"/>')
        + p("शीर्षक होइन", '<w:pStyle w:val="Own"/><w:outlineLvl w:val="9"/>')
        + p("दफा", '<w:outlineLvl w:val="2"/>')
        + f"<w:tbl><w:tr>{tc('सेवा')}{tc('शुल्क')}</w:tr><w:tr>{tc('दर्ता')}{tc('रु. ५०')}</w:tr></w:tbl>"
        + f"<w:tbl><w:tr>{tc('एक कोठे')}</w:tr></w:tbl>"
    )
    assert found(read(word(body, styles=styles))) == [
        ("heading", 1, "ऐन"),
        ("heading", 2, "प्रारम्भिक"),
        ("heading", 3, "दफा"),
        ("table", 0, TABLE),
    ]


def test_open_document_headings_and_tables(odt: Odt, read: Read) -> None:
    cells = "".join(
        "<table:table-row>"
        + "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in row)
        + "</table:table-row>"
        for row in (("सेवा", "शुल्क"), ("दर्ता", "रु. ५०"))
    )
    text = (
        '<text:h text:outline-level="2">सेवा शुल्क</text:h><text:p>तल हेर्नुहोस्।</text:p>'
        f"<table:table>{cells}</table:table>"
    )
    assert found(read(odt(text))) == [("heading", 2, "सेवा शुल्क"), ("table", 0, TABLE)]


def test_slide_titles(write: Write, read: Read) -> None:
    from pptx import Presentation

    made = Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = "बजेट २०८२"
    slide.placeholders[1].text = "आय र व्यय"
    path = write("a.pptx", b"")
    made.save(str(path))
    assert found(read(path)) == [("heading", 1, "बजेट २०८२")]


def test_html_headings_and_tables(write: Write, read: Read) -> None:
    html = (
        "<meta charset=utf-8><h1>सेवा <b>शुल्क</b></h1><p>तल</p><h3>दोस्रो<br>पङ्क्ति</h3>"
        "<h2><span hidden>x</span></h2><table><tr><th>सेवा<th>शुल्क<tr><td>दर्ता<td>रु. ५०</table><h2>अन्त्य</h2>"
    )
    assert found(read(write("a.html", html))) == [
        ("heading", 1, "सेवा शुल्क"),
        ("heading", 3, "दोस्रो\nपङ्क्ति"),
        ("table", 0, TABLE),
        ("heading", 2, "अन्त्य"),
    ]


def test_markdown_headings_and_tables_outside_code(write: Write, read: Read) -> None:
    text = (
        "---\ntitle: x\n---\nशीर्षक\n======\n\n## दोस्रो ##\n```sh\n# टिप्पणी\n| a | b |\n|---|---|\n```\n"
        "#नजोडिएको\n\n<!-- # लुकेको -->\n| सेवा | शुल्क |\n|:--|--:|\n| दर्ता | रु. ५० |\n\nपाठ\n\n---\n"
    )
    assert found(read(write("a.md", text))) == [
        ("heading", 1, "शीर्षक"),
        ("heading", 2, "## दोस्रो ##"),
        ("table", 0, TABLE),
    ]


def test_rtf_outline_levels_and_tables(write: Write, read: Read) -> None:
    text = (
        r"{\rtf1\ansi\pard\outlinelevel0 Title\par\pard text\par"
        r"\trowd\cellx1\cellx2\pard\intbl a\cell b\cell\row\trowd c\cell d\cell\row"
        r"\pard\outlinelevel1 Next\par}"
    )
    assert found(read(write("a.rtf", text))) == [
        ("heading", 1, "Title"),
        ("table", 0, "| a | b |\n| --- | --- |\n| c | d |"),
        ("heading", 2, "Next"),
    ]


def test_regions_move_with_what_is_normalised_away(tmp_path: Path) -> None:
    text = " \n\u200bअघि\r\n\r\nशीर्षक\u200b \r\nपछि"
    start = text.index("शीर्षक")
    page = stored_page(Page(1, text, "markup", regions=(Region(start - 1, start + 8, "heading", 1),)))
    (region,) = page.regions
    assert page.text == "अघि\n\nशीर्षक \nपछि"
    assert page.text[region.start : region.end] == "शीर्षक"


LINES = st.text(st.sampled_from("कखगिा्ंa é\u0301\u200b\u200d\r\ufeff|# १\t\x07"), max_size=12)
BLOCKS = st.lists(st.tuples(st.sampled_from(["heading", "table", "image", None]), LINES), max_size=8)


@given(BLOCKS)
def test_slices_are_what_was_written_in_order_and_inside(
    blocks: list[tuple[str | None, str]],
) -> None:
    out = PageWriter()
    expected = []
    for kind, text in blocks:
        out.block(text, kind=kind, level=1)  # type: ignore[arg-type]
        if kind is not None and (stored := stored_text(text.strip("\n ")).strip()):
            expected.append((kind, stored))
    (page,) = map(stored_page, markup_pages(out.pages()))
    assert page.text == unicodedata.normalize("NFC", page.text)
    starts = [region.start for region in page.regions]
    assert starts == sorted(starts)
    assert all(0 <= region.start < region.end <= len(page.text) for region in page.regions)
    slices = [(region.kind, page.text[region.start : region.end]) for region in page.regions]
    assert [(kind, unicodedata.normalize("NFC", text)) for kind, text in slices] == expected


def test_levels_stay_in_range() -> None:
    out = PageWriter()
    out.heading("गहिरो", 12)
    assert out.pages()[0].regions == (Region(0, 5, "heading", 9),)
