"""One server and one browser for each module."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.page.browser import Browser
    from tests.serve.conftest import Server

NEEDED = ("selenium", "uvicorn", "requests")
if not os.environ.get("CI") and not all(map(find_spec, NEEDED)):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.page.lakes import made

    return made(tmp_path_factory.mktemp("page") / "lake")


@pytest.fixture(scope="module")
def server(lake: Path) -> Iterator[Server]:
    from tests.serve.conftest import Server

    running = Server(lake, "--write")
    yield running
    running.close()


@pytest.fixture(scope="module")
def own_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    from tests.page.browser import PROGRAMS, Browser

    if None in PROGRAMS and not os.environ.get("CI"):
        pytest.skip("needs chromium and chromium-driver")
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def browser(own_browser: Browser) -> Iterator[Browser]:
    """A browser whose console stays empty."""
    own_browser.said()
    yield own_browser
    assert own_browser.said() == []
    assert own_browser.driver.title != "harm"
