"""`sdb.connect` to a folder and to a server: the same assertions hold for both."""

from __future__ import annotations

import datetime as dt
import inspect
import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

import sdb
from sdb import errors
from sdb.client.connection import Connection
from sdb.client.remote.connection import RemoteConnection
from sdb.client.remote.faults import Refused
from sdb.client.remote.table import RemoteTable
from sdb.client.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from .conftest import Server

AT = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)
# What has no meaning on a server, and says so.
REFUSED = {
    "gc": (), "expire": (), "purge": ("n = 1",), "sync": (), "splits": (),
    "validate": (), "describe": (), "lazy": (), "check_schema": (),
}  # fmt: skip


@pytest.fixture(params=["folder", "server"])
def db(request: Any, lake: Path, serve: Callable[..., Server]) -> Connection:
    if request.param == "folder":
        return sdb.connect(lake)
    return sdb.connect(serve("--write").url)


@pytest.fixture
def remote(serve: Callable[..., Server]) -> Connection:
    return sdb.connect(serve("--write").url)


def test_results_as_tuples_and_frames(db: Connection) -> None:
    text = "SELECT type, COUNT(*) AS n FROM web.gha WHERE type = $type GROUP BY type"
    with db.sql(text, {"type": "PushEvent"}) as result:
        (row,) = result.fetchall()
        assert row == ("PushEvent", result.head()[0]["n"])
        assert result.pl().rows() == [row]
        assert list(result.df().itertuples(index=False, name=None)) == [row]
    with db.sql("SELECT * FROM logs.app ORDER BY n LIMIT 2") as result:
        assert result.fetchall() == [tuple(each.values()) for each in result]


def test_rows_by_time_come_from_metadata(db: Connection) -> None:
    table = db.table("web.gha")
    line = table.timeline(buckets=4)
    assert (line.path, line.most_rows) == (("created_at",), [1000] * 4)
    drawn = line.to_arrow()
    assert drawn.column_names == ["time", "least_rows", "most_rows"]
    assert drawn["time"][0].as_py() == AT.fromtimestamp(line.since_us / 1e6, dt.UTC)
    late = table.timeline("2015-01-01", AT, buckets=2)
    assert (len(late.most_rows), late.since_us) == (2, 1420070400 * 10**6)
    with pytest.raises(errors.SdbError, match="until is not after since"):
        table.timeline("2015-01-02", "2015-01-01")


def test_versions_have_datetimes_and_differences_short_names(db: Connection) -> None:
    db.append("web.gha", [{"type": "x"}])
    table = db.table("web.gha")
    newest, first = table.log()
    assert newest.at > first.at
    assert newest.at.tzinfo is dt.UTC
    shown = repr(table.at(1).diff(table))
    assert shown.startswith("<TableDifference of web.gha@1 and web.gha@2: +1 -0 =1 packfiles")


def test_rows_and_facts(db: Connection) -> None:
    named = {facts.name: facts for facts in db.tables()}
    assert {name: facts.rows for name, facts in named.items()} == {"logs.app": 10, "web.gha": 1000}
    assert named["web.gha"].newest_path == ("created_at",)
    assert [facts.name for facts in db.tables("logs")] == ["logs.app"]
    table = db.table("web.gha")
    assert (table.name, table.version, len(table)) == ("web.gha", 1, 1000)
    first = table.head(1)[0]
    assert first["created_at"] == dt.datetime(2015, 1, 1, 1, tzinfo=dt.UTC)
    assert first["actor"]["login"]
    assert list(table.rows(fields=["type"], limit=2)) == [{"type": "PushEvent"}] * 2
    assert table.to_arrow(fields=["type"], until="2015-01-01T01:05Z").num_rows == 653
    assert list(table.to_pandas(fields=["type", "public"], limit=3).columns) == ["type", "public"]
    assert [field.name for field in table.fields[:2]] == ["id", "type"]
    assert [field.rows for field in table.fields[:2]] == [1000, 1000]
    assert len(db.table("logs.app")) == 10


