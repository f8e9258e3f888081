"""Names, roles, contrast and widths of each screen: what readers of all kinds need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.page.browser import Browser
    from tests.serve.conftest import Server

SQL = quote("SELECT type, COUNT(*) AS n FROM web.gha GROUP BY type")
SCREENS = {
    "/": "web.gha",
    "/tables/web.gha?by=type&q=type:PushEvent": "PushEvent 596",
    "/tables/web.branched/versions?from=1&to=3": "Version 1 to 3",
    "/tables/web.gha/layout": "What it keeps",
    f"/sql?sql={SQL}": "n by type",
    "/docs": "Queries",
}
FLAWS = """
const flaws = [];
const tell = (what, element) => flaws.push(`${what}: ${element.outerHTML.slice(0, 150)}`);
const named = (element) => (element.getAttribute("aria-label") || element.textContent
  || element.title || element.labels?.[0]?.textContent || "").trim();
const all = (selector) => [...document.querySelectorAll(selector)];
for (const each of all("a, button, input:not([type=hidden]), select, textarea, summary, dialog"))
  if (!named(each) && !each.hidden) tell("has no name", each);
for (const each of all("svg[role=img], [role=region]")) if (!named(each)) tell("has no name", each);
for (const each of all("svg:not([role=img]):not([aria-hidden])")) tell("has no role", each);
for (const each of all("[tabindex]")) if (each.tabIndex > 0) tell("changes the order", each);
const ids = all("[id]").map((each) => each.id);
for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) flaws.push(`twice: ${id}`);
for (const name of ["aria-controls", "aria-activedescendant", "for"])
  for (const each of all(`[${name}]`))
    if (!document.getElementById(each.getAttribute(name))) tell(`${name} leads nowhere`, each);
for (const selector of ["h1", "main", "html[lang]"])
  if (all(selector).length !== 1) flaws.push(`${selector}: not one`);
for (const each of all("table"))
  if (!each.querySelector("th[scope=col]")) tell("has no head", each);
for (const each of all("ul > :not(li), ol > :not(li)")) tell("is no item", each);

const parsed = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
const light = (color) => {
  const [r, g, b] = color.slice(0, 3).map((part) => part / 255).map((part) =>
    part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const below = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const color = parsed(getComputedStyle(at).backgroundColor);
    if (color.length === 3 || color[3] === 1) return color;
  }
  return [255, 255, 255];
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const seen = new Set();
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const element = node.parentElement;
  if (!node.data.trim() || seen.has(element) || !element.checkVisibility?.()) continue;
  if (element.matches("script, style, title, option, textarea")) continue;
  seen.add(element);
  const style = getComputedStyle(element);
  const color = parsed(element.closest("svg") ? style.fill : style.color);
  const [a, b] = [light(color), light(below(element))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) tell(`contrast ${ratio.toFixed(2)}`, element);
}
return [...new Set(flaws)].slice(0, 20);
"""


@pytest.fixture
def restored(browser: Browser) -> Iterator[Browser]:
    yield browser
    browser.colors("light")
    browser.size(1280, 900)


def quiet(browser: Browser, text: str) -> None:
    browser.sees(text)
    browser.until(lambda: not browser.all("[aria-busy=true]"))
    browser.until(lambda: "counting" not in browser.text("main"))


def flaws(browser: Browser) -> Any:
    return browser.script(FLAWS)


@pytest.mark.parametrize("path", SCREENS, ids=lambda path: path.split("?")[0])
def test_a_screen_has_names_roles_and_contrast(
    server: Server, restored: Browser, path: str
) -> None:
    browser = restored
    browser.open(server.url + path)
    quiet(browser, SCREENS[path])
    assert flaws(browser) == []
    browser.colors("dark")
    assert flaws(browser) == []


@pytest.mark.parametrize("path", SCREENS, ids=lambda path: path.split("?")[0])
def test_a_screen_fits_a_telephone(server: Server, restored: Browser, path: str) -> None:
    browser = restored
    browser.size(360, 740)
    browser.open(server.url + path)
    quiet(browser, SCREENS[path])
    wide = browser.script("return document.documentElement.scrollWidth")
    assert wide <= 360, path
