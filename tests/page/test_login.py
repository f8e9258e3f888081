"""Log-in, log-out and tokens that do not count any more, in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from selenium.webdriver.common.keys import Keys

from sdb.serve.tokens import create, revoke
from tests.page.lakes import COMMITS
from tests.serve.conftest import Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.page.browser import Browser


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


@pytest.fixture
def token(tokens: Path) -> str:
    return create(tokens, "eve", ("read:web.*",), now_us=0)


@pytest.fixture
def guarded(lake: Path, tokens: Path, token: str) -> Iterator[Server]:
    assert token
    running = Server(lake, "--tokens", str(tokens))
    yield running
    running.close()


def test_who_logs_in_sees_what_the_token_may_read(
    guarded: Server, own_browser: Browser, token: str, tokens: Path
) -> None:
    browser = own_browser
    browser.open(f"{guarded.url}/?q=a")
    browser.one("#token").send_keys("sdb_wrong", Keys.ENTER)
    browser.sees("unknown")
    browser.one("#token").send_keys(token, Keys.ENTER)
    browser.sees("web.gha")
    assert browser.driver.current_url == f"{guarded.url}/?q=a"
    assert "aws.trail" not in browser.text()
    assert "eve" in browser.text("header")
    assert browser.script("return document.cookie") == ""
    # Another page leads here: the browser sends no cookie at first.
    browser.open("data:text/html,<meta name=referrer content=no-referrer>")
    browser.script("location.href = arguments[0]", guarded.url)
    rects = "tbody tr:last-child .spark rect"  # of web.gha
    browser.until(lambda: len(browser.all(rects)) == COMMITS)
    browser.until(lambda: "\u2026" not in browser.text("tbody"))  # all was asked
    # Somebody takes the token back.
    revoke(tokens, "eve")
    box = browser.one("[data-search]")
    box.send_keys("g")
    browser.one("#token")
    browser.said()  # that requests were refused, which no script can keep out
    create(tokens, "bob", ("read:aws.*",), now_us=0)
    browser.open(guarded.url)
    assert browser.one("#token")


def test_who_logs_out_has_to_log_in_again(
    guarded: Server, own_browser: Browser, token: str
) -> None:
    browser = own_browser
    browser.open(guarded.url)
    browser.one("#token").send_keys(token, Keys.ENTER)
    browser.one("header form button").click()
    browser.one("#token")
    browser.open(guarded.url)
    browser.one("#token")
    browser.said()
