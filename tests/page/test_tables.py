"""The screen of tables in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from selenium.webdriver.common.keys import Keys

from tests.page.lakes import COMMITS

if TYPE_CHECKING:
    from tests.page.browser import Browser
    from tests.serve.conftest import Server


def keys(browser: Browser, *pressed: str) -> None:
    for each in pressed:
        browser.driver.switch_to.active_element.send_keys(each)


def test_tables_tell_rows_sizes_times_and_commits(server: Server, browser: Browser) -> None:
    browser.open(server.url)
    browser.sees("web.gha")
    browser.sees("02:07:39")  # in the zone of the reader
    line = next(each for each in browser.all("tbody tr") if "web.gha" in each.text)
    browser.until(lambda: "\u00d7" in line.text)
    assert "1,000" in line.text
    assert "01:07:39Z" in line.text
    assert "KiB" in line.text
    assert "ago" in line.text
    bars = browser.script("return arguments[0].querySelectorAll('.spark rect').length", line)
    assert bars == COMMITS


def test_names_are_searched_and_the_address_keeps_it(server: Server, browser: Browser) -> None:
    browser.open(server.url)
    browser.sees("web.gha")
    keys(browser, "/")
    keys(browser, "trail")
    browser.until(lambda: len(browser.all("tbody tr")) == 1)
    assert browser.driver.current_url == f"{server.url}/?q=trail"
    browser.open(browser.driver.current_url)
    browser.sees("1 table")
    assert browser.script("return document.querySelector('[data-search]').value") == "trail"


def test_keys_go_through_the_tables(server: Server, browser: Browser) -> None:
    browser.open(server.url)
    browser.sees("web.gha")
    body = browser.one("body")
    body.send_keys(Keys.ARROW_DOWN)
    keys(browser, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP)
    active = browser.driver.switch_to.active_element
    assert active.text == "odd.hostile"
    keys(browser, "?")
    browser.sees("search", "dialog")
    keys(browser, Keys.ESCAPE)
    browser.until(lambda: not browser.all("dialog"))
