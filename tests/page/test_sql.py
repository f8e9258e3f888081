"""The screen of SQL in a browser."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.parse import quote

from selenium.webdriver.common.keys import Keys

from tests.page.lakes import HARM
from tests.serve.conftest import ROOT

if TYPE_CHECKING:
    from tests.page.browser import Browser
    from tests.serve.conftest import Server

TYPES = "SELECT type, COUNT(*) AS n FROM web.gha GROUP BY type ORDER BY n DESC"
HOURS = (
    "SELECT DATE_TRUNC(MINUTE, created_at) AS m, COUNT(*) AS n FROM web.gha GROUP BY m ORDER BY m"
)


def opened(browser: Browser, server: Server, sql: str = "") -> None:
    browser.open(f"{server.url}/sql" + (f"?sql={quote(sql)}" if sql else ""))


def test_a_query_is_written_with_completion_and_run_by_keys(
    server: Server, browser: Browser
) -> None:
    opened(browser, server)
    box = browser.one("textarea")
    box.send_keys("SELECT COUNT(*) AS n FROM web.g")
    browser.sees("web.gha", "[role=listbox]")
    box.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    assert box.get_property("value").endswith("FROM web.gha")
    box.send_keys(Keys.CONTROL, Keys.ENTER)
    browser.sees("1000", ".grid")
    browser.sees("8 of 8 blocks", ".read")
    assert "sql=SELECT" in browser.driver.current_url
    assert [each.text for each in browser.all(".sql-keyword")][:2] == ["SELECT", "COUNT"]


def test_categories_and_times_make_pictures(server: Server, browser: Browser) -> None:
    opened(browser, server, TYPES)
    browser.sees("n by type", ".picture")
    assert len(browser.all(".picture .bar")) == 13
    opened(browser, server, HOURS)
    browser.sees("n by m", ".picture")
    assert len(browser.all(".picture .bar")) == 8
    opened(browser, server, "SELECT id FROM web.gha LIMIT 3")
    browser.sees("3 rows", ".read")
    assert not browser.all(".picture")


def test_an_error_shows_where_it_is(server: Server, own_browser: Browser) -> None:
    opened(own_browser, server, "SELECT FROM web.gha WHERE")
    own_browser.one("main .problem")
    own_browser.said()


def test_warnings_and_notes_are_shown(server: Server, browser: Browser) -> None:
    opened(browser, server, "SELECT nothing FROM web.gha LIMIT 1")
    browser.sees("nothing", ".warning")


def test_values_that_mean_harm_are_texts(server: Server, browser: Browser) -> None:
    opened(browser, server, "SELECT * FROM odd.hostile ORDER BY time")
    browser.sees("5 rows", ".read")
    browser.sees("1,000,000 characters", ".grid")
    assert HARM in browser.text(".grid")
    assert browser.script("return document.querySelectorAll('main script, main img').length") == 0


def test_a_query_is_taken_away_as_it_is(server: Server, browser: Browser) -> None:
    where = "type LIKE 'I''s%' OR type = 'ForkEvent'"
    sql = f"SELECT type, COUNT(*) AS n FROM web.gha WHERE {where} GROUP BY type"
    opened(browser, server, sql)
    browser.sees("1 row", ".read")
    links = [each.get_attribute("href") for each in browser.all(".downloads a")]
    assert all(server.session.get(link, timeout=60).status_code == 200 for link in links)
    for each in browser.all(".away summary"):
        each.click()
    curl, command, python = (each.text for each in browser.all(".away pre"))
    done = subprocess.run(["sh", "-c", curl], capture_output=True, check=True, timeout=60)
    assert json.loads(done.stdout) == {"type": "ForkEvent", "n": 25}
    words = [sys.executable, "-m", "sdb.cli.main", *shlex.split(command)[1:], "--json"]
    done = subprocess.run(words, capture_output=True, check=True, timeout=60, cwd=ROOT)
    assert b"ForkEvent" in done.stdout
    words = [sys.executable, "-c", python]
    done = subprocess.run(words, capture_output=True, check=True, timeout=60, cwd=ROOT)
    assert b"ForkEvent" in done.stdout