def test_values_keep_their_types(db: Connection) -> None:
    rows = [
        {"n": 2**60, "f": 0.1, "b": True, "s": "2026-01-01T00:00:00Z", "t": AT, "x": None},
        {"n": -1, "s": 5, "l": [1, "a", {"k": AT}], "d": {"a": {"b": None}}, "u": "ü 😀"},
        {"f": float("inf"), "e": "", "z": b"bytes"},
    ]
    table = db.table("logs.app")
    inserted = table.append(rows, message="ünï", times="none")
    assert (inserted.version, inserted.is_new) == (2, True)
    assert inserted.packed is not None
    assert inserted.packed.rows == 3
    back = [row for row in table if row.keys() != {"n"}]
    assert back[:2] == rows[:2]
    assert back[2]["f"] == float("inf")
    with db.sql("SELECT n, s, t, d.a.b AS b FROM logs.app WHERE s IS NOT MISSING") as result:
        assert result.columns == ["n", "s", "t", "b"]
        listed = list(result)
        assert listed == [
            {"n": 2**60, "s": "2026-01-01T00:00:00Z", "t": AT},
            {"n": -1, "s": 5, "b": None},
        ]
        assert len(result) == 2
        assert b"".join(result.lines()).count(b"\n") == 2
        assert result.to_arrow().num_rows == 2
    assert next(db.table("logs.app").log()).message == "ünï"


def test_texts_that_are_times_are_times_unless_told_otherwise(db: Connection) -> None:
    table = db.table("logs.app")
    row = {"s": "2026-11-01T12:00:00Z", "l": ["2026-11-01 13:00:00 +0100"]}
    table.append([row])
    table.append([row], times="none")
    read = [row for row in table if row.keys() != {"n"}]
    assert read == [{"s": AT, "l": [AT]}, row]


def test_queries_take_parameters_times_and_versions(db: Connection) -> None:
    text = "SELECT COUNT(*) AS n FROM web.gha WHERE type = $t AND created_at < $at"
    params = {"t": "PushEvent", "at": dt.datetime(2015, 1, 1, 1, 5, tzinfo=dt.UTC)}
    assert list(db.sql(text, params=params)) == [{"n": 405}]
    some = "SELECT COUNT(*) AS n FROM web.gha WHERE type IN ($t)"
    assert list(db.sql(some, params={"t": ["ForkEvent", "WatchEvent"]})) == [{"n": 99}]
    count = "SELECT COUNT(*) AS n FROM web.gha"
    assert list(db.sql(count, since=dt.datetime(2015, 1, 1, 1, 5, tzinfo=dt.UTC))) == [{"n": 347}]
    db.execute("DELETE FROM web.gha")
    assert list(db.sql(count)) == [{"n": 0}]
    assert list(db.sql(count, at="1")) == [{"n": 1000}]
    assert len(db.table("web.gha@1")) == len(db.table("web.gha").at(-1)) == 1000
    large = db.sql("SELECT * FROM web.gha@1")
    with large:
        assert len(list(large)) == 1000
        assert large.to_polars().shape[0] == 1000
    with db.sql("SELECT COUNT(*) AS n FROM web.gha@1 WHERE type = 'PushEvnt'") as result:
        assert list(result) == [{"n": 0}]
        notes = result.notes
    assert notes == list(notes)


def test_a_second_look_at_a_result(db: Connection) -> None:
    with db.sql("SELECT type FROM web.gha") as result:
        first, second = iter(result), iter(result)
        assert next(first) == next(second)
        assert len(list(result)) == len(result) == 1000
    with db.sql("SELECT n FROM logs.app ORDER BY n") as result:
        db.table("logs.app").append(result)
    assert len(db.table("logs.app")) == 20


