"""Pictures inside documents: read where they are wanted, once each, as a kind of their own."""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from parsing.files import Read, pack
from PIL import Image, ImageDraw, ImageFont

from rag_platform.chunking.chunkers import chunk_document, load_chunker
from rag_platform.chunking.tokenizers import GraphemeTokenizer
from rag_platform.parsing.embedded import EmbeddedPictures
from rag_platform.parsing.reading import ParseOptions

WRITTEN = "Approved by the Ward Office"
ALL = ("text", "table", "image")


def picture(text: str = WRITTEN, size: tuple[int, int] = (1000, 160)) -> bytes:
    page = Image.new("L", size, 255)
    ImageDraw.Draw(page).text((40, 40), text, font=ImageFont.load_default(60), fill=0)
    out = io.BytesIO()
    page.save(out, "PNG", dpi=(200, 200))
    return out.getvalue()


def docx_file(path: Path, image: bytes) -> None:
    import docx

    made = docx.Document()
    made.add_paragraph("निर्णय")
    for _ in range(2):
        made.add_picture(io.BytesIO(image))
    made.add_paragraph("अन्त्य")
    made.save(str(path))


def pptx_file(path: Path, image: bytes) -> None:
    from pptx import Presentation

    made = Presentation()
    slide = made.slides.add_slide(made.slide_layouts[6])
    for text in ("निर्णय", "", "", "अन्त्य"):
        if text:
            slide.shapes.add_textbox(0, 0, 100, 100).text_frame.text = text
        else:
            slide.shapes.add_picture(io.BytesIO(image), 0, 0)
    made.save(str(path))


def html_file(path: Path, image: bytes) -> None:
    source = f"data:image/png;base64,{base64.b64encode(image).decode()}"
    tags = f"<p>निर्णय</p><p><img src='{source}'></p><img src='{source}'><img src='https://example.org/x.png'>"
    path.write_text(f"<meta charset=utf-8>{tags}<p>अन्त्य</p>", encoding="utf-8")


def odt_file(path: Path, image: bytes) -> None:
    from parsing.files import odt_file as write

    frame = '<draw:frame><draw:image xlink:href="Pictures/a.png"/></draw:frame>'
    write(
        path, f"<text:p>निर्णय</text:p><text:p>{frame}</text:p><text:p>{frame}</text:p><text:p>अन्त्य</text:p>"
    )
    import zipfile

    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("Pictures/a.png", image)


def epub_file(path: Path, image: bytes) -> None:
    container = (
        '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="O/book.opf" media-type="application/oebps-package+xml"/></rootfiles>'
        "</container>"
    )
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">urn:x</dc:identifier></metadata>'
        '<manifest><item id="a" href="text/a.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="p" href="img/p%20q.png" media-type="image/png"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    )
    image_tag = "<img src='../img/p%20q.png' alt=''/>"
    body = f"<p>निर्णय</p><p>{image_tag}</p>{image_tag}<p>अन्त्य</p>"
    pack(
        path,
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": container,
            "O/book.opf": opf,
            "O/text/a.xhtml": f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>',
            "O/img/p q.png": image,
        },
    )


def rtf_file(path: Path, image: bytes) -> None:
    hexed = image.hex()
    pictures = (
        (
            rf"{{\*\shppict{{\pict{{\*\picprop x}}\picw1\pngblip {hexed[:64]}" + "\n" + rf"{hexed[64:]}}}}}"
            r"{\nonshppict{\pict\wmetafile8 0102}}\par "
        ).encode()
        + rb"{\pict\pngblip\bin%d " % len(image)
        + image
        + rb"}\par "
    )
    words = [b"".join(rb"\u%d?" % ord(c) for c in word) + rb"\par " for word in ("निर्णय", "अन्त्य")]
    path.write_bytes(rb"{\rtf1\ansi\uc1 " + words[0] + pictures + words[1] + b"}")


WRITERS = {
    "rtf": rtf_file,
    "docx": docx_file,
    "pptx": pptx_file,
    "html": html_file,
    "odt": odt_file,
    "epub": epub_file,
}


@pytest.mark.parametrize("form", WRITERS)
def test_a_picture_is_read_once_where_it_stands(tmp_path: Path, read: Read, form: str) -> None:
    path = tmp_path / f"a.{form}"
    write: Callable[[Path, bytes], None] = WRITERS[form]
    write(path, picture())
    document = read(path, kinds=ALL, languages="eng")
    assert document.text == f"निर्णय\n\n{WRITTEN}\n\nअन्त्य"
    (region,) = document.pages[0].regions
    assert (region.kind, document.text[region.start : region.end]) == ("image", WRITTEN)
    tokenizer = GraphemeTokenizer()
    chunker = load_chunker("recursive", tokenizer=tokenizer, size=256, overlap_ratio=0)
    kinds = [(chunk.kind, chunk.text) for chunk in chunk_document(document, chunker, tokenizer)]
    assert kinds == [("text", "निर्णय"), ("image", WRITTEN), ("text", "अन्त्य")]


@pytest.mark.parametrize("form", WRITERS)
def test_without_the_kind_no_picture_is_touched(tmp_path: Path, read: Read, form: str) -> None:
    path = tmp_path / f"a.{form}"
    WRITERS[form](
        path, b"\x89PNG\r\n\x1a\n no picture" if form in ("html", "odt", "epub", "rtf") else picture()
    )
    document = read(path)
    assert document.text == "निर्णय\n\nअन्त्य"
    assert document.pages[0].regions == ()


@pytest.mark.parametrize(
    "content",
    [picture(size=(63, 900)), b"<svg xmlns='http://www.w3.org/2000/svg'/>", picture()[:200], b"", None],
)
def test_small_foreign_and_damaged_pictures_say_nothing(content: bytes | None) -> None:
    assert EmbeddedPictures(ParseOptions(kinds=ALL, languages="eng")).text(lambda: content) == ""


def test_a_picture_that_cannot_be_unpacked_costs_only_itself() -> None:
    def damaged() -> bytes:
        raise zipfile.BadZipFile("Bad CRC-32")

    assert EmbeddedPictures(ParseOptions(kinds=ALL, languages="eng")).text(damaged) == ""
