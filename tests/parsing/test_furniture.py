"""Running lines are told from content by the pages around them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rag_platform.parsing.furniture import furniture
from rag_platform.parsing.layout import Cell, Line

BODY = [
    "नगर सभाले पारित गरेको यो कार्यविधि तुरुन्त लागू हुनेछ",
    "सडक बत्ती जडान गर्दा टोल विकास संस्थाको सिफारिस चाहिन्छ",
    "खानेपानीको धारा जडान गर्न घरधनीले निवेदन दिनु पर्नेछ",
    "फोहोर सङ्कलन गर्ने समय वडा कार्यालयले तोक्नेछ",
    "बजार अनुगमन समितिले मूल्य सूची जाँच गर्नेछ",
    "पुस्तकालय सार्वजनिक बिदामा बन्द रहनेछ",
]


def line(text: str, top: float, *, x0: float = 60, x1: float = 500, cells: int = 0) -> Line:
    width = (x1 - x0) / max(1, cells)
    made = tuple(Cell(f"{text} {at}", x0 + at * width, x0 + (at + 0.6) * width) for at in range(cells))
    return Line(" ".join(cell.text for cell in made) if made else text, x0, x1, top, top + 12, 0, made)


def page(number: int, *, top: Sequence[str] = (), bottom: Sequence[str] = ()) -> list[Line]:
    """Return a page with a line of its own text in the middle."""
    head = [line(text, 40 + 14 * at) for at, text in enumerate(top)]
    foot = [line(text, 800 - 14 * (len(bottom) - 1 - at)) for at, text in enumerate(bottom)]
    return [*head, line(BODY[number % len(BODY)], 200), line(f"थप विवरण {number * 7}", 215), *foot]


def left_out(pages: Sequence[Sequence[Line]], **options: object) -> list[list[str]]:
    """Return what goes of each page."""
    found = furniture(dict(enumerate(pages)), **options)  # type: ignore[arg-type]
    return [found.get(number, (set(), []))[1] for number in range(len(pages))]


def test_a_header_stays_on_its_first_page_and_a_footer_on_its_last() -> None:
    pages = [page(n, top=["कल्पनापुर नगरपालिका"], bottom=["फोन: ०१-४२११००"]) for n in range(5)]

    assert left_out(pages) == [
        ["फोन: ०१-४२११००"],
        *[["कल्पनापुर नगरपालिका", "फोन: ०१-४२११००"]] * 3,
        ["कल्पनापुर नगरपालिका"],
    ]


def test_a_header_that_the_text_says_anyway_goes_everywhere() -> None:
    title = [line("पुस्तकालय ऐन, २०८०", 300)]
    pages = [title, *(page(n, top=["पुस्तकालय ऐन, २०८०"]) for n in range(1, 6))]

    assert left_out(pages) == [[], *[["पुस्तकालय ऐन, २०८०"]] * 5]


@pytest.mark.parametrize(
    "numbered",
    [
        lambda n: "१२३४५"[n],
        lambda n: f"- {n + 14} -",
        lambda n: f"पृष्ठ {'३४५६७'[n]} / १०",
        lambda n: f"Page {n + 1} of 5",
        lambda n: ["iii", "iv", "v", "vi", "vii"][n],
    ],
)
def test_page_numbers_go_from_every_page(numbered: object) -> None:
    numbers = [numbered(n) for n in range(5)]  # type: ignore[operator]

    assert left_out([page(n, bottom=[numbers[n]]) for n in range(5)]) == [[number] for number in numbers]


def test_headers_of_left_and_right_pages_are_known_apart() -> None:
    headers = ["बायाँतिरको शीर्ष पङ्क्ति", "दायाँतिरको शीर्ष पङ्क्ति"]
    pages = [page(n, top=[headers[n % 2]]) for n in range(8)]

    assert left_out(pages) == [[], [], *([headers[n % 2]] for n in range(2, 8))]


@pytest.mark.parametrize("heading", ["अनुसूची-{}", "परिच्छेद {}", "दर्ता नं. {}", "Schedule {}", "{}."])
def test_numbers_of_the_text_itself_stay(heading: str) -> None:
    assert left_out([page(n, top=[heading.format("१२३४५६"[n])]) for n in range(6)]) == [[]] * 6


def test_numbers_that_do_not_count_pages_stay() -> None:
    totals = ["१२००", "९५०", "१८७५", "४३०", "७६०"]

    assert left_out([page(n, bottom=[f"जम्मा {totals[n]}"]) for n in range(5)]) == [[]] * 5
    assert left_out([page(n, bottom=[totals[n]]) for n in range(5)]) == [[]] * 5


def test_a_tables_header_row_stays() -> None:
    header = line("शीर्षक", 50, cells=3)
    pages = [[header, line(f"पङ्क्ति {n}", 66, cells=3), line(BODY[n], 400)] for n in range(5)]

    assert left_out(pages) == [[]] * 5


def test_what_stands_between_lines_of_the_text_stays() -> None:
    pages = [[line(BODY[n], 40), line("सोही बमोजिम हुनेछ।", 55), line(BODY[-n], 300)] for n in range(5)]

    assert left_out(pages) == [[]] * 5


def test_few_pages_say_nothing() -> None:
    assert left_out([page(n, top=["कल्पनापुर नगरपालिका"], bottom=[str(n + 1)]) for n in range(3)]) == [[]] * 3


def test_a_header_misread_on_scans_is_still_known() -> None:
    header = "कल्पनापुर नगरपालिकाको राजपत्र"
    pages = [page(n, top=[header if n != 3 else "कल्पनापुर नगरपालिकाक़ो राजपत"]) for n in range(6)]

    assert left_out(pages)[3] == []
    assert left_out(pages, by_ocr=set(range(6)))[3] == ["कल्पनापुर नगरपालिकाक़ो राजपत"]


def test_a_page_number_misread_on_a_scan_goes_with_the_others() -> None:
    pages = [page(n, bottom=[str(21 + n) if n != 3 else "2१"]) for n in range(6)]

    assert left_out(pages, by_ocr={3})[3] == ["2१"]
    assert left_out(pages)[3] == []