def test_errors_are_the_same(db: Connection) -> None:
    table = db.table("logs.app")
    table.tag("v1")
    cases: list[tuple[Callable[[], object], type[errors.SdbError], str]] = [
        (lambda: db.table("web.nope"), errors.NotFoundError, "there is no table web.nope"),
        (lambda: db.table("nope"), errors.UsageError, "'nope' is not the name of a table"),
        (lambda: db.sql("SELECT FROM"), errors.QueryError, "syntax error"),
        (lambda: list(db.sql("SELECT * FROM web.nope")), errors.NotFoundError, "web.nope"),
        (lambda: db.table("web.gha@77"), errors.NotFoundError, "77"),
        (lambda: table.at("nothing"), errors.NotFoundError, "has no tag or branch 'nothing'"),
        (lambda: table.append([{"a": object()}]), errors.InputError, "row 0: field a"),
        (lambda: db.append("web.nope", [{"a": 1}]), errors.NotFoundError, "web.nope"),
        (lambda: db.execute("DELETE FROM web.nope"), errors.NotFoundError, "web.nope"),
        (lambda: db.execute("DELETE FROM"), errors.QueryError, "syntax error"),
        (lambda: table.restore(99), errors.NotFoundError, "99"),
        (lambda: table.delete_tag("v2"), errors.NotFoundError, "has no tag 'v2'"),
        (lambda: table.delete_branch("v2"), errors.NotFoundError, "has no branch 'v2'"),
        (lambda: table.branch("v1"), errors.ExistsError, "has a tag 'v1'"),
        (lambda: table.branch("-1"), errors.UsageError, "the name of a tag or branch"),
        (lambda: table.merge("nope"), errors.NotFoundError, "nope"),
        (lambda: db.sql("SELECT 1 AS x", at="no such"), errors.SdbError, "no such"),
    ]
    for call, kind, says in cases:
        with pytest.raises(kind) as raised:
            call()
        assert says in raised.value.message, (raised.value, says)
        assert raised.value.exit_code == kind.exit_code or kind is errors.SdbError
    with pytest.raises(errors.QueryError) as syntax:
        db.sql("SELECT type\nFROM web.gha WHERE (")
    assert (syntax.value.line, "^" in syntax.value.underlined()) == (2, True)


def test_versions(db: Connection) -> None:
    table = db.table("logs.app")
    table.append([{"n": 100}], author="ada", message="one more")
    done = table.delete("n < 2")
    assert (done.version, done.effects[0].rows_deleted) == (3, 2)
    versions = list(table.log())
    assert [each.version for each in versions] == [3, 2, 1]
    assert [each.operation for each in versions] == ["delete", "insert", "insert"]
    assert (versions[1].author, versions[1].message) == ("ada", "one more")
    assert versions[0].changes.rows_deleted == 2
    assert table.show().as_dict()["rows"] == 9
    difference = table.at(1).diff(3)
    assert difference.row_counts is None or difference.row_counts.deleted == 2
    assert difference.as_dict()["before"] == {"table": "logs.app", "version": 1}
    assert table.restore(1, author="bob").version == 4
    assert len(table) == 10
    assert table.restore(1).is_new is False
    assert table.inspect.versions().num_rows == 4
    assert list(table.inputs()) == []


def test_tags_and_branches(db: Connection) -> None:
    table = db.table("logs.app")
    assert table.tag("v1").version == 1
    assert table.tag("v1").version == 1
    table.append([{"n": 1}])
    with pytest.raises(errors.ExistsError):
        table.tag("v1")
    assert table.tag("v1", overwrite=True).version == 2
    assert table.tag("new", 1, overwrite=True).version == 1
    assert table.branch("dev").name == "dev"
    branch = table.at("dev")
    branch.append([{"n": 500}, {"n": 501}])
    assert (len(branch), len(table)) == (13, 11)
    assert {(ref.kind, ref.name) for ref in table.refs()} == {
        ("branch", "dev"), ("branch", "main"), ("tag", "new"), ("tag", "v1")
    }  # fmt: skip
    assert table.merge("dev").is_new is True
    assert len(table) == 13
    with pytest.raises(errors.UsageError):
        table.at("v1").append([{"n": 1}])
    table.delete_branch("dev")
    table.delete_tag("v1")
    assert {ref.name for ref in table.refs()} == {"main", "new"}


