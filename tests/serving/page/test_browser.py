"""The page in Chromium: on a phone and on a wide screen, with and without scripts, by keys alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from browser import PHONE, WIDE, Browser, axe_faults
from http_service import served, wait, wire
from selenium.webdriver.common.keys import Keys as Key

from rag_platform.keys import Keys
from rag_platform.platform import RagPlatform
from serving.app import create_app

BOTH = pytest.mark.parametrize("size", [PHONE, WIDE], ids=["phone", "wide"])
TAX = "सम्पत्ति कर कहिलेसम्म तिर्ने?"
LIBRARY = "पुस्तकालयको वार्षिक सदस्यता शुल्क कति हो?"


@pytest.fixture(autouse=True)
def _nothing_is_complained_of(browser: Browser) -> Iterator[None]:
    browser.complaints()
    yield
    refused = ("status of 401", "status of 403", "status of 400")  # which a test asked for
    assert [one for one in browser.complaints() if not any(status in one for status in refused)] == []


@pytest.fixture
def start(browser: Browser, service: httpx.Client) -> Callable[..., None]:
    """Return a function that opens the page; ``q`` is searched."""

    def open_page(q: str = "", **how: object) -> None:
        browser.open(f"{service.base_url}/{f'?q={quote(q)}' if q else ''}", **how)  # type: ignore[arg-type]

    return open_page


def ask(browser: Browser, question: str) -> None:
    browser.one("#q").send_keys(question)
    browser.one("#ask").click()
    browser.wait(lambda: browser.all("#answer ol") or browser.all("#answer .small"), "an answer")


def place_of(browser: Browser, selector: str) -> dict[str, float]:
    found: dict[str, float] = browser.run(
        "return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()", selector
    )
    return found


def width_of(browser: Browser) -> int:
    """Return the width that the page takes; a phone shows one that is too wide smaller, and says nothing."""
    return int(browser.run("return document.documentElement.scrollWidth"))


@BOTH
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "plain"])
def test_search(browser: Browser, start: Callable[..., None], size: tuple[int, int], scripts: bool) -> None:
    start(size=size, scripts=scripts)
    assert browser.text("h1") == "कागजात खोज"
    assert browser.all("#ask")[0].is_displayed() == scripts
    browser.one("#q").send_keys(TAX, Key.ENTER)
    browser.sees("#results h3", "कर सूचना.txt")
    assert [one.text for one in browser.all("#results li:first-child .passage mark")][:2] == ["सम्पत्ति", "कर"]
    assert "?q=" in browser.driver.current_url
    browser.one("#filters summary").click()
    browser.one("[name=document]").send_keys("पुस्तकालय-ऐन-२०८०.pdf", Key.ENTER)
    browser.sees("#results h3", "पुस्तकालय-ऐन-२०८०.pdf")
    if scripts:
        assert width_of(browser) <= size[0]
        browser.driver.back()
        browser.sees("#results h3", "कर सूचना.txt")


@BOTH
def test_an_answer_streams_and_its_marks_lead_to_the_page(
    browser: Browser, start: Callable[..., None], size: tuple[int, int]
) -> None:
    start(size=size)
    ask(browser, LIBRARY)
    assert "दुई सय रुपैयाँ" in browser.text("#answer .said-so")
    assert "उत्तर कागजातकै वाक्यबाट लिइएको हो।" in browser.text("#answer")
    browser.sees("#results h3", "पुस्तकालय-ऐन-२०८०.pdf")
    assert width_of(browser) <= size[0]
    browser.one("#answer .cite").click()
    browser.one("#viewer .boxes i")
    browser.sees("#viewer [data-said]", "अंश पहेँलो रङले चिनाइएको छ।")
    page, mark = (place_of(browser, one) for one in ("#viewer img", "#viewer .boxes i"))
    assert page["left"] <= mark["left"] < mark["right"] <= page["right"]
    assert page["top"] < mark["top"] < mark["bottom"] < page["bottom"]


def test_the_viewer_turns_pages_by_keys_and_closes(browser: Browser, start: Callable[..., None]) -> None:
    start(LIBRARY)
    browser.one("#results [data-view]").click()
    browser.one("#viewer .boxes i")
    first = browser.text("#viewer [data-at]")
    browser.driver.switch_to.active_element.send_keys(Key.ARROW_LEFT)
    browser.wait(lambda: browser.text("#viewer [data-at]") != first, "another page")
    browser.wait(lambda: browser.text("#viewer [data-said]").startswith("अंश"), "the boxes of that page")
    browser.driver.switch_to.active_element.send_keys(Key.ESCAPE)
    browser.wait(lambda: not browser.all("#viewer[open]"), "the viewer to close")


def test_a_question_without_an_answer_is_refused_calmly(browser: Browser, start: Callable[..., None]) -> None:
    start()
    ask(browser, "मङ्गल ग्रहमा पहिलो मानिस कहिले पुग्यो?")
    assert "यी कागजातमा उत्तर भेटिएन" in browser.text("#answer")


def test_a_citation_is_copied(browser: Browser, start: Callable[..., None]) -> None:
    start(TAX, language="en")
    browser.driver.execute_cdp_cmd(
        "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    )
    browser.one("#results [data-copy]").click()
    browser.sees("#results [data-copy]", "Copied ✓")
    copied = browser.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert copied.startswith("“सुनकोशी नगरपालिकाको सूचना। सम्पत्ति कर")
    assert copied.endswith("” — कर सूचना.txt, page 1")


def test_the_language_is_switched_and_kept(browser: Browser, start: Callable[..., None]) -> None:
    start(TAX, language="en-GB")
    assert browser.text("#results header h2").endswith(" passages")
    browser.one("nav a[hreflang=ne]").click()
    browser.wait(lambda: "अंश" in browser.text("#results header h2"), "the Nepali page")
    assert browser.run("return document.documentElement.lang") == "ne"
    assert browser.run("return document.querySelector('#q').value") == TAX


def test_keys_alone_do_everything(browser: Browser, start: Callable[..., None]) -> None:
    start(TAX)
    browser.one("#results h3")
    browser.run("document.activeElement.blur()")
    browser.one("body").send_keys("/")
    assert browser.driver.switch_to.active_element.get_attribute("id") == "q"
    browser.driver.switch_to.active_element.send_keys(LIBRARY, Key.ENTER)
    browser.sees("#results h3", "पुस्तकालय-ऐन-२०८०.pdf")
    assert browser.driver.switch_to.active_element.get_attribute("id") == "results"
    browser.driver.switch_to.active_element.send_keys(Key.TAB)
    assert browser.driver.switch_to.active_element.is_displayed()


def test_what_documents_say_is_never_run(browser: Browser, start: Callable[..., None]) -> None:
    start()
    ask(browser, "घरजग्गा नामसारी शुल्क कति लाग्छ?")
    assert "<script>" in browser.text("#results .passage")
    assert "<img" in browser.text("#results h3")
    assert browser.driver.title.endswith("कागजात खोज")
    assert not browser.all(
        "#results img, #results script, #results svg, #answer img, #answer script, #answer svg"
    )


def test_an_upload_is_followed_until_it_can_be_searched(
    browser: Browser, start: Callable[..., None], tmp_path: Path
) -> None:
    good, empty = tmp_path / "बिदा सूचना.txt", tmp_path / "खाली.txt"
    good.write_text("फागुन सात गते प्रजातन्त्र दिवसको सार्वजनिक बिदा हुनेछ।", encoding="utf-8")
    empty.write_bytes(b"")
    start(size=PHONE)
    browser.one("[data-open=upload]").click()
    browser.all("#files")[0].send_keys(f"{good}\n{empty}")
    browser.sees("#upload .said", "काम सकियो।")
    rows = {row.get_attribute("data-name"): row.text for row in browser.all("#upload .files li")}
    assert rows["बिदा सूचना.txt"].endswith("खोज्न तयार")
    assert "पढ्न सकिएन" in rows["खाली.txt"]
    browser.one("#upload [data-close]").click()
    browser.one("#q").send_keys("प्रजातन्त्र दिवस बिदा", Key.ENTER)
    browser.sees("#results h3", "बिदा सूचना.txt")


def test_a_wrong_filter_and_nothing_found_are_told(browser: Browser, start: Callable[..., None]) -> None:
    start(TAX)
    browser.one("#filters summary").click()
    browser.one("[name=from]").send_keys("भोलि", Key.ENTER)
    browser.sees("#results .state h2", "यो छनोट बुझिएन")
    browser.one("#filters summary").click()
    browser.one("[name=from]").clear()
    browser.one("[name=condition]").send_keys("year=1990", Key.ENTER)
    browser.sees("#results .state h2", "केही भेटिएन")


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, str]]:
    system = wire(tmp_path_factory.mktemp("locked"), RAG_API_KEYS="required")
    RagPlatform(system=system).add_text("बैठकको निर्णय भोलि बिहान सुनाइनेछ।", name="निर्णय.txt")
    key = Keys(system.home).add("office", ["read"])
    with served(create_app(system=system)) as client:
        wait(lambda: client.get("/healthz").status_code == 200)
        yield client, key


def test_a_key_is_asked_for_and_kept_in_the_tab(browser: Browser, locked: tuple[httpx.Client, str]) -> None:
    client, key = locked
    browser.open(f"{client.base_url}/")
    browser.run("sessionStorage.clear()")
    browser.one("#q").send_keys("बैठकको निर्णय", Key.ENTER)
    browser.one("#key input").send_keys("rag_wrong", Key.ENTER)
    browser.sees("#key .wrong", "यो साँचो मिलेन। जाँचेर फेरि लेख्नुहोस्।")
    browser.one("#key input").send_keys(key, Key.ENTER)
    browser.sees("#results h3", "निर्णय.txt")
    browser.driver.refresh()
    browser.sees("#results h3", "निर्णय.txt")
    assert browser.run("return [localStorage.length, document.cookie]") == [0, ""]
    assert key not in browser.driver.current_url


def test_a_service_that_is_gone_is_told_with_a_way_to_try_again(browser: Browser, tmp_path: Path) -> None:
    system = wire(tmp_path / "gone")
    with served(create_app(system=system)) as client:
        browser.open(f"{client.base_url}/", language="en")
        browser.one("#q")
    browser.one("#q").send_keys("कर", Key.ENTER)
    browser.sees("#results .state h2", "The service cannot be reached")
    browser.sees("#results .state button", "Try again")
    assert all("net::ERR" in one for one in browser.complaints())


@pytest.mark.parametrize(("size", "scheme"), [(PHONE, "dark"), (WIDE, "light")], ids=["phone", "wide"])
def test_axe_finds_no_serious_fault(
    browser: Browser, start: Callable[..., None], size: tuple[int, int], scheme: str
) -> None:
    browser.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    start(size=size)
    faults = {"start": axe_faults(browser)}
    ask(browser, LIBRARY)
    browser.one("#filters summary").click()
    faults["answer"] = axe_faults(browser)
    browser.one("[data-open=upload]").click()
    faults["upload"] = axe_faults(browser)
    browser.one("#upload [data-close]").click()
    browser.one("#results [data-view]").click()
    browser.one("#viewer .boxes i")
    faults["viewer"] = axe_faults(browser)
    assert faults == {name: [] for name in faults}
