from __future__ import annotations

import io

import pytest
from parsing.files import Read, Write
from PIL import Image, ImageDraw, ImageFont

from rag_platform.errors import ParseError

HEAD = r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial Cyr;}}\uc1 "


def escaped(text: str) -> str:
    """Return text as RTF escapes with a fallback character each, as Word writes them."""
    units = text.encode("utf-16-le")
    numbers = [int.from_bytes(units[at : at + 2], "little", signed=True) for at in range(0, len(units), 2)]
    return "".join(f"\\u{number}?" for number in numbers)


def rtf(body: str) -> bytes:
    return (HEAD + body + "}").encode("latin-1")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            escaped("सभाले पारित गर्\u200dयो 🙂") + r"\par " + escaped("दोस्रो"),
            "सभाले पारित गर्\u200dयो 🙂\n\nदोस्रो",
        ),
        (r"Caf\'e9 \'93quoted\'94 \'96 \'80 50", "Café “quoted” – € 50"),
        ("raw caf\xe9 \x93bytes\x94", "raw café “bytes”"),
        (r"{\f1 \'cf\'f0\'e8\'e2\'e5\'f2} caf\'e9", "Привет café"),
        (r"\u2325\'3f\u2326 ?{\uc0\u2327}{\uc2\u2328 ??}x", "कखगघx"),
        (r"a\tab b\line c\emdash d\~e\{f\}\\g", "a\tb\n\nc—d\u00a0e{f}\\g"),
        (r"seen{\v hidden}\v also hidden\v0 again{\deleted gone}", "seenagain"),
        (r"{\*\generator Word;}{\pict\bin4 }}}}}text", "text"),
        (r"{\field{\*\fldinst PAGE}{\fldrslt link text}}", "link text"),
        (r"{\listtext\pard 1.\tab}item", "1.\titem"),
        (r"{\pntext\f0 2.\tab}item", "2.\titem"),
        ("a\x11b\\'13c\\u22 ?d\x16", "abcd"),
        (r"a\u9999999999?b\u-40000?c", "a\ufffdb\ufffdc"),
    ],
)
def test_characters_and_groups(write: Write, read: Read, body: str, text: str) -> None:
    assert read(write("a.rtf", rtf(body))).text == text


def test_tables_are_rows(write: Write, read: Read) -> None:
    row = r"\trowd\cellx1000\cellx2000\pard\intbl {}\cell {}\par {}\cell\row "
    body = (
        r"before\par "
        + row.format("Name", "Amount", "(Rs.)")
        + row.format("Tax", "50 | 60", "")
        + r"\pard after\par"
    )
    assert read(write("a.rtf", rtf(body))).text == (
        "before\n\n| Name | Amount (Rs.) |\n| --- | --- |\n| Tax | 50 \\| 60 |\n\nafter"
    )


def test_pages_notes_headers_and_text_boxes(write: Write, read: Read) -> None:
    body = (
        r"{\header\pard Letterhead\par}{\footer\pard Phone 01\par}"
        r"One{\super\chftn{\footnote\pard\chftn  from Mangsir\par}} fee\par\page "
        r"Two{\shp{\*\shpinst\shpleft1{\sp{\sn shapeType}{\sv 202}}{\shptxt\pard Deadline\par}}"
        r"{\shprslt{\*\do{\dptxbxtext\pard Deadline\par}}}}\par"
    )
    document = read(write("a.rtf", rtf(body)))

    assert [page.text for page in document.pages] == [
        "Letterhead\n\nOne[^1] fee\n\n[^1]: from Mangsir",
        "Two\n\nDeadline\n\nPhone 01",
    ]


def test_metadata(write: Write, read: Read) -> None:
    info = r"{\info{\title " + escaped("सूचना") + r"}{\author Caf\'e9}}"

    assert read(write("a.rtf", rtf(info + "text"))).metadata == {"title": "सूचना", "author": "Café"}


def test_a_truncated_file_is_refused(write: Write, read: Read) -> None:
    with pytest.raises(ParseError, match="truncated"):
        read(write("a.rtf", rtf(escaped("पाठ") * 50)[:-40]))


def test_bytes_outside_the_code_page_are_refused(write: Write, read: Read) -> None:
    with pytest.raises(ParseError, match="code page"):
        read(write("a.rtf", rtf(r"bad \'81\'8d byte")))


def test_links_keep_their_target(write: Write, read: Read) -> None:
    text = (
        r'{\rtf1\ansi See {\field{\*\fldinst{\rtlch HYPERLINK "https://example.org/form" }}'
        r"{\fldrslt{\ul the form}}} and {\field{\*\fldinst PAGE}{\fldrslt 7}}.\par}"
    )
    assert read(write("a.rtf", text)).text == "See the form (https://example.org/form) and 7."


def test_rows_without_their_own_definition_and_tables_in_cells(write: Write, read: Read) -> None:
    text = (
        r"{\rtf1\ansi before\par\trowd\cellx1\cellx2\pard\intbl x\cell\pard\intbl\itap2 a\nestcell b\nestcell"
        r"{\*\nesttableprops\trowd\nestrow}{\nonesttables\par}\pard\intbl y\cell\row"
        r" 1\cell 2\cell\row\pard after\par}"
    )
    assert read(write("a.rtf", text)).text == ("before\n\n| x | a b y |\n| --- | --- |\n| 1 | 2 |\n\nafter")


ALL = ("text", "table", "image")


def pictured(text: str, kind: str = "JPEG") -> bytes:
    page = Image.new("L", (1000, 160), 255)
    ImageDraw.Draw(page).text((40, 40), text, font=ImageFont.load_default(60), fill=0)
    out = io.BytesIO()
    page.save(out, kind, dpi=(200, 200))
    return out.getvalue()


def test_pictures_in_headers_cells_and_paragraphs_are_read_where_they_are_wanted(
    write: Write, read: Read
) -> None:
    def picture(text: str) -> bytes:
        return rb"{\pict\jpegblip " + pictured(text).hex().encode() + b"}"

    body = (
        rb"{\header\pard " + picture("Ward Office") + rb"\par}One{\v " + picture("Hidden") + rb"}\par"
        rb"{\pict\emfblip " + pictured("Drawing").hex().encode() + rb"}{\pict\pngblip 8950}"
        rb"\trowd\cellx1\cellx2\pard\intbl Stamp\cell " + picture("Paid") + rb"\cell\row"
        rb"\trowd\cellx1\cellx2\pard\intbl Date\cell 1\cell\row\pard Two\par"
    )
    path = write("a.rtf", HEAD.encode() + body + b"}")

    assert read(path).text == "One\n\n| Stamp |  |\n| --- | --- |\n| Date | 1 |\n\nTwo"
    document = read(path, kinds=ALL, languages="eng")
    assert document.text == "Ward Office\n\nOne\n\n| Stamp | Paid |\n| --- | --- |\n| Date | 1 |\n\nTwo"
    assert [region.kind for region in document.pages[0].regions] == ["image", "table"]
