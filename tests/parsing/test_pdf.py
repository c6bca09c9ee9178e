from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest
from parsing.files import ACT, Pdf, Read, Write, assemble, layer_pdf

from rag_platform.chunking.chunkers import chunk_document, load_chunker
from rag_platform.chunking.tokenizers import load_tokenizer
from rag_platform.errors import EncryptedFile, ParseError
from rag_platform.parsing.reading import ParseOptions

NOTICE = "विद्यार्थीलाई छात्रवृत्ति वितरण गरिनेछ।"
ENGLISH = "The reading room opens at ten in the morning."


def test_a_text_layer_is_kept(pdf: Pdf, read: Read) -> None:
    document = read(pdf([(60, 700, ENGLISH), (60, 650, "Second block of the page.")], [(60, 700, NOTICE)]))

    assert document.format == "pdf"
    assert [(page.page_no, page.text, page.origin, page.suspect) for page in document.pages] == [
        (1, f"{ENGLISH}\n\nSecond block of the page.", "text_layer", False),
        (2, NOTICE, "text_layer", False),
    ]


def test_fragments_of_one_word_are_joined_and_words_parted(pdf: Pdf, read: Read) -> None:
    # 6 points a letter: "अन्ति" ends at 90, where "म" goes on; a gap of 2 points of 12 is a space.
    layer = [(60, 700, "अन्ति"), (90, 700, "म"), (98, 700, "मिति"), (140, 700, "फागुन"), (60, 660, NOTICE)]

    assert read(pdf(layer)).pages[0].text.split("\n")[0] == "अन्तिम मिति फागुन"


def test_spaces_drawn_apart_from_their_words_are_found(pdf: Pdf, read: Read) -> None:
    # LibreOffice writes the spaces of a line first, in another font, and then the words around them.
    layer = [
        (84, 700, " "),
        (114, 700, " "),
        (60, 700, "नेपा"),
        (90, 700, "सरका"),
        (120, 700, "सूचना"),
        (60, 660, NOTICE),
    ]

    assert read(pdf(layer)).pages[0].text.split("\n")[0] == "नेपा सरका सूचना"


def test_a_layer_of_key_codes_is_converted(pdf: Pdf, read: Read) -> None:
    # The fixture's font draws the codes themselves, six points each, so syllables come apart here.
    (page,) = read(
        pdf([(60, 700, "g]kfn ;/sf/ lzIff dGqfno jflif{s ah]6 kfl/t")], font="ABCDEF+Preeti")
    ).pages

    assert page.origin == "legacy_font"
    assert "सरकार शिक्षा" in page.text
    assert page.reason.startswith("legacy font Preeti")


def test_a_broken_unicode_map_whose_picture_says_nothing_is_flagged(pdf: Pdf, read: Read) -> None:
    (page,) = read(pdf([(60, 700, "शɡक्षा कायµालयको सूचना वɟतरण गरɝनेछ")])).pages

    assert page.suspect
    assert page.reason.startswith("broken text layer")


def test_the_digital_sample_reads_as_it_was_written(read: Read) -> None:
    document = read(ACT)

    assert len(document.pages) == 3
    assert "दफा १. संक्षिप्त नाम र प्रारम्भ: (१) यस ऐनको नाम “कल्पनापुर नगरपालिकाको सार्वजनिक पुस्तकालय ऐन, २०८०”" in (
        document.pages[0].text
    )
    assert not any(page.suspect for page in document.pages)
    assert document.metadata["author"] == "nepali_starter"


@pytest.fixture
def locked(tmp_path: Path) -> Path:
    with pymupdf.open(stream=layer_pdf([[(60, 700, ENGLISH)]])) as document:
        common = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "owner_pw": "owner"}
        document.save(str(tmp_path / "user.pdf"), user_pw="गोप्य", **common)
        document.save(str(tmp_path / "owner.pdf"), **common)
    return tmp_path / "user.pdf"


def test_a_user_password_is_needed_and_an_owner_password_is_not(read: Read, locked: Path) -> None:
    with pytest.raises(EncryptedFile, match="--password"):
        read(locked)
    assert read(locked, passwords=("अर्को", "गोप्य")).text == ENGLISH
    assert read(locked.with_name("owner.pdf")).text == ENGLISH


def test_passwords_are_secret(read: Read, locked: Path) -> None:
    options = ParseOptions(passwords=("नमिल्ने",))

    with pytest.raises(EncryptedFile, match="none of the passwords") as refusal:
        read(locked, passwords=options.passwords)
    assert "नमिल्ने" not in str(refusal.value) + repr(options) + options.recipe
    assert options.recipe == ParseOptions().recipe


