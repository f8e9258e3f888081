"""Forks that share packfiles: who keeps them for whom, and until when."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import errors
from sdb.cli import main
from sdb.table.catalog.handle import open_table
from sdb.table.history import setrefs
from tests.table.made import craft

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.client.connection import Connection

DAY_SECONDS = 86_400


@pytest.fixture
def db(tmp_path: Path) -> Connection:
    connection = sdb.connect(tmp_path / "lake")
    connection.execute("CREATE TABLE d.t")
    for number in range(3):
        connection.append("d.t", [{"n": number}, {"n": number + 10}])
    return connection


def numbers(db: Connection, name: str) -> list[int]:
    with db.sql(f"SELECT n FROM {name}") as result:
        return sorted(row["n"] for row in result)


def holds(db: Connection, table: str = "d.t") -> list[str]:
    return [ref.name for ref in db.table(table).refs() if ref.name.startswith("fork-")]


def tidy(db: Connection, tmp_path: Path, *tables: str) -> None:
    """Advance by days, expire all old versions, and collect; several times."""
    for _ in range(3):
        for path in (tmp_path / "lake").rglob("*"):
            if path.is_file():
                at = path.stat().st_mtime - 3 * DAY_SECONDS
                os.utime(path, (at, at))
        for name in tables:
            db.table(name).expire(all_but_head=True)
            db.table(name).gc(grace=0)


def packfiles(tmp_path: Path, table: str) -> int:
    return len(list((tmp_path / "lake/db/d" / table).rglob("*.zion")))


def test_a_fork_shares_packfiles_until_it_does_not_need_them(
    db: Connection, tmp_path: Path
) -> None:
    done = db.table("d.t").fork("d.f", share=True)
    assert (done.packfiles, done.sent, done.is_new) == (3, 0, True)
    assert packfiles(tmp_path, "f") == 0
    (hold,) = holds(db)
    before = numbers(db, "d.t")
    db.execute("TRUNCATE d.t")
    tidy(db, tmp_path, "d.t", "d.f")
    assert (numbers(db, "d.f"), numbers(db, "d.t")) == (before, [])
    assert db.table("d.f").validate().ok
    # What is written is its own.
    db.execute("UPDATE d.f SET n = n + 100 WHERE n = 1")
    db.append("d.f", [{"n": 7}])
    assert numbers(db, "d.f") == [0, 2, 7, 10, 11, 12, 101]
    assert packfiles(tmp_path, "f") == 2
    assert holds(db) == [hold]
    with pytest.raises(errors.ConflictError, match=r"for d\.f, which shares them"):
        db.table("d.t").delete_branch(hold)
    db.execute("DELETE FROM d.f WHERE n < 100")
    assert holds(db) == [hold]
    tidy(db, tmp_path, "d.f")
    assert holds(db) == []
    tidy(db, tmp_path, "d.t")
    assert packfiles(tmp_path, "t") == 0
    assert numbers(db, "d.f") == [101]


def test_a_fork_that_was_dropped_lets_go_when_it_has_expired(
    db: Connection, tmp_path: Path
) -> None:
    db.table("d.t@2").fork("d.f", share=True)
    with pytest.raises(errors.UnsupportedError, match=r"has branches: fork-d\.f-"):
        db.execute("DROP TABLE d.t")
    db.execute("DROP TABLE d.f")
    db.execute("UNDROP TABLE d.f")
    assert numbers(db, "d.f") == [0, 10]
    db.execute("DROP TABLE d.f")
    tidy(db, tmp_path, "d.f")
    assert holds(db) == []
    db.execute("DROP TABLE d.t")
    assert db.tables() == []


def test_a_fork_whose_folder_is_gone(db: Connection, tmp_path: Path) -> None:
    db.table("d.t").fork("d.f", share=True)
    shutil.rmtree(tmp_path / "lake/db/d/f")
    tidy(db, tmp_path, "d.t")
    (hold,) = holds(db)
    db.table("d.t").delete_branch(hold)
    assert holds(db) == []


def test_a_fork_of_a_fork(db: Connection, tmp_path: Path) -> None:
    db.table("d.t").fork("d.f", share=True)
    db.append("d.f", [{"n": 50}])
    wanted = numbers(db, "d.f")
    db.table("d.f").fork("d.g", share=True)
    assert (len(holds(db)), len(holds(db, "d.f"))) == (2, 1)
    for table in ("d.t", "d.f"):
        db.execute(f"TRUNCATE {table}")
    tidy(db, tmp_path, "d.f", "d.t", "d.g")
    assert len(holds(db)) == 2  # what d.f keeps for d.g is d.t's
    assert numbers(db, "d.g") == wanted
    # One that copies needs nobody.
    copied = db.table("d.g").fork("d.h")
    assert (copied.sent, packfiles(tmp_path, "h")) == (4, 4)
    db.execute("DROP TABLE d.g")
    tidy(db, tmp_path, "d.g", "d.f", "d.t")
    assert packfiles(tmp_path, "t") + packfiles(tmp_path, "f") == 0
    assert numbers(db, "d.h") == wanted
    assert db.table("d.h").validate().ok


def test_copies_of_a_fork(db: Connection, tmp_path: Path) -> None:
    db.table("d.t").fork("d.f", share=True)
    wanted = numbers(db, "d.f")
    db.table("d.f").push(tmp_path / "pushed")
    assert numbers(sdb.connect(tmp_path / "pushed"), "d.f") == wanted
    assert sdb.connect(tmp_path / "pushed").table("d.f").validate().ok
    shutil.copytree(tmp_path / "lake", tmp_path / "copy")
    assert numbers(sdb.connect(tmp_path / "copy"), "d.f") == wanted
    alone = tmp_path / "alone/db/d/f"
    shutil.copytree(tmp_path / "lake/db/d/f", alone)
    problems = sdb.connect(tmp_path / "alone").table("d.f").validate().findings
    assert [item.text for item in problems] == ["is missing"] * 3


def test_a_version_that_expires_while_it_is_forked(
    db: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The branch that is to keep it comes too late."""
    good = setrefs.put_new

    def late(*value: Any, **options: Any) -> str:
        monkeypatch.setattr(setrefs, "put_new", good)
        db.execute("TRUNCATE d.t")
        tidy(db, tmp_path, "d.t")
        return good(*value, **options)

    monkeypatch.setattr(setrefs, "put_new", late)
    with pytest.raises(errors.ConflictError, match="may have expired and been collected"):
        db.table("d.t").fork("d.f", share=True)
    with pytest.raises(errors.NotFoundError):
        db.table("d.f")


