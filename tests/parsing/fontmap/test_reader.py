from __future__ import annotations

import pymupdf
import pytest
from parsing.fontmap.typeset import (
    FONTS,
    PdfFont,
    Run,
    font_bytes,
    ocr_of,
    pdf,
    poisoned,
    renumbered,
    shifted,
    typeset,
    without_tables,
)

from rag_platform.parsing.fontmap.matching import OcrPage
from rag_platform.parsing.fontmap.reader import FontMapReader

LINES = [
    "नेपालको संविधान र राष्ट्रिय शिक्षा नीति",
    "कार्यक्रम, वर्ष, पार्श्व, निर्माण, सम्पत्ति",
    "प्रत्येक व्यक्तिलाई सम्मानपूर्वक बाँच्न पाउने हक हुनेछ।",
    "ट्रक, ड्राइभर, छ्यासमिस, बाह्र, ह्रस्व, क्रम, श्रम, द्रव्य",
    "पद्धति, विद्या, द्वार, उद्घाटन, चिह्न, ब्राह्मण, प्रह्लाद",
    "क्षेत्र, ज्ञान, श्री, त्रिशूल, शृङ्खला, कृषि, हृदय, दृष्टि",
    "गर्नुपर्नेछ, पर्यटन, सर्वोच्च, अर्को, धेरैजसो, वर्षौं, कर्णाली",
    "हिँडाइ, सिंह, हुँदैन, गाउँपालिका, दुःख, ॐ, ऋण, ऐन, औषधि",
    'अनुसूची (१) को दफा २३४ को उपदफा ५६७।८९० – "मिति"',
    "स्त्री, स्वास्थ्य, उत्कृष्ट, राष्ट्र, मन्त्र्यालय, सञ्चार, अङ्क",
]
HELD = [
    "मन्त्रिपरिषद्को निर्णय बमोजिम विद्यार्थीलाई छात्रवृत्ति दिइनेछ।",
    "राष्ट्रिय पर्यटन नीतिको उद्देश्य र कार्यक्षेत्र",
]
fonts = pytest.mark.parametrize("name", list(FONTS))


@fonts
def test_text_comes_back_through_the_fonts_own_rules(name: str) -> None:
    page = FontMapReader(typeset(font_bytes(name), LINES)).page(1)
    assert page.text.split() == " ".join(LINES).split()
    assert (page.route, page.confidence, page.coverage, page.unsure_words) == ("gsub", 1.0, 1.0, ())


@fonts
def test_text_comes_back_through_known_outlines(name: str) -> None:
    program = font_bytes(name)
    bare = without_tables(program, "GSUB", "GPOS", "GDEF", "cmap", "post", "name", "OS/2")
    page = FontMapReader(typeset(program, LINES, embed=bare)).page(1)
    assert page.text.split() == " ".join(LINES).split()
    assert page.route == "outline"
    assert page.confidence == 1.0


def test_text_comes_back_where_words_are_bold_by_double_drawing() -> None:
    page = FontMapReader(typeset(font_bytes("lohit"), LINES, bold=True)).page(1)
    assert page.text.split() == " ".join(LINES).split()


def test_word_spaces_come_from_white_paper_where_none_are_drawn() -> None:
    page = FontMapReader(typeset(font_bytes("annapurna"), LINES, draw_spaces=False)).page(1)
    assert page.text.split() == " ".join(LINES).split()


def test_an_explicit_halant_keeps_its_non_joiner() -> None:
    page = FontMapReader(typeset(font_bytes("lohit"), ["श्रीमान्‌को", "पश्चात् जगत्मा"])).page(1)
    assert page.text.split() == " ".join(["श्रीमान्‌को", "पश्चात् जगत्मा"]).split()


def test_the_eyelash_keeps_its_joiner() -> None:
    page = FontMapReader(typeset(font_bytes("noto-sans"), ["गर्‍यो, पुर्‍याउने, दर्‍यो"])).page(1)
    assert page.text == "गर्‍यो, पुर्‍याउने, दर्‍यो"


def test_subsets_of_one_name_with_other_numbers_are_told_apart() -> None:
    program = font_bytes("lohit")
    other = renumbered(program)
    first = PdfFont(program, to_unicode=poisoned(program, LINES[0]))
    second = PdfFont(other, to_unicode=poisoned(other, LINES[1]))
    page = FontMapReader(pdf([[Run(first, LINES[0], 60, 80), Run(second, LINES[1], 60, 104)]])).page(1)
    assert page.text.split() == " ".join(LINES[:2]).split()


@pytest.mark.parametrize("rotate", [90, 180, 270])
def test_rotated_pages_read_alike(rotate: int) -> None:
    program = font_bytes("lohit")
    font = PdfFont(program, to_unicode=poisoned(program, " ".join(LINES)))
    runs = [Run(font, line, 60, 80 + 24 * at) for at, line in enumerate(LINES)]
    assert FontMapReader(pdf([runs], rotate)).page(1).text.split() == " ".join(LINES).split()


