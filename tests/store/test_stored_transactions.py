"""Transactions over several tables, in real programs that are stopped and killed."""

from __future__ import annotations

import base64
import os
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.store import url
from sdb.table.catalog.handle import find_head
from sdb.table.commit import coordinator
from sdb.table.definition.cache import read_definition
from sdb.table.format.keys import TableKeys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.client.connection import Connection
    from tests.store.conftest import Backend, Requests, S3Backend

GIVEN_UP_SECONDS = 0.5
LATE = """
import sys, time
import sdb
from sdb.table.commit import coordinator, twophase

commit = coordinator.PendingTransaction.commit

def late(*given):
    print("all tables have it", flush=True)
    time.sleep(float(sys.argv[2]))
    commit(*given)

coordinator.PendingTransaction.commit = late
(done,) = sdb.connect(sys.argv[1]).execute(
    "BEGIN; INSERT INTO a.t VALUES ({'id': 'late'}); "
    "INSERT INTO b.u VALUES ({'id': 'late'}); COMMIT"
)
print(done.versions, flush=True)
"""
MANY = """
import sys
import sdb
from sdb.table.commit import coordinator

coordinator.GIVE_UP_SECONDS = float(sys.argv[4])
db = sdb.connect(sys.argv[1])
for number in range(int(sys.argv[3])):
    name = f"{sys.argv[2]}-{number}"
    db.execute(
        "BEGIN; INSERT INTO a.t VALUES ({'id': $id}); INSERT INTO b.u VALUES ({'id': $id}); COMMIT",
        params={"id": name},
        txn_id=name,
    )
    print(name, flush=True)
"""


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())
    monkeypatch.setattr(coordinator, "GIVE_UP_SECONDS", GIVEN_UP_SECONDS)


@pytest.fixture
def db(backend: Backend) -> Connection:
    if backend.root.startswith("mem"):
        pytest.skip("one program's memory is no other's")
    url.store_of(backend.root).make_folder(backend.root)
    made = sdb.connect(backend.root)
    made.execute("CREATE TABLE a.t; CREATE TABLE b.u")
    return made


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    running: list[subprocess.Popen[str]] = []
    yield running
    for process in running:
        process.kill()
        with process:  # closes its pipes
            pass


def start(running: list[subprocess.Popen[str]], text: str, *value: object) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", text, *map(str, value)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    running.append(process)
    return process


def said(item: subprocess.Popen[str]) -> str:
    assert item.stdout is not None
    return item.stdout.readline().strip()


def ids(db: Connection) -> tuple[list[str], list[str]]:
    """Read both tables in one query."""
    text = "SELECT 't' AS n, id FROM a.t UNION ALL SELECT 'u' AS n, id FROM b.u"
    with db.sql(text) as actual:
        rows = list(actual)
    return tuple(sorted(row["id"] for row in rows if row["n"] == name) for name in "tu")  # type: ignore[return-value]


def test_who_is_killed_before_the_end_has_done_nothing(
    db: Connection, started: list[subprocess.Popen[str]]
) -> None:
    process = start(started, LATE, db.root.location, 60)
    assert said(process) == "all tables have it"
    assert ids(db) == ([], [])
    process.kill()
    process.wait()
    assert ids(db) == ([], [])
    keys = db.table("a.t").handle.keys
    head = find_head(db.root, keys)
    assert head is not None
    assert head.joint is not None
    began = time.monotonic()
    db.append("a.t", [{"id": "next"}])
    assert time.monotonic() - began >= GIVEN_UP_SECONDS
    assert ids(db) == (["next"], [])
    db.append("b.u", [{"id": "next"}])
    assert ids(db) == (["next"], ["next"])
    assert db.table("a.t").version == 2
    for name in ("a.t", "b.u"):
        assert not db.table(name).validate().findings


def test_who_is_stopped_for_long_begins_again(
    db: Connection, started: list[subprocess.Popen[str]]
) -> None:
    process = start(started, LATE, db.root.location, 0.3)
    assert said(process) == "all tables have it"
    process.send_signal(signal.SIGSTOP)
    db.append("a.t", [{"id": "next"}])  # which gives it up
    assert ids(db) == (["next"], [])
    process.send_signal(signal.SIGCONT)
    assert said(process) == "all tables have it"
    assert said(process) == "{'a.t': 3, 'b.u': 2}"
    assert process.wait() == 0
    assert ids(db) == (["late", "next"], ["late"])


