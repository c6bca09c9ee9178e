from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from parsing.files import Write

from rag_platform.errors import EmptyFile, EncryptedFile, ParseError, RagError, UnsupportedFormat
from rag_platform.parsing import archive
from rag_platform.parsing.parse import READERS
from rag_platform.parsing.sniff import FORMATS, sniff

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)


def test_every_format_has_one_reader() -> None:
    assert set(FORMATS.values()) == set(READERS)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.pdf", b"%PDF-1.7\n", "pdf"),
        ("a.txt", b"%PDF-1.7\n", "pdf"),
        ("a.pdf", b"junk of a mail gateway\n%PDF-1.4\n", "pdf"),
        ("a.doc", rb"{\rtf1\ansi text}", "rtf"),
        ("a.doc", b"<html><body>text</body></html>", "html"),
        ("a.pdf", b"<!DOCTYPE html><html></html>", "html"),
        ("a.html", b"no tag at all", "html"),
        ("a.xhtml", b'<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"/>', "html"),
        ("a.html", "﻿<html>".encode("utf-16-le"), "html"),
        ("a.md", b"<div>Markdown may begin with a tag</div>", "md"),
        ("सूचना.TXT", "सूचना".encode(), "txt"),
        ("README", b"no suffix", "txt"),
        ("note.txt", b"BMW is a car", "txt"),
        ("दर.csv", "<b>सेवा</b>,शुल्क\n".encode(), "csv"),
        ("a.TSV", b"a\tb\n", "tsv"),
        ("a.jsonl", b'{"text": "x"}\n', "jsonl"),
        ("a.ndjson", b"<html>, not JSON", "jsonl"),
        ("a.pdf", b"\x89PNG\r\n\x1a\n", "png"),
        ("a.png", b"\xff\xd8\xff\xe0", "jpeg"),
        ("a.tiff", b"II*\0\x08", "tiff"),
        ("a.tif", b"MM\0+\0\x08", "tiff"),
        ("a.bmp", b"BM\x9a\0\0\0", "bmp"),
        ("a.webp", b"RIFF\x24\0\0\0WEBPVP8 ", "webp"),
        ("a.doc", OLE + "WordDocument\0".encode("utf-16-le"), "doc"),
        ("a.ppt", OLE + "PowerPoint Document\0".encode("utf-16-le"), "ppt"),
        ("a.xls", OLE + "Workbook\0".encode("utf-16-le"), "xls"),
        ("copy", OLE + "Book\0".encode("utf-16-le"), "xls"),
        ("a.xls", OLE + "WordDocument\0 in a Workbook\0".encode("utf-16-le"), "xls"),
    ],
)
def test_content_decides_and_the_suffix_tells_texts_apart(
    write: Write, name: str, content: bytes, expected: str
) -> None:
    assert sniff(write(name, content)) == expected


def test_the_name_of_the_source_counts_not_that_of_the_copy(write: Write) -> None:
    copy = write("0f3a9c", "# शीर्षक")

    assert sniff(copy, "गाइड/नियम.md") == "md"
    assert sniff(copy) == "txt"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"mimetype": "application/epub+zip"}, "epub"),
        ({"mimetype": "application/vnd.oasis.opendocument.text"}, "odt"),
        ({"META-INF/container.xml": "<container/>"}, "epub"),
        ({"[Content_Types].xml": '<Override ContentType="x.wordprocessingml.document.main+xml"/>'}, "docx"),
        ({"[Content_Types].xml": '<Override ContentType="x.presentationml.slideshow.main+xml"/>'}, "pptx"),
        ({"[Content_Types].xml": '<Override ContentType="x.spreadsheetml.sheet.main+xml"/>'}, "xlsx"),
        ({"[Content_Types].xml": '<Override ContentType="ms-excel.sheet.macroEnabled.main+xml"/>'}, "xlsx"),
        ({"[Content_Types].xml": '<Override ContentType="ms-excel.sheet.binary.main+xml"/>'}, "xls"),
        ({"mimetype": "application/vnd.oasis.opendocument.spreadsheet"}, "xls"),
        ({"सूचना.txt": "x"}, "zip"),
        (
            {"[Content_Types].xml": '<Override ContentType="x.ms-word.document.macroEnabled.main+xml"/>'},
            "docx",
        ),
    ],
)
def test_containers_say_what_they_are(tmp_path: Path, content: dict[str, str], expected: str) -> None:
    path = tmp_path / "upload.pdf"
    with zipfile.ZipFile(path, "w") as container:
        for name, text in content.items():
            container.writestr(name, text)

    assert sniff(path) == expected


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("a.pdf", b"", EmptyFile, "empty"),
        ("a.msg", OLE, UnsupportedFormat, "mail"),
        ("a.docx", OLE + "EncryptedPackage".encode("utf-16-le"), EncryptedFile, "password"),
        ("a.gif", b"GIF89a", UnsupportedFormat, "GIF image; supported are PDF, Word"),
        ("a.wav", b"RIFF\x24\0\0\0WAVEfmt ", UnsupportedFormat, "sound"),
        ("a.svg", b"<svg><!DOCTYPE x></svg>", UnsupportedFormat, "'.svg'"),
        ("a.xlsx", b"a,b\n", ParseError, "not xlsx"),
        ("a.pdf", b"only text", ParseError, "not pdf"),
        ("a.docx", b"only text", ParseError, "not docx"),
        ("a.rtf", b"only text", ParseError, "not rtf"),
        ("a.docx", b"PK\x03\x04 and nothing more", ParseError, "damaged or truncated"),
    ],
)
def test_refusals_name_the_file_and_the_remedy(
    write: Write, name: str, content: bytes, error: type[RagError], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        sniff(write(name, content))

    assert type(caught.value) is error


@pytest.mark.parametrize(
    ("entry", "text", "message"),
    [
        ("mimetype", "application/vnd.oasis.opendocument.formula", "formula"),
        ("[Content_Types].xml", '<Override ContentType="x.drawingml.main+xml"/>', "another kind"),
    ],
)
def test_containers_without_a_reader_are_unsupported(
    tmp_path: Path, entry: str, text: str, message: str
) -> None:
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w") as container:
        container.writestr(entry, text)

    with pytest.raises(UnsupportedFormat, match=message):
        sniff(path)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.docx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as container:
        container.writestr("[Content_Types].xml", bytes(archive.RATIO_COUNTS_FROM + 1))

    with pytest.raises(ParseError, match="decompression bomb"):
        sniff(path)
