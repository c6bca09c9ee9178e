from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pymupdf
import pytest
from parsing.files import STARTER, pack
from PIL import Image
from pptx import Presentation

from rag_platform.audit.container import Container, inspect, inspect_job
from rag_platform.errors import ParseError, StorageError
from rag_platform.parsing.pool import Job
from rag_platform.parsing.reading import ParseOptions


def pdf(n_pages: int, **save: object) -> bytes:
    document = pymupdf.open()
    for number in range(n_pages):
        document.new_page().insert_text((72, 72), f"Ward office notice number {number + 1}")
    return bytes(document.tobytes(**save))


def put(tmp_path: Path, name: str, content: bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def test_pages_of_a_pdf_its_owners_password_and_a_mended_structure(tmp_path: Path) -> None:
    whole = pdf(3)
    assert inspect(put(tmp_path, "a.pdf", whole), "pdf") == Container(3)
    owned = pdf(2, encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="मालिक")
    assert inspect(put(tmp_path, "b.pdf", owned), "pdf") == Container(2, is_restricted=True)
    broken = whole.replace(b"startxref", b"startxxxx")
    assert inspect(put(tmp_path, "c.pdf", broken), "pdf") == Container(3, is_repaired=True)


def test_a_locked_pdf_opens_with_its_password(tmp_path: Path) -> None:
    path = put(tmp_path, "a.pdf", pdf(2, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="गोप्य"))
    assert inspect(path, "pdf", passwords=["अर्को", "गोप्य"]).n_pages == 2


def test_slides_are_counted_once_though_sections_list_them_again(tmp_path: Path) -> None:
    deck = Presentation()
    for _ in range(3):
        deck.slides.add_slide(deck.slide_layouts[6])
    out = io.BytesIO()
    deck.save(out)
    plain = put(tmp_path, "a.pptx", out.getvalue())
    assert inspect(plain, "pptx").n_pages == 3
    with zipfile.ZipFile(plain) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sections = (
        b'<p:extLst><p:ext uri="{521415D9-36F7-43E2-AB2F-B90AF26B5E84}"><p14:sectionLst '
        b'xmlns:p14="http://schemas.microsoft.com/office/powerpoint/2010/main"><p14:section name="x" '
        b'id="{0}"><p14:sldIdLst><p14:sldId id="256"/><p14:sldId id="257"/></p14:sldIdLst></p14:section>'
        b"</p14:sectionLst></p:ext></p:extLst></p:presentation>"
    )
    name = "ppt/presentation.xml"
    parts[name] = parts[name].replace(b"</p:presentation>", sections)
    assert inspect(pack(tmp_path / "b.pptx", parts), "pptx").n_pages == 3


def test_chapters_of_a_book_without_navigation_and_cover(tmp_path: Path) -> None:
    book = next((STARTER / "history_page" / "documents").glob("*.epub"))
    assert inspect(book, "epub").n_pages == 3


def test_frames_records_and_formats_that_do_not_say(tmp_path: Path) -> None:
    frames = [Image.new("L", (40, 40), shade) for shade in (255, 200, 100)]
    frames[0].save(tmp_path / "a.tiff", save_all=True, append_images=frames[1:])
    assert inspect(tmp_path / "a.tiff", "tiff").n_pages == 3
    records = '{"पाठ": "एक"}\n\n{"पाठ": "दुई"}\n{}\n'
    assert inspect(put(tmp_path, "a.jsonl", records.encode()), "jsonl").n_pages == 2
    assert inspect(put(tmp_path, "a.md", "पाठ".encode()), "md").n_pages == 1
    assert inspect(put(tmp_path, "a.txt", "पाठ".encode()), "txt").n_pages is None


def test_macros_are_seen(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.docm", {"word/document.xml": "<x/>", "word/vbaProject.bin": b"\xd0\xcf"})
    assert inspect(path, "docx") == Container(None, has_macros=True)


def test_what_cannot_be_opened_is_a_typed_error(tmp_path: Path) -> None:
    path = put(tmp_path, "a.tiff", b"II*\0")
    with pytest.raises(ParseError, match=r"a\.tiff"):
        inspect(path, "tiff")
    with pytest.raises(StorageError, match="--force"):
        inspect_job(Job("k", tmp_path / "gone.pdf", "ऐन.pdf", "c"), ParseOptions())
