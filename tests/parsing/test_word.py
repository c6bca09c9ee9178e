from __future__ import annotations

import pytest
from parsing.files import Read, Word, Write, pack

from rag_platform.errors import EncryptedFile, ParseError


def p(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def tc(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{p(text)}</w:tc>"


SPAN, MERGE, MERGED = '<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>', "<w:vMerge/>"


def test_paragraphs_and_tables_in_document_order(word: Word, read: Read) -> None:
    table = (
        f"<w:tbl><w:tr>{tc('संयुक्त शीर्षक', SPAN)}</w:tr>"
        f"<w:tr>{tc('कोशी', MERGE)}{tc('झापा')}</w:tr>"
        f"<w:tr>{tc('कोशी', MERGED)}{tc('मोरङ | सुनसरी')}</w:tr></w:tbl>"
    )
    document = read(word(p("अघि") + table + p("पछि")))

    assert document.format == "docx"
    assert document.text == (
        "अघि\n\n| संयुक्त शीर्षक |  |\n| --- | --- |\n| कोशी | झापा |\n|  | मोरङ \\| सुनसरी |\n\nपछि"
    )


def test_a_table_of_one_column_is_no_table(word: Word, read: Read) -> None:
    assert read(word(f"<w:tbl><w:tr>{tc('क')}</w:tr><w:tr>{tc('ख | ग')}</w:tr></w:tbl>")).text == "क\nख | ग"


def test_nested_content_controls_and_tables_are_walked(word: Word, read: Read) -> None:
    inner = f"<w:tbl><w:tr>{tc('भित्र')}</w:tr></w:tbl>"
    cell = f"<w:tc>{inner}{p('बाहिर')}</w:tc>"
    body = (
        f"<w:sdt><w:sdtPr><w:alias w:val='x'/></w:sdtPr><w:sdtContent>{p('नियन्त्रण')}</w:sdtContent></w:sdt>"
        f"<w:tbl><w:tr>{cell}{tc('ख')}</w:tr></w:tbl>"
    )
    assert read(word(body)).text == "नियन्त्रण\n\n| भित्र बाहिर | ख |\n| --- | --- |"


def test_the_final_view_of_tracked_changes(word: Word, read: Read) -> None:
    body = (
        "<w:p><w:r><w:t xml:space='preserve'>अनुदान </w:t></w:r>"
        "<w:del><w:r><w:delText>दश</w:delText></w:r></w:del><w:ins><w:r><w:t>पन्ध्र</w:t></w:r></w:ins>"
        "<w:r><w:t xml:space='preserve'> हजार</w:t></w:r></w:p>"
        "<w:p><w:moveFrom><w:r><w:t>सारिएको</w:t></w:r></w:moveFrom></w:p>"
        "<w:p><w:moveTo><w:r><w:t>सारिएको</w:t></w:r></w:moveTo></w:p>"
        "<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t xml:space='preserve'>एक </w:t></w:r></w:p>"
        + p("अनुच्छेद")
        + f"<w:tbl><w:tr><w:trPr><w:del/></w:trPr>{tc('मेटिएको')}</w:tr>"
        f"<w:tr>{tc('क')}{tc('ख')}</w:tr></w:tbl>"
    )
    assert read(word(body)).text == "अनुदान पन्ध्र हजार\n\nसारिएको\n\nएक अनुच्छेद\n\n| क | ख |\n| --- | --- |"


def test_hidden_text_is_dropped_whoever_hides_it(word: Word, read: Read) -> None:
    styles = (
        '<w:style w:type="character" w:styleId="Secret"><w:rPr><w:vanish/></w:rPr></w:style>'
        '<w:style w:type="paragraph" w:styleId="Hidden"><w:basedOn w:val="Base"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="Base"><w:rPr><w:vanish/></w:rPr></w:style>'
    )
    body = (
        "<w:p><w:r><w:t>देखिने</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>लुकेको</w:t></w:r>"
        "<w:r><w:rPr><w:rStyle w:val='Secret'/></w:rPr><w:t>लुकेको</w:t></w:r></w:p>"
        + p("लुकेको", "<w:pStyle w:val='Hidden'/>")
        + "<w:p><w:pPr><w:pStyle w:val='Hidden'/></w:pPr><w:r><w:rPr><w:vanish w:val='0'/></w:rPr>"
        "<w:t>फेरि देखिने</w:t></w:r></w:p>"
    )
    assert read(word(body, styles=styles)).text == "देखिने\n\nफेरि देखिने"


NUMBERING = (
    '<w:abstractNum w:abstractNumId="0">'
    '<w:lvl w:ilvl="0"><w:start w:val="5"/><w:numFmt w:val="hindiNumbers"/>'
    '<w:lvlText w:val="दफा %1."/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="hindiConsonants"/>'
    '<w:lvlText w:val="(%2)"/></w:lvl>'
    '<w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="lowerRoman"/><w:isLgl/>'
    '<w:lvlText w:val="%1.%3"/></w:lvl>'
    "</w:abstractNum>"
    '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val=""/>'
    "</w:lvl></w:abstractNum>"
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/>'
    "</w:lvlOverride></w:num>"
    '<w:num w:numId="3"><w:abstractNumId w:val="1"/></w:num>'
)


def numbered(text: str, number: int, level: int = 0) -> str:
    return p(text, f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>')


def test_generated_labels_are_written_out(word: Word, read: Read) -> None:
    styles = (
        '<w:style w:type="paragraph" w:styleId="Clause"><w:pPr><w:numPr>'
        '<w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    )
    body = (
        numbered("गठन", 1)
        + numbered("अध्यक्ष", 1, 1)
        + numbered("सदस्य", 1, 1)
        + p("बैठक", '<w:pStyle w:val="Clause"/>')
        + numbered("सचिव", 1, 1)
        + numbered("उप", 1, 2)
        + numbered("बुँदा", 3)
        + numbered("फेरि एक", 2)
        + p("बिना अङ्क", '<w:pStyle w:val="Clause"/><w:numPr><w:numId w:val="0"/></w:numPr>')
    )
    assert read(word(body, numbering=NUMBERING, styles=styles)).text.split("\n") == [
        "दफा ५. गठन",
        "(क) अध्यक्ष",
        "(ख) सदस्य",
        "दफा ६. बैठक",
        "(क) सचिव",
        "6.1 उप",
        "- बुँदा",
        "दफा १. फेरि एक",
        "",
        "बिना अङ्क",
    ]


def test_notes_stand_after_the_paragraph_that_calls_them(word: Word, read: Read) -> None:
    body = (
        "<w:p><w:r><w:t>कर दुई सय</w:t></w:r><w:r><w:footnoteReference w:id='2'/></w:r>"
        "<w:r><w:t xml:space='preserve'> हो।</w:t></w:r></w:p>" + p("अर्को")
    )
    footnotes = (
        f"<w:footnote w:id='0'>{p('')}</w:footnote><w:footnote w:id='2'>{p('मंसिरदेखि लागू')}</w:footnote>"
    )

    assert read(word(body, footnotes=footnotes)).text == ("कर दुई सय[^1] हो।\n\n[^1]: मंसिरदेखि लागू\n\nअर्को")


def test_text_boxes_come_once_and_pictures_say_what_they_show(word: Word, read: Read) -> None:
    box = f"<w:txbxContent>{p('अन्तिम मिति')}</w:txbxContent>"
    body = (
        "<w:p><w:r><w:t>आवेदन</w:t></w:r><w:r><mc:AlternateContent>"
        f"<mc:Choice Requires='wps'><w:drawing><wps:txbx>{box}</wps:txbx></w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
        "<w:r><w:drawing><wp:inline><wp:docPr id='1' name='x' descr='वडाको नक्सा'/>"
        "</wp:inline></w:drawing></w:r></w:p>"
    )
    assert read(word(body)).text == "आवेदन\n\nअन्तिम मिति\n\nवडाको नक्सा"


def test_links_keep_their_text_and_their_target(word: Word, read: Read) -> None:
    def link(identifier: str, text: str) -> str:
        return f"<w:hyperlink r:id='{identifier}'><w:r><w:t>{text}</w:t></w:r></w:hyperlink>"

    body = (
        f"<w:p>{link('a', 'फाराम')}</w:p><w:p>{link('b', 'example.org')}</w:p>"
        f"<w:p>{link('missing', 'यहाँ')}</w:p>"
    )
    links = {"a": "https://example.org/form", "b": "https://example.org/"}

    assert read(word(body, links=links)).text == (
        "फाराम (https://example.org/form)\n\nexample.org (https://example.org/)\n\nयहाँ"
    )


def test_shown_headers_and_footers_come_once(word: Word, read: Read) -> None:
    page_number = (
        "<w:p><w:r><w:t xml:space='preserve'>पृष्ठ </w:t></w:r><w:r><w:fldChar w:fldCharType='begin'/></w:r>"
        "<w:r><w:instrText> PAGE </w:instrText></w:r><w:r><w:fldChar w:fldCharType='separate'/></w:r>"
        "<w:r><w:t>१</w:t></w:r><w:r><w:fldChar w:fldCharType='end'/></w:r></w:p>"
    )
    section = (
        "<w:sectPr><w:headerReference w:type='default' r:id='header1'/>"
        "<w:headerReference w:type='first' r:id='header2'/>"
        "<w:headerReference w:type='even' r:id='header3'/>"
        "<w:footerReference w:type='default' r:id='footer1'/>{}</w:sectPr>"
    )
    parts = {
        "header1": p("चलानी नं. ४५"),
        "header2": p("नगरपालिका"),
        "header3": p("जोर पृष्ठ"),
        "footer1": page_number + p("फोन ०१"),
    }
    body = p("क", section.format("")) + p("ख") + section.format("<w:titlePg/>")

    assert read(word(body, **parts)).text == "चलानी नं. ४५\nनगरपालिका\n\nक\n\nख\n\nपृष्ठ\nफोन ०१"


def test_page_breaks_of_author_and_layout_part_pages(word: Word, read: Read) -> None:
    brk, rendered = "<w:br w:type='page'/>", "<w:lastRenderedPageBreak/>"
    body = (
        f"<w:p><w:r><w:t>एक</w:t>{brk}</w:r></w:p>"
        f"<w:p><w:r>{rendered}<w:t>दुई</w:t></w:r></w:p>"
        f"<w:p><w:r><w:t>दुईको अन्त्य</w:t></w:r><w:r>{rendered}<w:t>तीन</w:t></w:r></w:p>"
        + p("चार", "<w:pageBreakBefore/>")
        + f"<w:p><w:r>{brk}{brk}<w:t>छ</w:t></w:r></w:p>"
        + p("छको अन्त्य", "<w:sectPr/>")
        + p("सात", "<w:sectPr><w:type w:val='nextPage'/></w:sectPr>")
        + p("सातमै")
        + "<w:sectPr><w:type w:val='continuous'/></w:sectPr>"
    )
    document = read(word(body))

    assert [(page.page_no, page.text) for page in document.pages] == [
        (1, "एक"),
        (2, "दुई\n\nदुईको अन्त्य"),
        (3, "तीन"),
        (4, "चार"),
        (5, ""),
        (6, "छ\n\nछको अन्त्य"),
        (7, "सात\n\nसातमै"),
    ]


def test_a_document_without_breaks_is_one_page(word: Word, read: Read) -> None:
    assert len(read(word("".join(p(f"अनुच्छेद {n}") for n in range(200)))).pages) == 1


def test_characters_that_are_elements(word: Word, read: Read) -> None:
    run = (
        "<w:r><w:t>क</w:t><w:tab/><w:t>ख</w:t><w:br/><w:t>ग</w:t><w:noBreakHyphen/><w:t>घ</w:t><w:softHyphen/>"
        "<w:sym w:font='Wingdings' w:char='F0FE'/><w:sym w:font='Symbol' w:char='00B1'/></w:r>"
    )
    assert read(word(f"<w:p>{run}</w:p>")).text == "क\tख\nग‑घ☑±"


def test_metadata_are_only_what_the_file_states(word: Word, read: Read) -> None:
    assert read(word(p("क"))).metadata == {}


def test_what_python_docx_writes_is_read_back(write: Write, read: Read) -> None:
    import docx

    made = docx.Document()
    made.core_properties.title, made.core_properties.author = "बजेट", "नगर सभा"
    made.add_heading("शीर्षक", level=1)
    made.add_paragraph("पहिलो अनुच्छेद।")
    path = write("a.docx", b"")
    made.save(str(path))
    document = read(path)

    assert document.text == "शीर्षक\n\nपहिलो अनुच्छेद।"
    assert (document.metadata["title"], document.metadata["author"]) == ("बजेट", "नगर सभा")


def test_a_document_named_pdf_is_still_a_document(word: Word, read: Read) -> None:
    document = read(word(p("वास्तवमा डकएक्स")), source="renamed.pdf")

    assert (document.format, document.source, document.text) == ("docx", "renamed.pdf", "वास्तवमा डकएक्स")


def test_broken_xml_and_missing_parts_are_parse_errors(word: Word, read: Read, write: Write) -> None:
    with pytest.raises(ParseError, match="malformed"):
        read(word("<w:p><w:r>"))
    types = (
        "<Types>"
        '<Override PartName="/word/document.xml" ContentType="x.wordprocessingml.document.main+xml"/></Types>'
    )
    with pytest.raises(ParseError):
        read(pack(write("b.docx", b""), {"[Content_Types].xml": types}))


def test_truncated_and_encrypted_files(word: Word, read: Read, write: Write) -> None:
    whole = word(p("पाठ " * 500)).read_bytes()
    with pytest.raises(ParseError, match="truncated"):
        read(write("cut.docx", whole[: len(whole) // 2]))
    compound = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + "EncryptedPackage".encode("utf-16-le")
    with pytest.raises(EncryptedFile, match="password"):
        read(write("locked.docx", compound))


def test_a_table_inside_a_cell_comes_without_bars(word: Word, read: Read) -> None:
    inner = f"<w:tbl><w:tr>{tc('क')}{tc('ख')}</w:tr><w:tr>{tc('ग')}{tc('घ | ङ')}</w:tr></w:tbl>"
    rows = f"<w:tr>{tc('सेवा')}{tc('विवरण')}</w:tr><w:tr>{tc('दर्ता')}<w:tc>{inner}{p('')}</w:tc></w:tr>"
    assert read(word(f"<w:tbl>{rows}</w:tbl>")).text == (
        "| सेवा | विवरण |\n| --- | --- |\n| दर्ता | क, ख; ग, घ \\| ङ |"
    )


def test_rows_that_begin_further_right_keep_their_columns(word: Word, read: Read) -> None:
    rows = (
        f"<w:tr>{tc('क')}{tc('ख')}{tc('ग')}</w:tr>"
        f'<w:tr><w:trPr><w:gridBefore w:val="1"/></w:trPr>{tc("घ")}{tc("ङ")}</w:tr>'
    )
    assert read(word(f"<w:tbl>{rows}</w:tbl>")).text == "| क | ख | ग |\n| --- | --- | --- |\n|  | घ | ङ |"


def test_prompts_of_unfilled_content_controls_are_no_text(word: Word, read: Read) -> None:
    prompt = "<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>"
    run = "<w:r><w:t>यहाँ क्लिक गर्नुहोस्</w:t></w:r>"
    body = f"<w:p><w:r><w:t>नाम:</w:t></w:r>{prompt.format(run)}</w:p>" + prompt.format(p("यहाँ लेख्नुहोस्"))
    assert read(word(body)).text == "नाम:"


def field(code: str, text: str) -> str:
    return (
        "<w:r><w:fldChar w:fldCharType='begin'/></w:r>"
        f"<w:r><w:instrText> {code} </w:instrText></w:r><w:r><w:fldChar w:fldCharType='separate'/></w:r>"
        f"<w:r><w:t>{text}</w:t></w:r><w:r><w:fldChar w:fldCharType='end'/></w:r>"
    )


def test_fields_that_are_links_keep_their_target_and_page_numbers_go(word: Word, read: Read) -> None:
    link = 'HYPERLINK "https://example.org/form"'
    body = (
        f"<w:p>{field(link, 'फाराम')}<w:r><w:t xml:space='preserve'> भर्नुहोस् </w:t></w:r>"
        f"{field('PAGE', '७')}</w:p>"
        "<w:p><w:fldSimple w:instr=' PAGE '><w:r><w:t>७</w:t></w:r></w:fldSimple>"
        "<w:fldSimple w:instr=' HYPERLINK &quot;https://example.org&quot; '>"
        "<w:r><w:t>साइट</w:t></w:r></w:fldSimple></w:p>"
    )
    assert read(word(body)).text == "फाराम (https://example.org/form) भर्नुहोस्\n\nसाइट (https://example.org)"


def test_lists_may_redefine_levels_or_take_those_of_a_list_style(word: Word, read: Read) -> None:
    numbering = (
        '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/>'
        '<w:lvlText w:val="%1."/></w:lvl></w:abstractNum>'
        '<w:abstractNum w:abstractNumId="1"><w:numStyleLink w:val="Clauses"/></w:abstractNum>'
        '<w:abstractNum w:abstractNumId="2"><w:styleLink w:val="Clauses"/><w:lvl w:ilvl="0">'
        '<w:numFmt w:val="hindiConsonants"/><w:lvlText w:val="(%1)"/></w:lvl></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
        '<w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:lvl w:ilvl="0">'
        '<w:start w:val="3"/><w:numFmt w:val="hindiNumbers"/><w:lvlText w:val="दफा %1"/></w:lvl>'
        '</w:lvlOverride></w:num><w:num w:numId="3"><w:abstractNumId w:val="1"/></w:num>'
        '<w:num w:numId="4"><w:abstractNumId w:val="2"/></w:num>'
    )
    styles = (
        '<w:style w:type="numbering" w:styleId="Clauses"><w:pPr><w:numPr><w:numId w:val="4"/></w:numPr>'
        "</w:pPr></w:style>"
    )
    body = numbered("एक", 1) + numbered("तीन", 2) + numbered("चार", 2) + numbered("पहिलो", 3)
    assert read(word(body, numbering=numbering, styles=styles)).text == (
        "1. एक\nदफा ३ तीन\nदफा ४ चार\n(क) पहिलो"
    )
