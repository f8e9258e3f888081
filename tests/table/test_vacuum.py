"""VACUUM, tables that were dropped, and what statements tell: who did it, and how far they are."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb import errors, notes
from sdb.records import replace
from sdb.table.catalog.handle import open_table
from sdb.table.definition.create import create_table, definition_of
from sdb.table.definition.definition import VersionPolicy
from sdb.table.format.versionref import ExpiredError

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.client.connection import Connection

DAY_SECONDS = 86_400


@pytest.fixture
def db(tmp_path: Path) -> Connection:
    """Make a table that keeps two versions, and has four."""
    connection = sdb.connect(tmp_path / "lake")
    inputs = definition_of(["in/*.json"])
    create_table(connection.root, "d", "t", replace(inputs, versions=VersionPolicy(keep_last=2)))
    connection.append("d.t", [{"n": n} for n in range(10)])
    connection.execute("DELETE FROM d.t WHERE n = 3")
    connection.execute("DELETE FROM d.t WHERE n = 4")
    connection.append("d.t", [{"n": 77}])
    return connection


def age(root: Path, days: float = 3) -> None:
    """Make all objects some days old."""
    for path in root.rglob("*"):
        if path.is_file():
            at = path.stat().st_mtime - days * DAY_SECONDS
            os.utime(path, (at, at))


def numbers(db: Connection, name: str = "d.t") -> list[int]:
    with db.sql(f"SELECT n FROM {name}") as result:
        return sorted(row["n"] for row in result)


def test_vacuum_expires_by_policy_and_collects(db: Connection, tmp_path: Path) -> None:
    before = numbers(db)
    dry = db.execute("VACUUM d.t DRY RUN")[0]
    assert dry.is_dry
    assert dry.effects[0].as_dict() | {"objects": 0} == {
        "operation": "vacuum",
        "table": "d.t",
        "versions_expired": 2,
        "versions_kept": 2,
        "objects_deleted": 0,
        "objects": 0,
        "deleted_bytes": 0,
    }
    assert open_table(db.root, "d", "t").state.version == 4  # type: ignore[union-attr]
    done = db.execute("VACUUM d.t", author="me", message="tidy")[0]
    assert (done.version, done.is_new) == (5, True)
    newest = next(iter(db.table("d.t").log()))
    assert (newest.operation, newest.author, newest.message) == ("expire", "me", "tidy")
    with pytest.raises(ExpiredError):
        db.table("d.t@1")
    # What expired could be read until now; a later one deletes it, as EXPLAIN tells.
    age(tmp_path / "lake")
    reported = db.execute("EXPLAIN VACUUM d.t")[0].effects[0].as_dict()
    gone = db.execute("VACUUM d.t", author="me")[0].effects[0].as_dict()
    assert reported == gone
    assert gone["versions_expired"] == 0
    assert isinstance(gone["deleted_bytes"], int)
    assert gone["deleted_bytes"] > 0
    assert next(iter(db.table("d.t").log())).author == "me"
    assert numbers(db) == before
    assert db.table("d.t").validate().ok


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("VACUUM d.none", errors.NotFoundError, "there is no table"),
        ("VACUUM d.free", errors.UsageError, "no policy says which versions"),
        ("VACUUM d.t DRY", errors.QueryError, "RUN"),
        ("VACUUM d.t@audit", errors.UnsupportedError, "is a branch"),
        ("BEGIN; VACUUM d.t; TRUNCATE d.t; COMMIT", errors.UnsupportedError, "only statement"),
        ("VACUUM", errors.QueryError, "ends too early"),
    ],
)
def test_what_vacuum_refuses(text: str, kind: type[Exception], said: str, db: Connection) -> None:
    db.execute("CREATE TABLE d.free")
    db.table("d.t").branch("audit")
    before = open_table(db.root, "d", "t").data
    with pytest.raises(kind, match=said):
        db.execute(text)
    assert open_table(db.root, "d", "t").data == before
    with pytest.raises(errors.QueryError) as caught:
        db.sql("VACUUM d.t")
    assert "sdb exec" in str(caught.value.hint)


def test_a_dropped_table_stays_dropped_when_it_is_tidied(db: Connection, tmp_path: Path) -> None:
    before = numbers(db)
    dropped = db.execute("DROP TABLE d.t")[0].version
    for _ in range(3):
        age(tmp_path / "lake")
        db.execute("VACUUM d.t")
        assert db.tables() == []
        with pytest.raises(errors.NotFoundError, match="was dropped"):
            numbers(db)
    state = open_table(db.root, "d", "t").state
    assert state is not None
    assert (state.dropped, state.version > dropped) == (True, True)
    assert numbers(db, f"d.t@{dropped - 1}") == before
    db.execute("UNDROP TABLE d.t", author="me")
    assert numbers(db) == before
    assert next(iter(db.table("d.t").log())).author == "me"
    assert db.table("d.t").validate().ok


def test_each_statement_tells_who_did_it(db: Connection) -> None:
    for text in [
        "CREATE TABLE d.u",
        "INSERT INTO d.u VALUES ({'n': 1}), ({'n': 2})",
        "UPDATE d.u SET m = 1 WHERE n = 1",
        "BEGIN; DELETE FROM d.u WHERE n = 1; INSERT INTO d.u VALUES ({'n': 3}); COMMIT",
        "MERGE INTO d.u AS u USING d.t AS t ON u.n = t.n WHEN MATCHED THEN DELETE",
        "TRUNCATE d.u",
        "DROP TABLE d.u",
        "UNDROP TABLE d.u",
    ]:
        db.execute(text, author="me")
    assert {version.author for version in db.table("d.u").log()} == {"me"}
    with db.transaction(author="you") as tx:
        tx.execute("INSERT INTO d.u VALUES ({'n': 9})")
    assert next(iter(db.table("d.u").log())).author == "you"


def test_progress_is_told_of_rows_and_blocks(db: Connection) -> None:
    reports: list[tuple[int, int | None]] = []
    followed = []

    def progress(done: int, total: int | None) -> None:
        reports.append((done, total))

    class Follow:
        def __init__(self, result: object) -> None:
            followed.append(result)

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    db.execute("UPDATE d.t SET m = n WHERE n > 1", progress=progress, follow=Follow)
    handle = open_table(db.root, "d", "t").at(-1)
    total = sum(descriptor.trailer.offset for descriptor in handle.descriptors())
    assert reports[-1] == (total, total)
    assert len(followed) == 3  # one finds the rows, and one for each packfile their values
    reports.clear()
    db.execute("INSERT INTO d.t SELECT n FROM d.t", progress=progress)
    assert reports[-1][0] > 0


def test_names_that_no_row_has_are_told_of_wide_rows(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index has no types of packfiles with many fields: their own trailers are asked."""
    dice = random.Random(1)
    wide = {f"f{dice.randbytes(8).hex()}": number for number in range(300)}
    db.execute("CREATE TABLE d.wide")
    for _ in range(2):
        db.append("d.wide", [{"actor": {"login": "x"}, **wide}])
    (first, _) = open_table(db.root, "d", "wide").descriptors()
    assert not first.trailer.sparse.summary.types  # type: ignore[union-attr]
    heard: list[str] = []
    monkeypatch.setattr(notes, "warn", heard.append)
    db.execute("UPDATE d.wide SET z = 1 WHERE actr.login = 'y'")
    assert len(heard) == 1
    assert "has actr.login; did you mean actor.login?" in heard[0]
    with pytest.raises(errors.UsageError, match="actr"):
        db.sql("SELECT actr.login FROM d.wide", strict=True)
    with db.sql(f"SELECT actor.login, {list(wide)[7]} AS f FROM d.wide") as result:
        assert len(list(result)) == 2
    assert len(heard) == 1


