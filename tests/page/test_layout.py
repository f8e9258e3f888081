"""The layout of a table, and the reference of requests, in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.page.lakes import COMMITS

if TYPE_CHECKING:
    from tests.page.browser import Browser
    from tests.serve.conftest import Server


def test_packfiles_lie_where_their_times_are(server: Server, browser: Browser) -> None:
    browser.open(f"{server.url}/tables/web.gha/layout")
    browser.sees(f"{COMMITS} packfiles of")
    assert len(browser.all(".pack")) == COMMITS
    places = [float(each.get_attribute("x")) for each in browser.all(".pack")]
    assert places == sorted(places)
    browser.sees("can be merged, into 1", ".needs")
    browser.sees("sdb compact web.gha", ".needs")
    browser.sees("the last 10", "[aria-label=Upkeep] dl")
    browser.one(".packs summary").click()
    browser.sees(".zion", ".packs")


def test_a_table_without_a_time_has_a_list_alone(server: Server, browser: Browser) -> None:
    browser.open(f"{server.url}/tables/odd.untimed/layout")
    browser.sees("1 packfile of")
    browser.sees("no picture")


def test_the_reference_needs_no_script(server: Server, browser: Browser) -> None:
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.open(f"{server.url}/docs")
        for each in browser.all(".operation summary"):
            if "/hits" in each.text:
                each.click()
                break
        shown = browser.one(".operation[open]").text
        assert "a field: each of its values is counted apart" in shown
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
