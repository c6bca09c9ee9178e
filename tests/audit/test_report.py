from __future__ import annotations

from html.parser import HTMLParser

import pytest

from rag_platform.audit.files import Duplicates, FileAudit, Problem, summary
from rag_platform.audit.pictures import PagePicture
from rag_platform.audit.report import as_html, worst

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>\u202efdp.exe'


class Tags(HTMLParser):
    """Collects tags with their attributes, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def parsed() -> Tags:
    files = [
        FileAudit(HOSTILE, 10, refused=True, problems=(Problem("parse_error", HOSTILE),)),
        FileAudit("सूचना.pdf", 2_500_000, format="pdf", language="ne"),
    ]
    pictures = [
        PagePicture(HOSTILE, 2, HOSTILE, 0.25, HOSTILE, b"\xff\xd8\xff"),
        PagePicture("क", 1, "", 1.0, ""),
    ]
    found = [Duplicates("bytes", (HOSTILE, "सूचना.pdf"))]
    tags = Tags()
    tags.feed("".join(as_html(files, found, summary(files, found), pictures, workers=2)))
    return tags


def test_nothing_of_a_file_becomes_markup(parsed: Tags) -> None:
    names = {tag for tag, _ in parsed.tags}
    assert not names & {"script", "iframe", "object", "link", "form"}
    assert not [key for _, attributes in parsed.tags for key in attributes if key.startswith("on")]
    assert "<script>alert(1)</script>" in parsed.text
    assert "\u202e" not in parsed.text


def test_nothing_is_fetched_from_outside(parsed: Tags) -> None:
    (picture,) = [attributes for tag, attributes in parsed.tags if tag == "img"]
    assert picture["src"] == "data:image/jpeg;base64,/9j/"
    assert not [attributes for _, attributes in parsed.tags if "href" in attributes]
    policy = next(a for tag, a in parsed.tags if tag == "meta" and "http-equiv" in a)
    assert str(policy["content"]).startswith("default-src 'none'")


def test_figures_stand_in_it(parsed: Tags) -> None:
    assert "सूचना.pdf" in parsed.text
    assert "Audit of 2 files" in parsed.text
    assert "score 0.25" in parsed.text


def test_every_files_worst_page_comes_before_any_second() -> None:
    def page(source: str, number: int, score: float, text: str = "पाठ") -> PagePicture:
        return PagePicture(source, number, "", score, text)

    given = [page("क", 1, 0.1), page("क", 2, 0.2), page("ख", 7, 0.5), page("ग", 1, 0.0, "")]
    assert [(p.source, p.page_no) for p in worst(given, 3)] == [("क", 1), ("ख", 7), ("क", 2)]
