"""Many programs that insert into one table at the same time: none lost, doubled or failed."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.store import url

if TYPE_CHECKING:
    from pathlib import Path

    from tests.store.conftest import Backend

WRITER = """
import sys
import sdb

root, writer, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
db = sdb.connect(root)
for number in range(count):
    rows = [{"writer": writer, "number": number}]
    assert db.append("d.t", rows, txn_id=f"{writer}-{number}").is_new
"""


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())


@pytest.mark.parametrize(
    ("writers", "count", "machines"),
    [
        (4, 5, 1),
        (4, 5, 4),
        pytest.param(32, 50, 1, marks=[pytest.mark.slow, pytest.mark.timeout(1200)]),
    ],
)
def test_many_writers_lose_and_double_nothing(
    backend: Backend, tmp_path: Path, writers: int, count: int, machines: int
) -> None:
    if backend.root.startswith("mem"):
        pytest.skip("one program's memory is no other's")
    url.store_of(backend.root).make_folder(backend.root)
    db = sdb.connect(backend.root)
    pattern = f"{backend.root}/in/*.json" if url.store_of(backend.root).is_remote else "in/*.json"
    db.create("d.t", pattern)
    began = time.perf_counter()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, backend.root, str(writer), str(count)],
            stderr=subprocess.PIPE,
            env={**os.environ, "SDB_CACHE": str(tmp_path / f"cache{writer % machines}")},
        )
        for writer in range(writers)
    ]
    failures = []
    for process in running:
        _, errors = process.communicate()
        failures += [errors.decode()] if process.returncode else []
    assert failures == []
    rate = writers * count / (time.perf_counter() - began)
    sys.stdout.write(f"{writers} writers: {rate:.1f} commits a second\n")
    table = db.table("d.t")
    actual = table.to_arrow().to_pylist()
    assert len(actual) == writers * count
    assert {(process["writer"], process["number"]) for process in actual} == {
        (writer, number) for writer in range(writers) for number in range(count)
    }
    assert table.version == writers * count
    if backend.root.startswith("s3"):  # nobody has lost a race there, and written for nothing
        versions = url.store_of(backend.root).below(backend.at("db/d/t/versions"))
        assert len(list(versions)) == writers * count
    assert table.validate().ok
