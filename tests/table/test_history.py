"""Logs, differences and restores of tables with real packfiles."""

from __future__ import annotations

import json
from collections import Counter
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sdb
from sdb import errors
from sdb.records import replace
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import table_root
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import commit
from sdb.table.format.keys import TableKeys
from sdb.table.format.versionref import UnknownReferenceError
from sdb.table.history import diff, rowdiff
from sdb.table.history.diff import compare, different_rows
from sdb.table.history.log import log, show
from sdb.table.history.restore import restore
from sdb.table.packfiles.pack import pack_rows
from tests.table.roots import LOCAL

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.client.connection import Connection

KEYS = TableKeys("d", "t")
MEMBER = st.one_of(st.none(), st.integers(0, 2), st.sampled_from(["a", "2024-01-01T00:00:00Z"]))
ROWS = st.lists(st.dictionaries(st.sampled_from("ab"), MEMBER, max_size=2), max_size=8)


def rewritten(db: Connection, rows: Any) -> None:
    """Put one packfile with rows in the place of all that are there."""
    root = db.root
    head = open_table(root, "d", "t")
    packed = pack_rows(root, KEYS, rows, rules=None).descriptor
    gone = frozenset(reported.key for reported in head.descriptors())
    if packed is not None and packed.key in gone:
        return
    change = TableChange("delete", () if packed is None else (packed,), gone)
    commit(root, KEYS, change)


def signed(db: Connection, before: Any, after: Any) -> Counter[tuple[str, str]]:
    root = db.root
    difference = compare(
        open_table(root, "d", "t", at=before), open_table(root, "d", "t", at=after)
    )
    counts: Counter[tuple[str, str]] = Counter()
    for sign, row in different_rows(difference):
        counts[sign, json.dumps(json.loads(row), sort_keys=True)] += 1
    return counts


@settings(max_examples=15, deadline=None)
@given(ROWS, ROWS, ROWS, st.booleans())
def test_different_rows_are_those_of_two_bags(
    first: list[dict[str, Any]],
    second: list[dict[str, Any]],
    third: list[dict[str, Any]],
    has_many: bool,
) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(diff, "MOST_KNOWN", 2 if has_many else 1000)
        db = sdb.connect(folder)
        db.create("d.t", "file://in/*.json")
        db.append("d.t", [{"start": 1}])
        before = Counter(json.dumps(item, sort_keys=True) for item in [{"start": 1}, *first])
        db.append("d.t", first) if first else None
        middle = db.table("d.t").version
        rewritten(db, [*second, {"start": 1}])
        db.append("d.t", third) if third else None
        after = Counter(
            json.dumps(item, sort_keys=True) for item in [{"start": 1}, *second, *third]
        )
        expected = Counter({("+", row): count for row, count in (after - before).items()})
        expected += Counter({("-", row): count for row, count in (before - after).items()})
        assert signed(db, middle, "main") == expected
        back = Counter(
            {("-" if sign == "+" else "+", row): n for (sign, row), n in expected.items()}
        )
        assert signed(db, "main", middle) == back


