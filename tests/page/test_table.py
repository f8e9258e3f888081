"""The screen of a table in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote, urlsplit

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

import sdb
from tests.page.lakes import BIDI, HARM

if TYPE_CHECKING:
    from pathlib import Path

    from tests.page.browser import Browser
    from tests.serve.conftest import Server

PUSHES = 596


def opened(browser: Browser, server: Server, table: str, **members: str) -> None:
    query = "&".join(f"{name}={quote(value)}" for name, value in members.items())
    browser.open(f"{server.url}/tables/{table}?{query}")


def members(browser: Browser) -> dict[str, list[str]]:
    return parse_qs(urlsplit(browser.driver.current_url).query)


def test_bounds_of_rows_are_there_before_rows_are_counted(
    server: Server, own_browser: Browser
) -> None:
    driver = own_browser.driver
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/hits*"]})
    try:
        opened(own_browser, server, "web.gha")
        own_browser.one(".chart .bound")
        assert "At most" in own_browser.one(".histogram").get_attribute("aria-label")
    finally:
        driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
    own_browser.sees("does not answer")
    own_browser.said()


def test_rows_come_newest_first_with_what_was_read(server: Server, browser: Browser) -> None:
    opened(browser, server, "web.gha")
    browser.sees("1,000 rows", ".range")
    browser.sees("8 of 8 blocks, 100 %", ".read")
    browser.sees("Version 8", ".read")
    first = browser.one(".found summary")
    assert "02:07:39" in first.text
    assert "01:07:39Z" in first.text
    first.click()
    browser.sees("type: PushEvent", ".found details[open]")
    assert len(browser.all(".found > li")) == 50
    browser.until(lambda: browser.all(".rows > button"))[0].click()
    browser.until(lambda: len(browser.all(".found > li")) == 100)


def test_a_brush_zooms_and_the_browser_goes_back(server: Server, browser: Browser) -> None:
    opened(browser, server, "web.gha")
    browser.sees(": 1,000 rows", ".range")
    chart = browser.one(".histogram")
    drag = ActionChains(browser.driver, duration=50)
    drag.move_to_element_with_offset(chart, -200, 0).click_and_hold()
    drag.move_by_offset(150, 0).release().perform()
    browser.until(lambda: {"since", "until"} <= members(browser).keys())
    browser.sees("All", ".range")
    browser.until(lambda: "counting" not in browser.text(".range"))
    assert ": 1,000 rows" not in browser.text(".range")
    browser.driver.back()
    browser.sees(": 1,000 rows", ".range")
    browser.one(".histogram").send_keys("+")
    browser.until(lambda: "since" in members(browser))
    browser.until(lambda: "counting" not in browser.text(".range"))


def test_a_field_splits_and_its_values_filter_and_exclude(server: Server, browser: Browser) -> None:
    opened(browser, server, "web.gha", by="type")
    browser.sees(f"PushEvent {PUSHES}", ".legend")
    browser.one('[aria-label="Only type PushEvent"]').click()
    browser.sees(f": {PUSHES} rows", ".range")
    assert members(browser)["q"] == ['type:"PushEvent"']
    opened(browser, server, "web.gha")
    browser.one('[aria-label="Without type PushEvent"]').click()
    browser.sees(f": {1000 - PUSHES} rows", ".range")


def test_one_box_takes_words_fields_and_sql(server: Server, browser: Browser) -> None:
    counts = {
        "kantele": "10 rows",
        'type:PushEvent repo.name:"kantele/k-templates"': "10 rows",
        "type:Push*": f"{PUSHES} rows",
        "actor.id:433707": "10 rows",
        "type = 'ForkEvent' OR type = 'GollumEvent'": "43 rows",
        "100%": "rows",
    }
    for text, count in counts.items():
        opened(browser, server, "web.gha", q=text)
        browser.until(lambda: "counting" not in browser.text(".range"))
        browser.sees(count, ".range")
        assert browser.script("return document.querySelector('[data-search]').value") == text


def test_a_condition_that_is_none_is_told(server: Server, own_browser: Browser) -> None:
    opened(own_browser, server, "web.gha", q="type = = 1")
    own_browser.sees("is not a condition", ".range")
    own_browser.one(".rows .problem")
    own_browser.said()  # the browser tells of the status by itself


def test_the_box_completes_fields_and_values(server: Server, browser: Browser) -> None:
    opened(browser, server, "web.gha")
    browser.one('[aria-label="Only type PushEvent"]')  # the values are known
    box = browser.one("[data-search]")
    box.send_keys("typ")
    browser.sees("type:", "[role=listbox]")
    box.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    assert box.get_property("value") == "type:"
    box.send_keys("fork")
    browser.sees("ForkEvent", "[role=listbox]")
    box.send_keys(Keys.ARROW_DOWN, Keys.TAB, Keys.ENTER)
    browser.sees(": 25 rows", ".range")


def test_an_old_version_is_shown_as_it_was(server: Server, browser: Browser) -> None:
    opened(browser, server, "web.gha", at="3")
    browser.sees(": 375 rows", ".range")
    browser.sees("As of 3", ".tabs")


def test_other_samples_have_rows_and_fields(server: Server, browser: Browser) -> None:
    opened(browser, server, "aws.trail")
    browser.sees("eventSource", ".fields")
    browser.one(".found summary")
    browser.sees("of 1 block", ".read")


def test_names_and_values_that_mean_harm_are_texts(server: Server, browser: Browser) -> None:
    opened(browser, server, "odd.hostile")
    browser.sees(": 5 rows", ".range")
    script = "document.querySelectorAll(arguments[0]).forEach((line) => line.click())"
    for lines in (".found summary", ".fields details:not([open]) > summary"):
        browser.script(script, lines)
    browser.sees("1,000,000 characters", ".found")
    browser.until(lambda: len(browser.all(".values meter")) > 8)
    text = browser.text()
    assert HARM in text
    assert "\\u202e" in text
    assert BIDI not in text
    assert browser.script("return document.querySelectorAll('main script, main img').length") == 0
    button = browser.one(f"[aria-label^='Only {HARM[:4]}']")
    button.click()
    browser.sees(": 5 rows", ".range")
    browser.until(lambda: HARM[:8] in browser.text(".means"))


def test_rows_show_up_while_they_come_in(server: Server, browser: Browser, lake: Path) -> None:
    db = sdb.connect(lake)
    db.create("web.live", "in/*.json")
    db.append("web.live", [{"time": "2026-01-01T00:00:00Z", "n": 1}])
    opened(browser, server, "web.live", tail="1")
    browser.sees("Live: 0 rows so far", ".rows")
    db.append("web.live", [{"time": "2026-01-02T00:00:00Z", "n": 12345}])
    browser.sees("12345", ".found")
    browser.sees(": 2 rows", ".range")
    browser.one("[aria-pressed=true]").click()
    browser.until(lambda: "Live" not in browser.text(".rows"))
