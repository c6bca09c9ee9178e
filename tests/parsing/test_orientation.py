from __future__ import annotations

import pymupdf
import pytest
from parsing.files import SCAN, page_picture
from PIL import Image

from rag_platform.parsing import ocr, orientation
from rag_platform.parsing.reading import ParseOptions
from rag_platform.parsing.tesseract import Tesseract

ENGLISH = [
    "The reading room of the rural library opened in March 2024.",
    "It lends books, maps and newspapers to every household.",
    "Members of the ward committee keep the register by hand.",
    "One new shelf for school children was built last winter.",
]
NEPALI = "अन्तिम मिति २०८२ मङ्सिर २० गते"


def scanned() -> Image.Image:
    with pymupdf.open(str(SCAN)) as document:
        drawn = document[0].get_pixmap(dpi=300, colorspace=pymupdf.csGRAY)
        return Image.frombytes("L", (drawn.width, drawn.height), drawn.samples)


@pytest.fixture(scope="module")
def scan() -> Image.Image:
    """A Nepali page at 300 DPI, straight."""
    picture = scanned()
    askew = orientation.skew(picture)
    return orientation.straightened(picture, askew) if askew else picture


@pytest.fixture(scope="module")
def english() -> Image.Image:
    return page_picture(ENGLISH * 3)


@pytest.mark.parametrize("angle", [-5.0, -2.0, -0.6, 1.0, 3.5])
def test_lines_askew_are_measured(scan: Image.Image, angle: float) -> None:
    lying = scan.rotate(-angle, Image.Resampling.BICUBIC, fillcolor=255)

    assert orientation.skew(lying) == pytest.approx(angle, abs=0.25)


def test_straight_pages_and_pages_without_lines_stay(english: Image.Image) -> None:
    assert orientation.skew(english) == 0.0
    assert orientation.skew(Image.new("L", (2480, 3508), 255)) == 0.0
    assert orientation.skew(Image.radial_gradient("L").resize((1200, 1200))) == 0.0


def test_the_headline_tells_the_scripts_apart(scan: Image.Image, english: Image.Image) -> None:
    assert not orientation.looks_latin(scan)
    assert orientation.looks_latin(english)
    assert not orientation.looks_latin(Image.new("L", (2480, 3508), 255))


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_turned_page_is_read_upright(scan: Image.Image, degrees: int) -> None:
    lying = orientation.turned(scan, 360 - degrees)
    result = ocr.read_picture(lying, ParseOptions())

    assert NEPALI in result.text
    assert result.turned == degrees
    assert f"turned {degrees}°" in result.how


def test_a_turned_english_page_is_read_upright(english: Image.Image) -> None:
    result = ocr.read_picture(orientation.turned(english, 90), ParseOptions())

    assert result.text.split() == " ".join(ENGLISH * 3).split()


def test_few_words_are_tried_in_all_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tesseract, "turn", lambda *_: None)  # as it answers where it cannot tell
    label = page_picture(ENGLISH[:2])

    result = ocr.read_picture(orientation.turned(label, 270), ParseOptions())

    assert (result.turned, result.text.split()) == (90, " ".join(ENGLISH[:2]).split())


def test_a_page_askew_is_straightened_and_says_so(scan: Image.Image) -> None:
    lying = scan.rotate(3, Image.Resampling.BICUBIC, fillcolor=255)
    result = ocr.read_picture(lying, ParseOptions())

    assert NEPALI in result.text
    assert "straightened by 3°" in result.how


def test_upright_pages_do_not_pay_for_it(english: Image.Image, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    run = Tesseract._run

    def noted(self: Tesseract, picture: Image.Image, extension: str, languages: str, config: str) -> str:
        asked.append(extension)
        return run(self, picture, extension, languages, config)

    monkeypatch.setattr(Tesseract, "_run", noted)
    ocr.read_picture(english, ParseOptions())

    assert asked == ["tsv"]


@pytest.mark.parametrize(
    ("turn", "angle"), [(0, 0.0), (90, 0.0), (180, 0.0), (270, 0.0), (0, 3.0), (90, 2.0)]
)
def test_words_lie_where_they_stand_on_the_page_as_it_came(turn: int, angle: float) -> None:
    """Boxes wiped off the page leave next to no ink on it."""
    page = page_picture(ENGLISH * 3)
    page.paste(
        255, (1200, 0, page.width, 320)
    )  # the first lines end early: the page looks the same no other way
    lying = orientation.turned(page, 360 - turn) if turn else page
    if angle:
        lying = lying.rotate(-angle, Image.Resampling.BICUBIC, expand=True, fillcolor=255)
    result = ocr.read_picture(lying, ParseOptions(languages="eng"))
    n_ink = sum(lying.histogram()[:128])
    for word in result.words:
        lying.paste(255, (word.left - 6, word.top - 6, word.right + 6, word.bottom + 6))

    assert (result.turned, result.askew) == (turn, pytest.approx(angle, abs=0.2))
    assert sum(lying.histogram()[:128]) < 0.02 * n_ink