def test_a_fork_that_was_broken_off_is_made_again(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sdb.table.history import fork

    with monkeypatch.context() as patch:
        patch.setattr(fork, "commit", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            db.table("d.t").fork("d.f", share=True)
    assert len(holds(db)) == 1
    db.table("d.t").fork("d.f", share=True)
    assert len(holds(db)) == 1
    assert numbers(db, "d.f") == numbers(db, "d.t")


def test_a_hold_that_was_taken_away_meanwhile_is_told(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sdb.table.history import fork

    good = fork.commit

    def commit(*value: Any, **options: Any) -> Any:
        for name in holds(db):
            setrefs.delete_branch(db.root, "d", "t", name)
        return good(*value, **options)

    monkeypatch.setattr(fork, "commit", commit)
    with pytest.raises(errors.ConflictError, match="was deleted"):
        db.table("d.t").fork("d.f", share=True)


def test_packfiles_of_the_original_are_copied(tmp_path: Path) -> None:
    """Its collector deletes those of its names that one table does not need; the copies stay."""
    from tests.table.roots import unpacked

    root = unpacked("01-basic-1", tmp_path)
    db = sdb.connect(root)
    (table,) = [
        f"{descriptor}.{name}"
        for descriptor in db.root.databases()
        for name in db.root.tables(descriptor)
    ][:1]
    names = [descriptor.name for descriptor in db.table(table).handle.descriptors()]
    assert all(name.startswith("packed-") for name in names)
    done = db.table(table).fork("d.f", share=True)
    opened = open_table(db.root, "d", "f")
    assert done.sent == 0
    assert {descriptor.key.split("/")[3] for descriptor in opened.descriptors()} == {"data"}
    assert list(opened.state.shares) == [table]  # type: ignore[union-attr]


def test_a_branch_at_a_version_whose_parent_has_expired(db: Connection, tmp_path: Path) -> None:
    db.table("d.t").tag("old", 2)
    tidy(db, tmp_path, "d.t")
    db.table("d.t").branch("audit", "old")
    db.execute("TRUNCATE d.t")
    tidy(db, tmp_path, "d.t")
    db.append("d.t@audit", [{"n": 99}])
    tidy(db, tmp_path, "d.t")
    assert numbers(db, "d.t@audit") == [0, 10, 99]
    for name in ("d.t", "d.t@old", "d.t@audit", "d.t@audit@-1"):
        assert not db.table(name).validate().findings, name


def test_a_collector_leaves_branches_that_are_not_for_its_table(
    db: Connection, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever `shares` says: the branch itself tells whom it is for."""
    db.table("d.t").branch("audit")
    db.table("d.t").branch("fork-d.other-ABCDEFGH")
    db.table("d.t").branch("fork-d.evil-x-ABCDEFGH")
    db.table("d.t").fork("d.f", share=True)
    (hold,) = [ref for ref in holds(db) if ref.startswith("fork-d.f-")]
    state = open_table(db.root, "d", "t", branch=hold).state
    assert state is not None
    assert state.keeps_for == "d.f"
    before = sorted(ref.name for ref in db.table("d.t").refs())
    db.execute("CREATE TABLE d.evil")
    db.append("d.evil", [{"n": 1}])
    root = tmp_path / "lake"
    for name in ("audit", hold, "fork-d.other-ABCDEFGH", "fork-d.evil-x-ABCDEFGH", "main"):
        craft(root, "d.evil", shares={"d.t": name})
        assert main.run(["gc", "--root", str(root), "d.evil", "--grace", "0s"]) == 0
        err = capfd.readouterr().err
        assert f"the branch {name} of d.t, which keeps nothing for it" in err
        assert sorted(ref.name for ref in db.table("d.t").refs()) == before
    assert numbers(db, "d.t@audit") == numbers(db, "d.f")
    # A name that fits, of a branch that says that it is for another table.
    craft(root, "d.t", branch=hold, keeps_for="d.g")
    craft(root, "d.f", inline=())
    tidy(db, tmp_path, "d.f")
    assert hold in holds(db)


def test_branches_of_old_forks_are_known_by_their_names(db: Connection, tmp_path: Path) -> None:
    db.table("d.t").fork("d.f", share=True)
    (hold,) = holds(db)
    craft(tmp_path / "lake", "d.t", branch=hold, keeps_for="")
    db.execute("DROP TABLE d.f")
    tidy(db, tmp_path, "d.f")
    assert holds(db) == []


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("table", ["t", "", ".", "d.", ".t", "d/x.t", "..t", "d.\n"])
def test_a_name_without_a_dot_is_damage(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], table: str
) -> None:
    craft(tmp_path / "lake", "d.t", shares={table: "audit"})
    for words in (["gc", "--grace", "0s"], ["describe"], ["log"], ["validate"]):
        command, *more = words
        name = ["d", "t"] if command in {"describe", "validate"} else ["d.t"]
        code = main.run([command, "--root", str(tmp_path / "lake"), *name, *more])
        assert code == 6, capfd.readouterr().err
        assert "the name of a table" in capfd.readouterr().err


def test_a_fork_asks_no_other_table_to_keep_what_it_does_not_share(
    db: Connection, tmp_path: Path
) -> None:
    """A crafted `shares` makes no branch in another table either."""
    stolen = db.table("d.t").handle.index.inline
    db.execute("CREATE TABLE d.evil")
    db.append("d.evil", [{"n": 1}])
    db.table("d.t").branch("audit")
    before = sorted(ref.name for ref in db.table("d.t").refs())
    craft(tmp_path / "lake", "d.evil", shares={"d.t": "audit"}, inline=stolen)
    with pytest.raises(errors.CorruptError):
        db.table("d.evil").fork("d.g", share=True)
    assert sorted(ref.name for ref in db.table("d.t").refs()) == before
    with pytest.raises(errors.NotFoundError):
        db.table("d.g")
