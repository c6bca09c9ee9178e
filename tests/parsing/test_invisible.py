"""Files of nothing that is seen: joiners, direction marks, fillers. They hold no text in any format."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import xlsxwriter
from parsing.files import Read, layer_pdf, odt_file, word_file
from parsing.test_damage import book
from pptx import Presentation

UNSEEN = "\u200d\u200c \u2060\u200e\n\u00ad\u034f\u3164\ufe0f\u200d"


def xlsx_file(path: Path, text: str) -> None:
    with xlsxwriter.Workbook(path) as made:
        made.add_worksheet("क").write("A1", text)


def pptx_file(path: Path, text: str) -> None:
    deck = Presentation()
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = text
    deck.save(str(path))


def rtf_file(path: Path, text: str) -> None:
    path.write_text("{\\rtf1\\ansi\\uc1 " + "".join(f"\\u{ord(c)}?" for c in text) + "}")


# A PDF draws a soft hyphen, so that it is seen there.
FILES: dict[str, Callable[[Path, str], object]] = {
    "txt": lambda path, text: path.write_text(text, encoding="utf-8"),
    "md": lambda path, text: path.write_text(f"{text}\n\n{text}", encoding="utf-8"),
    "html": lambda path, text: path.write_text(f"<meta charset=utf-8><h1>{text}</h1>", encoding="utf-8"),
    "csv": lambda path, text: path.write_text(f'"{text}"\n', encoding="utf-8"),
    "jsonl": lambda path, text: path.write_text(json.dumps(text), encoding="utf-8"),
    "docx": lambda path, text: word_file(path, f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"),
    "odt": lambda path, text: odt_file(path, f"<text:p>{text}</text:p>"),
    "epub": lambda path, text: book(
        path.parent,
        f'<html xmlns="http://www.w3.org/1999/xhtml"><body><p>{html.escape(text)}</p></body></html>',
    ),
    "pdf": lambda path, text: path.write_bytes(layer_pdf([[(60, 700, re.sub("[\n\u00ad]", "", text))]])),
    "xlsx": xlsx_file,
    "pptx": pptx_file,
    "rtf": rtf_file,
}


@pytest.mark.parametrize("suffix", FILES)
def test_what_no_one_sees_is_no_text(tmp_path: Path, read: Read, suffix: str) -> None:
    path = tmp_path / f"book.{suffix}"
    FILES[suffix](path, UNSEEN)
    document = read(path, ocr="never")

    assert document.text.strip() == ""
    assert all(page.regions == () for page in document.pages)


def test_joiners_stay_where_something_is_seen(tmp_path: Path, read: Read) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\u200dगर्\u200dयो\u200c", encoding="utf-8")

    assert read(path).text == "\u200dगर्\u200dयो\u200c"
