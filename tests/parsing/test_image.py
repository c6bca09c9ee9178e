from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import pytest
from parsing.files import SCAN, Read, Write
from PIL import Image, ImageDraw, ImageFont

from rag_platform.errors import ParseError
from rag_platform.parsing import image, ocr
from rag_platform.parsing.reading import ParseOptions

ORIENTATION = 0x0112


def drawn(*lines: str, size: tuple[int, int] = (1600, 420), mode: str = "L") -> Image.Image:
    """Draw English lines: Pillow without Raqm shapes no Devanagari."""
    picture = Image.new("L", size, "white")
    font = ImageFont.load_default(64)
    for number, line in enumerate(lines):
        ImageDraw.Draw(picture).text((80, 60 + 120 * number), line, fill="black", font=font)
    return picture.convert(mode)


def encoded(picture: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, format=kind, **options)  # type: ignore[arg-type]
    return file.getvalue()


def scanned() -> Image.Image:
    import pymupdf

    with pymupdf.open(SCAN) as document:
        pixmap = document.load_page(0).get_pixmap(dpi=300, colorspace=pymupdf.csGRAY)
        return Image.frombytes("L", (pixmap.width, pixmap.height), pixmap.samples)


def test_a_nepali_scan_as_a_picture_reads_like_the_same_scan_in_a_pdf(write: Write, read: Read) -> None:
    path = write("सूचना.png", encoded(scanned(), "PNG", dpi=(300, 300)))
    (page,) = read(path, languages="nep").pages

    assert (page.origin, page.suspect, page.label) == ("ocr", False, "page")
    assert page.text == read(SCAN, languages="nep", ocr="always").pages[0].text
    assert page.confidence > 0.8
    assert "OCR with nep, " in page.reason


@pytest.mark.parametrize(
    ("kind", "mode"),
    [("PNG", "RGB"), ("PNG", "P"), ("JPEG", "CMYK"), ("WEBP", "RGB"), ("BMP", "L"), ("TIFF", "1")],
)
def test_every_kind_and_mode_is_read(write: Write, read: Read, kind: str, mode: str) -> None:
    document = read(
        write(f"a.{kind}", encoded(drawn("Ward office notice", mode=mode), kind)), languages="eng"
    )

    assert (document.format, document.text) == (kind.lower(), "Ward office notice")


def test_transparent_paper_and_sixteen_bits_are_read(write: Write, read: Read) -> None:
    ink = drawn("Ward office notice").point(lambda shade: 255 - shade)
    clear = Image.new("RGBA", ink.size, (0, 0, 0, 0))
    clear.putalpha(ink)
    deep = Image.new("I;16", ink.size)
    deep.putdata([(255 - shade) * 100 for shade in ink.tobytes()])

    for picture in (clear, deep):
        assert read(write("a.png", encoded(picture, "PNG")), languages="eng").text == "Ward office notice"


def test_every_page_of_a_tiff_is_a_page_and_previews_are_none(write: Write, read: Read) -> None:
    texts = [f"Page number {name}" for name in ("one", "two", "three")]
    pages = [drawn(text, mode="1") for text in texts]
    content = encoded(pages[0], "TIFF", save_all=True, append_images=pages[1:], compression="group4")
    document = read(write("fax.tiff", content), languages="eng")

    assert [page.text for page in document.pages] == [
        f"Page number {name}" for name in ("one", "two", "three")
    ]
    assert [page.page_no for page in document.pages] == [1, 2, 3]

    from PIL import TiffImagePlugin

    preview = TiffImagePlugin.ImageFileDirectory_v2()
    preview[254] = 1
    file = io.BytesIO()
    with TiffImagePlugin.AppendingTiffWriter(file) as writer:
        for picture, tags in ((pages[0], None), (pages[1], preview)):
            picture.save(writer, format="TIFF", **({"tiffinfo": tags} if tags else {}))
            writer.newFrame()
    assert [page.text for page in read(write("p.tiff", file.getvalue()), languages="eng").pages] == [
        "Page number one"
    ]


@pytest.mark.parametrize("kind", ["JPEG", "TIFF", "PNG"])
def test_a_picture_is_turned_as_its_exif_says(write: Write, read: Read, kind: str) -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    sideways = drawn("Ward office notice").transpose(Image.Transpose.ROTATE_90)

    assert read(
        write("a.img", encoded(sideways, kind, exif=exif)), source=f"a.{kind}", languages="eng"
    ).text == ("Ward office notice")


