"""Time travel in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from selenium.webdriver.common.keys import Keys

import sdb

if TYPE_CHECKING:
    from pathlib import Path

    from tests.page.browser import Browser
    from tests.serve.conftest import Server


def opened(browser: Browser, server: Server, table: str, query: str = "") -> None:
    browser.open(f"{server.url}/tables/{table}/versions{query}")
    browser.one(".versions li")


def test_a_slider_goes_through_versions(server: Server, browser: Browser) -> None:
    opened(browser, server, "web.gha")
    browser.sees("Version 8", ".travel")
    browser.sees("1,000 rows", ".travel")
    slider = browser.one("[type=range]")
    slider.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    browser.sees("Version 6", ".travel")
    browser.sees("750 rows", ".travel")
    browser.until(lambda: browser.driver.current_url.endswith("?at=6"))
    label = "return document.querySelector('.histogram').getAttribute('aria-label')"
    browser.until(lambda: browser.script(label).startswith("750 rows"))
    browser.open(browser.driver.current_url)
    browser.sees("Version 6", ".travel")


def test_branches_merges_and_tags_are_drawn(server: Server, browser: Browser) -> None:
    opened(browser, server, "web.branched")
    refs = [each.text for each in browser.all(".versions .number")]
    assert refs == ["dev@5", "5", "4", "dev@4", "3", "2", "1"]
    assert browser.one(".versions .tag").text == "v1"
    assert {each.text for each in browser.all(".versions .head")} == {"main", "dev"}
    for color in ("l0", "l1"):
        assert browser.all(f".lane path.{color}")


def test_two_clicks_compare(server: Server, browser: Browser) -> None:
    opened(browser, server, "web.gha")
    browser.one("[aria-label='Compare version 8']").click()
    browser.sees("choose the other")
    browser.one("[aria-label='Compare version 3']").click()
    browser.sees("Version 3 to 8")
    browser.sees("+625 \u22120")
    next(each for each in browser.all("main button") if each.text == "Show rows").click()
    browser.until(lambda: len(browser.all(".differs")) == 50)
    assert "from=8&to=3" in browser.driver.current_url


def test_who_may_restores_an_old_version(server: Server, browser: Browser, lake: Path) -> None:
    db = sdb.connect(lake)
    db.create("live.restored", "in/*.json")
    for day in range(1, 4):
        db.append("live.restored", [{"time": f"2026-01-0{day}T00:00:00Z"}])
    opened(browser, server, "live.restored")
    assert not browser.all("[aria-label='Restore version 3']")  # it is the newest
    browser.one("[aria-label='Restore version 1']").click()
    browser.one("dialog .first").click()
    browser.sees("Version 4", ".travel")
    browser.sees("1 row,", ".travel")
    assert list(db.sql("SELECT COUNT(*) AS n FROM live.restored")) == [{"n": 1}]