def test_conflicts(db: Connection) -> None:
    table = db.table("logs.app")
    table.branch("dev")
    table.update({"n": "100"}, "n = 1")
    table.at("dev").update({"n": "200"}, "n = 1")
    with pytest.raises(errors.ConflictError) as raised:
        table.merge("dev")
    assert getattr(raised.value, "row_count", None) == 1
    asked: list[int] = []
    with pytest.raises(errors.ConflictError):
        table.merge("dev", strategy="source", confirm=lambda rows: bool(asked.append(rows)))
    assert asked == [1]
    assert table.merge("dev", strategy="source", confirm=lambda _: True).dropped == 1


def test_an_id_makes_appends_and_statements_once(db: Connection) -> None:
    first = db.append("logs.app", [{"n": 1}], txn_id="a1")
    again = db.append("logs.app", [{"n": 1}], txn_id="a1")
    assert (first.version, again.version) == (2, 2)
    assert (first.is_new, again.is_new) == (True, False)
    (done,) = db.execute("DELETE FROM logs.app WHERE n = 1", txn_id="a2")
    (same,) = db.execute("DELETE FROM logs.app WHERE n = 1", txn_id="a2")
    assert (done.is_new, same.is_new, done.version, same.version) == (True, False, 3, 3)
    with pytest.raises(errors.UsageError, match="no inputs"):
        db.append("logs.app", [])


def test_stored_queries(db: Connection, lake: Path) -> None:
    text = "SELECT COUNT(*) AS n FROM web.gha WHERE type = $type AND created_at > $start"
    params = ["type:text=PushEvent", "start:time"]
    local = sdb.connect(lake)
    local.store_query("types", text, params=params, description="of a type")
    (query,) = db.stored_queries()
    assert (query.name, query.text, query.description) == ("types", text, "of a type")
    assert [each.text for each in query.params] == params
    asked = {"type": "ForkEvent", "start": dt.datetime(2014, 1, 1, tzinfo=dt.UTC)}
    expected = list(local.sql("SELECT COUNT(*) AS n FROM web.gha WHERE type = 'ForkEvent'"))
    assert list(db.run_query("types", asked)) == expected
    assert list(db.run_query("types", {"start": "2099-01-01"})) == [{"n": 0}]
    for name, wrong in (("types", {}), ("types", {"start": "x"}), ("types", asked | {"user": 1})):
        with pytest.raises(errors.UsageError):
            list(db.run_query(name, wrong))
    for name in ("absent", "a/b", "types.csv", ""):
        with pytest.raises(errors.NotFoundError):
            list(db.run_query(name))
    with pytest.raises(errors.ExistsError):
        local.store_query("types", text, params=params)
    local.store_query("types", "SELECT 1 AS n", replace=True)
    assert list(db.run_query("types")) == [{"n": 1}]
    local.drop_query("types")
    assert db.stored_queries() == []


def test_views(db: Connection) -> None:
    db.execute("CREATE VIEW web.pushes AS SELECT id FROM web.gha WHERE type = 'PushEvent'")
    (view,) = db.views()
    assert (view.name, view.newest.version, len(view.versions)) == ("web.pushes", 1, 1)
    assert list(db.sql("SELECT COUNT(*) AS n FROM web.pushes")) == [{"n": 596}]
    assert db.views("logs") == []


def test_statements_and_transactions(db: Connection) -> None:
    two = db.execute("DELETE FROM logs.app WHERE n = $n; UPDATE logs.app SET n = 7 WHERE n = $m",
                     params={"n": 1, "m": 2})  # fmt: skip
    assert [each.version for each in two] == [2, 3]
    with db.transaction(message="both") as tx:
        tx.execute("DELETE FROM logs.app WHERE n = $n", params={"n": 3})
        tx.execute("DELETE FROM web.gha WHERE type = $t", params={"t": "WatchEvent"})
    assert tx.result is not None
    assert tx.result.versions == {"logs.app": 4, "web.gha": 2}
    assert next(db.table("web.gha").log()).message == "both"
    with suppress(ZeroDivisionError), db.transaction() as tx:
        tx.execute("DELETE FROM logs.app")
        1 / 0  # noqa: B018
    assert len(db.table("logs.app")) == 8
    (dry,) = db.execute("DELETE FROM logs.app", dry_run=True)
    assert (dry.is_dry, dry.effects[0].rows_deleted, len(db.table("logs.app"))) == (True, 8, 8)
    with pytest.raises(errors.QueryError):
        db.execute("DELETE FROM logs.app; NONSENSE")
    assert len(db.table("logs.app")) == 8