def test_a_truncated_file_is_refused(read: Read, write: Write) -> None:
    whole = ACT.read_bytes()

    for share in (0.3, 0.6, 0.9):
        with pytest.raises(ParseError, match="truncated") as refusal:
            read(write("cut.pdf", whole[: int(len(whole) * share)]), source="ऐन.pdf")
        assert "cut.pdf" not in str(refusal.value)


def test_a_mended_file_that_lost_nothing_is_read(read: Read, write: Write) -> None:
    whole = layer_pdf([[(60, 700, ENGLISH)]])
    broken_table = whole.replace(b"startxref\n", b"startxref\n9")

    assert read(write("a.pdf", broken_table)).text == ENGLISH


def test_a_blank_page_is_empty_and_not_suspected(pdf: Pdf, read: Read) -> None:
    (first, blank) = read(pdf([(60, 700, ENGLISH)], [])).pages

    assert first.text == ENGLISH
    assert (blank.text, blank.origin, blank.reason, blank.suspect) == ("", "text_layer", "blank page", False)


def damaged_page() -> bytes:
    """A PDF of two pages, the second one's content a stream that cannot be unpacked."""
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    good = f"BT /F1 12 Tf 60 700 Td ({ENGLISH}) Tj ET"
    page = (
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {} 0 R "
        "/Resources << /Font << /F1 3 0 R >> >> >>"
    )
    return assemble(
        [
            "<< /Type /Catalog /Pages 2 0 R >>",
            "<< /Type /Pages /Kids [5 0 R 7 0 R] /Count 2 >>",
            font,
            f"<< /Length {len(good)} >>\nstream\n{good}\nendstream",
            page.format(4),
            "<< /Length 40 /Filter /FlateDecode >>\nstream\n"
            + "\x01not zlib at all" * 2
            + "12345678\nendstream",
            page.format(6),
        ]
    )


def test_one_damaged_page_never_loses_the_others(read: Read, write: Write) -> None:
    good, bad = read(write("a.pdf", damaged_page())).pages

    assert good.text == ENGLISH
    assert (bad.text, bad.suspect, bad.confidence) == ("", True, 0.0)
    assert bad.reason.startswith("page failed:")


def test_no_pages_and_no_pdf_are_parse_errors(read: Read, write: Write) -> None:
    empty = assemble(["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [] /Count 0 >>"])
    for content in (empty, b"%PDF-1.7\n", b"%PDF-1.7\n" + bytes(2000)):
        with pytest.raises(ParseError):
            read(write("a.pdf", content))


def test_running_lines_go_and_tables_over_pages_are_one(pdf: Pdf, read: Read) -> None:
    columns = (60, 260, 460)
    names = ["शिक्षा", "सडक", "खानेपानी", "कृषि", "उद्यम", "पर्यटन", "खेलकुद", "ऊर्जा", "वन"]

    def row(top: float, *cells: str) -> list[tuple[float, float, str]]:
        return [(x, top, cell) for x, cell in zip(columns, cells, strict=True)]

    def page(number: int, *rows: tuple[str, str, str]) -> list[tuple[float, float, str]]:
        drawn = [cell for at, cells in enumerate(rows) for cell in row(700 - 20 * at, *cells)]
        return [(60, 780, "कल्पनापुर नगरपालिकाको वार्षिक बजेट"), *drawn, (280, 40, f"पृष्ठ {'१२३४'[number]}")]

    head = ("शीर्षक", "विनियोजन", "खर्च")
    rows = [(name, f"{at + 1}00", f"{at}90") for at, name in enumerate(names)]
    document = read(
        pdf(page(0, head, *rows[:3]), *(page(n, *rows[2 * n + 1 : 2 * n + 3]) for n in (1, 2, 3)))
    )

    assert document.pages[0].text.startswith("कल्पनापुर नगरपालिकाको वार्षिक बजेट\n\n| शीर्षक | विनियोजन | खर्च |")
    assert document.pages[1].text == "| कृषि | 400 | 390 |\n| --- | --- | --- |\n| उद्यम | 500 | 490 |"
    assert document.pages[1].reason == "running lines left out: कल्पनापुर नगरपालिकाको वार्षिक बजेट, पृष्ठ २"
    tokenizer = load_tokenizer("graphemes")
    chunks = chunk_document(document, load_chunker("recursive", tokenizer=tokenizer, size=60), tokenizer)
    later = [chunk for chunk in chunks if chunk.page_first > 1]
    assert {chunk.header for chunk in later} == {"| शीर्षक | विनियोजन | खर्च |"}
