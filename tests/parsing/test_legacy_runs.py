"""Runs in legacy fonts, in every format that names fonts, and text without fonts, come out as Unicode."""

from __future__ import annotations

import pytest
from parsing.files import Odt, Read, Word, Write

from rag_platform.parsing.blocks import PageWriter
from rag_platform.parsing.legacy_runs import LegacyRuns
from rag_platform.parsing.reading import markup_pages
from rag_platform.types import Document

# Typed as in Preeti: what the keys show stands in the second of each pair.
GOVERNMENT = ("g]kfn ;/sf/", "नेपाल सरकार")
LAW = ('sfg"g tyf Gofo dGqfno', "कानून तथा न्याय मन्त्रालय")
YEAR = ("@)&@ ;fn", "२०७२ साल")
ENGLISH = "Ministry of Law"
REASON = "converted from Preeti"


def said(document: Document) -> tuple[str, str]:
    return document.text, document.pages[0].reason


def xml(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def run(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t xml:space='preserve'>{xml(text)}</w:t></w:r>"


PREETI = '<w:rFonts w:ascii="Preeti" w:hAnsi="Preeti"/>'


def test_word_runs_by_font_and_the_rest_untouched(word: Word, read: Read) -> None:
    body = (
        f"<w:p>{run('g]kfn ;', PREETI)}{run('/sf/', PREETI + '<w:b/>')}{run(' ' + ENGLISH + ' नेपाल')}</w:p>"
        f"<w:tbl><w:tr><w:tc><w:p>{run(LAW[0], PREETI)}</w:p></w:tc>"
        f"<w:tc><w:p>{run(YEAR[0], PREETI)}</w:p></w:tc>"
        f"</w:tr><w:tr><w:tc><w:p>{run('Law')}</w:p></w:tc><w:tc><w:p>{run('2015')}</w:p></w:tc></w:tr></w:tbl>"
    )
    document = read(word(body))
    text = f"{GOVERNMENT[1]} {ENGLISH} नेपाल\n\n| {LAW[1]} | {YEAR[1]} |\n| --- | --- |\n| Law | 2015 |"
    assert said(document) == (text, REASON)
    (region,) = document.pages[0].regions
    assert document.text[region.start : region.end].startswith(f"| {LAW[1]} |")
    assert document.pages[0].origin == "markup"


STYLES = (
    f"<w:docDefaults><w:rPrDefault><w:rPr>{PREETI}</w:rPr></w:rPrDefault></w:docDefaults>"
    '<w:style w:type="paragraph" w:styleId="Latin"><w:rPr><w:rFonts w:ascii="Arial"/></w:rPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="Child"><w:basedOn w:val="Latin"/></w:style>'
    f'<w:style w:type="character" w:styleId="Old"><w:rPr>{PREETI}</w:rPr></w:style>'
)


def test_word_fonts_are_inherited(word: Word, read: Read) -> None:
    old = '<w:rStyle w:val="Old"/>'
    child = '<w:pPr><w:pStyle w:val="Child"/></w:pPr>'
    body = (
        f"<w:p>{run(GOVERNMENT[0])}</w:p><w:p>{child}{run(ENGLISH)}</w:p>"
        f"<w:p>{child}{run(YEAR[0], old)}</w:p>"
    )
    assert read(word(body, styles=STYLES)).text == f"{GOVERNMENT[1]}\n\n{ENGLISH}\n\n{YEAR[1]}"


def test_english_under_the_name_of_a_legacy_font_stays(word: Word, read: Read) -> None:
    text = "This agreement was made between the two parties in Kathmandu."
    assert said(read(word(f"<w:p>{run(text, PREETI)}</w:p>"))) == (text, "")


def test_unicode_under_the_name_of_a_legacy_font_stays(word: Word, read: Read) -> None:
    body = f"<w:p>{run('(सीता', PREETI)}{run(' श्रेष्ठ)', PREETI)}</w:p><w:p>{run(GOVERNMENT[0], PREETI)}</w:p>"
    assert read(word(body)).text == f"(सीता श्रेष्ठ)\n\n{GOVERNMENT[1]}"


def test_symbol_codes_are_the_same_text(word: Word, read: Read) -> None:
    shifted = "".join(chr(0xF000 + ord(c)) if c != " " else c for c in GOVERNMENT[0])
    symbol = "<w:r><w:sym w:font='Preeti' w:char='F067'/><w:sym w:font='Preeti' w:char='005D'/></w:r>"
    body = f"<w:p>{run(shifted, PREETI)}</w:p><w:p>{symbol}{run('kfn', PREETI)}</w:p>"
    assert read(word(body)).text == f"{GOVERNMENT[1]}\n\nनेपाल"


def test_open_document_spans_by_style_and_font_face(odt: Odt, read: Read) -> None:
    automatic = (
        '<style:style style:name="P1" style:family="paragraph"><style:text-properties '
        'style:font-name="Preeti"/></style:style><style:style style:name="T1" style:family="text">'
        '<style:text-properties fo:font-family="Arial"/></style:style>'
    )
    text = (
        f'<text:p text:style-name="P1">{xml(GOVERNMENT[0])} '
        f'<text:span text:style-name="T1">{ENGLISH}</text:span></text:p>'
        f"<text:p>{ENGLISH}</text:p>"
    )
    assert said(read(odt(text, automatic=automatic))) == (f"{GOVERNMENT[1]} {ENGLISH}\n\n{ENGLISH}", REASON)


@pytest.mark.parametrize("charset", [0, 2])
def test_rtf_runs_by_font_number(write: Write, read: Read, charset: int) -> None:
    table = rf"{{\fonttbl{{\f0\froman Times;}}{{\f1\fnil\fcharset{charset}{{\*\falt X}}Preeti;}}}}"
    text = (
        rf"{{\rtf1\ansi\ansicpg1252\deff0{table}\pard {ENGLISH} {{\f1 {GOVERNMENT[0]}}} again\par"
        rf"\f1 {LAW[0]}\par\plain {ENGLISH}\par\trowd\cellx1\cellx2\f1 {YEAR[0]}\cell\f0 x\cell\row"
        r"\f0 y\cell z\cell\row}"
    )
    assert said(read(write("a.rtf", text))) == (
        f"{ENGLISH} {GOVERNMENT[1]} again\n\n{LAW[1]}\n\n{ENGLISH}\n\n"
        f"| {YEAR[1]} | x |\n| --- | --- |\n| y | z |",
        REASON,
    )


@pytest.mark.parametrize(
    "head",
    [
        r"\deff0{\fonttbl{\f0\fnil\fcharset0 Preeti;}}{\*\generator Riched20 10.0.19041}\viewkind4\uc1 ",
        r"\deff0{\fonttbl{\f1\froman Times;}{\f0\fnil Preeti;}}{\stylesheet{\s0\f0 Normal;}}",
        r"\deff1{\fonttbl{\f1\froman Times;}{\f0\fnil Preeti;}}{\info{\title\f0 T}}",
    ],
)
def test_rtf_that_begins_in_a_legacy_font_as_wordpad_writes_it(write: Write, read: Read, head: str) -> None:
    text = rf"{{\rtf1\ansi\ansicpg1252{head}\pard\f0\fs32 {GOVERNMENT[0]}\par {LAW[0]}\par}}"
    assert said(read(write("a.rtf", text))) == (f"{GOVERNMENT[1]}\n\n{LAW[1]}", REASON)


def test_slide_runs_by_typeface_theme_and_placeholder(write: Write, read: Read) -> None:
    from pptx import Presentation
    from pptx.util import Inches

    made = Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = ENGLISH
    body = slide.placeholders[1].text_frame
    body.text = GOVERNMENT[0]
    body.paragraphs[0].runs[0].font.name = "Preeti"
    box = slide.shapes.add_textbox(Inches(1), Inches(5), Inches(4), Inches(1))
    box.text_frame.text = ENGLISH
    path = write("a.pptx", b"")
    made.save(str(path))
    assert said(read(path)) == (f"{ENGLISH}\n\n{GOVERNMENT[1]}\n\n{ENGLISH}", REASON)


def test_slide_masters_say_the_font_of_their_slides(write: Write, read: Read) -> None:
    from lxml import etree
    from pptx import Presentation

    made = Presentation()
    namespace = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
    styles = made.slide_master._element.find(
        "{http://schemas.openxmlformats.org/presentationml/2006/main}txStyles"
    )
    (level,) = [p for p in styles[1] if p.tag == f"{namespace}lvl1pPr"]
    properties = level.find(f"{namespace}defRPr")
    for old in properties.findall(f"{namespace}latin"):
        properties.remove(old)
    properties.append(etree.Element(f"{namespace}latin", typeface="Preeti"))
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text_frame.text = ENGLISH, GOVERNMENT[0]
    path = write("a.pptx", b"")
    made.save(str(path))
    assert read(path).text == f"{ENGLISH}\n\n{GOVERNMENT[1]}"


@pytest.mark.parametrize(
    "html",
    [
        "<p><font face='Preeti, Arial'>{}</font> {}</p>",
        "<p><span style='color:red; font-family: \"Preeti\"'><b>{}</b></span> {}</p>",
        "<style>.np, td {{ font: bold 12px/1.2 Preeti }}</style><p><span class='x np'>{}</span> {}</p>",
        "<style>body {{ font-family: Preeti }} #e {{ font-family: Arial }}</style><p>{} <i id=e>{}</i></p>",
    ],
)
def test_html_by_face_style_and_rules(write: Write, read: Read, html: str) -> None:
    page = "<meta charset=utf-8>" + html.format(xml(GOVERNMENT[0]), ENGLISH)
    assert said(read(write("a.html", page))) == (f"{GOVERNMENT[1]} {ENGLISH}", REASON)


SENTENCE = (
    "g]kfn ;/sf/n] hgtfsf] :jf:Yo / lzIffsf nflu ljleGg sfo{qmd ;~rfng ub{} cfPsf] 5 .",
    "नेपाल सरकारले जनताको स्वास्थ्य र शिक्षाका लागि विभिन्न कार्यक्रम सञ्चालन गर्दै आएको छ ।",
)


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html"])
def test_text_without_fonts_is_converted_by_detection(write: Write, read: Read, name: str) -> None:
    english = "The Government of Nepal runs programmes for health and education."
    document = read(
        write(
            name,
            f"{english}\n\n{SENTENCE[0]}\n" if name != "a.html" else f"<p>{english}</p><p>{SENTENCE[0]}</p>",
        )
    )
    assert said(document) == (f"{english}\n\n{SENTENCE[1]}", REASON)


def test_marks_survive_joining_and_regions_move_along() -> None:
    runs, out = LegacyRuns(), PageWriter()
    out.heading(runs.mark("g]kf", "Preeti") + runs.mark("n", "Preeti,Bold"), 1)
    out.block(runs.mark(SENTENCE[0], "Preeti") + " " + runs.mark("नेपाल", "Preeti"))
    (page,) = markup_pages(runs.pages(out.pages()))
    assert page.text == f"नेपाल\n\n{SENTENCE[1]} नेपाल"
    assert [page.text[region.start : region.end] for region in page.regions] == ["नेपाल"]