def test_changes_are_undone_and_tables_forked_compacted_and_examined(db: Connection) -> None:
    for number in (20, 30):
        db.append("logs.app", [{"n": number}])
    table = db.table("logs.app")
    assert table.undo(dry_run=True).restored is None
    undone = table.undo(author="eva", message="too much")
    assert (undone.change.version, undone.restored and undone.restored.version) == (3, 4)
    assert (len(table), next(table.log()).author) == (11, "eva")
    sent = table.fork("logs.copy", message="a copy")
    assert (sent.name, sent.version, sent.is_new) == ("logs.copy", 1, True)
    assert len(db.table("logs.copy")) == 11
    with pytest.raises(errors.SdbError):
        table.fork("logs.copy")
    for number in range(40, 49):
        db.append("logs.copy", [{"n": number}])
    copied = db.table("logs.copy")
    planned = copied.compact(dry_run=True)
    assert (planned.version, len(planned.runs)) == (None, 1)
    done = copied.compact(message="fewer")
    assert (done.version, done.packfiles, done.packfiles_after) == (11, planned.packfiles, 1)
    assert len(copied) == 20
    status = copied.status()
    assert (status.table, status.facts["rows"], status.needs) == ("logs.copy", 20, ())


def test_a_server_pushes_to_the_roots_that_it_names(
    serve: Callable[..., Server], tmp_path: Path
) -> None:
    table = sdb.connect(serve("--write", "--push-to", f"far={tmp_path / 'far'}").url).table(
        "logs.app"
    )
    sent = table.push("far", name="logs.there")
    assert (sent.name, sent.root, sent.is_new) == ("logs.there", "far", True)
    assert len(sdb.connect(tmp_path / "far").table("logs.there")) == 10
    with pytest.raises(errors.UsageError, match="no root that the server may push to"):
        table.push("elsewhere")


def test_frames_and_files_are_appended(db: Connection, tmp_path: Path) -> None:
    import polars as pl

    frame = pl.DataFrame({"n": [1, None], "at": [AT, None]})
    db.append("logs.app", frame, nulls="missing")
    file = tmp_path / "rows.csv"
    file.write_text("n,s\n5,x\n6,y\n")
    db.append("logs.app", file)
    assert [row for row in db.table("logs.app") if "s" in row or "at" in row] == [
        {"n": 1, "at": AT}, {"n": 5, "s": "x"}, {"n": 6, "s": "y"}
    ]  # fmt: skip


def test_schemas_are_begun_and_set(db: Connection, lake: Path) -> None:
    table = db.table("logs.app")
    assert table.schema is None
    inferred = table.infer_schema()
    assert [column.name for column in inferred.columns] == ["n"]
    assert table.schema is None
    done = table.set_schema(inferred, mode="reject", author="eve", message="begin")
    assert (done.version, done.is_new) == (2, True)
    assert done.schema == table.schema == sdb.connect(lake).table("logs.app").schema
    assert table.schema is not None
    assert table.schema.mode == "reject"
    first = next(iter(table.log()))
    assert (first.author, first.message) == ("eve", "begin")
    assert not table.set_schema(table.schema).is_new
    with pytest.raises(errors.InputError, match="unknown type 'nope'"):
        table.set_schema([{"name": "n", "type": "nope"}])
    with pytest.raises(errors.UsageError, match="is a version"):
        table.at(1).set_schema(inferred)
    assert db.table("logs.app@1").schema is None
    assert table.set_schema(None).schema is None
    assert table.schema is None


