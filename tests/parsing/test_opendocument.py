from __future__ import annotations

import pytest
from parsing.files import Odt, Read, Write, pack

from rag_platform.errors import EncryptedFile, ParseError

LIST_STYLE = (
    '<text:list-style style:name="L1">'
    '<text:list-level-style-number text:level="1" style:num-format="१" style:num-suffix="." '
    'text:start-value="3"/>'
    '<text:list-level-style-number text:level="2" style:num-format="क" style:num-prefix="(" '
    'style:num-suffix=")"/>'
    "</text:list-style>"
)


def p(text: str, style: str = "") -> str:
    return f'<text:p text:style-name="{style}">{text}</text:p>'


def test_document_order_with_headings_lists_and_tables(odt: Odt, read: Read) -> None:
    item = "<text:list-item>{}</text:list-item>"
    inner = f"<text:list>{item.format(p('उप क'))}{item.format(p('उप ख'))}</text:list>"
    text = (
        '<text:h text:outline-level="1">परिच्छेद</text:h>'
        + p("परिचय")
        + f'<text:list text:style-name="L1">{item.format(p("पहिलो") + inner)}'
        + f"{item.format(p('दोस्रो'))}</text:list>"
        + f"<text:list>{item.format(p('बुँदा'))}</text:list>"
        + "<table:table><table:table-header-rows><table:table-row>"
        '<table:table-cell table:number-columns-spanned="2">'
        + f"{p('शीर्षक')}</table:table-cell><table:covered-table-cell/></table:table-row>"
        "</table:table-header-rows>"
        + f"<table:table-row><table:table-cell>{p('इलाम')}</table:table-cell>"
        + f'<table:table-cell table:number-columns-repeated="1">{p("२,७९")}'
        + "</table:table-cell></table:table-row></table:table>"
        + p("अन्त्य")
    )
    assert read(odt(text, automatic=LIST_STYLE)).text == (
        "परिच्छेद\n\nपरिचय\n\n३. पहिलो\n(क) उप क\n(ख) उप ख\n४. दोस्रो\n- बुँदा\n\n"
        "| शीर्षक |  |\n| --- | --- |\n| इलाम | २,७९ |\n\nअन्त्य"
    )


def test_spaces_line_breaks_and_inline_marks(odt: Odt, read: Read) -> None:
    text = p(
        'ने<text:span>पा</text:span>ल\n   को<text:s text:c="3"/>क<text:tab/>ख<text:line-break/>ग'
        '<text:a xlink:href="https://example.org/f">फाराम</text:a><text:bookmark text:name="x"/>'
    )
    assert read(odt(text)).text == "नेपाल को   क\tख\nगफाराम (https://example.org/f)"


def test_deletions_and_annotations_leave_no_trace(odt: Odt, read: Read) -> None:
    text = (
        f"<text:tracked-changes><text:changed-region><text:deletion>{p('पुरानो दर')}</text:deletion>"
        "</text:changed-region></text:tracked-changes>"
        + p(
            'ब्याज <text:change text:change-id="c"/>सात प्रतिशत<office:annotation>'
            "<dc:creator>समीक्षक</dc:creator>"
            "<dc:date>2024-01-01T00:00:00</dc:date><text:p>पुष्टि गर्ने</text:p></office:annotation> हो।"
        )
    )
    assert read(odt(text)).text == "ब्याज सात प्रतिशत हो।"


def test_notes_and_frames_follow_their_paragraph(odt: Odt, read: Read) -> None:
    note = (
        "<text:note><text:note-citation>1</text:note-citation>"
        f"<text:note-body>{p('छुटको शर्त')}</text:note-body></text:note>"
    )
    frame = f"<draw:frame><draw:text-box>{p('बाकस')}</draw:text-box></draw:frame>"
    picture = '<draw:frame><draw:image xlink:href="a.png"/><svg:desc>नक्सा</svg:desc></draw:frame>'

    assert read(odt(p(f"शुल्क{note} नि:शुल्क{frame}{picture}") + p("अर्को"))).text == (
        "शुल्क[^1] नि:शुल्क\n\nबाकस\n\nनक्सा\n\n[^1]: छुटको शर्त\n\nअर्को"
    )


