from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sdb import notes

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
VECTORS = Path(os.environ.get("SDB_VECTORS") or ROOT.parent / "shared" / "vectors")


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts jobs in the background with interrupts ignored, and so would all children be.
    signal.signal(signal.SIGINT, signal.default_int_handler)


# What queries keep shall not go to the cache of whoever runs the tests, nor come from there.
os.environ["SDB_CACHE"] = os.environ.get("SDB_TESTS_CACHE") or tempfile.mkdtemp(prefix="sdb-cache-")
os.environ["SDB_TESTS_CACHE"] = os.environ["SDB_CACHE"]  # of the workers too


def pytest_unconfigure() -> None:
    shutil.rmtree(os.environ["SDB_CACHE"], ignore_errors=True)


@pytest.fixture(autouse=True)
def warnings_go_to_python() -> Iterator[None]:
    """Let warnings be Python's again after a test that ran the command line in this process."""
    yield
    notes._hearers.clear()


# The original prints an empty name as "$" and its number, which is the name of another field and
# reads back as that one. Ours is "". These packfiles have an empty name, of this number.
EMPTY_NAMES = {"d14-text": 13, "s25-csv-missing-fields": 11}


def as_the_original_prints(folder: Path, text: bytes) -> bytes:
    """Give our text of a golden packfile with empty names in the form of the original."""
    if folder.name not in EMPTY_NAMES:
        return text
    assert b'"": ' in text
    return text.replace(b'"": ', b'"$%d": ' % EMPTY_NAMES[folder.name])


def json_lines(name: str) -> list[dict[str, Any]]:
    """Give the vectors of a JSON Lines file, none when the vectors are not there."""
    path = VECTORS / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def golden() -> list[Path]:
    """Give the folders of the golden packfiles, none when the vectors are not there."""
    return sorted((VECTORS / "packfile" / "golden").glob("*"))


@pytest.fixture(scope="session")
def vectors() -> Path:
    """Give the folder of the vectors; without them skip and say so, or fail in CI."""
    if not VECTORS.is_dir():
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing(f"no vectors at {VECTORS}: set SDB_VECTORS to their folder")
    return VECTORS
