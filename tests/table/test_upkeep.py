"""Upkeep of tables: what is done by which policy, and what is left alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import ConflictError, NotFoundError
from sdb.records import replace
from sdb.store.faults import Fault
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import table_root
from sdb.table.format.keys import TableKeys
from sdb.table.upkeep import lock
from sdb.table.upkeep.actions import Action, Request
from sdb.table.upkeep.budget import Budget
from sdb.table.upkeep.lock import LockState, UpkeepLock, read_lock
from sdb.table.upkeep.maintain import Maintainer, TableChoice, maintainer
from sdb.table.upkeep.steps import TableUpkeep
from tests.table.roots import unpacked
from tests.table.test_collector import KEYS, Days

if TYPE_CHECKING:
    from sdb.client.connection import Connection
    from sdb.table.feed.events import Trouble

DAY = timedelta(days=1)


@pytest.fixture
def days() -> Days:
    return Days()


@pytest.fixture
def db(tmp_path: Path) -> Connection:
    """A table of nine small packfiles."""
    connection = sdb.connect(tmp_path)
    connection.create("d.t", "in/*.json")
    for number in range(9):
        connection.append("d.t", [{"n": number}])
    return connection


def define(db: Connection, **members: object) -> None:
    path = Path(db.root.location) / "db/d/t/definition.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | members))


def done(db: Connection, **options: Any) -> list[str]:
    return [action.action for action in db.maintain("d.t", **options).actions]


def files(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def numbers(db: Connection) -> list[int]:
    listed: list[int] = db.table("d.t").to_arrow()["n"].to_pylist()
    return sorted(listed)


def test_a_table_is_kept_small(db: Connection, tmp_path: Path) -> None:
    define(db, versions={"keep_last": 2}, upkeep={"grace": "0s"})
    before = files(tmp_path)
    foreseen = db.maintain(dry_run=True)
    assert [action.action for action in foreseen.actions] == ["compact", "expire"]
    assert files(tmp_path) == before
    actions = db.maintain(author="ann").actions
    assert [action.action for action in actions] == ["compact", "expire"]
    assert actions[0].text.startswith("9 packfiles, ")
    assert numbers(db) == list(range(9))
    logged = [(entry.operation, entry.author, entry.message) for entry in db.table("d.t").log()]
    assert logged[:2] == [(name, "ann", "sdb maintain") for name in ("expire", "compact")]
    for path in tmp_path.rglob("*"):
        os.utime(path, (1e9, 1e9))
    assert "collect" in done(db)
    left = [int(path.name[:20]) for path in (tmp_path / "db/d/t/versions").iterdir()]
    assert sorted(left) == [9, 10, 11, 12]  # the newest two, the expiry and the collection
    assert done(db) == []
    assert db.table("d.t").validate().ok


@pytest.mark.parametrize(("flag", "step"), [("compact", "compact"), ("expire", "expire")])
def test_what_the_definition_forbids_is_not_done(db: Connection, flag: str, step: str) -> None:
    define(db, versions={"keep_last": 2}, upkeep={flag: False})
    assert step not in done(db)


def test_inputs_are_taken_where_that_is_asked_for(db: Connection, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.json").write_text('{"n": 100}\n')
    assert "sync" not in done(db)
    define(db, upkeep={"sync": True})
    assert "sync" in done(db)
    assert numbers(db)[-1] == 100


def changing(db: Connection, tmp_path: Path, policy: str) -> Path:
    """Make a table of which one input changes after it was taken, and old versions may expire."""
    (tmp_path / "in").mkdir()
    path = tmp_path / "in/a.json"
    path.write_text('{"n": 100}\n')
    db.sync("d.t")
    upkeep = {"sync": True, "compact": False} | ({"changed": policy} if policy else {})
    define(db, upkeep=upkeep, versions={"keep_last": 2})
    path.write_text('{"n": 101}\n')
    return path


@pytest.mark.parametrize(("policy", "left"), [("", 100), ("keep", 100), ("replace", 101)])
def test_inputs_that_have_changed_are_taken_as_the_definition_says(
    db: Connection, tmp_path: Path, policy: str, left: int
) -> None:
    changing(db, tmp_path, policy)
    (status,) = db.status("d.t")
    assert status.facts["inputs_changed"] == 1
    by_action = {need.action: need.command for need in status.needs}
    expected = {"": "sdb sync --changed replace d.t", "replace": "sdb sync d.t"}
    assert by_action.get("changed") == expected.get(policy)
    assert any("in/a.json" in line for line in (*status.notes, *(n.text for n in status.needs)))
    heard: list[Action] = []
    done(db, tell=heard.append)
    assert numbers(db)[-1] == left
    notes = [action.text for action in heard if action.action == "note"]
    assert any("in/a.json" in text for text in notes) == (left == 100)
    assert db.status("d.t")[0].facts["inputs_changed"] == int(left == 100)


def test_a_sync_goes_by_the_definition_where_it_is_not_told(db: Connection, tmp_path: Path) -> None:
    path = changing(db, tmp_path, "replace")
    assert db.sync("d.t", changed="keep").changed == ("file://in/a.json",)
    assert db.sync("d.t").replaced == ("file://in/a.json",)
    assert path.exists()


def test_an_input_that_must_not_change_fails_the_table_and_no_other_step(
    db: Connection, tmp_path: Path
) -> None:
    changing(db, tmp_path, "fail")
    with pytest.raises(ConflictError, match=r"in/a.json changed after it was taken"):
        db.maintain("d.t")
    assert next(iter(db.table("d.t").log())).operation == "expire"
    with pytest.raises(ConflictError):
        db.sync("d.t")
    assert not db.sync("d.t", changed="keep").replaced
    (status,) = db.status("d.t")
    assert "upkeep.changed is fail" in next(n.text for n in status.needs if n.action == "changed")


def test_without_a_policy_much_is_kept_and_said(db: Connection, tmp_path: Path) -> None:
    (tmp_path / "db/d/t/definition.json").unlink()
    heard: list[Action] = []
    assert done(db, tell=heard.append) == ["compact"]
    notes = [action.text for action in heard if action.action == "note"]
    assert "no policy of versions" in notes[0]
    assert "keep_last 100, keep_for 30d, thin 1h:all,1d:1m,30d:1h" in notes[0]
    assert db.table("d.t@1").to_arrow()["n"].to_pylist() == [0]


@pytest.mark.usefixtures("vectors")
def test_tables_of_the_original_alone_are_left_alone(tmp_path: Path) -> None:
    root = table_root(unpacked("07-indirect-3", tmp_path))
    before = files(tmp_path)
    heard: list[Action] = []
    Maintainer(root, TableChoice(), Request(heard.append, Budget()), print).round()
    assert {action.action for action in heard} == {"note"}
    assert "only other programs have written it" in heard[0].text
    assert files(tmp_path) == before


def retired(db: Connection) -> list[int]:
    """Maintain a table of old rows, of young ones, and of both in one packfile."""
    now = datetime.now(UTC)
    define(db, retention_policy={"field": "at", "valid_for": "2d"}, upkeep={"compact": False})
    for first, second in ((10, 20), (30, 0), (1, 0)):
        rows = [{"n": 100 + age, "at": now - age * DAY} for age in (first, second)]
        db.append("d.t", rows)
    db.maintain()
    return [number for number in numbers(db) if number >= 100]


def test_retention_takes_rows_by_their_own_time(db: Connection) -> None:
    assert retired(db) == [100, 100, 101]


def test_compaction_needs_room(db: Connection) -> None:
    define(db, versions={"keep_last": 2})
    heard: list[Action] = []
    assert done(db, min_free_bytes=1 << 60, tell=heard.append) == ["expire"]
    notes = [action.text for action in heard if action.action == "note"]
    assert "wait to be merged" in notes[0]


def test_who_is_told_to_stop_leaves_the_table_whole(db: Connection) -> None:
    stop = Event()

    def merge(*parts: Any, progress: Any, **_: Any) -> Any:
        stop.set()
        progress(1, 2)
        raise AssertionError(parts)

    request = Request(print, Budget(None, 0, stop), merge=merge)
    upkeep = maintainer(db.root, TableChoice("d"), request, print)
    assert upkeep.round().actions == ()
    assert numbers(db) == list(range(9))
    seen = read_lock(db.root, KEYS)
    assert seen is not None
    assert not seen[0].holder
    assert done(db) == ["compact"]


def test_one_program_works_at_a_time(days: Days) -> None:
    days.insert("a")
    first, second, third = (UpkeepLock(days.root, KEYS, days.env) for _ in range(3))
    assert first.take()
    assert not second.take()
    assert second.held_by is not None
    assert second.held_by.pid == os.getpid()
    days.pass_days(1)  # the first one has not renewed its lock
    assert second.take()
    first.renew()
    first.release()
    assert not third.take()  # a lock that was taken over is not that of the first any more
    second.collected()
    second.release()
    assert third.take()
    assert third.state.collected_us == days.now_us


def test_the_lock_of_a_dead_program_of_this_machine_is_taken_at_once(days: Days) -> None:
    days.insert("a")
    with subprocess.Popen([sys.executable, "-c", "pass"]) as process:
        process.wait()
    state = LockState("X", os.uname().nodename, process.pid, days.now_us)
    with days.store.create(days.root.place(KEYS.upkeep)) as file:
        file.write(state.encode())
    assert UpkeepLock(days.root, KEYS, days.env).take()


@pytest.mark.parametrize("data", [b"", b"nonsense", b'{"holder": 3}', b"[]"])
def test_a_damaged_lock_is_nobodys(days: Days, data: bytes) -> None:
    days.insert("a")
    with days.store.create(days.root.place(KEYS.upkeep)) as file:
        file.write(data)
    assert UpkeepLock(days.root, KEYS, days.env).take()


def without_compaction(days: Days) -> None:
    with days.store.create(days.root.place(KEYS.definition)) as file:
        file.write(b'{"upkeep": {"compact": false}}')


def test_outages_are_told_and_tried_again_later(days: Days) -> None:
    without_compaction(days)
    seconds = 0.0
    env = replace(days.env, elapsed=lambda: seconds, uniform=max)
    for number in range(9):
        days.insert(f"r{number}")
    trouble: list[Trouble] = []
    request = Request(print, Budget(), is_once=False, interval_seconds=60, env=env)
    upkeep = Maintainer(days.root, TableChoice("d"), request, trouble.append)
    assert not upkeep.round().failures
    for expected in (120.0, 240.0, 300.0):
        days.fault = ("open", "/index", Fault.REFUSED)
        (failure,) = upkeep.round().failures
        assert failure.message.startswith("d.t: ")
        assert not upkeep.round().failures  # it is not its turn
        seconds += expected
    assert not upkeep.round().failures
    assert [event.error is None for event in trouble] == [False, True]


def test_names_of_tables(db: Connection) -> None:
    db.create("d.other", "in/*.json")
    assert TableChoice("d", "o*").tables(db.root) == [TableKeys("d", "other")]
    assert len(TableChoice().tables(db.root)) == 2
    with pytest.raises(NotFoundError, match=r"no table d.tt"):
        db.maintain("d.tt")
    assert [action.table for action in db.table("d.t").maintain().actions] == ["d.t"]


def test_versions_go_in_batches(days: Days) -> None:
    """While rows come in, the history is not written again for each version that may go."""
    from sdb.table.upkeep import steps

    without_compaction(days)
    seconds = 0.0
    env = replace(days.env, elapsed=lambda: seconds)
    request = Request(print, Budget(), is_once=False, interval_seconds=60, env=env)
    upkeep = TableUpkeep(days.root, KEYS, request)
    made = 0
    for number in range(200):
        days.insert(f"r{number}")
        days.now_us += 61_000_000 if number % 2 else 1_000_000
        seconds += 61.0
        made += sum(action.action == "expire" for action in upkeep.round())
    assert 0 < made < 100 / steps.EXPIRY_BATCH + 200 * 61 / 900
    assert lock.STALE_SECONDS < 3600
    assert open_table(days.root, "d", "t").state is not None
