from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import pytest
import xlsxwriter
from parsing.files import Read, pack
from xlsxwriter import Workbook

from rag_platform.errors import ParseError
from rag_platform.types import Document

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
Made = Callable[[Callable[[Workbook], None]], Document]
Xml = Callable[..., Path]


@pytest.fixture
def made(tmp_path: Path, read: Read) -> Made:
    """Read what a function writes with XlsxWriter."""

    def _made(fill: Callable[[Workbook], None]) -> Document:
        path = tmp_path / "made.xlsx"
        with xlsxwriter.Workbook(path) as book:
            fill(book)
        return read(path)

    return _made


@pytest.fixture
def xml(tmp_path: Path) -> Xml:
    """Write a workbook of one sheet by its XML."""

    def _xml(rows: str, *, after: str = "", book: str = "", main: str = MAIN, **parts: str) -> Path:
        relation = RELATION if main == MAIN else "http://purl.oclc.org/ooxml/officeDocument/relationships"
        types = '<Override ContentType="x.spreadsheetml.sheet.main+xml"/>'
        listing = f'<Relationships><Relationship Id="r1" Type="{relation}/'
        return pack(
            tmp_path / "sheet.xlsx",
            {
                "[Content_Types].xml": types,
                "_rels/.rels": f'{listing}officeDocument" Target="xl/workbook.xml"/></Relationships>',
                "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{relation}">{book}'
                '<sheets><sheet name="पाना" sheetId="1" r:id="r1"/></sheets></workbook>',
                "xl/_rels/workbook.xml.rels": f'{listing}worksheet" Target="worksheets/sheet1.xml"/>'
                f'<Relationship Id="r2" Type="{relation}/sharedStrings" Target="/xl/strings.xml"/>'
                f'<Relationship Id="r3" Type="{relation}/styles" Target="styles.xml"/></Relationships>',
                "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}" xmlns:r="{relation}">'
                f"<sheetData>{rows}</sheetData>{after}</worksheet>",
                "xl/strings.xml": parts.get("strings", f'<sst xmlns="{main}"/>'),
                "xl/styles.xml": parts.get("styles", f'<styleSheet xmlns="{main}"/>'),
            },
        )

    return _xml


def cell(reference: str, text: str) -> str:
    return f'<c r="{reference}" t="inlineStr"><is><t>{text}</t></is></c>'


def test_a_page_a_sheet_with_its_name_as_heading_and_hidden_ones_said(made: Made) -> None:
    def fill(book: Workbook) -> None:
        first, empty, last = (book.add_worksheet(name) for name in ("आम्दानी", "Sheet2", "पुरानो"))
        first.write_row(0, 0, ["शीर्षक", "रकम"])
        first.write_row(1, 0, ["बहाल कर", 1200])
        last.write(0, 0, "लुकेको मान")
        last.hide()
        del empty

    first, empty, last = made(fill).pages
    assert first.text == "आम्दानी\n\n| शीर्षक | रकम |\n| --- | --- |\n| बहाल कर | 1200 |"
    assert [(one.kind, one.level) for one in first.regions] == [("heading", 1), ("table", 0)]
    assert (first.label, first.reason) == ("sheet", "")
    assert (empty.text, empty.reason, empty.suspect) == ("", "empty sheet 'Sheet2'", False)
    assert (last.text, last.reason, last.page_no) == ("पुरानो\n\nलुकेको मान", "hidden sheet", 3)


def test_values_not_formulas_and_every_kind_of_cell(made: Made) -> None:
    def fill(book: Workbook) -> None:
        sheet = book.add_worksheet("क")
        day = book.add_format({"num_format": "d mmm yyyy"})
        share = book.add_format({"num_format": "0.0%"})
        sheet.write_row(0, 0, ["दिन", "दर", "जम्मा", "पाठ", "हो"])
        sheet.write_datetime(1, 0, datetime.datetime(2024, 7, 16), day)
        sheet.write_number(1, 1, 0.135, share)
        sheet.write_formula(1, 2, "=SUM(1,2)", None, 3)
        sheet.write_formula(1, 3, '=CONCATENATE("कुल ",3)', None, "कुल 3")
        sheet.write_boolean(1, 4, True)

    assert made(fill).text.splitlines()[-1] == "| 2024-07-16 | 13.5% | 3 | कुल 3 | TRUE |"


