from __future__ import annotations

import os
from pathlib import Path

import pytest
from parsing.files import SCAN, Pdf, Read, page_picture
from PIL import ImageFont

from rag_platform.errors import MissingDependency
from rag_platform.parsing import ocr, tesseract

ANNAPURNA = Path("/usr/share/fonts/truetype/annapurna/AnnapurnaSIL-Regular.ttf")
ENGLISH = "The reading room of the rural library opened in March 2024."


def picture_pdf(path: Path, lines: list[str], font: ImageFont.FreeTypeFont) -> Path:
    page_picture(lines, font).convert("1").save(
        path, resolution=300
    )  # packed without loss, unlike grey, which becomes JPEG
    return path


@pytest.fixture
def english_scan(tmp_path: Path) -> Path:
    font = ImageFont.load_default(60)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return picture_pdf(tmp_path / "english.pdf", [ENGLISH, "Contact: library@example.org"], font)


def test_a_scanned_nepali_page_is_read(read: Read) -> None:
    (page,) = read(SCAN).pages

    assert page.origin == "ocr"
    assert "अन्तिम मिति २०८२ मङ्सिर २० गते" in page.text
    assert "मिति: २०८२ असोज ६" in page.text
    assert 0.85 < page.confidence < 1.0
    assert page.reason.startswith("0 letters in the text layer; OCR with nep")
    assert not page.suspect
    assert "\u094d\u200c\n" not in page.text
    assert "\u094d\u200c " not in page.text


def test_an_english_scan_is_read_without_a_setting(english_scan: Path, read: Read) -> None:
    (page,) = read(english_scan).pages

    assert page.text == f"{ENGLISH}\nContact: library@example.org"


def test_mixed_lines_keep_both_scripts(read: Read, tmp_path: Path) -> None:
    if not ANNAPURNA.exists():
        pytest.skip(f"{ANNAPURNA.name} is not installed (Debian: fonts-sil-annapurna)")
    font = ImageFont.truetype(str(ANNAPURNA), 60, layout_engine=ImageFont.Layout.RAQM)
    lines = ["Registration फारम वडा कार्यालयमा पाइन्छ।", "इमेल ward6@example.org मा आवेदन पठाउनुहोस्।"]
    (page,) = read(picture_pdf(tmp_path / "mixed.pdf", lines, font)).pages

    assert page.text.split() == " ".join(lines).split()


def test_languages_that_are_set_are_obeyed(english_scan: Path, read: Read) -> None:
    (page,) = read(english_scan, languages="nep").pages

    assert ENGLISH not in page.text
    assert page.reason.startswith("0 letters in the text layer; OCR with nep, ")


def test_a_missing_language_names_its_package(english_scan: Path, read: Read) -> None:
    with pytest.raises(MissingDependency, match=r"'chi_sim'.*apt install tesseract-ocr-chi-sim"):
        read(english_scan, languages="nep+chi_sim")
    assert tesseract._package("Devanagari") == "tesseract-ocr-script-deva"


def test_a_missing_tesseract_is_named(
    english_scan: Path, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tesseract, "PROGRAM", "no-such-tesseract")
    tesseract.installed_languages.cache_clear()
    try:
        with pytest.raises(MissingDependency, match="apt install tesseract-ocr"):
            read(english_scan)
    finally:
        tesseract.installed_languages.cache_clear()


def test_a_page_that_takes_too_long_is_suspect_and_the_others_go_on(english_scan: Path, read: Read) -> None:
    (page,) = read(english_scan, ocr_timeout_s=0.01).pages

    assert (page.text, page.suspect, page.confidence) == ("", True, 0.0)
    assert "OCR timed out after 0.01 s" in page.reason


def test_ocr_switched_off_says_so(english_scan: Path, read: Read, pdf: Pdf) -> None:
    (page,) = read(english_scan, ocr="never").pages
    assert (page.text, page.origin, page.suspect) == ("", "text_layer", True)
    assert "OCR is switched off" in page.reason

    (few,) = read(pdf([(60, 700, "Page 7")]), ocr="never").pages
    assert (few.text, few.suspect) == ("Page 7", True)

    (blank,) = read(pdf([]), ocr="never").pages
    assert (blank.text, blank.reason, blank.suspect) == ("", "blank page", False)


def test_ocr_of_every_page(pdf: Pdf, read: Read) -> None:
    layer = [(60, 700, "a layer that says something else entirely")]
    (page,) = read(pdf(layer), ocr="always").pages

    assert page.origin == "ocr" or "OCR found less" in page.reason
    assert page.reason.startswith("OCR of every page is set")


def test_a_stamp_in_the_layer_does_not_hide_the_scan(english_scan: Path, read: Read, tmp_path: Path) -> None:
    import pymupdf

    stamped = tmp_path / "stamped.pdf"
    with pymupdf.open(str(english_scan)) as document:
        document[0].insert_text((5, 10), "CamScanner", fontsize=4)
        document.save(str(stamped))
    (page,) = read(stamped).pages

    assert page.origin == "ocr"
    assert ENGLISH in page.text


def test_the_thread_limit_is_the_childs_alone() -> None:
    assert tesseract._environment()["OMP_THREAD_LIMIT"] == "1"
    assert os.environ.get("OMP_THREAD_LIMIT") is None or tesseract._environment() is not os.environ


def test_only_word_final_joiners_after_a_halant_go() -> None:
    texts = ("श्रीमान्\u200cको", "छन्\u200c", "भगवान्\u200c।", "गर्\u200dयो")

    assert ocr._stored(" ".join(texts)) == "श्रीमान्\u200cको छन् भगवान्। गर्\u200dयो"
