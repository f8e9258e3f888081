"""Indexes of tables in wrong places: older ones that were put back, and those of other branches."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

import sdb
from sdb import errors
from sdb.errors import CorruptError, SdbWarning
from sdb.lru import LruCache
from sdb.store.local.disk import LocalStore
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import TableRoot, table_root
from sdb.table.commit import putback
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import commit
from sdb.table.format.keys import TableKeys
from sdb.table.history import setrefs
from sdb.table.history.restore import restore
from sdb.table.maintenance.gc import collect
from sdb.table.maintenance.validate import validate_table
from sdb.table.packfiles.pack import pack_rows
from sdb.table.upkeep.status import table_status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEYS = TableKeys("d", "t")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[TableRoot]:
    (tmp_path / "lake").mkdir()
    with another_program():
        sdb.connect(tmp_path / "lake").create("d.t", "in/*.json")
        yield table_root(tmp_path / "lake")


def another_program() -> Any:
    """Forget what this program has seen."""
    return patch.object(putback, "_SEEN", LruCache(most_entries=8))


def add(root: TableRoot, *rows: int, branch: str = "main") -> int:
    packed = pack_rows(root, KEYS, [{"n": row} for row in rows], rules=None).descriptor
    assert packed is not None
    return commit(root, KEYS, TableChange("insert", (packed,)), branch=branch).version


def rows(root: TableRoot, at: str = "") -> list[int]:
    table = sdb.connect(root.location).table(f"d.t@{at}" if at else "d.t").to_arrow()
    return sorted(table.column("n").to_pylist())


def index_of(root: TableRoot, branch: str = "main") -> Path:
    from pathlib import Path

    return Path(root.location) / KEYS.branch(branch)


def put_back(root: TableRoot, versions: int) -> None:
    """Put the index back that was there this many versions before, as a restored backup does."""
    old = open_table(root, "d", "t", at=f"-{versions}").data
    index_of(root).unlink()
    index_of(root).write_bytes(old)


@pytest.mark.parametrize("versions", [1, 2, 3])
@pytest.mark.parametrize("is_other", [True, False])
def test_the_next_commit_goes_on_from_the_newest_version(
    root: TableRoot, versions: int, *, is_other: bool
) -> None:
    made = [add(root, number) for number in range(4)]
    put_back(root, versions)
    if is_other:
        putback._SEEN.clear()
    with pytest.warns(SdbWarning, match=f"put in its place: version {made[-1]} goes on"):
        last = add(root, 4)
    assert rows(root) == [0, 1, 2, 3, 4]
    assert last == made[-1] + 1
    assert rows(root, str(made[2])) == [0, 1, 2]
    assert validate_table(open_table(root, "d", "t")).ok


def test_what_is_wrong_is_told_and_restored(root: TableRoot) -> None:
    newest = [add(root, number) for number in range(3)][-1]
    put_back(root, 2)
    text = f"is newer than the index, that of version {newest - 2}, an older one that was put back"
    findings = validate_table(open_table(root, "d", "t")).findings
    assert [finding.key.rpartition("/")[2][:20] for finding in findings] == [f"{newest:020}"]
    assert text in findings[0].text
    status = table_status(root, KEYS)
    assert [(need.action, need.command) for need in status.needs][:1] == [
        ("restore", f"sdb restore d.t {newest}")
    ]
    putback._SEEN.clear()
    with pytest.warns(SdbWarning, match="put in its place"):
        assert restore(root, TableKeys("d", "t"), newest).version == newest
    assert rows(root) == [0, 1, 2]
    assert validate_table(open_table(root, "d", "t")).ok


def test_a_collection_keeps_what_an_older_index_does_not_lead_to(root: TableRoot) -> None:
    for number in range(3):
        add(root, number)
    put_back(root, 2)
    putback._SEEN.clear()
    with pytest.warns(SdbWarning, match="put in its place"):
        collect(root, TableKeys("d", "t"), grace_seconds=0)
    assert rows(root) == [0, 1, 2]


def test_a_version_that_never_counted_does_not(root: TableRoot) -> None:
    add(root, 0)

    def full(*_: Any, **__: Any) -> str:
        raise errors.SdbError("no space left on device")

    good = LocalStore.put_if_match

    def put(store: LocalStore, location: str, *value: Any, **named: Any) -> str:
        return (full if location.endswith("/index") else good)(store, location, *value, **named)

    with patch.object(LocalStore, "put_if_match", put), pytest.raises(errors.SdbError):
        add(root, 1)
    putback._SEEN.clear()
    assert validate_table(open_table(root, "d", "t")).ok
    assert "its commit was interrupted, or an older index" in str(table_status(root, KEYS).notes)
    with pytest.warns(SdbWarning, match="its commit was interrupted, or an older index"):
        add(root, 2)
    assert rows(root) == [0, 2]


def test_a_version_whose_packfiles_are_gone_does_not_go_on(root: TableRoot) -> None:
    for number in range(4):
        add(root, number)
    newest = open_table(root, "d", "t")
    put_back(root, 3)
    (index_of(root).parent.parent.parent.parent / newest.index.inline[-1].key).unlink()
    putback._SEEN.clear()
    with pytest.warns(SdbWarning) as said:
        add(root, 4)
    texts = [str(warning.message) for warning in said]
    assert any("packfiles of it are missing" in text for text in texts)
    assert any("version 3 goes on" in text for text in texts)
    assert rows(root) == [0, 1, 2, 4]


def test_versions_of_a_branch_that_was_deleted_do_not_come_back(root: TableRoot) -> None:
    add(root, 0)
    setrefs.branch(root, "d", "t", "side")
    for number in range(1, 4):
        add(root, number, branch="side")
    setrefs.delete_branch(root, "d", "t", "side", is_forced=True)
    setrefs.branch(root, "d", "t", "side")
    putback._SEEN.clear()
    add(root, 9, branch="side")
    putback._SEEN.clear()
    add(root, 10, branch="side")
    assert rows(root, "side") == [0, 9, 10]


@pytest.mark.parametrize(("begun", "where"), [("main", "side"), ("side", "side2")])
@pytest.mark.parametrize("has_own", [True, False])
def test_the_index_of_another_branch_is_refused(
    root: TableRoot, begun: str, where: str, *, has_own: bool
) -> None:
    add(root, 0)
    for name, at in (("side", "main"), ("side2", "side")):
        setrefs.branch(root, "d", "t", name, at)
        if has_own:
            add(root, 5, branch=name)
    add(root, 1)
    good = {name: index_of(root, name).read_bytes() for name in (begun, where)}
    for source, other in ((begun, where), (where, begun)):
        shutil.copy(index_of(root, source), index_of(root, other))
        message = f"it is the index of {source}, put in the place of that of {other}"
        for action in (
            lambda at: open_table(root, "d", "t", branch=at),
            lambda at: add(root, 7, branch=at),
        ):
            with pytest.raises(CorruptError, match=message) as caught:
                action(other)
        hint = str(caught.value.hint)
        if has_own or other == "main":  # what the hint says helps
            assert hint.endswith(f"the newest version of {other}")
            shutil.copy(
                index_of(root).parent.parent.parent.parent / hint.split()[1], index_of(root, other)
            )
            assert add(root, 8, branch=other)
        else:
            assert "put the index back from a backup" in hint
        index_of(root, other).write_bytes(good[other])


def test_a_branch_that_an_older_sdb_has_begun_is_read(root: TableRoot) -> None:
    add(root, 0)
    setrefs.branch(root, "d", "t", "side")
    old = open_table(root, "d", "t", branch="side")
    assert old.state is not None
    data = open_table(root, "d", "t", at=str(old.state.version)).root.fetch(
        KEYS.version(old.state.version, old.state.commit), old.state.kept_etag
    )
    index_of(root, "side").write_bytes(data)
    add(root, 1, branch="side")
    assert rows(root, "side") == [0, 1]