def test_tables_are_kept_small(db: Connection, lake: Path) -> None:
    for number in range(9):
        db.append("logs.app", [{"n": number}])
    (status,) = db.status("logs.app")
    assert [need.action for need in status.needs] == ["compact"]
    assert {each.table for each in db.status()} == {"logs.app", "web.gha"}
    done_now: list[Any] = []
    planned = db.maintain("logs.app", dry_run=True)
    assert [action.action for action in planned.actions] == ["compact"]
    done = db.maintain("logs", author="eve", tell=done_now.append)
    assert (list(done.actions), done.failures) == (done_now, ())
    assert done.actions[0].version == 11
    assert done.actions[0].numbers["packfiles"] == 10
    local = sdb.connect(lake).table("logs.app")
    assert next(iter(local.log())).author == "eve"
    assert db.table("logs.app").maintain().actions == ()
    for call in (db.status, db.maintain):
        with pytest.raises(errors.NotFoundError):
            call("logs.nope")


def test_what_a_server_does_not_have_says_why(remote: Connection) -> None:
    table: Any = remote.table("logs.app")
    for name, arguments in REFUSED.items():
        with pytest.raises(errors.UnsupportedError, match="through a server") as raised:
            getattr(table, name)(*arguments)
        assert raised.value.hint
        assert raised.value.exit_code == 8
    for name in ("root",):
        with pytest.raises(errors.UnsupportedError):
            getattr(remote, name)
    with pytest.raises(errors.UnsupportedError, match="grace="):
        remote.maintain("logs.app", grace="1h")
    with pytest.raises(errors.UnsupportedError):
        remote.create("a.b", "x/*.json")
    with pytest.raises(errors.UnsupportedError):
        remote.sync("logs.app")
    with pytest.raises(errors.UnsupportedError):
        remote.append("logs.app", [{"n": 1}], partition={"day": 1})
    for name in ("handle", "snapshot"):
        with pytest.raises(errors.UnsupportedError):
            getattr(table, name)


@pytest.mark.parametrize(
    ("local", "remote"), [(Connection, RemoteConnection), (Table, RemoteTable)]
)
def test_a_server_has_each_member_with_its_parameters_or_refuses_it(
    local: type, remote: type
) -> None:
    for name, member in inspect.getmembers(local):
        if name.startswith("_"):
            continue
        there = inspect.getattr_static(remote, name)
        if isinstance(there, Refused) or not inspect.isfunction(member):
            continue
        assert list(inspect.signature(there).parameters) == list(
            inspect.signature(member).parameters
        ), name
    assert all(hasattr(local, name) for name, value in vars(remote).items()
               if isinstance(value, Refused))  # fmt: skip


def test_what_a_server_refuses_is_refused_when_it_is_given(remote: Connection, lake: Path) -> None:
    import duckdb

    theirs, ours = remote.table("logs.app"), sdb.connect(lake).table("logs.app")
    with pytest.raises(errors.UnsupportedError, match="through a server"):
        sdb.register(duckdb.connect(), "t", theirs)
    for first, second in ((theirs, ours), (ours, theirs)):
        with pytest.raises(errors.UsageError, match="names no version"):
            first.diff(second)


def test_rights_go_as_far_as_the_token(
    serve: Callable[..., Server], lake: Path, run: Callable[..., Any], monkeypatch: Any
) -> None:
    tokens = lake.parent / "tokens.json"
    made = run("token", "create", "web", "--can", "read:web.*", "--tokens", str(tokens))
    secret = made.stdout.decode().strip()
    server = serve("--tokens", str(tokens))
    with pytest.raises(errors.AccessError) as raised:
        sdb.connect(server.url).tables()
    assert raised.value.hint == "SDB_TOKEN, or token= of sdb.connect"
    db = sdb.connect(server.url, token=secret)
    assert [facts.name for facts in db.tables()] == ["web.gha"]
    with pytest.raises(errors.NotFoundError):
        db.table("logs.app")
    with pytest.raises(errors.AccessError):
        db.append("web.gha", [{"n": 1}])
    monkeypatch.setenv("SDB_TOKEN", secret)
    assert len(sdb.connect(server.url).table("web.gha")) == 1000
    assert secret not in repr(db) + server.text()


