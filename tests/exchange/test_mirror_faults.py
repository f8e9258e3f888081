"""Mirrors in a store that refuses, loses requests and answers, and kills the program."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.errors import SdbError
from sdb.exchange.mirror import TableMirror
from sdb.store import url
from sdb.store.faults import CrashError, Fault, StoreCall
from sdb.store.memory import MemoryStore
from sdb.table.catalog.root import table_root

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VERSIONS = 7


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SNELLER_INDEX_KEY", "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg=")
        folder = tmp_path_factory.mktemp("lake")
        db = sdb.connect(folder)
        db.create("web.t", "file://in/*.json")
        for number in range(VERSIONS - 1):
            db.append("web.t", [{"id": number}, {"n": number if number % 2 else 0.5}])
        db.execute("DELETE FROM web.t WHERE id = 3")
        yield folder


@pytest.mark.parametrize("seed", range(25))
def test_each_version_is_put_once(lake: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    dice = random.Random(seed)
    monkeypatch.setattr("sdb.retry._sleep", lambda _: None)

    def script(call: StoreCall) -> Fault | None:
        return dice.choice([*Fault]) if call.verb == "put" and dice.random() < 0.3 else None

    store = MemoryStore(script)
    monkeypatch.setitem(url._stores, "mirror", store)
    mirrors = [_mirror(lake), _mirror(lake)]
    for _ in range(200):
        number = dice.randrange(2)
        try:
            report = mirrors[number].update()
        except SdbError:
            continue
        except CrashError:
            mirrors[number] = _mirror(lake)
            continue
        if report.version == VERSIONS:
            break
    else:
        pytest.fail("it never came to an end")
    logged: list[int] = []
    files: set[str] = set()
    for location in sorted(name for name in store.contents if name.endswith(".json")):
        actions = [json.loads(line) for line in store.contents[location].splitlines()]
        logged += [action["txn"]["version"] for action in actions if "txn" in action]
        for action in actions:
            if "add" in action:
                assert action["add"]["path"] not in files
                files.add(action["add"]["path"])
            if "remove" in action:
                files.remove(action["remove"]["path"])
    assert logged == list(range(1, VERSIONS + 1))
    handle = sdb.connect(lake).table("web.t").handle
    assert len(files) == len(list(handle.descriptors()))
    assert all(f"mirror://bucket/m/{path}" in store.contents for path in files)


def _mirror(lake: Path) -> TableMirror:
    return TableMirror(table_root(lake), "web", "t", "mirror://bucket/m", threads=1)
