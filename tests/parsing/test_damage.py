"""What is thrown at the readers of sheets, records, pictures and archives: any bytes, and hostile XML."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import xlsxwriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parsing.files import Odt, Read, Word, Write, pack
from PIL import Image, ImageDraw

from rag_platform.errors import RagError
from rag_platform.parsing.parse import ParseOptions, parse_file
from rag_platform.types import Document

FRACTION = st.floats(0, 1, exclude_max=True)
FLIPS = st.lists(st.tuples(FRACTION, st.integers(0, 255)), max_size=8)
CSV = 'क्रम,नाम,"ठेगाना"\n१,राम थापा,"काठमाडौँ, ३\nवडा ""क"""\n२,गीता,\n'
JSONL = '{"title": "हक", "text": "समानता", "पृष्ठ": [1, {"क": null}]}\n"वाक्य"\n'


def workbook() -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        for name in ("क", "ख"):
            sheet = book.add_worksheet(name)
            sheet.merge_range("A1:C1", "आम्दानी")
            sheet.write_row("A2", ["सेवा", 12.5, "=SUM(1,2)"])
            sheet.write_url("A3", "https://example.org")
            sheet.insert_textbox("D5", "नोट")
    return file.getvalue()


def picture(kind: str) -> bytes:
    pages = [Image.new("L", (60, 40), "white") for _ in range(2)]
    for page in pages:
        ImageDraw.Draw(page).rectangle((10, 10, 30, 20), fill="black")
    file = io.BytesIO()
    pages[0].save(
        file, format=kind, **({"save_all": True, "append_images": pages[1:]} if kind == "TIFF" else {})
    )
    return file.getvalue()


def packed(folder: Path) -> bytes:
    return pack(folder / "a.zip", {"क/दर.csv": CSV, "a.jsonl": JSONL, "a.xlsx": workbook()}).read_bytes()


FILES: dict[str, Callable[[Path], bytes]] = {
    "csv": lambda _: CSV.encode(),
    "tsv": lambda _: CSV.replace(",", "\t").encode("utf-16"),
    "jsonl": lambda _: JSONL.encode(),
    "xlsx": lambda _: workbook(),
    "png": lambda _: picture("PNG"),
    "jpeg": lambda _: picture("JPEG"),
    "tiff": lambda _: picture("TIFF"),
    "webp": lambda _: picture("WEBP"),
    "bmp": lambda _: picture("BMP"),
    "zip": packed,
}


def damaged(content: bytes, cut: float, flips: list[tuple[float, int]]) -> bytes:
    changed = bytearray(content[: max(1, int(len(content) * cut))])
    for at, value in flips:
        changed[int(at * len(changed))] = value
    return bytes(changed)


@pytest.mark.filterwarnings("ignore::UserWarning:PIL", "ignore:Duplicate name:UserWarning")
@pytest.mark.parametrize("suffix", FILES)
def test_damaged_bytes_give_text_or_an_error_of_ours(suffix: str, tmp_path: Path) -> None:
    whole = FILES[suffix](tmp_path)
    path = tmp_path / f"damaged.{suffix}"

    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(cut=st.one_of(st.just(1.0), FRACTION), flips=FLIPS)
    def check(cut: float, flips: list[tuple[float, int]]) -> None:
        path.write_bytes(damaged(whole, cut, flips))
        started = time.monotonic()
        result = outcome(path)
        assert time.monotonic() - started < 5
        assert isinstance(result, Document) or str(result).strip()
        for page in result.pages if isinstance(result, Document) else ():
            assert page.text.encode() is not None
            assert all(0 <= one.start < one.end <= len(page.text) for one in page.regions)

    check()


def outcome(path: Path) -> Document | RagError:
    """Parse any bytes; what is neither text nor an error of ours fails the test."""
    try:
        return parse_file(path, options=ParseOptions(ocr="never"))
    except RagError as error:
        return error


@pytest.mark.parametrize(
    "part", ["xl/workbook.xml", "xl/worksheets/sheet1.xml", "xl/styles.xml", "xl/sharedStrings.xml"]
)
def test_damaged_parts_of_a_workbook_give_text_or_an_error_of_ours(part: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(workbook())) as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}

    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(flips=st.lists(st.tuples(FRACTION, st.sampled_from(b'0129AZ">/')), min_size=1, max_size=4))
    def check(flips: list[tuple[float, int]]) -> None:
        path = pack(tmp_path / "damaged.xlsx", {**parts, part: damaged(parts[part], 1.0, flips)})
        result = outcome(path)
        assert isinstance(result, Document) or str(result).strip()

    check()


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