def test_formulas_that_nobody_calculated_show_themselves(made: Made, xml: Xml, read: Read) -> None:
    def fill(book: Workbook) -> None:
        sheet = book.add_worksheet("क")
        sheet.write_row(0, 0, ["रकम", 0])
        sheet.write_formula(0, 2, "=SUM(A1:B1)")  # XlsxWriter calculates nothing and stores 0

    (page,) = made(fill).pages
    assert page.text.splitlines()[2] == "| रकम | 0 | =SUM(A1:B1) |"
    assert page.reason == "1 formulas without a calculated value are shown themselves"

    rows = (
        f'<row r="1">{cell("A1", "जम्मा")}<c r="B1"><f>SUM(C1:C9)</f></c><c r="C1"><f>1+1</f><v></v></c></row>'
        '<row r="2"><c r="A2" t="str"><f>IF(1,"","")</f><v></v></c><c r="B2"><f>2-2</f><v>0</v></c></row>'
    )
    (page,) = read(xml(rows)).pages
    assert page.text.splitlines()[2:] == [
        "| जम्मा | =SUM(C1:C9) | =1+1 |",
        "| --- | --- | --- |",
        "|  | 0 |  |",
    ]
    assert page.reason.startswith("2 formulas")


def test_a_merged_title_is_once_above_the_table(made: Made) -> None:
    def fill(book: Workbook) -> None:
        sheet = book.add_worksheet("क")
        sheet.merge_range("A1:C1", "आम्दानी विवरण २०८१/८२")
        sheet.write_row("A2", ["सि.नं.", "विवरण", "रकम"])
        sheet.merge_range("A3:A4", "१")
        sheet.write_row("B3", ["कर", 5])
        sheet.write_row("B4", ["शुल्क", 7])

    assert made(fill).text == (
        "क\n\nआम्दानी विवरण २०८१/८२\n\n"
        "| सि.नं. | विवरण | रकम |\n| --- | --- | --- |\n| १ | कर | 5 |\n|  | शुल्क | 7 |"
    )


def test_what_stands_under_a_merged_cell_does_not_show(xml: Xml, read: Read) -> None:
    rows = f"<row>{cell('A1', 'देखिने')}{cell('B1', 'ढाकिएको')}{cell('C1', 'छेउ')}</row>"

    assert "| देखिने | छेउ |" in read(xml(rows, after='<mergeCells><mergeCell ref="A1:B1"/></mergeCells>')).text


def test_strings_shared_rich_and_escaped(xml: Xml, read: Read) -> None:
    strings = (
        f'<sst xmlns="{MAIN}"><si><t>सादा</t></si><si><r><rPr><b/></rPr><t>गाढा </t></r><r><t>र सादा</t></r>'
        "<rPh><t>ルビ</t></rPh></si><si><t>लाइन_x000D_\nदोस्रो _x005F_x</t></si></sst>"
    )
    rows = '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>2</v></c></row>'

    assert "| सादा | गाढा र सादा | लाइन दोस्रो _x |" in read(xml(rows, strings=strings)).text


def test_the_strict_variant_and_cells_without_references(xml: Xml, read: Read) -> None:
    rows = '<row><c><v>1</v></c><c t="d"><v>2024-07-16T00:00:00</v></c><c t="e"><v>#DIV/0!</v></c></row>'
    path = xml(rows, main="http://purl.oclc.org/ooxml/spreadsheetml/main")

    assert "| 1 | 2024-07-16 | #DIV/0! |" in read(path).text


def test_links_boxes_headers_and_metadata_are_kept(made: Made) -> None:
    def fill(book: Workbook) -> None:
        book.set_properties({"title": "बजेट", "author": "वडा कार्यालय"})
        sheet = book.add_worksheet("क")
        sheet.write_row("A1", ["निवेदन", "फारम"])
        sheet.write_url("A2", "https://example.org/form", string="यहाँ")
        sheet.insert_textbox("D5", "नोट: दर परिवर्तन हुन सक्छ")
        sheet.set_header('&C&"Kalimati,Bold"&14नगरपालिका कार्यालय&R&P / &N')
        sheet.set_footer("&CPage &P of &N")

    document = made(fill)
    assert document.text == (
        "क\n\nनगरपालिका कार्यालय\n\n| निवेदन | फारम |\n| --- | --- |\n| यहाँ (https://example.org/form) |  |"
        "\n\nनोट: दर परिवर्तन हुन सक्छ"
    )
    assert (document.metadata["title"], document.metadata["author"]) == ("बजेट", "वडा कार्यालय")


