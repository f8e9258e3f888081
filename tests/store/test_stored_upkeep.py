"""Rounds of `sdb maintain` on every store: tables are kept small, and no row is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.store.url import store_of

if TYPE_CHECKING:
    from tests.store.conftest import Backend

IN_STORES = pytest.mark.parametrize(
    "backend", ["local", pytest.param("s3", marks=pytest.mark.s3)], indirect=True
)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")


@IN_STORES
def test_rounds_keep_a_table_small(backend: Backend) -> None:
    store_of(backend.root).make_folder(backend.at("in"))
    db = sdb.connect(backend.root)
    above = backend.root if "://" in backend.root else "file:/"
    db.create("d.t", f"{above}/in/*.json")
    definition = json.loads(backend.get("db/d/t/definition.json"))
    definition |= {"versions": {"keep_last": 2}, "upkeep": {"sync": True, "grace": "0s"}}
    backend.put("db/d/t/definition.json", json.dumps(definition).encode())
    for number in range(9):
        db.append("d.t", [{"n": number}])
    backend.put("in/a.json", b'{"n": 100}\n{"n": 101}\n')
    rows = [*range(9), 100, 101]
    command = [sys.executable, "-m", "sdb.cli.main", "maintain", "--once", "--json"]
    rounds = []
    for _ in range(2):
        done = subprocess.run(
            [*command, "--root", backend.root, "d.t"], capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        actions = [json.loads(line) for line in done.stdout.splitlines()]
        rounds.append(actions)
        assert sorted(db.table("d.t").to_arrow().column("n").to_pylist()) == rows
    text = json.dumps(rounds)
    for action in ("sync", "compact", "expire"):
        assert f'"{action}"' in text, text
    table = db.table("d.t")
    assert table.validate().ok
    assert len([*table.handle.descriptors()]) <= 2
    log = [*table.log()]
    assert len(log) <= 6
    assert {"compact", "expire"} & {entry.operation for entry in log}
