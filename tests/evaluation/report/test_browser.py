"""The report in a real browser: read on a phone and on a wall, by daylight and in the dark."""

from __future__ import annotations

import pytest

pytest.importorskip("selenium", reason="selenium is not installed; run: pip install selenium")

from browser import PHONE, WIDE, Browser, axe_faults, browser
from runs import HASHING, RERANKED, SMALL, write_run

from rag_platform.evaluation.compare import compare
from rag_platform.evaluation.report.page import as_page
from rag_platform.evaluation.results import Cell

__all__ = ["browser"]

GOOD, BAD, HALF = [1.0, 0.75, 0.5, 1.0], [0.25, 0.0, 0.5, 0.0], [0.5, 0.5, 0.25, "failed"]
MEASURES = ("nDCG@10", "R@10", "MRR@10", "hit@1", "hit@3", "hit@5", "chrF")
REASON = (
    "encoder tiny ranks 1 of 5 plain Nepali questions right: for 'नेपालको राजधानी कहाँ हो?' 'नेपाल सरकार' " * 3
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    home = tmp_path_factory.mktemp("report")
    refused = Cell("tiny/jina-embeddings-v5-text-nano-retrieval", "none")
    cells = {
        SMALL: dict.fromkeys(MEASURES, GOOD),
        RERANKED: dict.fromkeys(MEASURES, HALF),
        HASHING: dict.fromkeys(MEASURES, BAD),
        refused: {},
    }
    questions = ["सम्पत्ति कर कहिलेसम्म बुझाउने? " * 12, "www." + "बिदा" * 60, "शुल्क कति हो?", "बैठक कहाँ बस्छ?"]
    states = {refused: {"status": "gate_failed", "reason": REASON, "gate_passed": False}}
    a = write_run(home, {SMALL: dict.fromkeys(MEASURES, BAD)}, run_id="a", questions=questions)
    b = write_run(home, cells, run_id="b", questions=questions, states=states)
    path = home / "report.html"
    path.write_text("".join(as_page(b, comparison=compare(a, b))), encoding="utf-8")
    return path.as_uri()


@pytest.mark.slow
@pytest.mark.parametrize(("size", "scheme"), [(PHONE, "light"), (WIDE, "dark")])
def test_it_fits_can_be_read_and_has_no_serious_fault(
    browser: Browser, report: str, size: tuple[int, int], scheme: str
) -> None:
    browser.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    browser.open(report, size)
    browser.run("for (const one of document.querySelectorAll('details')) one.open = true")
    assert browser.run("return document.documentElement.scrollWidth") <= size[0], "the page itself never"
    assert browser.run("return getComputedStyle(document.querySelector('.wide')).overflowX") == "auto"
    heights = browser.run("return [...document.querySelectorAll('svg')].map(one => one.clientHeight)")
    assert len(heights) == 3, "intervals, time, cost"
    assert min(heights) > 50
    shown = browser.text(".board table")
    assert "gate_failed (1)" in shown
    assert "0.750 [0.500, 1.000]" in shown, "of the three questions that all have"
    broken = "return [...document.querySelectorAll('.board td')].filter(one => one.clientHeight > 60).length"
    assert browser.run(broken) == 0, "figures and names stay on one line"
    assert axe_faults(browser) == []
    assert browser.complaints() == []