def test_one_damaged_sheet_leaves_the_others(tmp_path: Path, made: Made, read: Read) -> None:
    import zipfile

    made(lambda book: [book.add_worksheet(name).write(0, 0, f"मान {name}") for name in "कख"] and None)
    with zipfile.ZipFile(tmp_path / "made.xlsx") as whole:
        entries = {name: whole.read(name) for name in whole.namelist()}
    entries["xl/worksheets/sheet1.xml"] = entries["xl/worksheets/sheet1.xml"][:-40]
    first, second = read(pack(tmp_path / "cut.xlsx", entries)).pages

    assert (first.text, first.suspect, first.confidence) == ("", True, 0.0)
    assert "the sheet 'क' cannot be read: the part 'xl/worksheets/sheet1.xml' is damaged" in first.reason
    assert second.text == "ख\n\nमान ख"

    del entries["xl/worksheets/sheet2.xml"]
    with pytest.raises(ParseError, match="the sheet 'क' cannot be read"):
        read(pack(tmp_path / "cut.xlsx", entries))


def test_entities_and_document_types_are_refused(tmp_path: Path, xml: Xml, read: Read) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("गोप्य")
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    for entities in (
        f'<!ENTITY x SYSTEM "{secret.as_uri()}">',
        f'<!ENTITY l0 "ha">{laughs}<!ENTITY x "&l9;">',
    ):
        strings = f'<!DOCTYPE sst [{entities}]><sst xmlns="{MAIN}"><si><t>&x;</t></si></sst>'
        with pytest.raises(ParseError, match=r"document type|amplification"):
            read(xml('<row><c t="s"><v>0</v></c></row>', strings=strings))


def test_cells_strewn_to_fill_the_memory_are_refused(xml: Xml, read: Read) -> None:
    letters = [chr(65 + n // 26) + chr(65 + n % 26) for n in range(600)]
    rows = "".join(f"<row>{cell(f'{letters[n % 600]}{n}', 'क')}</row>" for n in range(1, 40_000))

    with pytest.raises(ParseError, match="too many for one sheet"):
        read(xml(rows))
    with pytest.raises(ParseError, match="a cell in column 18278"):
        read(xml(f"<row>{cell('ZZZ1', 'क')}</row>"))


def test_macros_are_left_unread(made: Made, tmp_path: Path, read: Read) -> None:
    import zipfile

    made(lambda book: book.add_worksheet("क").write(0, 0, "मान") and None)
    with zipfile.ZipFile(tmp_path / "made.xlsx") as whole:
        entries = {name: whole.read(name) for name in whole.namelist()}
    macro = "application/vnd.ms-excel.sheet.macroEnabled.main+xml"
    plain = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
    types = entries["[Content_Types].xml"].decode().replace(plain, macro)
    path = pack(
        tmp_path / "a.xlsm",
        {**entries, "[Content_Types].xml": types, "xl/vbaProject.bin": b"Sub Auto_Open()"},
    )

    assert (read(path).format, read(path).text) == ("xlsx", "क\n\nमान")


def test_cells_in_legacy_fonts_are_read_by_font_and_the_others_left(made: Made) -> None:
    def fill(book: Workbook) -> None:
        preeti = book.add_format({"font_name": "Preeti"})
        sheet = book.add_worksheet("क")
        for row, cells in enumerate(
            [["qm=;+=", "ljj/0f"], ["!", "g]kfn ;/sf/sf] sfo{ljlw"], ["@", "Ward Office"]]
        ):
            sheet.write_row(row, 0, cells, preeti)
        sheet.write(1, 2, "of; lg;")
        sheet.write_rich_string(2, 2, "Act ", preeti, "lgodfjnL", " 2075")

    (page,) = made(fill).pages
    assert page.text.splitlines()[2:] == [
        "| क्र.सं. | विवरण |  |",
        "| --- | --- | --- |",
        "| १ | नेपाल सरकारको कार्यविधि | of; lg; |",
        "| २ | Ward Office | Act नियमावली 2075 |",
    ]
    assert (page.origin, page.reason) == ("legacy_font", "typed for Preeti")
