"""Each screen by the rules that checkers of accessibility have, and by keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from selenium.webdriver.common.keys import Keys

from tests.page.screenshots import SCREENS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.page.browser import Browser
    from tests.serve.conftest import Server

RULES = (Path(__file__).parent / "accessibility.js").read_text()
SIZES = ((1280, 900), (320, 640))
MOST_TABS = 400
OPEN = "for (const each of document.querySelectorAll('main details')) each.open = true"
FOCUSED = """
const at = document.activeElement, style = getComputedStyle(at);
const isShown = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
if (at === document.body) return ['', true, ''];
at.dataset.tab ??= String(window.tabs = (window.tabs ?? 0) + 1);
return [at.dataset.tab, isShown, at.outerHTML.slice(0, 120)]
"""
REACHED = """
const controls = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]";
const isLeft = (each) => each.checkVisibility() && !each.disabled && each.tabIndex >= 0
  && !each.dataset.tab;
return [...document.querySelectorAll(controls)].filter(isLeft).map((each) => each.outerHTML)
"""


@pytest.fixture
def any_browser(own_browser: Browser) -> Iterator[Browser]:
    yield own_browser
    own_browser.colors("light")
    own_browser.size(1280, 900)
    own_browser.said()


def opened(browser: Browser, server: Server, name: str) -> None:
    path, awaited, script = SCREENS[name]
    browser.open(server.url + path)
    browser.sees(awaited)
    browser.until(lambda: not browser.all("[aria-busy]"))
    browser.script(script)


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_has_no_flaw(server: Server, any_browser: Browser, name: str) -> None:
    flaws: set[str] = set()
    for colors in ("light", "dark"):
        any_browser.colors(colors)
        for size in SIZES:
            any_browser.size(*size)
            opened(any_browser, server, name)
            flaws.update(any_browser.script(RULES))
            if name != "docs":
                any_browser.script(OPEN)
                any_browser.until(lambda: "…" not in any_browser.text(".values"))
                flaws.update(any_browser.script(RULES))
    assert sorted(flaws) == []


def test_boxes_and_lists_of_choices_have_no_flaw(server: Server, any_browser: Browser) -> None:
    opened(any_browser, server, "table")
    any_browser.one("[data-search]").send_keys("act")
    any_browser.one(".choices li").is_displayed()
    assert any_browser.script(RULES) == []
    any_browser.one("#help").click()
    any_browser.one("dialog")
    assert any_browser.script(RULES) == []


def test_each_flaw_is_noticed(any_browser: Browser) -> None:
    any_browser.open(
        "data:text/html,<title></title><h1>a</h1><h3>b</h3><button></button>"
        "<p style='color:%23999'>c</p><svg></svg><li>d</li><div role=x></div>"
        "<div aria-controls=y></div><table></table>"
        "<i tabindex=2>e</i><button><a href='x'>f</a></button><div id=g></div><div id=g></div>"
    )
    noticed = {each.partition(":")[0] for each in any_browser.script(RULES)}
    assert noticed == {
        "language",
        "title",
        "one main part",
        "order of headings",
        "names of controls",
        "contrast",
        "words for a picture",
        "lines in a list",
        "known roles",
        "what aria-controls names is there",
        "headers of a table",
        "order of the keyboard",
        "no control in another",
        "one of each id",
        "size of a button",
    }


@pytest.mark.parametrize("name", ["tables", "table", "versions", "layout", "sql"])
def test_the_keyboard_reaches_all_and_shows_where_it_is(
    server: Server, any_browser: Browser, name: str
) -> None:
    opened(any_browser, server, name)
    seen: set[str] = set()
    for _ in range(MOST_TABS):
        any_browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        tab, is_shown, html = any_browser.script(FOCUSED)
        if not tab or tab in seen:
            break
        assert is_shown, html
        seen.add(tab)
    assert any_browser.script(REACHED) == []
