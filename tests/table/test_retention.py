"""Rows that a retention policy does not keep (T 13.4)."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings

import sdb
from sdb.errors import SdbWarning
from sdb.ion import instant_from_us
from sdb.packfile.read.reader import Packfile
from sdb.progress import silent
from sdb.store.memory import MemoryStore
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import TableRoot, table_root
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import commit
from sdb.table.definition.cache import read_definition
from sdb.table.definition.definition import Definition
from sdb.table.format import limits
from sdb.table.maintenance.compact import RowLayout, runs_of
from sdb.table.packfiles.lazy import OpenObjects, whole_packfile
from sdb.table.packfiles.pack import pack_rows
from sdb.table.sync import inputrows, oldrows, retention
from sdb.table.sync.result import Retired
from sdb.table.sync.retention import overdue, retire, rule_of
from tests.amounts import usual
from tests.table.retentionmodel import DAY_US, KEYS, NOW, NOW_US, Case, around, cases, play
from tests.table.roots import LOCAL

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.client.connection import Connection
    from sdb.table.format.descriptor import Descriptor

AROUND = around(0)


def policy(text: str) -> Definition:
    return Definition.parse(f'{{"retention_policy": {text}}}', is_stored=True)


DAYS = policy('{"field": "at", "valid_for": "10d"}')


@settings(max_examples=usual(20), deadline=None)
@given(cases)
def test_rows_go_by_their_own_time_alone(case: Case) -> None:
    play(case)


OLD, YOUNG = NOW - timedelta(days=20), NOW - timedelta(days=1)


@pytest.mark.parametrize("values", [(OLD, ..., OLD), (OLD, "noon", OLD), (OLD, None, OLD)])
def test_a_retention_that_takes_the_range_of_times_for_that_of_rows_is_noticed(
    values: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case((values,), 0.2, is_deleting=False, days=(0,), pad=0)
    play(case)
    monkeypatch.setattr(
        oldrows._Look,
        "_are_old",
        lambda look, number: look._index.known_range(number)[1] < look._rule.limit_us,
    )
    with pytest.raises(AssertionError):
        play(case)


def packfiles(root: TableRoot) -> list[Descriptor]:
    return list(open_table(root, "d", "t").descriptors())


def table_of(*parts: list[dict[str, Any]], **options: Any) -> TableRoot:
    root = TableRoot("mem://r", MemoryStore(), LOCAL)
    for rows in parts:
        done = pack_rows(root, KEYS, rows, rules=None, **options)
        assert done.descriptor is not None
        commit(root, KEYS, TableChange("insert", (done.descriptor,)), env=AROUND)
    return root


def test_blocks_without_old_rows_are_copied_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"at": OLD if n < 30 else YOUNG, "n": n, "pad": "x" * 300} for n in range(100)]
    root = table_of(rows, align_bytes=512, block_bytes=1024)
    (before,) = packfiles(root)
    made: list[Any] = []
    good = inputrows.rewrite
    monkeypatch.setattr(
        inputrows, "rewrite", lambda *args, **more: made.append(good(*args, **more)) or made[-1]
    )
    assert retire(root, KEYS, DAYS, env=AROUND) == Retired(0, 1, 30)
    blocks = len(before.trailer.blocks)
    assert blocks > 20
    assert made[0].blocks_kept >= blocks * 2 // 3
    assert [row["n"] for row in rows_in(root)] == list(range(30, 100))


def rows_in(root: TableRoot) -> list[dict[str, Any]]:
    packs = [whole_packfile(root, each, OpenObjects(1)) for each in packfiles(root)]
    return [row for pack in packs for row in pack.rows(fields=["n"])]


def test_packfiles_that_are_old_as_a_whole_go_without_a_look_at_their_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = table_of([{"at": OLD, "n": 1}] * 9, [{"at": YOUNG, "n": 2}])
    monkeypatch.setattr(Packfile, "place_block", None)
    assert retire(root, KEYS, DAYS, env=AROUND) == Retired(1, 0, 9)


def test_a_constant_is_the_time_of_each_row() -> None:
    root = table_of([{"n": 1}], constants={"at": instant_from_us(NOW_US - 20 * DAY_US)})
    young = pack_rows(
        root, KEYS, [{"n": 2}], rules=None, constants={"at": instant_from_us(NOW_US - DAY_US)}
    )
    text = pack_rows(root, KEYS, [{"n": 3}], rules=None, constants={"at": "2001-01-01"})
    for done in (young, text):
        assert done.descriptor is not None
        commit(root, KEYS, TableChange("insert", (done.descriptor,)), env=AROUND)
    assert retire(root, KEYS, DAYS, env=AROUND) == Retired(1, 0, 1)
    assert [row["n"] for row in rows_in(root)] == [2, 3]


def test_rows_without_a_time_go_only_where_some_row_has_one() -> None:
    """A slip in the name of the field takes nothing."""
    deleting = policy('{"field": "tmie", "valid_for": "10d", "without_time": "delete"}')
    rows = [{"at": YOUNG, "n": 1} | {f"field{n}": n for n in range(200)}]
    root = table_of(rows, rows)
    assert not retire(root, KEYS, deleting, env=AROUND)


def test_rows_of_packfiles_that_others_replaced_meanwhile_stay() -> None:
    rows = [{"at": OLD, "n": 1}, {"at": YOUNG, "n": 2}]
    root = table_of(rows, [*rows, {"at": YOUNG, "n": 3}])
    handle = open_table(root, "d", "t")
    rule = rule_of(handle, DAYS, NOW_US)
    assert rule is not None
    step = retention._Step(handle, list(overdue(handle, rule)), TableChange("retention"), silent)
    first, _ = packfiles(root)
    commit(root, KEYS, TableChange("delete", removed=frozenset({first.key})), env=AROUND)
    assert step.commit("main", AROUND) == Retired(0, 1, 1)
    assert [row["n"] for row in rows_in(root)] == [2, 3]


def test_packfiles_of_old_lists_go_as_well() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits.USUAL, "inline_packfiles", 3)
        parts = [[{"at": NOW - timedelta(days=age), "n": age}] for age in (20, 1, 15, 2, 30, 3, 40)]
        root = table_of(*parts)
        assert retire(root, KEYS, DAYS, env=AROUND) == Retired(4, 0, 4)
        assert [row["n"] for row in rows_in(root)] == [1, 2, 3]
        # The original could not go on after that: its tree had more times than lists.
        for number in range(100, 108):
            done = pack_rows(root, KEYS, [{"at": NOW, "n": number}], rules=None)
            assert done.descriptor is not None
            commit(root, KEYS, TableChange("insert", (done.descriptor,)), env=AROUND)
        assert [row["n"] for row in rows_in(root)] == [1, 2, 3, *range(100, 108)]
        handle = open_table(root, "d", "t")
        spans = handle.index.indirect.spans(("at",), NOW_US - DAY_US, None)
        late = handle.descriptors(handle.index.indirect.refs[spans.start : spans.stop])
        assert {each.key for each in packfiles(root)[-6:]} <= {each.key for each in late}


@pytest.mark.parametrize(
    "text", ['{"field": "at"}', '{"field": "at", "valid_for": "0d"}', '{"valid_for": "1d"}']
)
def test_defect_8_1_a_policy_without_a_time_or_field_keeps_everything(text: str) -> None:
    root = table_of([{"at": OLD}])
    assert not retire(root, KEYS, policy(text), env=AROUND)


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


def with_policy(folder: Path, rows: list[dict[str, Any]], **policy: Any) -> Connection:
    """Make a table by a sync of one input."""
    (folder / "in").mkdir()
    (folder / "in/1.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    db = sdb.connect(folder)
    definition = {"input": [{"pattern": "file://in/*.json"}], "retention_policy": policy}
    db.create("d.t", Definition.parse(json.dumps(definition)))
    db.sync("d.t")
    return db


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"time": "2026-11-01T00:00:00Z"}, 'no row of d.t has "tmie".* did you mean time'),
        ({"tmie": 17}, "no row of d.t has a time at tmie, but int"),
    ],
)
def test_a_field_in_which_no_row_has_a_time_is_told(
    row: dict[str, Any], text: str, tmp_path: Path
) -> None:
    with pytest.warns(SdbWarning, match=text):
        db = with_policy(tmp_path, [row], field="tmie", valid_for="10y")
    with pytest.warns(SdbWarning, match=text):
        db.create("d.t", read_definition(table_root(db.root.location), KEYS), overwrite=True)
    (need,) = db.status("d.t")[0].needs
    assert need.action == "retention"
    assert re.search(text, need.text)


def test_status_tells_how_old_rows_are_and_which_have_no_time(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"at": "2001-01-01T00:00:00Z"}, {"at": 7}, {"n": 1}, {"n": 2}]
    db = with_policy(tmp_path, rows, field="at", valid_for="10y")
    (status,) = db.status("d.t")
    assert status.facts["retention"] == {
        "field": "at",
        "valid_for": "10y",
        "without_time": "keep",
        "oldest_at": "2001-01-01T00:00:00Z",
        "rows_without_field": 2,
        "other_types": ["int"],
        "flaw": None,
    }
    assert (status.facts["rows_overdue"], status.facts["packfiles_overdue"]) == (1, 1)
    assert [need.action for need in status.needs] == ["retention"]
    foreseen = db.sync("d.t", dry_run=True)
    assert (foreseen.retired, foreseen.retired_rewritten, foreseen.retired_rows) == (0, 1, 1)
    done = db.sync("d.t")
    assert (done.retired, done.retired_rewritten, done.retired_rows) == (0, 1, 1)
    assert sorted(db.table("d.t").to_arrow()["n"].drop_null().to_pylist()) == [1, 2]
    assert db.status("d.t")[0].needs == ()


def test_a_sync_and_a_compaction_keep_days_apart_so_that_whole_ones_go(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    noon = datetime.now(UTC).replace(hour=12)
    for day in range(12):
        at = noon - timedelta(days=12 - day)
        rows = [json.dumps({"at": at.isoformat(), "n": day + more}) for more in (0, 100)]
        (tmp_path / f"in/{day:02}.json").write_text("\n".join(rows))
    (tmp_path / "in/bad.json").write_text("nonsense")
    (tmp_path / "in/none.json").write_text('{"n": 1000}')
    db = sdb.connect(tmp_path)
    policy = {"field": "at", "valid_for": "30d"}
    definition = {"input": [{"pattern": "file://in/*.json"}], "retention_policy": policy}
    db.create("d.t", Definition.parse(json.dumps(definition)))
    synced = db.sync("d.t")
    assert (len(synced.taken), synced.rows) == (13, 25)
    assert [rejected.uri for rejected in synced.rejected] == ["file://in/bad.json"]
    root = table_root(db.root.location)
    assert len(packfiles(root)) == 12
    assert db.table("d.t").validate().ok
    assert runs_of(packfiles(root), RowLayout()), "without a policy they would be merged"
    assert db.table("d.t").compact().runs == ()
    later = around((noon + timedelta(days=21.5) - NOW) / timedelta(days=1))
    # An input without a time is beside the oldest.
    assert retire(root, KEYS, read_definition(root, KEYS), env=later) == Retired(3, 1, 8)
    numbers = db.table("d.t").to_arrow()["n"].to_pylist()
    assert sorted(numbers) == [*range(4, 12), *range(104, 112), 1000]
