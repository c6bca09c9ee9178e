from __future__ import annotations

import io
from pathlib import Path

import pymupdf
import pytest
from parsing.files import Read
from PIL import Image, ImageDraw, ImageFont

ALL = ("text", "table", "image")
ABOVE = "The committee met on Friday in the village hall."
BELOW = "The minutes were read aloud and signed by all members."
STAMP = "Approved by the Ward Office"


def drawn(text: str = STAMP, size: tuple[int, int] = (1000, 160), shade: int = 255) -> Image.Image:
    page = Image.new("L", size, shade)
    ImageDraw.Draw(page).text((40, 40), text, font=ImageFont.load_default(60), fill=0)
    return page


def png(picture: Image.Image) -> bytes:
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def report(path: Path, picture: bytes, *, box: pymupdf.Rect | None = None, pages: int = 1) -> Path:
    """Write pages with a line, a picture and another line."""
    with pymupdf.open() as document:
        for _ in range(pages):
            page = document.new_page(width=595, height=842)
            page.insert_text((60, 100), ABOVE)
            page.insert_image(box or pymupdf.Rect(60, 200, 420, 258), stream=picture)
            page.insert_text((60, 700), BELOW)
        document.save(str(path))
    return path


def test_a_picture_stands_where_it_is_printed(tmp_path: Path, read: Read) -> None:
    (page,) = read(report(tmp_path / "a.pdf", png(drawn())), kinds=ALL).pages

    assert page.text == f"{ABOVE}\n\n{STAMP}\n\n{BELOW}"
    (region,) = page.regions
    assert (page.text[region.start : region.end], region.kind) == (STAMP, "image")
    assert (page.origin, page.reason) == ("text_layer", "1 picture read by OCR")


def test_unwanted_pictures_are_not_read(tmp_path: Path, read: Read) -> None:
    path = report(tmp_path / "a.pdf", png(drawn()))

    assert STAMP not in read(path).text
    assert STAMP not in read(path, kinds=ALL, ocr="never").text


def test_a_letterhead_on_every_page_is_read_once(tmp_path: Path, read: Read) -> None:
    document = read(report(tmp_path / "a.pdf", png(drawn()), pages=3), kinds=ALL)

    assert document.text.count(STAMP) == 1
    assert STAMP in document.pages[0].text


def test_small_pictures_and_scans_below_the_layer_are_left_out(tmp_path: Path, read: Read) -> None:
    small = report(tmp_path / "small.pdf", png(drawn(size=(1000, 60))))
    scan = report(tmp_path / "scan.pdf", png(drawn(size=(1000, 1415))), box=pymupdf.Rect(0, 0, 595, 842))

    assert read(small, kinds=ALL).pages[0].text == f"{ABOVE}\n\n{BELOW}"
    assert read(scan, kinds=ALL).pages[0].regions == ()


def test_a_photograph_gives_no_words(tmp_path: Path, read: Read) -> None:
    noise = Image.effect_noise((600, 400), 90)

    assert read(report(tmp_path / "a.pdf", png(noise)), kinds=ALL).pages[0].regions == ()


@pytest.mark.parametrize("kind", ["transparent", "stencil"])
def test_a_stamp_without_paper_is_read(tmp_path: Path, read: Read, kind: str) -> None:
    ink = Image.eval(drawn(), lambda shade: 255 - shade)
    if kind == "transparent":
        stamp = Image.new("RGBA", ink.size, (0, 0, 0, 0))
        stamp.putalpha(ink)
        path = report(tmp_path / "a.pdf", png(stamp))
    else:
        path = report(tmp_path / "a.pdf", png(drawn().convert("1")))
        with pymupdf.open(str(path)) as document:
            (xref, *_), *_ = document[0].get_images()
            document.xref_set_key(xref, "ImageMask", "true")
            document.xref_set_key(xref, "ColorSpace", "null")
            document.save(str(tmp_path / "stencil.pdf"))
        path = tmp_path / "stencil.pdf"

    assert STAMP in read(path, kinds=ALL).text