def test_blank_pages_and_switched_off_ocr_are_told_apart(write: Write, read: Read) -> None:
    blank = write("blank.png", encoded(drawn(), "PNG"))
    text = write("text.png", encoded(drawn("Notice"), "PNG"))

    for mode in ("auto", "never", "always"):
        (page,) = read(blank, ocr=mode).pages
        assert (page.text, page.suspect, page.reason) == ("", False, "blank page (1600 x 420 pixels)")
    (page,) = read(text, ocr="never").pages
    assert (page.text, page.suspect, page.confidence) == ("", True, 0.0)
    assert page.reason == "picture of 1600 x 420 pixels; OCR is switched off"


def test_the_time_limit_of_a_page_loses_that_page_alone(write: Write, read: Read) -> None:
    pages = [scanned(), drawn()]
    path = write("a.tiff", encoded(pages[0], "TIFF", save_all=True, append_images=pages[1:]))
    slow, blank = read(path, languages="nep", ocr_timeout_s=0.05).pages

    assert (slow.text, slow.suspect) == ("", True)
    assert "OCR timed out after 0.05 s" in slow.reason
    assert blank.reason.startswith("blank page")


def png(width: int, height: int) -> bytes:
    """Write a PNG that claims a size and holds nothing of it."""

    def part(name: bytes, content: bytes) -> bytes:
        check = zlib.crc32(name + content)
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", rows) + part(b"IEND", b"")


def test_pictures_of_absurd_size_are_refused(write: Write, read: Read) -> None:
    with pytest.raises(ParseError, match="absurd size"):
        read(write("a.png", png(60_000, 60_000)))

    small, huge = encoded(drawn("Notice"), "TIFF"), bytearray(encoded(drawn("Notice"), "TIFF"))
    for tag in (256, 257):  # width and height, short or long numbers in the entries of the directory
        at = max(huge.find(struct.pack("<HHI", tag, kind, 1)) for kind in (3, 4))
        huge[at : at + 12] = struct.pack("<HHII", tag, 4, 1, 60_000)
    assert len(huge) == len(small)
    with pytest.raises(ParseError, match="absurd size"):
        read(write("a.tiff", bytes(huge)))


def test_a_large_picture_is_read_smaller(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, write: Write
) -> None:
    monkeypatch.setattr(image, "_OCR_PIXELS", 400_000)
    sizes = []
    read_picture = ocr.read_picture

    def noted(picture: Image.Image, options: ParseOptions) -> ocr.OcrResult:
        sizes.append(picture.size)
        return read_picture(picture, options)

    monkeypatch.setattr(ocr, "read_picture", noted)
    path = write("a.png", encoded(drawn("Ward office notice", size=(3200, 800)), "PNG"))
    image.read_image(path, ParseOptions(languages="eng"))

    ((width, height),) = sizes
    assert 380_000 < width * height <= 401_000
    assert width / height == pytest.approx(4, rel=0.01)


@pytest.mark.parametrize("dpi", [(96, 96), None])
def test_a_screenshot_is_read_larger(write: Write, read: Read, dpi: tuple[int, int] | None) -> None:
    small = drawn("Ward office notice").resize((320, 84), Image.Resampling.LANCZOS)
    options = {"dpi": dpi} if dpi else {}

    assert (
        read(write("a.png", encoded(small, "PNG", **options)), languages="eng").text == "Ward office notice"
    )


def test_damage_is_an_error_and_one_bad_frame_leaves_the_others(write: Write, read: Read) -> None:
    whole = encoded(drawn("Notice"), "PNG")
    for content in (whole[:40], whole[: len(whole) // 2], b"\xff\xd8\xff\xe0 and nothing more"):
        with pytest.raises(ParseError, match="damaged"):
            read(write("a.png", content))

    pages = [drawn(f"Page number {name}") for name in ("one", "two")]
    content = bytearray(
        encoded(pages[0], "TIFF", save_all=True, append_images=pages[1:], compression="tiff_lzw")
    )
    with Image.open(io.BytesIO(bytes(content))) as picture:
        start, size = picture.tag_v2[273][0], picture.tag_v2[279][0]  # type: ignore[attr-defined]
    content[start : start + size] = b"\xff" * size
    first, second = read(write("a.tiff", bytes(content)), languages="eng").pages

    assert (first.text, first.suspect, first.confidence) == ("", True, 0.0)
    assert first.reason.startswith("page failed: ")
    assert second.text == "Page number two"


def test_no_room_is_made_for_what_a_damaged_part_claims_to_hold(write: Write) -> None:
    content = encoded(drawn("Ward Office"), "PNG")

    with image._File(write("a.png", content)) as file:
        assert (file.read(8), file.read(1 << 46), file.read(), file.read(1)) == (
            content[:8],
            content[8:],
            b"",
            b"",
        )
