"""`kill -9` of a maintenance with a retention policy, at each moment at which it writes."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.table.definition.definition import Definition
from tests.kill.moments import EachMoment

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.client.connection import Connection

UPKEEP = {"sync": False, "compact": False}
POLICY = {"field": "at", "valid_for": "10d"}
BEFORE, AFTER = list(range(8)), [3, 4, 5, 6]


def made(folder: Path) -> Connection:
    """Make a table of packfiles that are old, mixed and young; some rows have no time."""
    now = datetime.now(UTC)
    old, young = now - timedelta(days=20), now - timedelta(days=1)
    db = sdb.connect(folder)
    definition = {
        "input": [{"pattern": "file://in/*.json"}],
        "retention_policy": POLICY,
        "upkeep": UPKEEP,
    }
    db.create("d.t", Definition.parse(json.dumps(definition)))
    for rows in (
        [{"n": 0, "at": old}, {"n": 1, "at": old}],
        [{"n": 2, "at": old}, {"n": 3}, {"n": 4, "at": young}],
        [{"n": 5, "at": young}, {"n": 6}],
        [{"n": 7, "at": old}],
    ):
        db.append("d.t", rows)
    return db


def rows_of(db: Connection) -> list[int]:
    return sorted(db.table("d.t").to_arrow().column("n").to_pylist())


@pytest.mark.timeout(600)
@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_rows_are_right_whenever_a_maintenance_is_killed(tmp_path: Path, step: int) -> None:
    made(tmp_path / "made")
    seen = set()
    with EachMoment() as moments:
        moment, is_killed = 0, True
        while is_killed:
            folder = tmp_path / "now"
            shutil.copytree(tmp_path / "made", folder)
            db, words = sdb.connect(folder), ["--root", str(folder), "maintain", "--once", "d.t"]
            is_killed = moments.run(moment, words)
            actual = rows_of(db)
            assert actual in (BEFORE, AFTER), moment
            assert db.table("d.t").validate().ok, moment
            seen.add(len(actual))
            assert not moments.run(-1, words)
            assert rows_of(db) == AFTER, moment
            db.table("d.t").expire(all_but_head=True)
            db.table("d.t").gc(grace=-10)
            assert db.table("d.t").validate().ok, moment
            needed = {entry.key for entry in db.table("d.t").handle.descriptors()}
            data = (folder / "db/d/t/data").rglob("*.zion")
            assert {str(path.relative_to(folder)) for path in data} == needed, moment
            shutil.rmtree(folder)
            moment += step
    assert seen == {len(BEFORE), len(AFTER)}
    assert moment > 20
