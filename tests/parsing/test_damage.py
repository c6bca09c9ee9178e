"""What is thrown at the readers of sheets, records, pictures and archives: any bytes, and hostile XML."""

from __future__ import annotations

import io
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parsing.files import Odt, Read, Word, Write, pack

from rag_platform.errors import ParseError, RagError
from rag_platform.parsing.parse import parse_file

CELL = st.text(st.sampled_from('क,;\t|"\n ख1'), max_size=8)


@settings(max_examples=150, deadline=None, database=None)
@given(
    rows=st.lists(st.lists(CELL, min_size=2, max_size=4), min_size=2, max_size=6),
    delimiter=st.sampled_from([",", ";", "\t"]),
)
def test_what_csv_writes_comes_back_cell_by_cell(
    rows: list[list[str]], delimiter: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    import csv

    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"sep={delimiter}\n")
        csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(rows)
    text = parse_file(path).text

    for row in rows:
        for cell in row:
            words = " ".join(cell.split())
            assert words.replace("|", r"\|") in text or words in text


@pytest.mark.parametrize("name", ["[Content_Types].xml", "mimetype"])
def test_what_a_container_says_of_itself_may_be_damaged(name: str, write: Write, read: Read) -> None:
    raw = bytearray(io_zip(name, b"<Types/>" * 40))
    at = raw.index(name.encode()) + len(name)
    raw[at : at + 4] = b"\xff\xff\xff\xff"
    with pytest.raises(ParseError, match="damaged container"):
        read(write("a.docx", bytes(raw)))


def test_a_member_longer_than_its_container_is_not_asked_for(write: Write, read: Read) -> None:
    raw = bytearray(io_zip("mimetype", b"application/epub+zip"))
    size = raw.index(b"PK\x01\x02") + 20  # where the central directory has the packed size
    raw[size : size + 4] = (900 << 20).to_bytes(4, "little")
    with pytest.raises(ParseError, match="damaged or truncated ZIP container"):
        read(write("a.epub", bytes(raw)))


def io_zip(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return file.getvalue()


def secret_file(folder: Path) -> Path:
    path = folder / "secret.txt"
    path.write_text("गोप्य कुरा")
    return path


def entities(secret: Path) -> dict[str, str]:
    laughs = "".join(f'<!ENTITY l{n} "{"".join([f"&l{n - 1};"] * 10)}">' for n in range(1, 12))
    return {
        "external": f'<!DOCTYPE x [<!ENTITY x SYSTEM "{secret.as_uri()}">]>',
        "parameter": f'<!DOCTYPE x [<!ENTITY % p SYSTEM "{secret.as_uri()}"> %p; <!ENTITY x "क">]>',
        "laughs": f'<!DOCTYPE x [<!ENTITY l0 "ha">{laughs}<!ENTITY x "&l11;">]>',
    }


@pytest.mark.parametrize("kind", ["external", "parameter", "laughs"])
@pytest.mark.parametrize("name", ["docx", "odt", "xhtml", "epub"])
def test_entities_are_never_resolved(
    tmp_path: Path, word: Word, odt: Odt, write: Write, read: Read, kind: str, name: str
) -> None:
    doctype = entities(secret_file(tmp_path))[kind]
    body = '<html xmlns="http://www.w3.org/1999/xhtml"><body><p>पाठ &x;</p></body></html>'
    page = f'<?xml version="1.0"?>{doctype}{body}'
    if name == "xhtml":
        path = write("a.xhtml", page)
    else:
        whole = {
            "docx": lambda: word("<w:p><w:r><w:t>पाठ ENTITY</w:t></w:r></w:p>"),
            "odt": lambda: odt("<text:p>पाठ ENTITY</text:p>"),
            "epub": lambda: book(tmp_path, page),
        }[name]()
        with zipfile.ZipFile(whole) as archive:
            parts = {entry: archive.read(entry) for entry in archive.namelist()}
        for entry in ("word/document.xml", "content.xml"):
            if entry in parts:
                text = parts[entry].decode().replace("ENTITY", "&x;")
                head, found, body = text.rpartition("?>")
                parts[entry] = f"{head}{found}{doctype}{body}".encode()
        path = pack(tmp_path / f"hostile.{name}", parts)

    started = time.monotonic()
    try:
        text = read(path).text
    except RagError as error:
        text = str(error)
    assert "गोप्य" not in text
    assert len(text) < 10_000
    assert time.monotonic() - started < 5


def book(folder: Path, page: str) -> Path:
    return pack(
        folder / "book.epub",
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<rootfiles><rootfile full-path="b.opf" media-type="application/oebps-package+xml"/></rootfiles>'
            "</container>",
            "b.opf": '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i">'
            '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="i">i</dc:identifier>'
            "<dc:title>क</dc:title><dc:language>ne</dc:language></metadata><manifest>"
            '<item id="p" href="p.xhtml" media-type="application/xhtml+xml"/></manifest>'
            '<spine><itemref idref="p"/></spine></package>',
            "p.xhtml": page,
        },
    )