def test_nobody_reads_one_table_with_and_another_without(
    db: Connection, started: list[subprocess.Popen[str]]
) -> None:
    writers = [start(started, MANY, db.root.location, name, 6, 10) for name in "xy"]
    reads = 0
    while any(writer.poll() is None for writer in writers):
        here, there = ids(db)
        assert here == there
        reads += 1
    assert [writer.returncode for writer in writers] == [0, 0], [
        writer.communicate()[1] for writer in writers
    ]
    assert reads > 1
    here, there = ids(db)
    assert here == there == sorted(f"{name}-{number}" for name in "xy" for number in range(6))


# The lock of a writer that was killed on S3 is taken over after three minutes.
@pytest.mark.parametrize(
    "backend",
    ["local", pytest.param("s3", marks=[pytest.mark.s3, pytest.mark.slow])],
    indirect=True,
)
@pytest.mark.timeout(1200)
def test_whoever_is_killed_at_any_moment(
    db: Connection, started: list[subprocess.Popen[str]]
) -> None:
    dice = random.Random(7)
    done: list[str] = []
    for round_ in range(3):
        process = start(started, MANY, db.root.location, round_, 1000, GIVEN_UP_SECONDS)
        done.append(said(process))
        time.sleep(dice.uniform(0, 0.3))
        process.kill()
        done += process.communicate()[0].split()
        here, there = ids(db)
        assert here == there
        assert set(done) <= set(here)
        assert len(here) - len(done) <= round_ + 1  # the last of each may be true unanswered
    for name in ("a.t", "b.u"):
        db.append(name, [{"id": "last"}])
        assert not db.table(name).validate().findings
        db.table(name).expire(keep_last=2)
        db.table(name).gc(grace=0)
    here, there = ids(db)
    assert here == there


def commanded(
    running: list[subprocess.Popen[str]], db: Connection, *words: str
) -> subprocess.Popen[str]:
    """Begin a command below the root of tables."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sdb.cli.main", *words, "--root", db.root.location],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    running.append(process)
    return process


@pytest.mark.parametrize("words", ["", "IF NOT EXISTS "])
def test_of_three_programs_that_make_a_table_one_wins(
    words: str, db: Connection, started: list[subprocess.Popen[str]]
) -> None:
    db.append("a.t", ({"id": number} for number in range(10)))
    for round_ in range(2):
        text = f"CREATE TABLE {words}a.made{round_} AS SELECT id FROM a.t"
        running = [commanded(started, db, "exec", text) for _ in range(3)]
        heard = [process.communicate() for process in running]
        codes = sorted(process.returncode for process in running)
        assert codes == ([0, 0, 0] if words else [0, 4, 4]), heard
        won = [out for out, _ in heard if "with 10 rows" in out]
        assert len(won) == 1, heard
        lost = [error for out, error in heard if out not in won]
        assert all("is there already" in error for error in lost), heard
        with db.sql(f"SELECT id FROM a.made{round_} ORDER BY id") as rows:
            assert [row["id"] for row in rows] == list(range(10))
        assert [process.version for process in db.table(f"a.made{round_}").log()] == [1]


def test_the_definition_is_that_of_the_one_who_wins(
    db: Connection, started: list[subprocess.Popen[str]]
) -> None:
    db.append("a.t", [{"id": 1}])
    above = f"{db.root.location}/" if db.root.store.is_remote else "file://"
    patterns = [f"{above}{name}/*.json" for name in "xy"]
    running = [
        commanded(started, db, "create", "a", "n", "--input", process) for process in patterns
    ]
    running.append(commanded(started, db, "exec", "CREATE TABLE a.n AS SELECT id FROM a.t"))
    heard = [process.communicate() for process in running]
    *defined, made = (process.returncode for process in running)
    assert sorted(defined) == [0, 4], heard
    (rule,) = read_definition(db.root, TableKeys("a", "n")).inputs
    assert rule.pattern == patterns[defined.index(0)]
    assert made in {0, 4}, heard
    there = find_head(db.root, TableKeys("a", "n"))
    assert (there is None) == (made == 4)
    assert there is None or [process.rows for process in there.descriptors()] == [1]


def test_queries_of_several_tables_take_no_request_more(
    bucket: S3Backend, requests: Requests
) -> None:
    made = sdb.connect(bucket.root)
    made.execute("CREATE TABLE a.t; CREATE TABLE b.u")
    made.execute(
        "BEGIN; INSERT INTO a.t VALUES ({'id': 1}); INSERT INTO b.u VALUES ({'id': 1}); COMMIT"
    )
    requests.clear()
    with made.sql("SELECT (SELECT COUNT(*) FROM a.t) AS t, COUNT(*) AS u FROM b.u") as rows:
        assert list(rows) == [{"t": 1, "u": 1}]
    assert (requests.count(), requests.count("GetObject")) == (4, 4)  # an index, and a packfile
