"""Transactions over several tables: what they do, and what is left of those that are not over."""

from __future__ import annotations

import base64
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import errors, retry
from sdb.records import replace
from sdb.spark.options.namedtable import LoadedTable, NamedTable
from sdb.statements import transaction
from sdb.table.catalog import intents, leases
from sdb.table.catalog.handle import find_head
from sdb.table.catalog.intents import ABORTED, COMMITTED, PENDING, TransactionIntent, find_intent
from sdb.table.commit import coordinator, twophase
from sdb.table.format.keys import TableKeys, head_of
from sdb.table.format.signature import Keyring
from sdb.table.history import setrefs
from sdb.table.maintenance.expire import policy_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.client.connection import Connection
    from sdb.statements.effects import Executed

T, U = TableKeys("a", "t"), TableKeys("b", "u")
BOTH = "BEGIN; INSERT INTO a.t VALUES ({'x': $x}); INSERT INTO b.u VALUES ({'x': $x}); COMMIT"


class StoppedError(BaseException):
    """The end of a program in the middle of a transaction."""


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())
    monkeypatch.setattr(coordinator, "GIVE_UP_SECONDS", 0.05)


@pytest.fixture
def db(tmp_path: Path) -> Connection:
    made = sdb.connect(tmp_path / "lake")
    made.execute("CREATE TABLE a.t; CREATE TABLE b.u")
    return made


def done(db: Connection, text: str, **options: Any) -> Executed:
    (actual,) = db.execute(text, **options)
    return actual


def rows(db: Connection, table: str) -> list[int]:
    with db.sql(f"SELECT x FROM {table} ORDER BY x") as answers:
        return [row["x"] for row in answers]


def intents_of(db: Connection, database: str = "a") -> list[str]:
    folder = f"db/{database}/{intents.FOLDER}"
    items = db.root.store.list(db.root.place(folder))
    return [f"{folder}/{item.name}" for item in items]


def step_of(db: Connection, key: str) -> str:
    pending = find_intent(db.root, key)
    assert pending is not None
    return pending.intent.step


