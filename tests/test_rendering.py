"""Pages as pictures with a span marked, by the text layer and by OCR; and files that are hostile."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pymupdf
import pytest
from PIL import Image, ImageDraw, ImageFont

from rag_platform.errors import CallerError, ParseError, StorageError, UnknownName, UnsupportedFormat
from rag_platform.parsing.parse import ParseOptions, parse_file
from rag_platform.rendering import Renderer
from rag_platform.storage import RawStore
from rag_platform.types import Document, Page, Span

LIBRARY_ACT = Path("eval_datasets/nepali_starter/library_act/documents/पुस्तकालय-ऐन-२०८०.pdf")
NOTO = "/usr/share/fonts/truetype/noto/NotoSansDevanagari-Regular.ttf"
Keep = Callable[[Path], Document]


@cache
def read(path: Path) -> Document:
    return parse_file(path, options=ParseOptions(workers=1))


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> RawStore:
    return RawStore(tmp_path_factory.mktemp("raw"))


@pytest.fixture(scope="module")
def renderer(raw: RawStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Renderer]:
    made = Renderer(raw, tmp_path_factory.mktemp("pages"), ParseOptions(workers=1))
    yield made
    made.close()


@pytest.fixture
def kept(raw: RawStore) -> Keep:
    """Return a function that stores a file and reads it."""

    def keep(path: Path) -> Document:
        raw.put(path)
        return read(path)

    return keep


def span_of(document: Document, words: str) -> Span:
    start = document.text.index(words)
    return Span(start, start + len(words))


def marked_rows(content: bytes) -> list[int]:
    """Return the heights, in hundredths of the page, at which a picture has the marker's colour."""
    picture = Image.open(io.BytesIO(content)).convert("RGB").resize((50, 100), Image.Resampling.BOX)
    pixels = np.asarray(picture).astype(int)
    yellow = pixels[:, :, 0] - pixels[:, :, 2] > 60
    return [int(row) for row in np.flatnonzero(yellow.any(axis=1))]


def line_of_print(words: str, size: tuple[int, int], at: tuple[int, int]) -> Image.Image:
    sheet = Image.new("RGB", size, "white")
    ImageDraw.Draw(sheet).text(at, words, font=ImageFont.truetype(NOTO, 48), fill="black")
    return sheet


def test_a_passage_of_a_text_layer_is_marked_where_it_stands(
    renderer: Renderer, kept: Callable[[Path], Document]
) -> None:
    document = kept(LIBRARY_ACT)
    span = span_of(document, "वार्षिक सदस्यता शुल्क")
    page = next(n for n, on in enumerate(document.page_spans, 1) if on.start <= span.start < on.end)
    found = renderer.boxes(document, page, span)
    assert found.place == "here"
    (box,) = found.boxes
    picture = renderer.picture(document, page, width=600, span=span)
    assert picture.marked
    assert picture.width == 600
    rows = marked_rows(picture.content)
    assert rows
    assert 100 * box[1] - 1.5 <= rows[0]
    assert rows[-1] <= 100 * box[3] + 1.5
    assert marked_rows(renderer.picture(document, page, width=600).content) == []


def test_a_passage_is_on_its_page_and_on_no_other(
    renderer: Renderer, kept: Callable[[Path], Document]
) -> None:
    document = kept(LIBRARY_ACT)
    assert renderer.boxes(document, 1, span_of(document, "वार्षिक सदस्यता शुल्क")).place == "elsewhere"


def test_a_scanned_page_is_read_once_more_for_its_boxes(
    renderer: Renderer, kept: Keep, tmp_path: Path
) -> None:
    path = tmp_path / "स्क्यान.pdf"
    line_of_print("खानेपानीको धारा शनिबार बिहान मर्मत हुन्छ", (1200, 500), (100, 300)).save(path, resolution=300)
    document = kept(path)
    assert document.pages[0].origin == "ocr"
    span = span_of(document, "धारा शनिबार")
    found = renderer.boxes(document, 1, span)
    ((left, top, right, bottom),) = found.boxes
    assert 0.6 < top < bottom < 0.75
    assert 0.2 < left < right < 0.7
    began = time.monotonic()
    assert renderer.boxes(document, 1, span) == found
    assert time.monotonic() - began < 0.5


def test_a_text_that_is_not_that_of_the_page_gets_no_box(
    renderer: Renderer, kept: Callable[[Path], Document]
) -> None:
    act = kept(LIBRARY_ACT)
    other = "यो पाठ यस पृष्ठमा छैन र कहिल्यै थिएन"
    document = Document(act.source, act.content_sha256, "pdf", (Page(1, other, "text_layer"),))
    assert renderer.boxes(document, 1, Span(0, len(other))).place == "unsure"
    assert not renderer.picture(document, 1, width=200, span=Span(0, len(other))).marked


