"""The report as a page: whole without anything from outside, and nothing in it is obeyed."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

from runs import HASHING, RERANKED, SMALL, write_run

from rag_platform.evaluation.compare import compare
from rag_platform.evaluation.leaderboard import leaderboard
from rag_platform.evaluation.report.charts import front, grids, points, shade
from rag_platform.evaluation.report.page import as_page
from rag_platform.evaluation.results import Cell

VOID = {"meta", "br", "circle", "line", "polyline"}
GOOD, BAD = [1.0, 0.75, 0.5, 1.0], [0.25, 0.0, 0.5, 0.0]
ATTACK = '<img src="http://example.org/x.png" onerror=alert(1)> कर कति हो?'


class Page(HTMLParser):
    """Collects tags, checks that they close, and everything that could be loaded or run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def page_of(tmp_path: Path) -> str:
    cells = {SMALL: {"m": GOOD}, RERANKED: {"m": BAD}, HASHING: {"m": ["failed", *BAD[1:]]}}
    questions = [ATTACK, "विद्यालय कहिले खुल्छ?", "शुल्क कति हो?", "बैठक कहाँ बस्छ?"]
    a = write_run(tmp_path, {SMALL: {"m": BAD}}, run_id="a", questions=questions)
    b = write_run(tmp_path, cells, run_id="b", questions=questions, note="</title><script>x</script>")
    return "".join(as_page(b, comparison=compare(a, b)))


def test_the_page_is_whole_and_loads_and_runs_nothing(tmp_path: Path) -> None:
    text = page_of(tmp_path)
    page = Page(text)
    assert page.open == []
    assert page.tags.isdisjoint({"script", "img", "link", "iframe", "object", "a", "form"})
    assert page.attributes.isdisjoint({"src", "href", "onerror", "onclick", "srcset"})
    assert "default-src 'none'" in text
    assert "url(" not in text
    assert "@import" not in text


def test_the_page_shows_what_the_run_holds(tmp_path: Path) -> None:
    page = Page(page_of(tmp_path))
    said = "\n".join(page.texts)
    assert {"h1", "table", "svg", "details"} <= page.tags
    assert ATTACK in said  # as text
    for part in ("Leaderboard", "Intervals", "m by kind", "m by document", "Published by others"):
        assert part in page.texts
    assert "3 questions gained in m" in said  # q0 0.25 to 1, q1 0 to 0.75, q3 0 to 1
    assert "intfloat/multilingual-e5-small को उत्तर <b>0</b>" in said
    assert "खण्ड 0 & none" in said
    assert "सही उत्तर" in said


def test_heat_maps_hold_the_grid_with_failures_as_0_and_one_a_variant(tmp_path: Path) -> None:
    cells = {
        SMALL: {"m": GOOD},
        RERANKED: {"m": ["failed", *GOOD[1:]]},
        Cell("hashing", "none", "nofold"): {"m": BAD},
    }
    first, second = grids(leaderboard(write_run(tmp_path, cells)))
    assert (first.models, first.rerankers) == (
        ("intfloat/multilingual-e5-small",),
        ("none", RERANKED.reranker),
    )
    assert first.values == ((0.8125, 0.5625),)
    assert (second.variant, second.values) == ("nofold", ((0.1875,),))


def test_the_front_holds_what_nothing_beats_at_no_more(tmp_path: Path) -> None:
    assert front([(1, 0.5), (1, 0.6), (2, 0.6), (3, 0.9)]) == {1, 3}
    slow = {"seconds_retrieve": 40.0}
    run = write_run(tmp_path, {SMALL: {"m": GOOD}, HASHING: {"m": BAD}}, states={SMALL: slow})
    found = {point.name: point for point in points(leaderboard(run), lambda row: row.seconds)}
    assert found["hashing|none"].x == 0.5
    assert found["intfloat/multilingual-e5-small|none"].x == 10.0
    assert all(point.is_front for point in found.values())


def test_shades_can_be_read_on() -> None:
    assert shade(float("nan"), 0, 1) == ("#eee", "#666")
    assert shade(0.5, 0.5, 0.5) == ("#f7fbff", "#000")
    assert shade(0.9, 0.0, 1.0)[1] == "#fff"