def stopped(
    db: Connection, text: str, patch: Callable[[pytest.MonkeyPatch], None], **options: Any
) -> str:
    """Kill a program in the middle of a transaction, and return its intent."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        patch(monkeypatch)
        with pytest.raises(StoppedError):
            db.execute(text, **options)
    return intents_of(db)[-1]


def before_the_end(patch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise StoppedError

    patch.setattr(coordinator.PendingTransaction, "commit", stop)


def after_the_end(patch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise StoppedError

    patch.setattr(twophase, "_tidy", stop)


def test_all_tables_change_at_once(db: Connection) -> None:
    db.execute("INSERT INTO a.t VALUES ({'x': 1}), ({'x': 2}), ({'x': 3})")
    actual = done(
        db,
        "BEGIN; INSERT INTO b.u SELECT * FROM a.t WHERE x > 1; DELETE FROM a.t WHERE x > 1; "
        "CREATE TABLE b.n AS SELECT COUNT(*) AS x FROM b.u; UPDATE b.u SET x = x * 10; COMMIT",
        message="move",
    )
    assert actual.versions == {"a.t": 3, "b.n": 1, "b.u": 2}
    assert (actual.table, actual.version, actual.is_new) == ("a.t and b.n and b.u", 3, True)
    assert [item.rows_inserted + item.rows_deleted for item in actual.effects] == [2, 2, 1, 0]
    assert (rows(db, "a.t"), rows(db, "b.u"), rows(db, "b.n")) == ([1], [20, 30], [2])
    logged = [next(db.table(name).log()) for name in ("a.t", "b.u", "b.n")]
    assert {item.message for item in logged} == {"move"}
    assert len({item.at_us for item in logged}) == 1, "they come together at a time"
    for name in ("a.t", "b.u", "b.n"):
        assert not db.table(name).validate().findings
    (key,) = intents_of(db)
    assert step_of(db, key) == COMMITTED
    state = db.table("b.u").handle.state
    assert state is not None
    assert (state.transaction, state.together) == ("", {T.index: 3, "db/b/n/index": 1})


def test_an_error_changes_no_table(db: Connection) -> None:
    db.execute("INSERT INTO a.t VALUES ({'x': 1})")
    text = "BEGIN; TRUNCATE a.t; UPDATE b.u SET x.y = 1; INSERT INTO b.u VALUES (1); COMMIT"
    with pytest.raises(errors.QueryError):
        db.execute(text)
    with pytest.raises(errors.NotFoundError):
        db.execute("BEGIN; TRUNCATE a.t; TRUNCATE b.nothing; COMMIT")
    with pytest.raises(errors.UnsupportedError, match="only statement"):
        db.execute("BEGIN; INSERT INTO a.t VALUES ({'x': 1}); DROP TABLE b.u; COMMIT")
    assert rows(db, "a.t") == [1]
    assert intents_of(db) == []


def test_one_table_that_changes_needs_no_intent(db: Connection) -> None:
    actual = done(db, "BEGIN; INSERT INTO a.t VALUES ({'x': 1}); DELETE FROM b.u; COMMIT")
    assert (actual.versions, intents_of(db)) == ({"a.t": 2}, [])
    dry = done(db, BOTH, params={"x": 5}, dry_run=True)
    assert (dry.is_dry, rows(db, "a.t"), intents_of(db)) == (True, [1], [])


def test_the_same_id_twice_is_one_transaction(db: Connection) -> None:
    first = done(db, BOTH, params={"x": 1}, txn_id="job")
    again = done(db, BOTH, params={"x": 2}, txn_id="job")
    assert (first.is_new, again.is_new, again.commit) == (True, False, "job")
    assert first.versions == again.versions == {"a.t": 2, "b.u": 2}
    assert (rows(db, "a.t"), rows(db, "b.u")) == ([1], [1])


@pytest.mark.parametrize("name", ["a.t", "b.u"])
def test_who_writes_to_a_table_gives_up_what_nobody_goes_on_with(name: str, db: Connection) -> None:
    key = stopped(db, BOTH, before_the_end, params={"x": 1})
    assert step_of(db, key) == PENDING
    assert (rows(db, "a.t"), rows(db, "b.u")) == ([], [])
    assert [fact.rows for fact in db.tables()] == [0, 0]
    db.append(name, [{"x": 7}])
    assert step_of(db, key) == ABORTED
    assert sorted(rows(db, "a.t") + rows(db, "b.u")) == [7]
    assert db.table(name).version == 2
    other = "b.u" if name == "a.t" else "a.t"
    assert done(db, BOTH, params={"x": 8}).versions == {name: 3, other: 2}
    assert len(list(db.table(name).log())) == 3


def test_who_is_given_up_while_it_is_slow_begins_again(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = coordinator.PendingTransaction.commit
    waited = []

    def late(intent: Any, versions: Any) -> None:
        if not waited:
            waited.append(intent.key)
            db.append("b.u", [{"x": 7}])
        good(intent, versions)

    monkeypatch.setattr(coordinator.PendingTransaction, "commit", late)
    db.append("b.u", [{"x": 1}])
    actual = done(db, "BEGIN; INSERT INTO a.t SELECT * FROM b.u; DELETE FROM b.u; COMMIT")
    assert actual.versions == {"a.t": 2, "b.u": 4}
    assert (rows(db, "a.t"), rows(db, "b.u")) == ([1, 7], []), "statements are judged anew"
    assert step_of(db, waited[0]) == ABORTED


def test_a_transaction_that_is_alive_is_waited_for(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator, "GIVE_UP_SECONDS", 60)
    begun = coordinator.PendingTransaction(db.root, T, "A" * 26, [T.index], transaction.REAL)
    change = twophase.TablePart(T, lambda _: transaction.TableChange("insert"))
    twophase.commit(db.root, T, change.plan, commit_id="A" * 26, is_new=True, transaction=begun.key)
    with pytest.raises(errors.ConflictError, match="under way"):
        twophase.commit(db.root, T, transaction.TableChange("insert"), patience_seconds=0.2)
    monkeypatch.setattr(retry, "_patience", 0.1)
    with pytest.raises(errors.ConflictError, match="under way"):
        setrefs.tag(db.root, "a", "t", "v1")
    begun.commit({T.index: 2})
    setrefs.tag(db.root, "a", "t", "v1")
    assert db.table("a.t@v1").version == 2


def test_what_is_committed_counts_though_nobody_tidied_up(db: Connection) -> None:
    key = stopped(db, BOTH, after_the_end, params={"x": 1}, txn_id="job")
    assert step_of(db, key) == COMMITTED
    assert (rows(db, "a.t"), rows(db, "b.u")) == ([1], [1])
    assert not done(db, BOTH, params={"x": 1}, txn_id="job").is_new
    setrefs.branch(db.root, "a", "t", "side")
    setrefs.tag(db.root, "b", "u", "v2")
    head = find_head(db.root, T, "side")
    assert head is not None
    assert head.joint is None, "a branch has nothing to do with the transaction"
    assert rows(db, "a.t@side") == [1]
    db.append("b.u", [{"x": 2}])
    assert rows(db, "b.u@v2") == [1]
    assert rows(db, "b.u@2") == [1]
    state = db.table("b.u").handle.state
    assert state is not None
    assert state.together == {T.index: 2}


def test_a_table_that_was_not_made_is_none(db: Connection) -> None:
    text = "BEGIN; INSERT INTO a.t VALUES ({'x': 1}); CREATE TABLE a.n AS SELECT * FROM a.t; COMMIT"
    stopped(db, text, before_the_end)
    for _ in range(2):
        assert [fact.name for fact in db.tables()] == ["a.t", "b.u"]
        with pytest.raises(errors.NotFoundError):
            db.sql("SELECT * FROM a.n")
        with pytest.raises(errors.NotFoundError):
            db.append("a.n", [{"x": 1}])
        with pytest.raises(errors.NotFoundError):
            policy_of(db.root, TableKeys("a", "n"))
        db.append("a.t", [{"x": 7}])  # gives it up
        head = find_head(db.root, TableKeys("a", "n"))
        assert head is not None
        assert head.is_void
        assert head.joint is not None
        twophase.finalize_head(db.root, head.keys, "main", head.joint.state.transaction)
    assert done(db, "CREATE TABLE a.n AS SELECT * FROM a.t").version == 1
    assert rows(db, "a.n") == [7, 7]


def test_spark_makes_a_table_that_was_not_made(db: Connection) -> None:
    pytest.importorskip("pyspark")
    from sdb.spark.write.tablewriter import TableWriter

    stopped(
        db, "BEGIN; CREATE TABLE a.n; INSERT INTO a.t VALUES ({'x': 1}); COMMIT", before_the_end
    )
    writer = TableWriter(NamedTable(db.root.location, "a", "n"), {}, overwrite=False)
    writer.commit([])
    assert db.table("a.n").version == 1


def test_branches_of_several_tables(db: Connection) -> None:
    db.append("a.t", [{"x": 1}])
    setrefs.branch(db.root, "a", "t", "side")
    setrefs.branch(db.root, "b", "u", "side")
    actual = done(
        db,
        "BEGIN; INSERT INTO b.u@side SELECT * FROM a.t@side; DELETE FROM a.t@side; "
        "INSERT INTO a.t VALUES ({'x': 2}); COMMIT",
        txn_id="job",
    )
    assert actual.versions == {"a.t@side": 3, "a.t": 3, "b.u@side": 2}
    assert (rows(db, "a.t@side"), rows(db, "b.u@side"), rows(db, "a.t")) == ([], [1], [1, 2])
    assert rows(db, "b.u") == []
    with db.sql("SELECT COUNT(*) AS x FROM a.t@side AS t, b.u@side AS u") as both:
        assert list(both) == [{"x": 0}]


def test_a_query_reads_again_what_was_changed_in_between(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sdb.query.catalog import storedtable

    good, opened = storedtable.find_table, []
    to_do = [lambda: done(db, BOTH, params={"x": 1})]

    def find(root: Any, database: str, table: str) -> Any:
        rows = good(root, database, table)
        opened.append(table)
        if to_do:
            to_do.pop()()
        return rows

    monkeypatch.setattr(storedtable, "find_table", find)
    text = "SELECT 't' AS n, x FROM a.t UNION ALL SELECT 'u' AS n, x FROM b.u"
    with db.sql(text) as rows:
        assert sorted(row["n"] for row in rows) == ["t", "u"]
    assert opened == ["t", "u", "t"]
    opened.clear()
    with db.sql('SELECT x FROM TABLE_GLOB(a."*") UNION ALL SELECT x FROM b.u') as rows:
        assert [row["x"] for row in rows] == [1, 1]
    assert sorted(opened) == ["t", "u"]


def test_intents_are_collected_when_nobody_needs_them(db: Connection) -> None:
    stopped(db, BOTH, after_the_end, params={"x": 1})
    stopped(db, BOTH, before_the_end, params={"x": 2})
    assert len(intents_of(db)) == 2
    steps = []
    for _ in range(6):
        collected = db.table("a.t").gc(grace=0, dry_run=True)
        db.table("a.t").gc(grace=0)
        db.table("b.u").gc(grace=0)
        steps.append(len(intents_of(db)))
        assert (rows(db, "a.t"), rows(db, "b.u")) == ([1], [1])
        assert len(collected.garbage) == len({leftover.key for leftover in collected.garbage})
    assert steps[-1] == 0, steps
    assert steps == sorted(steps, reverse=True)
    for name in ("a.t", "b.u"):
        assert not db.table(name).validate().findings


def test_damaged_intents_are_told(db: Connection) -> None:
    key = stopped(db, BOTH, after_the_end, params={"x": 1})
    path = Path(db.root.place(key))
    data = bytearray(path.read_bytes())
    data[10] ^= 1
    path.write_bytes(bytes(data))
    for deed in (lambda: rows(db, "a.t"), lambda: db.append("a.t", [{"x": 1}])):
        with pytest.raises(errors.CorruptError, match="transactions/"):
            deed()
    keyring = Keyring.of_root(is_remote=False)
    for value in ({"step": "maybe"}, {"format": 2}, {"tables": [{"index": "../x"}]}, {"beat": -1}):
        good = {"format": 1, "step": PENDING, "tables": [], "beat": 0}
        bad = keyring.sign(sdb.ion.dumps(good | value))
        with pytest.raises((errors.CorruptError, errors.UnsupportedError)):
            TransactionIntent.decode(bad, keyring)
    assert TransactionIntent.decode(keyring.sign(sdb.ion.dumps(good)), keyring).step == PENDING


def test_in_python(db: Connection) -> None:
    with db.transaction(message="both") as tx:
        tx.execute("INSERT INTO a.t VALUES ({'x': $x})", params={"x": 1})
        tx.execute("INSERT INTO b.u VALUES ({'x': 2})")
    assert tx.result is not None
    assert tx.result.versions == {"a.t": 2, "b.u": 2}
    assert tx.result.as_dict()["versions"] == {"a.t": 2, "b.u": 2}
    assert (rows(db, "a.t"), rows(db, "b.u")) == ([1], [2])


MOVE = "BEGIN; INSERT INTO a.t SELECT * FROM b.u; DELETE FROM b.u; COMMIT"
HOUR = 3600


def decided(db: Connection, key: str, step: str) -> None:
    """Commit a transaction that is pending, or give it up."""
    pending = find_intent(db.root, key)
    assert pending is not None
    versions = {}
    for head in pending.intent.heads if step == COMMITTED else ():
        path = head_of(head)
        assert path is not None
        handle = find_head(db.root, *path)
        assert handle is not None
        assert handle.joint is not None
        versions[head] = handle.joint.state.version
    coordinator.swap(db.root, key, pending, replace(pending.intent, step=step, versions=versions))


def aged(db: Connection) -> None:
    """Make all objects two hours older than they are."""
    for path in Path(db.root.location).rglob("*"):
        if path.is_file():
            os.utime(path, (time.time() - 2 * HOUR,) * 2)


@pytest.mark.parametrize("step", [COMMITTED, ABORTED])
@pytest.mark.parametrize("is_old", [False, True])
def test_a_lease_keeps_what_is_read_under_a_pending_transaction(
    step: str,
    is_old: bool,
    db: Connection,
) -> None:
    db.append("b.u", [{"x": 1}, {"x": 2}])
    key = stopped(db, MOVE, before_the_end)
    handle = db.table("b.u").handle
    assert handle.joint is not None
    assert handle.joint.is_pending
    lease = leases.Lease(handle)
    if is_old:  # what programs have written that took the index as it was
        lease._data = Path(db.root.place(U.index)).read_bytes()
    decided(db, key, step)
    if step == ABORTED:
        db.execute("DELETE FROM b.u")
    db.table("b.u").expire(all_but_head=True)
    aged(db)
    lease.renew()
    collected = db.table("b.u").gc(grace=HOUR)
    assert not [leftover.key for leftover in collected.garbage if leftover.kind == "packfile"]
    with db.sql("SELECT x FROM b.u ORDER BY x", tables={"b.u": handle}) as actual:
        assert [row["x"] for row in actual] == [1, 2]
    lease.release()
    assert "packfile" in {leftover.kind for leftover in db.table("b.u").gc(grace=HOUR).garbage}
    assert rows(db, "a.t") == ([1, 2] if step == COMMITTED else [])


@pytest.mark.parametrize("step", [PENDING, ABORTED])
def test_a_pending_transaction_is_not_told_as_if_it_counted(step: str, db: Connection) -> None:
    db.append("b.u", [{"x": 1}, {"x": 2}], txn_id="two")
    before = _told(db)
    key = stopped(db, MOVE, before_the_end)
    if step == ABORTED:
        decided(db, key, ABORTED)
    assert _told(db) == before
    assert before["log"][0][:2] == (2, "two")
    with pytest.raises(errors.NotFoundError, match="no version 3"):
        db.table("b.u@3")


@pytest.mark.parametrize("step", [PENDING, ABORTED, COMMITTED])
def test_a_branch_under_a_pending_transaction_leads_to_nothing_that_was_collected(
    step: str, db: Connection
) -> None:
    for number in range(4):
        db.append("a.t", [{"x": number}])
    db.execute("TRUNCATE a.t")
    db.table("a.t").expire(keep_last=3)
    aged(db)
    for _ in range(2):
        db.table("a.t").gc(grace=HOUR)
        aged(db)
    setrefs.branch(db.root, "a", "t", "side", "5")
    before = [past.version for past in db.table("a.t@side").log()]
    text = "BEGIN; INSERT INTO a.t@side VALUES ({'x': 9}); INSERT INTO b.u VALUES ({}); COMMIT"
    key = stopped(db, text, before_the_end)
    aged(db)
    if step != PENDING:
        decided(db, key, step)
    for _ in range(2):
        db.table("a.t").gc(grace=HOUR)
        after = [past.version for past in db.table("a.t@side").log() if past.operation != "gc"]
        assert [past for past in after if past <= 5] == before == [5, 4]
        assert rows(db, "a.t@side") == [0, 1, 2, 3, *([9] if step == COMMITTED else [])]
        db.execute("INSERT INTO a.t@side VALUES ({'x': 7}); DELETE FROM a.t@side WHERE x = 7")
        assert db.table("a.t@side").validate().ok


def _told(db: Connection) -> dict[str, Any]:
    """Collect the facts of a table."""
    view, named = db.table("b.u"), NamedTable(db.root.location, "b", "u")
    queries = ("versions", "packfiles", "inputs", "refs")
    return {
        "log": [(past.version, past.commit, past.rows) for past in view.log()],
        "show": view.show().as_dict(),
        "back": [row["x"] for row in db.table("b.u@-0").to_arrow().to_pylist()],
        "time": db.table("b.u@-0s").version,
        "describe": view.describe().as_dict(),
        "diff": view.diff(view.at(1)).as_dict(),
        "facts": [fact.as_dict() for fact in db.tables()],
        "valid": view.validate().ok,
        "spark": [past.key for past in LoadedTable.of(named).handle().descriptors()],
    } | {name: getattr(view.inspect, name)().to_pylist() for name in queries}
