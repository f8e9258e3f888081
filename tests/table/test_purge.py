"""Purges and those who work beside them, one case at a time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.errors import ConflictError, SdbError, UsageError
from sdb.table.catalog.handle import open_table
from sdb.table.commit import change
from sdb.table.commit.change import TableChange
from sdb.table.format import limits, manifests
from sdb.table.history import restore, setrefs
from sdb.table.packfiles.knownfields import MOST_WHOLE

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from sdb.client.connection import Connection

LATE = datetime(2033, 3, 3, tzinfo=UTC)
LATE_US = int(LATE.timestamp() * 1e6)


@pytest.fixture
def db(tmp_path: Path) -> Connection:
    connection = sdb.connect(tmp_path)
    connection.execute("CREATE TABLE d.t")
    return connection


def fill(db: Connection, count: int, late: int = -1) -> None:
    for number in range(count):
        day = datetime(2026, 1, 1 + number, tzinfo=UTC)
        at = LATE if number == late else day
        db.append("d.t", [{"n": number, "at": at}, {"n": number + 100, "at": day}])


def test_times_of_purged_rows_leave_the_index(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits.USUAL, "inline_packfiles", 4)
    fill(db, 9, late=2)

    def last_us() -> int:
        index = open_table(db.root, "d", "t").index
        return max(indice.last_us for indice in index.indirect.indices.values())

    assert open_table(db.root, "d", "t").index.indirect.refs
    assert last_us() == LATE_US
    db.execute("DELETE FROM d.t WHERE n = 2")
    assert last_us() == LATE_US, "DELETE leaves it wide"
    assert db.table("d.t").purge("at > `2030-01-01T00:00:00Z`").ok
    assert last_us() < LATE_US
    arrow = db.table("d.t").to_arrow(since="2026-01-05", until="2026-01-07", time_field="at")
    assert sorted(arrow.column("n").to_pylist()) == [4, 5, 104, 105]
    assert list(manifests.IndirectTree().narrowed(None).refs) == []  # type: ignore[arg-type]


def test_a_restore_that_was_read_before_is_refused(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(db, 4)
    good = restore.commit

    def late(*value: Any, **named: Any) -> Any:
        assert db.table("d.t").purge("n = 1").ok
        return good(*value, **named)

    monkeypatch.setattr(restore, "commit", late)
    with pytest.raises(ConflictError, match="a collection has begun since"):
        db.restore("d.t", 4)
    monkeypatch.undo()
    assert sorted(db.table("d.t").to_arrow().column("n").to_pylist())[:3] == [0, 2, 3]
    assert db.restore("d.t", 2).is_new
    assert db.table("d.t").validate().ok


@pytest.mark.parametrize("what", ["tag", "branch"])
def test_names_of_versions_that_went_meanwhile_are_refused(
    db: Connection, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    fill(db, 4)
    good = setrefs.pointer_to
    todo = [1]

    def late(handle: Any) -> Any:
        actual = good(handle)
        if todo and todo.pop():
            assert db.table("d.t").purge("n = 1").ok
        return actual

    monkeypatch.setattr(setrefs, "pointer_to", late)
    with pytest.raises(SdbError, match="expired"):
        getattr(setrefs, what)(db.root, "d", "t", "late", 4)
    state = open_table(db.root, "d", "t").state
    assert state is not None
    assert not state.tags
    assert not state.branches
    assert db.table("d.t").validate().ok


def test_a_branch_that_was_never_purged_is_merged(db: Connection) -> None:
    fill(db, 2)
    db.table("d.t").branch("side")
    db.append("d.t@side", [{"n": 50}])
    db.append("d.t", [{"n": 60}])
    assert db.table("d.t").purge("n = 60").ok
    db.table("d.t").merge("side")
    assert sorted(db.table("d.t").to_arrow().column("n").to_pylist()) == [0, 1, 50, 100, 101]


def test_a_last_merge_that_was_purged_is_no_base(db: Connection) -> None:
    """Main and the branch each rewrite what a merge had brought: it would be there twice."""
    fill(db, 2)
    db.table("d.t").branch("side")
    db.append("d.t@side", [{"n": 50}, {"n": 51}])
    db.table("d.t").merge("side")
    assert db.table("d.t").purge("n = 50").ok
    db.append("d.t@side", [{"n": 52}])
    with pytest.raises(ConflictError):
        db.table("d.t").merge("side")
    assert sorted(db.table("d.t").to_arrow().column("n").to_pylist()) == [0, 1, 51, 100, 101]


def test_condition_of_a_purge_is_about_the_moment_it_began(db: Connection) -> None:
    fill(db, 3, late=1)
    purged = db.table("d.t").purge("at > UTCNOW()", message="why")
    assert purged.ok
    assert sorted(db.table("d.t").to_arrow().column("n").to_pylist()) == [0, 2, 100, 101, 102]
    assert [version.operation for version in db.table("d.t").log()][:2] == ["gc", "purge"]
    assert TableChange(change.PURGE).operation in change.HOUSEKEEPING


def test_a_field_that_no_version_has_is_noticed_in_many_wide_packfiles(db: Connection) -> None:
    """The index has no types of them, and queries read few trailers for a slip."""
    wide = {f"field{n}": n for n in range(200)}
    for number in range(MOST_WHOLE + 2):
        db.append("d.t", [wide | {"user": number}])
    with pytest.raises(UsageError, match=r'no row of d.t has "usr": looked at 10 packfiles'):
        db.table("d.t").purge("usr = 3")
    assert db.table("d.t").purge("user = 3").ok
    assert len(db.table("d.t").to_arrow(fields=["user"])) == MOST_WHOLE + 1