class Flaky(BaseHTTPRequestHandler):
    """Fails as often as its list says, each time in another way, then answers."""

    failures: ClassVar[list[str]] = []
    seen: ClassVar[list[tuple[str, str]]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        key = self.headers.get("idempotency-key", "")
        self.seen.append((self.path, key))
        failure = self.failures.pop(0) if self.failures else ""
        if failure == "drop":
            self.close_connection = True
            return
        if failure == "busy":
            body = json.dumps({"detail": "busy", "code": "busy", "exit_code": 1}).encode()
            self.send_response(503)
            self.send_header("retry-after", "0")
        else:
            body = json.dumps({"tables": [], "version": 7, "id": "x", "new": True}).encode()
            self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def flaky() -> Iterator[str]:
    Flaky.failures, Flaky.seen = [], []
    server = HTTPServer(("127.0.0.1", 0), Flaky)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_requests_are_sent_again(flaky: str) -> None:
    Flaky.failures = ["drop", "busy", "drop"]
    assert sdb.connect(flaky).tables() == []
    assert len(Flaky.seen) == 4
    Flaky.failures, Flaky.seen = ["drop", "busy"], []
    assert sdb.connect(flaky).append("a.b", [{"n": 1}]).version == 7
    assert len({key for _, key in Flaky.seen}) == 1  # the same append
    assert all(key for _, key in Flaky.seen)


def test_what_may_not_be_repeated_is_uncertain(flaky: str) -> None:
    transport: Any = sdb.connect(flaky).transport  # type: ignore[attr-defined]
    Flaky.failures = ["drop"]
    with pytest.raises(errors.UncertainError):
        transport.request("POST", "/x", members={}, may_repeat=False)


def test_nobody_is_there() -> None:
    with pytest.raises(errors.SdbError, match="does not answer"):
        sdb.connect("http://127.0.0.1:1").tables()
    for url in ("http://u:secret@host", "http://", "http://host:x", "http://host?x"):
        with pytest.raises(errors.UsageError) as raised:
            sdb.connect(url)
        assert "secret" not in raised.value.message


def test_commands_take_servers(serve: Callable[..., Server], tmp_path: Path) -> None:
    url = serve("--write").url

    def sdb_(*words: str, stdin: str = "") -> Any:
        command = [sys.executable, "-m", "sdb.cli.main", *words]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, timeout=120, check=False,
            input=stdin, text=True, env=os.environ | {"SDB_AUTHOR": "eve"},
        )  # fmt: skip

    asked = sdb_("query", "--root", url, "SELECT COUNT(*) AS n FROM web.gha")
    assert (asked.stdout, asked.stderr, asked.returncode) == ('{"n": 1000}\n', "", 0)
    assert "web.gha" in sdb_("ls", url).stdout
    assert sdb_("ls", "--root", url, "logs").stdout.count("logs.app") == 1
    put = sdb_("insert", "--root", url, "logs.app", "--json", stdin='{"n": 77}\n')
    assert (put.returncode, json.loads(put.stdout)["version"]) == (0, 2), put.stderr
    log = json.loads(sdb_("log", "--root", url, "--json", "logs.app").stdout)
    assert (log["versions"][0]["operation"], log["versions"][0]["author"]) == ("insert", "eve")
    assert "version    2" in sdb_("show", "--root", url, "logs.app").stdout
    done = sdb_("exec", "--root", url, "DELETE FROM logs.app WHERE n = 77")
    assert done.stdout == "deleted 1 row of logs.app: version 3\n"
    csv = tmp_path / "out.csv"
    assert sdb_("query", "--root", url, "-o", str(csv), "SELECT n FROM logs.app").returncode == 0
    assert csv.read_text().startswith("n\n")
    shown = sdb_("schema", "infer", "--root", url, "logs.app", "--json")
    assert json.loads(shown.stdout)["columns"][0]["name"] == "n"
    assert sdb_("schema", "show", "--root", url, "logs.app").returncode == 3
    assert "version 4" in sdb_("schema", "infer", "--set", "--root", url, "logs.app").stderr
    (tmp_path / "schema.json").write_text(shown.stdout)
    words = ("schema", "set", "--root", url, "logs.app")
    assert "version 4" in sdb_(*words, "schema.json").stderr
    assert "mode reject: version 5" in sdb_(*words, "--mode", "reject").stderr
    assert json.loads(sdb_("schema", "show", "--root", url, "logs.app").stdout)["mode"] == "reject"
    assert "version 6" in sdb_(*words, "--remove").stderr
    assert "logs.app: version 6" in sdb_("status", "--root", url, "logs").stdout
    assert "nothing to do" in sdb_("maintain", "--root", url, "logs.app").stderr
    for words in (
        ("maintain", "--watch"),
        ("status", "--exact"),
        ("compact", "logs.app"),
        ("gc", "logs.app"),
        ("query", "--explain", "SELECT 1"),
    ):
        refused = sdb_(words[0], "--root", url, *words[1:])
        assert refused.returncode == 8, refused.stderr
        assert "server" in refused.stderr
        assert "Traceback" not in refused.stderr
    missing = sdb_("query", "--root", url, "SELECT * FROM web.nope")
    assert (missing.returncode, missing.stderr.splitlines()[0]) == (
        3, "sdb: there is no table web.nope"
    )  # fmt: skip


