"""Chromium for tests: one headless browser a session, and what tests of pages do with it."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

__all__ = ["PHONE", "WIDE", "Browser", "axe_faults", "browser"]

PHONE, WIDE = (390, 844), (1280, 900)


class Browser:
    """A driver with short names for what tests do all the time."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(
        self, address: str, size: tuple[int, int] = WIDE, *, language: str = "ne", scripts: bool = True
    ) -> None:
        """Open an address as somebody who was never here."""
        self._told("Network.enable")
        self._told("Network.clearBrowserCookies")
        self._told("Network.setExtraHTTPHeaders", headers={"Accept-Language": language})
        self._told("Emulation.setScriptExecutionDisabled", value=not scripts)
        width, height = size
        self._told(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.driver.get(address)

    def one(self, selector: str) -> WebElement:
        """Return an element, as soon as it is shown."""
        found: WebElement = self.wait(lambda: self._shown(selector), selector)[0]
        return found

    def _shown(self, selector: str) -> tuple[WebElement, str] | None:
        return next(((one, one.text) for one in self.all(selector) if one.is_displayed()), None)

    def all(self, selector: str) -> list[WebElement]:
        """Return the elements that are there now."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        """Return what an element says, as soon as it is shown."""
        return str(self.wait(lambda: self._shown(selector), selector)[1])

    def sees(self, selector: str, text: str) -> None:
        """Wait until an element says exactly this."""
        self.wait(lambda: (self._shown(selector) or ("", ""))[1] == text, f"{selector} says {text!r}")

    def wait(self, condition: Callable[[], Any], what: str = "", limit_s: float = 15) -> Any:
        """Wait until a condition holds, and return what it gives."""
        replaced = [StaleElementReferenceException]
        waiting = WebDriverWait(self.driver, limit_s, poll_frequency=0.03, ignored_exceptions=replaced)
        return waiting.until(lambda _: condition(), what)

    def run(self, script: str, *arguments: object) -> Any:
        """Run a script in the page."""
        return self.driver.execute_script(script, *arguments)

    def complaints(self) -> list[str]:
        """Return what the page complained of since the last time: scripts, its policy, missing files."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def _told(self, command: str, **values: object) -> None:
        self.driver.execute_cdp_cmd(command, values)


def axe_faults(browser: Browser) -> list[str]:
    """Return the serious and critical faults that axe-core finds in the page as it stands."""
    package = importlib.util.find_spec("axe_playwright_python")
    if package is None or package.origin is None:
        pytest.skip("no axe-core here; run: pip install --no-deps axe-playwright-python")
    axe = (Path(package.origin).parent / "axe.min.js").read_text(encoding="utf-8")
    browser.run(f"if (!window.axe) {{ {axe} }}")
    found = browser.driver.execute_async_script("axe.run(document).then(arguments[0])")
    return [
        f"{fault['id']}: {node['html'][:120]}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("no Chromium here; on Debian: apt install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield Browser(chrome)
    finally:
        chrome.quit()