def test_hidden_text_is_dropped(odt: Odt, read: Read) -> None:
    automatic = (
        '<style:style style:name="H" style:family="text">'
        '<style:text-properties text:display="none"/></style:style>'
        '<style:style style:name="HP" style:family="paragraph" style:parent-style-name="H"/>'
    )
    text = (
        p('देखिने<text:span text:style-name="H">लुकेको</text:span><text:hidden-text>लुकेको</text:hidden-text>')
        + p("लुकेको", "HP")
        + f'<text:section text:display="none">{p("लुकेको")}</text:section>'
        + f"<text:section>{p('खण्ड')}</text:section>"
    )
    assert read(odt(text, automatic=automatic)).text == "देखिने\n\nखण्ड"


def test_page_breaks_part_pages(odt: Odt, read: Read) -> None:
    automatic = (
        '<style:style style:name="B" style:family="paragraph">'
        '<style:paragraph-properties fo:break-before="page"/>'
        "</style:style>"
    )
    text = p("एक") + p("दुई", "B") + p("दुईको<text:soft-page-break/>तीन") + "<text:soft-page-break/>" + p("चार")

    assert [page.text for page in read(odt(text, automatic=automatic)).pages] == [
        "एक",
        "दुई\n\nदुईको",
        "तीन",
        "चार",
    ]


def test_headers_footers_and_metadata(odt: Odt, read: Read) -> None:
    masters = (
        f'<style:master-page style:name="Standard"><style:header>{p("कार्यालय")}</style:header>'
        f"<style:footer>{p('पृष्ठ <text:page-number>1</text:page-number>')}{p('फोन ०१')}"
        "</style:footer></style:master-page>"
        '<style:master-page style:name="Next">'
        f"<style:header>{p('कार्यालय')}</style:header></style:master-page>"
    )
    document = read(
        odt(p("पाठ"), masters=masters, meta="<dc:title>परिपत्र</dc:title><dc:creator>सचिव</dc:creator>")
    )

    assert document.text == "कार्यालय\n\nपाठ\n\nपृष्ठ\nफोन ०१"
    assert document.metadata == {"title": "परिपत्र", "author": "सचिव"}


def test_encrypted_and_broken_files(odt: Odt, read: Read, write: Write) -> None:
    mimetype = "application/vnd.oasis.opendocument.text"
    locked = pack(
        write("locked.odt", b""),
        {"mimetype": mimetype, "META-INF/manifest.xml": "<m:encryption-data/>", "content.xml": "?"},
    )
    with pytest.raises(EncryptedFile, match="password"):
        read(locked)
    with pytest.raises(ParseError):
        read(odt("<text:p>"))


def test_a_table_inside_a_cell_or_a_list_item(odt: Odt, read: Read) -> None:
    def table(*rows: tuple[str, str]) -> str:
        cells = "".join(
            "<table:table-row>"
            + "".join(f"<table:table-cell>{cell}</table:table-cell>" for cell in row)
            + "</table:table-row>"
            for row in rows
        )
        return f"<table:table>{cells}</table:table>"

    def p(text: str) -> str:
        return f"<text:p>{text}</text:p>"

    inner = table((p("क"), p("ख")), (p("ग"), p("घ")))
    item = f"<text:list><text:list-item>{p('बुँदा')}{inner}</text:list-item></text:list>"
    assert read(odt(table((p("सेवा"), p("विवरण")), (p("दर्ता"), inner)) + item)).text == (
        "| सेवा | विवरण |\n| --- | --- |\n| दर्ता | क, ख; ग, घ |\n\n"
        "- बुँदा\n\n| क | ख |\n| --- | --- |\n| ग | घ |"
    )