def test_an_answer_that_is_cut_is_no_answer() -> None:
    class Cut(Flaky):
        def answer(self) -> None:
            self.send_response(200)
            self.send_header("content-length", "1000")
            self.end_headers()
            self.wfile.write(b'{"tables": [')
            self.close_connection = True

    server = HTTPServer(("127.0.0.1", 0), Cut)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with pytest.raises(errors.SdbError, match="was cut"):
            sdb.connect(f"http://127.0.0.1:{server.server_port}").tables()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_stored_queries_keep_their_dialect(
    db: Connection, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "SELECT NULL = NULL AS same"
    local, other = sdb.connect(lake), sdb.connect(lake, dialect="sneller")
    local.store_query("plain", text)
    local.store_query("said", text, dialect="sneller")
    local.store_query("set", f"SET dialect = sneller; {text}", dialect="standard")
    other.store_query("connected", text)
    with pytest.raises(errors.UsageError, match="dialect is 'other'"):
        local.store_query("wrong", text, dialect="other")
    monkeypatch.setenv("SDB_DIALECT", "sneller")
    local.store_query("setting", text)
    dialects = {each.name: each.dialect for each in db.stored_queries()}
    assert dialects.pop("plain") == "standard"
    assert dialects == dict.fromkeys(["connected", "said", "set", "setting"], "sneller")
    for name in dialects:
        with db.run_query(name) as result:
            assert (result.dialect, list(result)) == ("sneller", [{"same": True}])
    with db.run_query("plain") as result:
        assert (result.dialect, list(result)) == ("standard", [{"same": None}])


@pytest.mark.parametrize(("said", "means"), [(None, "standard"), ("sneller", "sneller")])
def test_stored_objects_tell_their_dialect(lake: Path, said: str | None, means: str) -> None:
    local = sdb.connect(lake)
    local.store_query("x", "SELECT 1 AS n")
    path = lake / "queries" / "x.json"
    members = json.loads(path.read_text())
    assert members.pop("dialect") == "standard"
    path.write_text(json.dumps(members | ({} if said is None else {"dialect": said})))
    assert [each.dialect for each in local.stored_queries()] == [means]
    path.write_text(json.dumps(members | {"dialect": "other"}))
    with pytest.raises(errors.UnsupportedError, match="the dialect 'other'"):
        local.run_query("x")