def test_blocks_that_both_have_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an append, or a rewrite that copies blocks."""
    db = sdb.connect(tmp_path)
    db.create("d.t", "file://in/*.json")
    rows = [{"n": n, "text": str(n) * 40} for n in range(20_000)]
    db.append("d.t", rows, block_bytes=1 << 20)
    rewritten_rows = [*rows[:-1], {"n": -1}]
    root = db.root
    head = open_table(root, "d", "t")
    packed = pack_rows(root, KEYS, rewritten_rows, rules=None, block_bytes=1 << 20).descriptor
    assert packed is not None
    (old,) = head.descriptors()
    assert len(old.trailer.blocks) > 2
    commit(root, KEYS, TableChange("update", (packed,), frozenset([old.key])))
    read: list[int] = []
    before = diff._rows
    monkeypatch.setattr(
        diff, "_rows", lambda pack, block: read.append(block) or before(pack, block)
    )
    assert signed(db, 1, 2) == Counter(
        {("-", json.dumps(rows[-1], sort_keys=True)): 1, ("+", '{"n": -1}'): 1}
    )
    assert set(read) == {len(old.trailer.blocks) - 1}


def test_the_log_tells_what_each_version_did(tmp_path: Path) -> None:
    db = sdb.connect(tmp_path)
    db.create("d.t", "file://in/*.json")
    for number in range(1, 5):
        rows = [{"n": n} for n in range(number)]
        db.append("d.t", rows, author=f"a{number}", message=f"m{number}")
    db.restore("d.t", 2, author="me")
    versions = list(log(db.table("d.t").handle))
    assert [item.version for item in versions] == [5, 4, 3, 2, 1]
    assert [item.operation for item in versions] == ["restore", *["insert"] * 4]
    assert [item.message for item in versions] == ["restore version 2", "m4", "m3", "m2", "m1"]
    assert [item.author for item in versions] == ["me", "a4", "a3", "a2", "a1"]
    assert [item.rows for item in versions] == [3, 10, 6, 3, 1]
    assert [item.parents for item in versions] == [(4,), (3,), (2,), (1,), ()]
    changes = versions[0].changes
    assert (changes.packfiles_removed, changes.rows_removed, changes.rows_added) == (2, 7, 0)
    assert changes.bytes_removed == versions[1].size_bytes - versions[0].size_bytes > 0
    assert [item.version for item in log(db.table("d.t@3").handle)] == [3, 2, 1]
    assert [item.at_us for item in versions] == sorted(
        (item.at_us for item in versions), reverse=True
    )
    last = show(db.table("d.t").handle)
    assert (len(last.added), len(last.removed), last.packfiles) == (0, 2, 2)
    first = show(db.table("d.t@1").handle)
    assert (len(first.added), first.packfiles, first.logged.rows) == (1, 1, 1)


def test_a_version_that_cannot_be_read_does_not_end_the_log(tmp_path: Path) -> None:
    db = sdb.connect(tmp_path)
    db.create("d.t", "file://in/*.json")
    for number in range(3):
        db.append("d.t", [{"n": number}], message=str(number))
    state = db.table("d.t").handle.state
    assert state is not None
    (tmp_path / state.history[1].key).unlink()
    with pytest.warns(errors.SdbWarning, match="is missing"):
        versions = list(log(db.table("d.t").handle))
    assert [(item.version, item.message, item.rows) for item in versions] == [
        (3, "2", 3),
        (2, "", 2),
        (1, "0", 1),
    ]


def test_what_another_program_wrote_is_no_version_yet(tmp_path: Path) -> None:
    db = sdb.connect(tmp_path)
    db.create("d.t", "file://in/*.json")
    db.append("d.t", [{"n": 1}])
    index = replace(db.table("d.t").handle.index, created_us=10**15 * 2)
    (tmp_path / KEYS.index).write_bytes(index.encode(LOCAL))
    versions = list(log(db.table("d.t").handle))
    assert [(item.version, item.operation) for item in versions] == [
        (None, "foreign"),
        (1, "insert"),
    ]
    assert show(db.table("d.t").handle).logged.version is None


def test_a_restore_gives_inputs_back_to_the_next_sync(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    db = sdb.connect(tmp_path)
    db.create("d.t", "file://in/*.json")
    for number in range(3):
        (tmp_path / f"in/{number}.json").write_text(json.dumps({"n": number}))
        db.sync("d.t")
    done = db.restore("d.t", "@1")
    assert (done.version, done.restored, done.is_new) == (4, 1, True)
    table = db.table("d.t")
    assert table.to_arrow()["n"].to_pylist() == [0]
    assert [entry.path for entry in table.inputs()] == ["file://in/0.json"]
    assert table.validate().ok
    assert db.table("d.t@3").to_arrow().num_rows == 3
    assert table.sync().rows == 2
    assert sorted(table.to_arrow()["n"].to_pylist()) == [0, 1, 2]
    assert not db.restore("d.t", "main").is_new
    assert db.table("d.t").version == 5
    with pytest.raises(UnknownReferenceError):
        db.restore("d.t", 99)


def test_a_restore_of_what_is_gone_changes_nothing(tmp_path: Path) -> None:
    db = sdb.connect(tmp_path)
    db.create("d.t", "file://in/*.json")
    done = db.append("d.t", [{"n": 1}])
    rewritten(db, [{"n": 2}])
    (tmp_path / done.key).unlink()
    before = (tmp_path / KEYS.index).read_bytes()
    with pytest.raises(errors.CorruptError, match=f"cannot be restored: {done.key} is missing"):
        db.restore("d.t", 1)
    assert (tmp_path / KEYS.index).read_bytes() == before


def test_a_restore_that_was_overwritten_is_done_again(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    db = sdb.connect(tmp_path)
    db.create("d.t", "file://in/*.json")
    for number in range(2):
        (tmp_path / f"in/{number}.json").write_text(json.dumps({"n": number}))
        db.sync("d.t")
    theirs = replace(db.table("d.t").handle.index, created_us=10**15 * 2)
    restore(table_root(tmp_path), TableKeys("d", "t"), 1)
    (tmp_path / KEYS.index).write_bytes(theirs.encode(LOCAL))
    db.append("d.t", [{"n": 9}])
    table = db.table("d.t")
    assert table.to_arrow()["n"].to_pylist() == [0, 9]
    assert table.sync(retry=True).rows == 1
    assert sorted(table.to_arrow()["n"].to_pylist()) == [0, 1, 9]
    assert table.validate().ok


def test_many_rows_that_differ_wait_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rowdiff, "MOST_HELD", 10)
    db = sdb.connect(tmp_path)
    db.create("d.t", "file://in/*.json")
    db.append("d.t", [{"n": n, "v": 0} for n in range(100)])
    db.execute("UPDATE d.t SET v = 1 WHERE n >= 50; DELETE FROM d.t WHERE n < 5")
    db.append("d.t", [{"n": 100, "v": 5}])
    difference = db.table("d.t@1").diff("main")
    for key in ((), ("n",)):
        rows = list(rowdiff.changed_rows(difference, key=key))
        assert Counter(item.sign for item in rows) == {"~": 50, "-": 5, "+": 1}
        changed = [item.changed for item in rows if item.sign == "~"]
        assert changed == [{"v": {"old": 0, "new": 1}}] * 50
    # Not a key: rows of one value are paired in their order, and what is left over stays.
    paired = Counter(item.sign for item in rowdiff.changed_rows(difference, key=("v",)))
    assert paired["~"] + paired["-"] == 55


def test_rows_of_an_older_sdb_are_paired_by_a_key_alone(tmp_path: Path) -> None:
    db = sdb.connect(tmp_path)
    db.create("d.t", "file://in/*.json")
    db.append("d.t", [{"n": 1, "v": 0}, {"n": 2, "v": 0}])
    rewritten(db, [{"n": 1, "v": 1}, {"n": 2, "v": 0}])
    difference = db.table("d.t@1").diff("main")
    assert difference.row_counts is None
    (newest, *_) = db.table("d.t").log()
    assert newest.changes.row_counts is None
    assert [row.sign for row in rowdiff.changed_rows(difference)] == ["+", "-"]
    assert [row.sign for row in rowdiff.changed_rows(difference, key=("n",))] == ["~"]