def test_a_picture_stands_as_people_see_it(
    renderer: Renderer, kept: Callable[[Path], Document], tmp_path: Path
) -> None:
    sheet = line_of_print("खानेपानीको धारा मर्मत हुन्छ", (1000, 700), (80, 500))
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned: people see it a quarter turn clockwise
    path = tmp_path / "फोटो.jpg"
    sheet.rotate(90, expand=True).save(path, exif=exif)
    document = kept(path)
    assert "खानेपानीको" in document.text
    picture = renderer.picture(document, 1, width=500, span=Span(0, len(document.text)))
    assert (picture.width, picture.height) == (500, 350)
    assert picture.marked
    assert all(65 <= row <= 85 for row in marked_rows(picture.content))


def test_what_cannot_be_shown_is_an_error_that_says_so(
    renderer: Renderer, kept: Callable[[Path], Document], tmp_path: Path
) -> None:
    text = tmp_path / "सूचना.txt"
    text.write_text("धारा मर्मत हुन्छ।")
    with pytest.raises(UnsupportedFormat, match=r"'सूचना.txt' is txt"):
        renderer.picture(kept(text), 1)
    document = kept(LIBRARY_ACT)
    with pytest.raises(UnknownName, match="page"):
        renderer.picture(document, 99)
    with pytest.raises(CallerError, match="width 9000"):
        renderer.picture(document, 1, width=9_000)
    with pytest.raises(CallerError, match="is no span"):
        renderer.boxes(document, 1, Span(5, 10_000_000))
    gone = Document("x.pdf", "0" * 64, "pdf", document.pages)
    with pytest.raises(StorageError):
        renderer.picture(gone, 1)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("broken.pdf", b"%PDF-1.7\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\nxref\n0 1\n"),
        (
            "bomb.png",
            b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x0f\xff\xff\x00\x0f\xff\xff\x08\x02\x00\x00\x00\x00\x00\x00\x00",
        ),
        ("noise.jpg", b"\xff\xd8\xff\xe0" + bytes(range(256)) * 20),
    ],
)
def test_a_hostile_file_is_a_typed_error(
    renderer: Renderer, raw: RawStore, tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    digest = raw.put(path)
    format_name = {"pdf": "pdf", "png": "png", "jpg": "jpeg"}[name[-3:]]
    document = Document(name, digest, format_name, (Page(1, "नेपाल सरकार", "text_layer"),))
    with pytest.raises(ParseError) as raised:
        renderer.picture(document, 1)
    assert str(tmp_path) not in str(raised.value)


@pytest.mark.parametrize(("name", "width"), [("लामो.pdf", 300), ("लामो.png", 64), ("लामो.png", 2_000)])
def test_a_page_that_is_very_high_is_shown_narrower(
    renderer: Renderer, raw: RawStore, tmp_path: Path, name: str, width: int
) -> None:
    path = tmp_path / name
    if name.endswith("pdf"):
        with pymupdf.open() as made:
            made.new_page(width=10, height=14_400)
            made.save(path)
    else:
        Image.new("RGB", (10, 60_000), "white").save(path)
    document = Document(name, raw.put(path), name[-3:], (Page(1, "नेपाल सरकार", "text_layer"),))
    picture = renderer.picture(document, 1, width=width)
    assert (1 <= picture.width < width, 15_000 < picture.height <= 16_383) == (True, True)


def test_what_was_made_is_kept_and_goes_with_a_day(kept: Keep, raw: RawStore, tmp_path: Path) -> None:
    document = kept(LIBRARY_ACT)
    renderer = Renderer(raw, tmp_path, ParseOptions(workers=1))
    first = renderer.picture(document, 1, width=100)
    renderer.close()
    (path,) = tmp_path.iterdir()
    assert path.name.startswith(document.content_sha256)
    raw.remove(document.content_sha256)
    assert renderer.picture(document, 1, width=100) == first
    yesterday = time.time() - 25 * 3600
    os.utime(path, (yesterday, yesterday))
    with pytest.raises(StorageError):
        renderer.picture(document, 1, width=100)


def test_a_version_changes_with_whatever_changes_the_picture() -> None:
    document = Document(
        "x.pdf", "a" * 64, "pdf", (Page(1, "कर", "text_layer"), Page(2, "धारा", "text_layer"))
    )
    other = Document("x.pdf", "b" * 64, "pdf", document.pages)
    versions = [
        Renderer.version(document, 1, 100),
        Renderer.version(document, 2, 100),
        Renderer.version(document, 1, 200),
        Renderer.version(document, 1, 100, Span(0, 1)),
        Renderer.version(other, 1, 100),
    ]
    assert len(set(versions)) == len(versions)
