from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from parsing.files import Read, Write, pack

from rag_platform.errors import EncryptedFile, ParseError

CONTAINER = (
    '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/>'
    "</rootfiles></container>"
)
ITEM = '<item id="{0}" href="{0}.xhtml" media-type="application/xhtml+xml"{1}/>'
PAGE = (
    '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml">'
    "<head><title>x</title></head><body>{}</body></html>"
)


def book(path: Path, chapters: Mapping[str, str], spine: str, **extra: str) -> Path:
    items = "".join(ITEM.format(name, ' properties="nav"' if name == "nav" else "") for name in chapters)
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">urn:x</dc:identifier>'
        "<dc:title>कथा</dc:title><dc:creator>लेखक क</dc:creator><dc:creator>लेखक ख</dc:creator>"
        f"<dc:language>ne</dc:language></metadata><manifest>{items}</manifest><spine>"
        + "".join(f'<itemref idref="{name}"/>' for name in spine.split())
        + "</spine></package>"
    )
    return pack(
        path,
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": CONTAINER,
            "OEBPS/book.opf": opf,
            **{f"OEBPS/{name}.xhtml": PAGE.format(body) for name, body in chapters.items()},
            **{name.replace("__", "/").replace("_", "."): text for name, text in extra.items()},
        },
    )


def test_chapters_in_spine_order_without_navigation_and_cover(write: Write, read: Read) -> None:
    chapters = {
        "nav": '<nav xmlns:epub="http://www.idpf.org/2007/ops" epub:type="toc"><ol><li>सूची</li></ol></nav>',
        "two": "<h1>अध्याय दुई</h1><p>यात्रा</p>",
        "one": "<h1>अध्याय एक</h1><p>गाउँमा <i>हि</i>उँ पर्‍यो।</p>",
        "cover": '<img src="cover.jpg" alt=""/>',
        "blank": "<p> </p>",
    }
    document = read(book(write("katha.epub", b""), chapters, "cover nav one blank two"))

    assert [(page.page_no, page.label, page.text) for page in document.pages] == [
        (1, "chapter", "अध्याय एक\n\nगाउँमा हिउँ पर्‍यो।"),
        (2, "chapter", ""),
        (3, "chapter", "अध्याय दुई\n\nयात्रा"),
    ]
    assert document.metadata["title"] == "कथा"
    assert document.metadata["author"] == "लेखक क, लेखक ख"


def test_protected_books_are_refused_but_hidden_fonts_are_no_protection(write: Write, read: Read) -> None:
    entry = '<encryption><EncryptionMethod Algorithm="{}"/></encryption>'
    font = book(
        write("a.epub", b""),
        {"one": "<p>पाठ</p>"},
        "one",
        **{"META-INF__encryption_xml": entry.format("http://www.idpf.org/2008/embedding")},
    )
    assert read(font).text == "पाठ"
    locked = book(
        write("b.epub", b""),
        {"one": "<p>पाठ</p>"},
        "one",
        **{"META-INF__encryption_xml": entry.format("http://www.w3.org/2001/04/xmlenc#aes128-cbc")},
    )
    with pytest.raises(EncryptedFile, match="DRM"):
        read(locked)


def test_a_book_without_chapters_or_without_its_package_is_a_parse_error(write: Write, read: Read) -> None:
    with pytest.raises(ParseError, match="spine"):
        read(book(write("a.epub", b""), {"one": "<p>पाठ</p>"}, ""))
    with pytest.raises(ParseError):
        read(pack(write("b.epub", b""), {"mimetype": "application/epub+zip"}))


def test_titles_that_only_the_table_of_contents_gives(write: Write, read: Read) -> None:
    nav = (
        '<nav xmlns:epub="http://www.idpf.org/2007/ops" epub:type="toc"><ol>'
        '<li><a href="one.xhtml">अध्याय एक</a><ol><li><a href="one.xhtml#b">भित्री</a></li></ol></li>'
        '<li><a href="two.xhtml#top">अध्याय दुई</a></li><li><a href="three.xhtml">अध्याय तीन</a></li></ol></nav>'
    )
    chapters = {
        "nav": nav,
        "one": "<p>हिउँ पर्‍यो।</p>",
        "two": "<h2>दोस्रो यात्रा</h2><p>बाटो</p>",
        "three": "<p><b>अध्याय तीन</b></p><p>घर</p>",
    }
    document = read(book(write("k.epub", b""), chapters, "nav one two three"))

    assert [page.text for page in document.pages] == [
        "अध्याय एक\n\nहिउँ पर्‍यो।",
        "दोस्रो यात्रा\n\nबाटो",
        "अध्याय तीन\n\nघर",
    ]
    (region,) = document.pages[0].regions
    assert (region.kind, document.pages[0].text[region.start : region.end]) == ("heading", "अध्याय एक")
