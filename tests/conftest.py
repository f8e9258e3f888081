from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from sdb import notes
from tests import amounts
from tests.amounts import usual
from tests.vectors import archive

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
VECTORS = Path(os.environ.get("SDB_VECTORS") or archive.unpacked())
if not (VECTORS / "packfile").is_dir():
    raise pytest.UsageError(f"SDB_VECTORS leads to no vectors: {VECTORS}")


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts jobs in the background with interrupts ignored, and so would all children be.
    signal.signal(signal.SIGINT, signal.default_int_handler)


# What queries keep shall not go to the cache of the user who runs the tests, nor come from there.
CACHE_OF_OTHERS = os.environ.get("SDB_TESTS_CACHE")
os.environ["SDB_CACHE"] = CACHE_OF_OTHERS or tempfile.mkdtemp(prefix="sdb-cache-")
os.environ["SDB_TESTS_CACHE"] = os.environ["SDB_CACHE"]  # of the workers too

# Half of `import numpy`, which DuckDB needs, is threads for matrices; no test has any.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


# How long an example takes says how busy the machine is. The default run plays the same examples
# each time, so that a change is judged by what it changes: SDB_RANDOM=1 looks for other ones.
settings.register_profile(
    "sdb",
    deadline=None,
    max_examples=usual(100),
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not os.environ.get("SDB_RANDOM"),
)
settings.load_profile("sdb")


WIDE = {"attack", "interop", "journeys", "kill", "page", "spark"}
"""Folders whose tests `make test-wide` runs, for they take long.

It also runs what needs an S3 server, but for the contract of stores, and plays all examples and
seeds of the tests of which the default run plays a part."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if (
            item.path.relative_to(ROOT / "tests").parts[0] in WIDE
            or (item.get_closest_marker("s3") is not None and item.path.name != "test_contract.py")
            or (amounts.ALL and _has_seeds(item))
        ):
            item.add_marker("wide")


def _has_seeds(item: pytest.Item) -> bool:
    has_mark = item.get_closest_marker("seeds") is not None
    return has_mark or is_hypothesis_test(getattr(item, "obj", None))


def pytest_unconfigure() -> None:
    if CACHE_OF_OTHERS is None:  # a worker that is done leaves it to those that still run
        shutil.rmtree(os.environ["SDB_CACHE"], ignore_errors=True)


@pytest.fixture(autouse=True)
def warnings_go_to_python() -> Iterator[None]:
    """Restore Python's warnings after a test that ran the command line in this process."""
    yield
    notes._hearers.clear()


@pytest.fixture
def sneller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take queries that do not say their dialect for those of the original."""
    monkeypatch.setenv("SDB_DIALECT", "sneller")


# The original prints an empty name as "$" and its number, which is the name of another field and
# reads back as that one. Ours is "". These packfiles have an empty name, of this number.
EMPTY_NAMES = {"d14-text": 13, "s25-csv-missing-fields": 11}


def as_the_original_prints(folder: Path, text: bytes) -> bytes:
    """Return our text of a golden packfile with empty names in the form of the original."""
    if folder.name not in EMPTY_NAMES:
        return text
    assert b'"": ' in text
    return text.replace(b'"": ', b'"$%d": ' % EMPTY_NAMES[folder.name])


def json_lines(name: str) -> list[dict[str, Any]]:
    """Return the vectors of a JSON Lines file."""
    return [json.loads(line) for line in (VECTORS / name).read_text().splitlines()]


def golden() -> list[Path]:
    """Return the folders of the golden packfiles."""
    return sorted((VECTORS / "packfile" / "golden").glob("*"))


@pytest.fixture(scope="session")
def vectors() -> Path:
    """Return the folder of the vectors."""
    return VECTORS
