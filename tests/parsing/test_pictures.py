from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pymupdf
import pytest
from parsing.files import Read, page_picture
from PIL import Image

from rag_platform.parsing import ocr, tesseract
from rag_platform.parsing.pictures import Pictures
from rag_platform.parsing.reading import ParseOptions

WORDS = ["harvest", "festival", "mountain", "teacher", "library", "weather"]


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One word a page, the fourth page blank."""
    path = tmp_path_factory.mktemp("scan") / "scan.pdf"
    pages = [page_picture([f"The {word} is over."]).convert("1") for word in WORDS]
    pages.insert(3, Image.new("1", pages[0].size, 1))
    pages[0].save(path, resolution=300, save_all=True, append_images=pages[1:])
    return path


@pytest.fixture
def document(scan: Path) -> Iterator[pymupdf.Document]:
    with pymupdf.open(str(scan)) as opened:
        yield opened


def test_pages_read_at_once_come_in_their_order(scan: Path, read: Read) -> None:
    texts = [page.text for page in read(scan, languages="eng", workers=3).pages]

    expected = [f"The {word} is over." for word in WORDS]
    assert texts == [*expected[:3], "", *expected[3:]]


def test_only_a_few_pages_are_drawn_ahead(
    document: pymupdf.Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Pictures(document, ParseOptions(languages="eng", workers=2)) as pictures:
        drawn: list[int] = []
        draw = pictures._drawn

        def noted(number: int, dpi: int) -> Image.Image:
            drawn.append(number)
            assert len(pictures._pending()) <= 2
            return draw(number, dpi)

        monkeypatch.setattr(pictures, "_drawn", noted)
        pictures.expect(range(7))
        read = [pictures.read(number).text for number in range(7)]

    assert drawn == list(range(7))
    assert [bool(text) for text in read] == [True, True, True, False, True, True, True]


def test_a_page_asked_for_twice_is_read_once(
    document: pymupdf.Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[int, int]] = []

    def noted(picture: Image.Image, _: ParseOptions) -> ocr.OcrResult:
        calls.append(picture.size)
        return ocr.OcrResult("पाठ", 0.9, "nep")

    monkeypatch.setattr(ocr, "read_picture", noted)
    with Pictures(document, ParseOptions(workers=1)) as pictures:
        pictures.words(1)
        pictures.words(1)
        pictures.expect([0, 1])
        pictures.read(0)
        pictures.read(1)

    assert len(calls) == 2


def test_a_crash_of_one_page_loses_that_page(
    scan: Path, read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which(tesseract.PROGRAM)
    program = tmp_path / "tesseract"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --list-langs ] && exec {real} --list-langs\necho . >> {tmp_path}/calls\n'
        f'[ $(wc -l < {tmp_path}/calls) = 2 ] && kill -SEGV $$\nexec {real} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(tesseract, "PROGRAM", str(program))

    pages = read(scan, languages="eng", workers=1).pages

    assert [page.suspect for page in pages] == [False, True, False, False, False, False, False]
    assert pages[1].reason == "page failed: Tesseract failed (it crashed: signal SIGSEGV)"
    assert pages[2].text == "The mountain is over."
