"""Every query of the vectors through the command itself: a process for each, as users run it."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import COMMAND, environment
from tests.conftest import json_lines
from tests.vectors.test_sql import (
    DIFFERENT,
    is_answer,
    packed,  # noqa: F401 - a fixture
    rows_of,
    vectors_of_queries,
)
from tests.vectors.test_sql_parse import EXTENSIONS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
WORKERS = 2
# Accepted on purpose once the file is open: `SELECT *, name` takes its fields.
OPENED = {"error-192"}


def _run(folder: Path, query: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, "query", "--dialect", "sneller", query],
        cwd=folder,
        env=environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )


def _fault(folder: Path, vector: dict[str, Any]) -> str | None:
    done = _run(folder, vector["sql"])
    if done.returncode:
        return f"{vector['id']}: exit {done.returncode}: {done.stderr.decode()}"
    rows = rows_of(done.stdout.decode().splitlines())
    if is_answer(rows, vector) or vector["id"] in DIFFERENT:
        return None
    return f"{vector['id']}: {vector['sql']}\n{rows}"


def test_answers(packed: Path) -> None:  # noqa: F811 - the fixture
    with ThreadPoolExecutor(WORKERS) as pool:
        results = list(pool.map(lambda vector: _fault(packed, vector), vectors_of_queries()))
    assert len(results) > 1000
    assert not [fault for fault in results if fault]


def test_rejections(packed: Path) -> None:  # noqa: F811 - the fixture
    rejected = [
        vector
        for vector in json_lines("sql/errors.jsonl")
        if vector["kind"] != "limit" and vector["id"] not in EXTENSIONS | OPENED
    ]
    with ThreadPoolExecutor(WORKERS) as pool:
        done = list(pool.map(lambda vector: _run(packed, vector["sql"]), rejected))
    assert len(done) > 150
    wrong = {
        vector["id"]: result
        for vector, result in zip(rejected, done, strict=True)
        if result.returncode not in {2, 3} or result.stdout or not result.stderr
    }
    assert not wrong
