"""Merges by row through statements, syncs, compactions, expiry and forks, on real files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.packfile.trailer import identities
from sdb.table.history.merge import MergeConflictError
from sdb.table.packfiles.identities import identities_of
from sdb.table.packfiles.lazy import OpenObjects, whole_packfile

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.client.connection import Connection


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SDB_AUTHOR", raising=False)


@pytest.fixture
def db(tmp_path: Path) -> Connection:
    """A table of ten rows, and a branch of it."""
    connection = sdb.connect(tmp_path / "lake")
    connection.create("d.t", "file://in/*.json")
    connection.append("d.t", [{"id": n, "v": 0, "a": {"b": n}} for n in range(10)])
    connection.table("d.t").branch("side")
    return connection


def values(db: Connection, table: str = "d.t") -> dict[int, Any]:
    rows = db.sql(f"SELECT id, v FROM {table} ORDER BY id").to_arrow().to_pylist()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row["v"] for row in rows}


def changes(db: Connection, table: str = "d.t") -> tuple[int, int, int] | None:
    (newest, *_) = db.table(table).log()
    counts = newest.changes.row_counts
    return None if counts is None else (counts.inserted, counts.updated, counts.deleted)


START = dict.fromkeys(range(10), 0)


def test_statements_on_different_rows_merge(db: Connection) -> None:
    db.execute("UPDATE d.t SET v = 1 WHERE id < 3; DELETE FROM d.t WHERE id = 9")
    db.execute(
        "MERGE INTO d.t@side AS t USING (SELECT 5 AS id) AS s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = 2;"
        "BEGIN; INSERT INTO d.t@side VALUES ({'id': 20, 'v': 3}); UPDATE d.t@side SET v = 4 "
        "WHERE id >= 6 AND id < 8; DELETE FROM d.t@side WHERE id = 8; COMMIT"
    )
    done = db.table("d.t").merge("side")
    expected = START | {0: 1, 1: 1, 2: 1, 5: 2, 6: 4, 7: 4, 20: 3}
    expected = {number: value for number, value in expected.items() if number not in {8, 9}}
    assert values(db) == expected
    assert done.counts is not None
    assert done.counts.as_dict() == {"inserted": 1, "updated": 3, "deleted": 1}
    assert changes(db) == (1, 3, 1)
    assert not db.table("d.t").merge("side").is_new
    # And back, after more of both: what was merged before is no change of either side.
    db.execute("UPDATE d.t SET v = 9 WHERE id = 6; DELETE FROM d.t@side WHERE id = 20")
    db.table("d.t@side").merge("main")
    expected |= {6: 9}
    del expected[20]
    assert values(db, "d.t@side") == expected
    db.table("d.t").merge("side")
    assert values(db) == expected
    assert db.table("d.t").validate().findings == ()


def test_the_same_change_on_both_sides_is_none(db: Connection) -> None:
    for name in ("d.t", "d.t@side"):
        db.execute(f"UPDATE {name} SET v = 1 WHERE id = 4; DELETE FROM {name} WHERE id = 5")
    db.execute("UPDATE d.t@side SET v = 0 WHERE id = 7")  # as it was: no change either
    db.execute("UPDATE d.t SET v = 7 WHERE id = 7")
    db.table("d.t").merge("side")
    assert values(db) == {n: v for n, v in (START | {4: 1, 7: 7}).items() if n != 5}


def test_types_are_part_of_a_value(db: Connection) -> None:
    db.execute("UPDATE d.t SET v = 1 WHERE id = 4; UPDATE d.t@side SET v = '1' WHERE id = 4")
    with pytest.raises(MergeConflictError) as raised:
        db.table("d.t").merge("side")
    assert [row.base and row.base["id"] for row in raised.value.rows] == [4]


def test_rows_that_one_side_has_deleted_and_the_other_changed(db: Connection) -> None:
    db.execute("DELETE FROM d.t WHERE id IN (2, 3); UPDATE d.t@side SET v = 1 WHERE id <= 2")
    before = db.table("d.t").version
    with pytest.raises(MergeConflictError, match="1 row changed on both sides") as raised:
        db.table("d.t").merge("side")
    (row,) = raised.value.rows
    assert (row.row, row.ours, row.theirs) == (2, None, {"id": 2, "v": 1, "a": {"b": 2}})
    assert (db.table("d.t").version, raised.value.exit_code) == (before, 5)
    asked: list[int] = []
    with pytest.raises(MergeConflictError):
        db.table("d.t").merge("side", strategy="source", confirm=lambda n: bool(asked.append(n)))
    assert (asked, db.table("d.t").version) == ([1], before)
    assert db.table("d.t").merge("side", strategy="source").dropped == 1
    assert values(db) == {n: v for n, v in (START | {0: 1, 1: 1, 2: 1}).items() if n != 3}


@pytest.mark.parametrize(("source", "into"), [("side", "d.t"), ("main", "d.t@side")])
def test_compactions_keep_rows_apart(db: Connection, source: str, into: str) -> None:
    for n in range(10, 20):
        db.execute(f"INSERT INTO d.t VALUES ({{'id': {n}, 'v': 0}})")
    db.execute("UPDATE d.t SET v = 1 WHERE id IN (1, 11)")
    assert db.table("d.t").compact().runs
    assert changes(db) == (0, 0, 0)
    db.execute("UPDATE d.t@side SET v = 2 WHERE id = 2")
    db.table(into).merge(source)
    assert values(db, into) == dict.fromkeys(range(20), 0) | {1: 1, 11: 1, 2: 2}


def test_versions_in_between_may_expire(db: Connection) -> None:
    for n in range(4):
        db.execute(f"UPDATE d.t SET v = {n + 1} WHERE id = {n}")
    db.execute("UPDATE d.t@side SET v = 9 WHERE id = 8")
    db.table("d.t").expire(all_but_head=True)
    db.table("d.t").merge("side")
    assert values(db) == START | {0: 1, 1: 2, 2: 3, 3: 4, 8: 9}


def test_inputs_that_are_replaced_merge_with_updates(db: Connection, tmp_path: Path) -> None:
    folder = tmp_path / "lake/in"
    folder.mkdir()
    for name in "ab":
        (folder / f"{name}.json").write_text(f'{{"id": {ord(name)}, "v": 0}}\n')
    db.sync("d.t")
    db.table("d.t").branch("other")
    (folder / "a.json").write_text('{"id": 97, "v": 1}\n{"id": 96, "v": 1}\n')
    db.sync("d.t", changed="replace")
    assert changes(db) == (2, 0, 1)
    db.execute("UPDATE d.t@other SET v = 2 WHERE id = 98")
    db.table("d.t").merge("other")
    assert values(db) == START | {96: 1, 97: 1, 98: 2}


def test_what_is_not_known_is_a_conflict_by_packfile(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(identities, "MAX_RUNS", 1)  # as if rows here and there had changed
        db.execute("UPDATE d.t SET v = 1 WHERE id IN (1, 3, 5)")
    assert changes(db) == (0, 3, 0)
    db.execute("UPDATE d.t@side SET v = 2 WHERE id = 2")
    message = "1 packfile rewritten on both sides, and which rows are which is not known"
    with pytest.raises(MergeConflictError, match=message) as raised:
        db.table("d.t").merge("side")
    assert (len(raised.value.packfiles), raised.value.rows) == (1, ())
    # What begins afterwards is known again.
    db.table("d.t").branch("later")
    db.execute("UPDATE d.t SET v = 3 WHERE id = 1; UPDATE d.t@later SET v = 4 WHERE id = 9")
    db.table("d.t").merge("later")
    assert values(db) == START | {1: 3, 3: 1, 5: 1, 9: 4}


@pytest.mark.parametrize("is_shared", [False, True])
def test_forks_know_their_rows(db: Connection, is_shared: bool) -> None:
    db.execute("UPDATE d.t SET v = 1 WHERE id = 1")
    db.table("d.t").fork("d.f", share=is_shared)
    fork = db.table("d.f")
    fork.branch("x")
    db.execute("UPDATE d.f SET v = 2 WHERE id = 2; DELETE FROM d.f@x WHERE id < 2")
    db.table("d.f").merge("x")
    assert values(db, "d.f") == {n: v for n, v in (START | {2: 2}).items() if n > 1}
    assert values(db) == START | {1: 1}


def test_a_packfile_says_which_rows_its_rows_were(db: Connection) -> None:
    db.execute("UPDATE d.t SET v = 1 WHERE id IN (4, 5); DELETE FROM d.t WHERE id < 2")
    handle = db.table("d.t").handle
    (old,) = db.table("d.t@1").handle.descriptors()
    (new,) = handle.descriptors()
    trailer = whole_packfile(handle.root, new, OpenObjects()).trailer
    known = identities_of(new.key, trailer)
    assert known is not None
    runs = zip(known.source.tolist(), known.first.tolist(), known.count.tolist(), strict=True)
    packfile = identities.digest_of(old.key.removeprefix("db/d/t/"))
    assert {source for source, _ in known.sources} == {packfile}
    listed = [(bool(known.sources[source][1]), first, count) for source, first, count in runs]
    assert listed == [(False, 2, 2), (True, 4, 2), (False, 6, 4)]
    # The index has no copy of it.
    assert not new.trailer.sparse.stored_identities
