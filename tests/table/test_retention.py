"""Packfiles that a retention policy does not keep (T 13.4)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sdb
from sdb.ion import instant_from_us
from sdb.packfile.trailer.sparseindex import SparseIndex, build_indices
from sdb.packfile.trailer.trailer import Block, Trailer
from sdb.records import replace
from sdb.store.memory import MemoryStore
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import TableRoot
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import commit
from sdb.table.commit.environment import REAL
from sdb.table.commit.objects import put_new
from sdb.table.definition.definition import Definition
from sdb.table.format import limits
from sdb.table.format.descriptor import Descriptor
from sdb.table.format.keys import TableKeys
from sdb.table.sync.retention import retire
from tests.table.roots import LOCAL

if TYPE_CHECKING:
    from pathlib import Path

KEYS = TableKeys("d", "t")
DAY_US = 86_400_000_000
NOW_US = 20_000 * DAY_US
AROUND = replace(REAL, now_us=lambda: NOW_US)


def policy(text: str) -> Definition:
    return Definition.parse(f'{{"retention_policy": {text}}}', is_stored=True)


DAYS = policy('{"field": "at", "valid_for": "10d"}')


def packed(root: TableRoot, number: int, ages: dict[str, int], constant: int | None) -> Descriptor:
    """Make a packfile whose newest rows are so many days old, by field."""
    key = f"{KEYS.folder}/data/{number}.zion"
    times = {
        (name,): (NOW_US - (age + 5) * DAY_US, NOW_US - age * DAY_US) for name, age in ages.items()
    }
    indices = build_indices([times])
    day = {} if constant is None else {"at": instant_from_us(NOW_US - constant * DAY_US)}
    trailer = Trailer(1, 100, "zion+zstd", 20, (Block(0, 1),), SparseIndex(1, day, indices))
    return Descriptor(key, put_new(root, key, b"x"), 200, trailer)


ages = st.dictionaries(st.sampled_from(["at", "other"]), st.integers(0, 30))
made = st.tuples(ages, st.none() | st.integers(0, 30))


@settings(max_examples=60, deadline=None)
@given(st.lists(made, min_size=1, max_size=14), st.integers(2, 6))
def test_what_is_surely_too_old_goes_and_nothing_else(
    chosen: list[tuple[dict[str, int], int | None]], inline: int
) -> None:
    root = TableRoot("mem://r", MemoryStore(), LOCAL)
    remaining, gone = [], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits.USUAL, "inline_packfiles", inline)
        for number, (item, constant) in enumerate(chosen):
            packfile = packed(root, number, item, constant)
            commit(root, KEYS, TableChange("insert", (packfile,)), env=AROUND)
            age = item.get("at", constant)
            (gone if age is not None and age > 10 else remaining).append(packfile.key)
        before = len(chosen)
        assert retire(root, KEYS, DAYS, env=AROUND) == len(gone)
        handle = open_table(root, "d", "t")
        assert [packfile.key for packfile in handle.descriptors()] == remaining
        assert handle.state is not None
        assert handle.state.version == before + bool(gone)
        assert retire(root, KEYS, DAYS, env=AROUND) == 0
        # The original could not go on after that: its tree had more times than lists.
        for number in range(before, before + 2 * inline):
            packfile = packed(root, number, {"at": 0}, None)
            commit(root, KEYS, TableChange("insert", (packfile,)), env=AROUND)
            remaining.append(packfile.key)
        handle = open_table(root, "d", "t")
        assert [packfile.key for packfile in handle.descriptors()] == remaining
        spans = handle.index.indirect.spans(("at",), NOW_US - DAY_US, None)
        late = handle.descriptors(handle.index.indirect.refs[spans.start : spans.stop])
        assert set(remaining[len(remaining) - 2 * inline :]) <= {packfile.key for packfile in late}


@pytest.mark.parametrize(
    "text", ['{"field": "at"}', '{"field": "at", "valid_for": "0d"}', '{"valid_for": "1d"}']
)
def test_defect_8_1_a_policy_without_a_time_or_field_keeps_everything(text: str) -> None:
    root = TableRoot("mem://r", MemoryStore(), LOCAL)
    commit(root, KEYS, TableChange("insert", (packed(root, 0, {"at": 30}, None),)))
    assert retire(root, KEYS, policy(text), env=AROUND) == 0


def test_a_sync_retires_and_takes_nothing_again(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = ["2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z"]
    db = sdb.connect(tmp_path)
    definition = {
        "input": [{"pattern": "file://in/*.json"}],
        "retention_policy": {"field": "at", "valid_for": "1y"},
    }
    db.create("d.t", Definition.parse(json.dumps(definition)))
    for number, at in enumerate(lines):
        (tmp_path / f"in/{number}.json").write_text(f'{{"at": "{at}", "n": {number}}}\n')
        assert db.sync("d.t").rows == 1
    synced = db.sync("d.t")
    assert (synced.retired, synced.taken, synced.version) == (0, (), None)
    table = db.table("d.t")
    assert table.to_arrow()["n"].to_pylist() == [1]
    assert len(table.at(1).to_arrow()) == 1, "the version before has it yet"
    assert sorted(entry.path for entry in table.inputs()) == [
        "file://in/0.json",
        "file://in/1.json",
    ]
    assert table.validate().ok
