"""Files for the parsing tests, written byte by byte where a library would hide what is tested."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

from PIL import Image, ImageDraw, ImageFont

from rag_platform.types import Document

STARTER = Path(__file__).parents[2] / "eval_datasets" / "nepali_starter"
SCAN = STARTER / "municipal_notice" / "documents" / "सम्पत्ति-कर-सूचना-२०८२.pdf"
ACT = STARTER / "library_act" / "documents" / "पुस्तकालय-ऐन-२०८०.pdf"


class Write(Protocol):
    """Writes a file below the test's folder."""

    def __call__(self, name: str, content: bytes | str) -> Path: ...


class Read(Protocol):
    """``parse_file`` with the options as keywords."""

    def __call__(self, path: Path, *, source: str | None = None, **options: object) -> Document: ...


class Word(Protocol):
    """Writes a DOCX from the XML of its body and parts."""

    def __call__(self, body: str, *, links: Mapping[str, str] | None = None, **parts: str) -> Path: ...


class Odt(Protocol):
    """Writes an ODT from XML."""

    def __call__(self, text: str, **parts: str) -> Path: ...


class Pdf(Protocol):
    """Writes a PDF with any text layer."""

    def __call__(self, *pages: Sequence[tuple[float, float, str]], font: str = "Helvetica") -> Path: ...


_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_WORD_NAMESPACES = (
    f'{_W} xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_ODF = "".join(
    f' xmlns:{prefix}="{uri}"'
    for prefix, uri in {
        "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
        "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
        "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
        "draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0",
        "style": "urn:oasis:names:tc:opendocument:xmlns:style:1.0",
        "fo": "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0",
        "svg": "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0",
        "dc": "http://purl.org/dc/elements/1.1/",
        "meta": "urn:oasis:names:tc:opendocument:xmlns:meta:1.0",
        "xlink": "http://www.w3.org/1999/xlink",
    }.items()
)


def pack(path: Path, entries: Mapping[str, bytes | str]) -> Path:
    """Write a ZIP container."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def word_file(path: Path, body: str, *, links: Mapping[str, str] | None = None, **parts: str) -> Path:
    """Write a DOCX; keywords are part names with the XML inside their root, ``links`` ids of URLs."""
    overrides, relations = "", ""
    entries: dict[str, bytes | str] = {}
    roots = {"styles": "styles", "numbering": "numbering", "footnotes": "footnotes", "settings": "settings"}
    for name, xml in parts.items():
        kind = name.rstrip("0123456789")
        root = {"header": "hdr", "footer": "ftr"}.get(kind) or roots[kind]
        entries[f"word/{name}.xml"] = f"<w:{root} {_WORD_NAMESPACES}>{xml}</w:{root}>"
        overrides += f'<Override PartName="/word/{name}.xml" ContentType="{_WORD_TYPE}.{kind}+xml"/>'
        relations += f'<Relationship Id="{name}" Type="{_OFFICE}/{kind}" Target="{name}.xml"/>'
    for identifier, url in (links or {}).items():
        relations += f'<Relationship Id="{identifier}" Type="{_OFFICE}/hyperlink" Target="{url}" '
        relations += 'TargetMode="External"/>'
    namespace = "http://schemas.openxmlformats.org/package/2006"
    entries["[Content_Types].xml"] = (
        f'<Types xmlns="{namespace}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{_WORD_TYPE}.document.main+xml"/>'
        f"{overrides}</Types>"
    )
    entries["_rels/.rels"] = (
        f'<Relationships xmlns="{namespace}/relationships">'
        f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="word/document.xml"/>'
        "</Relationships>"
    )
    entries["word/_rels/document.xml.rels"] = (
        f'<Relationships xmlns="{namespace}/relationships">{relations}</Relationships>'
    )
    entries["word/document.xml"] = f"<w:document {_WORD_NAMESPACES}><w:body>{body}</w:body></w:document>"
    return pack(path, entries)


def odt_file(
    path: Path, text: str, *, automatic: str = "", styles: str = "", masters: str = "", meta: str = ""
) -> Path:
    """Write an ODT."""
    mimetype = "application/vnd.oasis.opendocument.text"
    manifest = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
    entry = '<manifest:file-entry manifest:full-path="{}" manifest:media-type="{}"/>'
    return pack(
        path,
        {
            "mimetype": mimetype,
            "META-INF/manifest.xml": f'<manifest:manifest xmlns:manifest="{manifest}">'
            + entry.format("/", mimetype)
            + "".join(entry.format(f"{part}.xml", "text/xml") for part in ("content", "styles", "meta"))
            + "</manifest:manifest>",
            "content.xml": f"<office:document-content{_ODF}>"
            f"<office:automatic-styles>{automatic}</office:automatic-styles>"
            f"<office:body>\n<office:text>{text}</office:text></office:body></office:document-content>",
            "styles.xml": f"<office:document-styles{_ODF}><office:styles>{styles}</office:styles>"
            f"<office:master-styles>{masters}</office:master-styles></office:document-styles>",
            "meta.xml": f"<office:document-meta{_ODF}><office:meta>{meta}</office:meta>"
            "</office:document-meta>",
        },
    )


Placed = tuple[float, float, str]
"""Left edge and baseline in points, and what the text layer is to say there; 6 points a character."""


def layer_pdf(pages: Sequence[Sequence[Placed]], *, font: str = "Helvetica", size: int = 12) -> bytes:
    """Return a PDF whose text layer says any Unicode string, whatever is drawn: no font file is needed.

    Each character gets a code of its own and a ToUnicode entry, half an em wide.
    """
    letters = sorted({character for page in pages for _, _, text in page for character in text})
    codes = {character: code for code, character in enumerate(letters, start=33)}
    assert max(codes.values(), default=0) < 256
    mapping = "\n".join(f"<{code:02x}> <{c.encode('utf-16-be').hex()}>" for c, code in codes.items())
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def\n"
        f"1 begincodespacerange <00> <ff> endcodespacerange {len(codes)} beginbfchar\n{mapping}\nendbfchar\n"
        "endcmap end end"
    )
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", _stream(cmap)]
    objects.append(
        f"<< /Type /Font /Subtype /Type1 /BaseFont /{font} /FirstChar 32 /LastChar 255 "
        f"/Widths [{' '.join(['500'] * 224)}] /ToUnicode 3 0 R >>"
    )
    kids = []
    for page in pages:
        drawn = "".join(
            f"BT /F1 {size} Tf {x} {y} Td <{''.join(f'{codes[c]:02x}' for c in text)}> Tj ET\n"
            for x, y, text in page
        )
        objects.append(_stream(drawn))
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {len(objects)} 0 R "
            "/Resources << /Font << /F1 4 0 R >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    return assemble(objects)


def _stream(text: str) -> str:
    return f"<< /Length {len(text)} >>\nstream\n{text}\nendstream"


def assemble(objects: Sequence[str]) -> bytes:
    """Return a PDF file of numbered objects, with a right cross-reference table."""
    out, offsets = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    head = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    tail = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + head.encode() + tail.encode()


def page_picture(lines: Sequence[str], font: ImageFont.FreeTypeFont | None = None) -> Image.Image:
    """Draw lines on a white page as wide as A4 at 300 DPI."""
    font = font or cast(ImageFont.FreeTypeFont, ImageFont.load_default(60))
    page = Image.new("L", (2480, 200 + 130 * len(lines)), 255)
    draw = ImageDraw.Draw(page)
    for number, line in enumerate(lines):
        draw.text((150, 100 + 130 * number), line, font=font, fill=0)
    return page
