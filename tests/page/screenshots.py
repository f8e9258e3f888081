"""Pictures of screens, light and dark: `python -m tests.page.screenshots DIR`."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from sdb import notes
from tests.page.browser import Browser
from tests.page.lakes import made
from tests.serve.conftest import Server

SQL = "SELECT type, COUNT(*) AS n\nFROM web.gha -- in eight minutes\nGROUP BY type ORDER BY n DESC"
OPEN = "document.querySelector('.found details').open = true"
SCREENS = {
    "tables": ("/", "web.gha", ""),
    "table": ("/tables/web.gha?by=type", "PushEvent 596", OPEN),
    "versions": ("/tables/web.branched/versions?from=2&to=5", "Version 2 to 5", ""),
    "layout": ("/tables/web.gha/layout", "What it keeps", ""),
    "sql": (f"/sql?sql={quote(SQL)}", "n by type", ""),
    "docs": ("/docs", "Queries", ""),
    "hostile": ("/tables/odd.hostile", ": 5 rows", OPEN),
}
SIZES = {"wide": (1280, 900), "narrow": (400, 860)}
QUIET_SECONDS = 1.5
"""So long nothing has to change before a picture is taken."""


def take(folder: Path) -> None:
    """Take the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as above, notes.collected():
        server = Server(made(Path(above) / "lake"), "--write")
        browser = Browser(Path(above) / "profile")
        try:
            for size, (width, height) in SIZES.items():
                browser.size(width, height)
                for colors in ("light", "dark"):
                    browser.colors(colors)
                    for name, (path, awaited, script) in SCREENS.items():
                        browser.open(server.url + path)
                        browser.sees(awaited)
                        browser.script(script)
                        _wait(browser)
                        browser.driver.save_screenshot(str(folder / f"{name}-{size}-{colors}.png"))
        finally:
            browser.close()
            server.close()


def _wait(browser: Browser) -> None:
    before, since = "", time.monotonic()
    while time.monotonic() - since < QUIET_SECONDS:
        now = browser.text("body")
        if now != before:
            before, since = now, time.monotonic()
        time.sleep(0.1)


if __name__ == "__main__":
    take(Path(sys.argv[1]))