def test_the_default_policy_is_that_of_new_tables(tmp_path: Path) -> None:
    db = sdb.connect(tmp_path / "lake")
    db.create("d.t", "file://in/*.json")
    db.append("d.t", [{"n": 1}])
    assert db.execute("VACUUM d.t")[0].effects[0].as_dict()["versions_kept"] == 1


def test_a_database_comes_with_its_first_table_and_is_vacuumed_table_by_table(
    db: Connection,
) -> None:
    (made,) = db.execute("CREATE SCHEMA IF NOT EXISTS e")
    assert not made.is_new
    with pytest.raises(errors.NotFoundError, match="there is no table in e"):
        db.execute("VACUUM DATABASE e")
    inputs = definition_of(["in/*.json"])
    create_table(db.root, "d", "u", replace(inputs, versions=VersionPolicy(keep_last=2)))
    db.append("d.u", [{"n": 1}])
    db.execute("CREATE TABLE d.gone; DROP TABLE d.gone")
    assert [each.table for each in db.execute("VACUUM DATABASE d")] == ["d.t", "d.u"]
    with pytest.raises(errors.UnsupportedError, match="only statement of its transaction"):
        db.execute("BEGIN; CREATE SCHEMA e; DELETE FROM d.t; COMMIT")
    assert numbers(db)


def test_a_database_with_a_table_without_policy_is_vacuumed_all_the_same(db: Connection) -> None:
    inputs = definition_of(["in/*.json"])
    db.execute("CREATE TABLE d.a")
    create_table(db.root, "d", "u", replace(inputs, versions=VersionPolicy(keep_last=2)))
    for number in range(4):
        db.append("d.a", [{"n": number}])
        db.append("d.u", [{"n": number}])
    with pytest.raises(errors.UsageError, match="no policy says"):
        db.execute("VACUUM d.a")
    with pytest.warns(errors.SdbWarning, match=r"d\.a has no policy of versions: all are kept"):
        done = db.execute("VACUUM DATABASE d")
    expired = {each.table: each.effects[0].as_dict()["versions_expired"] for each in done}
    assert expired["d.a"] == 0
    assert expired["d.u"] > 0
