"""The starter set's two PDF containers: digital with a text layer, and an image-only scan.

Needs fpdf2, uharfbuzz, PyMuPDF, Pillow with RAQM, and the font Annapurna SIL.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from eval_datasets.starter_source import AUTHOR, STAMP, Block, Source
from rag_platform.errors import MissingDependency

if TYPE_CHECKING:
    from PIL import Image

FONT = "Annapurna SIL"  # has Latin glyphs as well; Noto Sans Devanagari has none
FONT_FILES = {"regular": "AnnapurnaSIL-Regular.ttf", "bold": "AnnapurnaSIL-Bold.ttf"}
FONT_FOLDERS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "~/.local/share/fonts",
    "~/.fonts",
    "~/Library/Fonts",
)
SCAN_DPI = 300
SCAN_SIZE = (2480, 3508)  # A4
SCAN_MARGIN = 260


def find_font(style: str) -> Path:
    """Return the file of Annapurna SIL in ``style``, from the usual folders or fontconfig.

    Raises:
        MissingDependency: The font is not installed.
    """
    name = FONT_FILES[style]
    for folder in FONT_FOLDERS:
        for found in sorted(Path(folder).expanduser().rglob(name)):
            return found
    try:
        pattern = f"{FONT}:style={style.capitalize()}"
        answer = subprocess.run(
            ["fc-match", "-f", "%{file}", pattern], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        answer = None
    if answer and Path(answer.stdout).name == name:
        return Path(answer.stdout)
    raise MissingDependency(
        f"font file {name!r} not found in {', '.join(FONT_FOLDERS)}: install the Debian package "
        "fonts-sil-annapurna, or put the file into ~/.local/share/fonts"
    )


def write_pdf(source: Source, path: Path) -> None:
    """Write a digital PDF with shaped text, an outline and a text layer that reads back."""
    import fpdf

    pdf = fpdf.FPDF(format="A4")
    pdf.set_title(source.title)
    pdf.set_author(AUTHOR)
    pdf.set_lang("ne")
    pdf.set_creation_date(STAMP)
    pdf.set_margin(22)
    for style, mark in (("regular", ""), ("bold", "B")):
        pdf.add_font("annapurna", mark, find_font(style))
    pdf.set_text_shaping(use_shaping_engine=True, script="deva", language="NEP")
    for page in source.pages:
        pdf.add_page()
        for block in page:
            size = {1: 17, 2: 14, 3: 12.5}.get(block.level, 11.5)
            pdf.set_font("annapurna", "B" if block.level else "", size)
            if block.level:
                pdf.ln(2)
                pdf.start_section(block.text, level=block.level - 1)
            pdf.multi_cell(0, size * 0.6, block.text, align="L", new_x="LMARGIN", new_y="NEXT")
            pdf.ln(1.5)
    path.write_bytes(_complete_text_layer(bytes(pdf.output())))


def _complete_text_layer(content: bytes) -> bytes:
    """Give every glyph without a Unicode value U+200B, so that readers do not show its code instead.

    A syllable such as र्य or लि is several glyphs; fpdf2 gives the first of them the whole text and the
    others no entry in the ToUnicode map, and readers then print the bare glyph code ("कार्य!पालि#का").
    """
    import pymupdf

    document = pymupdf.open(stream=content, filetype="pdf")
    for xref in range(1, document.xref_length()):
        kind, value = document.xref_get_key(xref, "ToUnicode")
        if kind != "xref":
            continue
        table = int(value.split()[0])
        cmap = document.xref_stream(table).decode("ascii")
        known = {int(code, 16) for code in re.findall(r"^<([0-9A-F]{4})> <", cmap, re.MULTILINE)}
        missing = [code for code in range(max(known) + 1) if code not in known]
        for start in range(0, len(missing), 100):
            part = missing[start : start + 100]
            entries = "".join(f"<{code:04X}> <200B>\n" for code in part)
            block = f"{len(part)} beginbfchar\n{entries}endbfchar\nendcmap"
            cmap = cmap.replace("endcmap", block, 1)
        document.update_stream(table, cmap.encode("ascii"))
    return bytes(document.tobytes(garbage=3, deflate=True, no_new_id=True))


def _wrap(text: str, width: Callable[[str], float], limit: float) -> Iterator[str]:
    line = ""
    for word in text.split():
        if line and width(f"{line} {word}") > limit:
            yield line
            line = word
        else:
            line = f"{line} {word}".strip()
    yield line


def _draw_page(blocks: tuple[Block, ...]) -> Image.Image:
    """Draw one A4 page in grey at 300 DPI, headings centred."""
    from PIL import Image, ImageDraw, ImageFont, features

    if not features.check("raqm"):
        raise MissingDependency("this Pillow has no RAQM and cannot shape Devanagari: install Pillow's wheel")
    page = Image.new("L", SCAN_SIZE, 255)
    draw = ImageDraw.Draw(page)
    y = SCAN_MARGIN
    for block in blocks:
        size = {1: 84, 2: 64, 3: 56}.get(block.level, 50)
        file = find_font("bold" if block.level else "regular")
        font = ImageFont.truetype(str(file), size, layout_engine=ImageFont.Layout.RAQM)
        width = partial(font.getlength, language="ne")
        for line in _wrap(block.text, width, SCAN_SIZE[0] - 2 * SCAN_MARGIN):
            x = (SCAN_SIZE[0] - width(line)) / 2 if block.level else SCAN_MARGIN
            draw.text((x, y), line, font=font, fill=0, language="ne")
            y += int(size * 1.55)
        y += 26
    return page


def write_scan(source: Source, path: Path) -> None:
    """Write an image-only PDF: each page drawn, turned by 0.4 degrees, speckled, 1-bit CCITT G4."""
    from PIL import Image

    specks = random.Random(415)
    images = []
    for blocks in source.pages:
        page = _draw_page(blocks).rotate(0.4, resample=Image.Resampling.BICUBIC, fillcolor=255)
        for _ in range(120):
            page.putpixel((specks.randrange(page.width), specks.randrange(page.height)), 0)
        images.append(
            page.point(lambda grey: 255 if grey > 150 else 0).convert("1", dither=Image.Dither.NONE)
        )
    stamp = STAMP.timetuple()
    first, *rest = images
    first.save(
        path, "PDF", resolution=SCAN_DPI, save_all=True, append_images=rest, creationDate=stamp, modDate=stamp
    )
