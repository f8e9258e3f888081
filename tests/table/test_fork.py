"""Forks and pushes: the same packfiles under another name, or below another root."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import errors
from sdb.store.local.disk import LocalStore
from sdb.table.catalog.root import table_root
from sdb.table.definition.cache import read_definition
from sdb.table.format.keys import TableKeys
from sdb.table.history import fork as tablefork

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.client.connection import Connection


@pytest.fixture
def db(tmp_path: Path) -> Connection:
    """Make a table of three syncs and an insert, with an input that failed."""
    (tmp_path / "lake/in").mkdir(parents=True)
    connection = sdb.connect(tmp_path / "lake")
    connection.create("d.t", "file://in/*.json")
    for number in range(3):
        (tmp_path / f"lake/in/{number}.json").write_text(json.dumps({"n": number}))
        (tmp_path / "lake/in/bad.json").write_text("{")
        connection.sync("d.t")
    connection.append("d.t", [{"n": 9}])
    return connection


def numbers(db: Connection, name: str) -> list[int]:
    return sorted(db.table(name).to_arrow()["n"].to_pylist())


def test_a_fork_is_a_table_of_its_own(db: Connection) -> None:
    done = db.table("d.t").fork("e.f", message="try")
    assert (done.version, done.packfiles, done.sent, done.is_new) == (1, 4, 4, True)
    fork = db.table("e.f")
    assert numbers(db, "e.f") == [0, 1, 2, 9]
    assert [entry.message for entry in fork.log()] == ["try"]
    assert fork.validate().ok
    mine, theirs = fork.handle.state, db.table("d.t").handle.state
    assert mine is not None
    assert theirs is not None
    assert mine.table != theirs.table
    states = [(entry.path, entry.state.value, entry.reason) for entry in fork.inputs()]
    assert states == [
        (entry.path, entry.state.value, entry.reason) for entry in db.table("d.t").inputs()
    ]
    assert fork.sync().rows == 0
    db.append("d.t", [{"n": 10}])
    fork.append([{"n": 11}])
    assert numbers(db, "e.f") == [0, 1, 2, 9, 11]
    assert numbers(db, "d.t") == [0, 1, 2, 9, 10]
    with pytest.raises(errors.ExistsError):
        db.table("d.t").fork("e.f")


def test_a_fork_of_a_version(db: Connection) -> None:
    db.table("d.t@2").fork("d.old")
    assert numbers(db, "d.old") == [0, 1]
    assert db.table("d.old").sync().rows == 1
    assert next(iter(db.table("d.old@1").log())).message == "fork of d.t@2"


def test_a_fork_that_was_broken_off_goes_on(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = LocalStore.create_from_prefix
    count = 0

    def grow(*value: object, **named: object) -> object:
        nonlocal count
        count += 1
        if count == 3:
            raise errors.AccessError("no more")
        return good(*value, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(LocalStore, "create_from_prefix", grow)
    with pytest.raises(errors.AccessError):
        db.table("d.t").fork("d.f")
    with pytest.raises(errors.NotFoundError):
        db.table("d.f")
    done = db.table("d.t").fork("d.f")
    assert 1 <= done.sent < done.packfiles
    assert numbers(db, "d.f") == [0, 1, 2, 9]


def test_a_push_sends_what_is_not_there(db: Connection, tmp_path: Path) -> None:
    target = sdb.connect(tmp_path / "copy")
    first = db.table("d.t@2").push(tmp_path / "copy")
    assert (first.version, first.sent, first.is_new) == (1, 2, True)
    second = db.table("d.t").push(tmp_path / "copy", message="all")
    assert (second.version, second.sent, second.packfiles) == (2, 2, 4)
    assert numbers(target, "d.t") == [0, 1, 2, 9]
    assert target.table("d.t").validate().ok
    again = db.table("d.t").push(tmp_path / "copy")
    assert (again.version, again.sent, again.is_new) == (2, 0, False)
    assert [entry.path for entry in target.table("d.t").inputs()] == [
        entry.path for entry in db.table("d.t").inputs()
    ]
    # What went here goes there, and comes back without being sent.
    db.restore("d.t", 1)
    assert db.table("d.t").push(tmp_path / "copy").sent == 0
    assert numbers(target, "d.t") == [0]
    taken = [entry.path for entry in target.table("d.t").inputs() if entry.state.value == "taken"]
    assert taken == ["file://in/0.json"]
    db.restore("d.t", "-1")
    assert db.table("d.t").push(tmp_path / "copy").sent == 0
    assert numbers(target, "d.t") == [0, 1, 2, 9]


def test_a_push_takes_nothing_away_from_others(db: Connection, tmp_path: Path) -> None:
    target = sdb.connect(tmp_path / "copy")
    db.table("d.t").push(tmp_path / "copy")
    target.append("d.t", [{"n": 77}])
    before = (tmp_path / "copy" / TableKeys("d", "t").index).read_bytes()
    db.append("d.t", [{"n": 78}])
    with pytest.raises(errors.ConflictError, match="1 packfile that") as raised:
        db.table("d.t").push(tmp_path / "copy")
    assert raised.value.exit_code == 5
    assert (tmp_path / "copy" / TableKeys("d", "t").index).read_bytes() == before
    other = db.table("d.t").push(tmp_path / "copy", name="d.other")
    assert (other.name, other.version) == ("d.other", 1)
    assert numbers(target, "d.other") == [0, 1, 2, 9, 78]
    assert table_root(tmp_path / "copy").tables("d") == ["other", "t"]


CTAS = "CREATE TABLE d.f AS SELECT n + 100 AS n FROM d.t"


@pytest.mark.parametrize("share", [False, True])
def test_a_fork_that_loses_leaves_nothing_of_its_own(
    share: bool, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = tablefork.commit

    def commit(*value: Any, **named: Any) -> Any:
        monkeypatch.setattr(tablefork, "commit", good)
        db.execute(CTAS)
        return good(*value, **named)

    monkeypatch.setattr(tablefork, "commit", commit)
    with pytest.raises(errors.ExistsError, match=r"the table d\.f exists"):
        db.table("d.t").fork("d.f", share=share)
    assert numbers(db, "d.f") == [100, 101, 102, 109]
    with pytest.raises(errors.NotFoundError, match="no definition"):
        read_definition(db.root, TableKeys("d", "f"))


@pytest.mark.parametrize("action", ["fork", "push"])
def test_a_transfer_that_was_killed_is_in_nobodys_way(
    action: str, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def commit(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    table = db.table("d.t")
    work = {
        "fork": lambda: table.fork("d.f"),
        "push": lambda: table.push(db.root.location, name="d.f"),
    }[action]
    with monkeypatch.context() as patch:
        patch.setattr(tablefork, "commit", commit)
        with pytest.raises(KeyboardInterrupt):
            work()
    db.execute(CTAS)
    assert numbers(db, "d.f") == [100, 101, 102, 109]


def test_a_fork_needs_a_name_that_nobody_has_defined(db: Connection) -> None:
    db.create("d.f", "file://other/*.json")
    with pytest.raises(errors.ExistsError, match=r"the table d\.f exists") as caught:
        db.table("d.t").fork("d.f")
    assert "it has a definition" in str(caught.value.hint)
    assert db.table("d.t").fork("d.g").version == 1
    mine, theirs = (read_definition(db.root, TableKeys("d", name)) for name in ("g", "t"))
    assert mine == theirs