def test_the_document_is_left_as_it_is() -> None:
    document = typeset(font_bytes("lohit"), LINES)
    FontMapReader(document).pages()
    assert [font[3] for font in document[0].get_fonts()] == ["ABCDEF+Kalam"]


def test_latin_pages_keep_their_layer() -> None:
    document = pymupdf.open()
    document.new_page().insert_text((72, 72), "The Act comes into force at once.")
    page = FontMapReader(document).page(1)
    assert (page.text, page.route, page.confidence) == ("The Act comes into force at once.", "layer", 1.0)


def test_a_page_without_text_says_so() -> None:
    document = pymupdf.open()
    document.new_page()
    page = FontMapReader(document).page(1)
    assert (page.text, page.route, page.confidence, page.coverage) == ("", "none", 0.0, 0.0)
    assert page.reason == "font map: nothing is drawn as text"


def test_unknown_glyphs_lower_the_confidence_and_flag_their_words() -> None:
    program = font_bytes("lohit")
    bare = shifted(without_tables(program, "GSUB", "GPOS", "GDEF", "cmap"))
    page = FontMapReader(typeset(program, LINES, embed=bare)).page(1)
    assert page.confidence < 0.1
    assert page.coverage < 0.1
    assert len(page.unsure_words) > 40
    assert "unknown" in page.reason


def test_a_map_is_learned_from_the_ocr_of_other_pages() -> None:
    program = font_bytes("lohit")
    bare = shifted(without_tables(program, "GSUB", "GPOS", "GDEF", "cmap"))
    font = PdfFont(program, bare, to_unicode=poisoned(program, " ".join(LINES)))
    runs = [Run(font, line, 60, 80 + 24 * at) for at, line in enumerate([*LINES, *HELD, *LINES, *HELD])]
    held = [Run(font, line, 60, 80 + 24 * at) for at, line in enumerate(HELD)]
    asked: list[int] = []

    def ocr(page_no: int) -> OcrPage:
        asked.append(page_no)
        return ocr_of(runs)

    reader = FontMapReader(pdf([held, runs]), ocr=ocr, ocr_pages=1)
    page = reader.page(1)
    assert asked == [2]
    assert reader.learned_from == (2,)
    assert page.text.split() == " ".join(HELD).split()
    assert page.route == "learned"
    assert page.confidence > 0.85
    assert reader.page(2).confidence > 0.98  # its own OCR confirms it
    assert reader.verification_page() == 1
    assert reader.verify(1, ocr_of(held)).rate == 0.0


def test_ocr_is_not_asked_for_where_the_fonts_know_all() -> None:
    def ocr(page_no: int) -> OcrPage:
        raise AssertionError(f"page {page_no} was asked for")

    assert FontMapReader(typeset(font_bytes("lohit"), LINES), ocr=ocr).page(1).confidence == 1.0


def test_verification_counts_what_ocr_reads_otherwise() -> None:
    program = font_bytes("lohit")
    runs = [Run(PdfFont(program), "नेपाल सरकार", 60, 80)]
    reader = FontMapReader(pdf([runs]))
    other = ocr_of([Run(PdfFont(program), "नेपाल सरकाल", 60, 80)])
    found = reader.verify(1, other)
    assert (found.n_words, found.n_characters, found.n_edits) == (2, 10, 1)
    assert found.rate == 1 / 10


def test_only_the_wanted_pages_are_read() -> None:
    font = PdfFont(font_bytes("lohit"))
    document = pdf([[Run(font, line, 60, 80)] for line in LINES[:3]])
    assert {number: page.text for number, page in FontMapReader(document, only=[2]).pages().items()} == {
        2: LINES[1]
    }


def test_a_damaged_font_program_is_an_unknown_font() -> None:
    program = font_bytes("lohit")
    cut = program[: len(program) // 3]
    page = FontMapReader(typeset(program, LINES[:1], embed=cut)).page(1)
    assert page.confidence < 0.5


def test_an_encrypted_document_is_read_after_unlocking() -> None:
    locked = typeset(font_bytes("lohit"), LINES).tobytes(
        encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="गोप्य", owner_pw="o"
    )
    document = pymupdf.open(stream=locked, filetype="pdf")
    assert document.authenticate("गोप्य")
    assert FontMapReader(document).page(1).text.split() == " ".join(LINES).split()


def test_legacy_fonts_are_converted_by_the_given_table() -> None:
    program = font_bytes("lohit")
    font = PdfFont(program, without_tables(program, "GSUB", "GPOS"), name="ABCDEF+Preeti")

    def legacy(sample: str, font_name: str) -> object:
        assert (sample, font_name) == ("g]kfn", "Preeti")
        return {"g]kfn": "नेपाल"}.__getitem__

    page = FontMapReader(pdf([[Run(font, "g]kfn", 60, 80)]]), legacy=legacy).page(1)  # type: ignore[arg-type]
    assert (page.text, page.route, page.confidence) == ("नेपाल", "legacy", 1.0)
