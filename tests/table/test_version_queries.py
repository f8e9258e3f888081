"""Queries on versions of tables, in all the ways in which these are written."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import errors
from sdb.query.syntax import printer
from sdb.query.syntax.parser import parse
from sdb.table.format.versionref import BeforeFirstError, UnknownReferenceError

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.client.connection import Connection


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Connection:
    """Make a table of five versions: version k has 1 + ... + k rows."""
    connection = sdb.connect(tmp_path_factory.mktemp("lake"))
    connection.create("web.gha", "file://in/*.json")
    for number in range(1, 6):
        times = [datetime(2024, 1, number, hour, tzinfo=UTC) for hour in range(number)]
        connection.append("web.gha", [{"k": number, "ts": at} for at in times])
    return connection


def rows(db: Connection, text: str, **options: Any) -> list[Any]:
    with db.sql(text, **options) as result:
        return [tuple(row.values()) if len(row) > 1 else next(iter(row.values())) for row in result]


@pytest.mark.parametrize(
    ("table", "count"),
    [
        ("web.gha", 15),
        ("web.gha@2", 3),
        ("web.gha@2 AS t", 3),
        ("web.gha@-1", 10),
        ("web.gha@-1-- the one before", 10),
        ('"web"."gha"@2', 3),
        ('web."gha"@-2', 6),
        ("'web.gha@2'", 3),
        ('"web.gha@-2"', 6),
        ("web.gha@2999-01-01T00:00:00.5+02:00", 15),
        ("web.gha@'2999-01-01 00:00:00 +02:00'", 15),
        ("web.gha('2999-11-18 13:13:35')", 15),
        ("web.gha AT (VERSION => 3)", 6),
        ("web.gha AT (VERSION => -2) t", 6),
        ("web.gha AT (version => $v)", 3),
        ("web.gha AT (TIMESTAMP => NOW())", 15),
        ("web.gha AT (TIMESTAMP => `2999-01-01`)", 15),
        ("web.gha AT (BRANCH => main)", 15),
        ("web.gha FOR VERSION AS OF 1 AS t", 1),
        ("web.gha FOR VERSION AS OF '-1'", 10),
        ("web.gha FOR TIMESTAMP AS OF '2999-01-01' t", 15),
        ("web.gha FOR SYSTEM_TIME AS OF TIMESTAMP '2999-01-01'", 15),
        ("web.gha@2 ++ web.gha@1", 4),
        ("(SELECT * FROM web.gha@2) AS q", 3),
        ("UNPIVOT web.gha@2 AS v AT n", 6),
    ],
)
def test_each_spelling(db: Connection, table: str, count: int) -> None:
    text = f"SELECT COUNT(*) AS n FROM {table}\n"
    assert rows(db, text, params={"v": 2} if "$v" in text else None) == [count]
    tree = parse(text)
    assert parse(printer.statement(tree)).select.sources == tree.select.sources


def test_several_versions_in_one_query(db: Connection) -> None:
    joined = (
        "SELECT COUNT(*) AS n FROM web.gha@2 AS a JOIN web.gha@4 AS b ON a.k = b.k AND a.ts = b.ts"
    )
    assert rows(db, joined) == [3]
    nested = "SELECT DISTINCT k FROM web.gha WHERE k NOT IN (SELECT k FROM web.gha@-1)"
    assert rows(db, nested.replace("k NOT IN (", "NOT k IN (")) == [5]
    with_ = (
        "WITH old AS (SELECT k FROM web.gha@1), new AS (SELECT k FROM web.gha@3)"
        " SELECT COUNT(*) AS n FROM new WHERE NOT EXISTS (SELECT k FROM old WHERE old.k = new.k)"
    )
    assert rows(db, with_) == [5]
    union = "SELECT COUNT(*) AS n FROM web.gha@1 UNION ALL SELECT COUNT(*) AS n FROM web.gha@5"
    assert rows(db, union) == [1, 15]
    assert rows(db, "SELECT t.k, COUNT(*) AS n FROM web.gha@2 AS t GROUP BY t.k ORDER BY t.k") == [
        (1, 1),
        (2, 2),
    ]
    pruned = "SELECT COUNT(*) AS n FROM web.gha@4 WHERE ts >= '2024-01-03' AND ts < '2024-01-05'"
    assert rows(db, pruned) == [7]


def test_all_tables_of_a_query_at_a_version(db: Connection) -> None:
    text = "SELECT COUNT(*) AS n FROM web.gha UNION ALL SELECT COUNT(*) AS n FROM web.gha@5"
    assert rows(db, text, at="2") == [3, 15]
    assert rows(db, 'SELECT COUNT(*) AS n FROM TABLE_GLOB(web."g*")', at="-1") == [10]
    with pytest.raises(UnknownReferenceError):
        rows(db, text, at="prod")
    sdb.pack([{"a": 1}], f"{db.root.location}/x.zion")
    with pytest.raises(errors.UsageError, match="no table that 2 may be"):
        rows(db, "SELECT COUNT(*) AS n FROM 'x.zion'", at="2")
    assert rows(db, "SELECT COUNT(*) AS n FROM sdb.versions('web.gha')", at="2") == [2]


def test_what_cannot_be_meant(db: Connection) -> None:
    for table, error, message in [
        ("web.gha@99", UnknownReferenceError, "no version 99"),
        ("web.gha@prod", UnknownReferenceError, "no tag or branch 'prod'"),
        ("web.gha AT (TAG => main)", UnknownReferenceError, "no tag 'main'"),
        ("web.gha@1999-01-01", BeforeFirstError, "before the first"),
        ("web.gha@2026-99-01", errors.UsageError, "is not a time"),
        ("web.gha AT (VERSION => 1.5)", errors.QueryError, "takes a number"),
        ("web.gha AT (VERSION => k)", UnknownReferenceError, "no tag or branch 'k'"),
        ("web.gha AT (TIMESTAMP => 5)", errors.QueryError, "takes a time"),
        (
            "web.gha AT (DAY => 5)",
            errors.QueryError,
            "VERSION, TIMESTAMP, TAG or BRANCH",
        ),
        ("web.gha AT (VERSION = 5)", errors.QueryError, "is expected"),
        ("web.nix@1", errors.NotFoundError, "no table web.nix"),
        ("gha AT (VERSION => 1)", errors.QueryError, "gha has no versions"),
        ("'in/x.json' AT (VERSION => 1)", errors.UsageError, "no versions"),
    ]:
        with pytest.raises(error, match=message):
            rows(db, f"SELECT COUNT(*) AS n FROM {table}")
    with pytest.raises(errors.QueryError, match="is a query of WITH"):
        rows(db, "WITH q AS (SELECT 1 AS a) SELECT * FROM q AT (VERSION => 1)")


def test_handles_of_versions(db: Connection) -> None:
    head = db.table("web.gha")
    old = head.at(2)
    assert (old.version, old.to_arrow().num_rows, old.describe().facts.rows) == (2, 3, 3)
    assert head.at("-1").to_arrow().num_rows == 10
    assert db.table("web.gha@3").to_arrow(fields=["k"])["k"].to_pylist() == [1, 2, 2, 3, 3, 3]
    assert repr(old) == f"<Table web.gha@2 below {db.root.location}>"
    before = db.table("web.gha@-1")
    text = "SELECT COUNT(*) AS n FROM web.gha"
    assert rows(db, text, tables={"web.gha": before.handle}) == [10]


def test_tables_about_tables(db: Connection, tmp_path: Path) -> None:
    text = "SELECT version, rows, rows_added FROM sdb.versions('web.gha') ORDER BY version"
    assert rows(db, text) == [(k, k * (k + 1) // 2, k) for k in range(1, 6)]
    assert rows(db, "SELECT COUNT(*) AS n FROM sdb.versions('web.gha@3')") == [3]
    assert rows(db, "SELECT SUM(rows) AS n FROM sdb.packfiles('web.gha@2')") == [3]
    assert rows(db, "SELECT SUM(rows) AS n FROM sdb.packfiles('web.gha')", at="-1") == [10]
    times = "SELECT t.last FROM sdb.blocks('web.gha') AS b, b.times AS t WHERE b.rows = 5"
    assert rows(db, times) == [datetime(2024, 1, 5, 4, tzinfo=UTC)]
    joined = (
        "SELECT v.message FROM sdb.refs('web.gha') AS r"
        " JOIN sdb.versions('web.gha') AS v ON r.version = v.version WHERE r.name = 'main'"
    )
    assert rows(db, joined) == [""]
    assert rows(db, "SELECT COUNT(*) AS n FROM sdb.inputs('web.gha')") == [0]
    assert rows(db, "SELECT COUNT(*) AS n FROM sdb.garbage('web.gha')") == [0]
    for name in ("sdb.tables", "sdb.tables()"):
        assert rows(db, f"SELECT rows FROM {name} WHERE database = 'web'") == [15]
    for table, error, message in [
        ("sdb.version('web.gha')", errors.QueryError, r"there is no sdb.version\(\)"),
        ("sdb.versions()", errors.UsageError, "takes the name of a table"),
        ("sdb.versions('web')", errors.UsageError, "is no table"),
        ("sdb.versions('web.nix')", errors.NotFoundError, "no table web.nix"),
        ("sdb.refs('web.gha@99')", UnknownReferenceError, "no version 99"),
        ("sdb.tables('x')", errors.UsageError, "takes no name"),
    ]:
        with pytest.raises(error, match=message):
            rows(db, f"SELECT * FROM {table}")
    old = db.table("web.gha@2").inspect
    assert old.versions()["version"].to_pylist() == [2, 1]
    assert sum(old.packfiles()["rows"].to_pylist()) == sum(old.blocks()["rows"].to_pylist()) == 3
    assert old.refs()["name"].to_pylist() == ["main"]
    assert (old.inputs().num_rows, old.garbage().num_rows) == (0, 0)
    with pytest.raises(errors.NotFoundError):
        rows(sdb.connect(tmp_path), "SELECT * FROM sdb.refs('web.gha')")


def test_a_version_whose_packfile_was_collected(tmp_path: Path) -> None:
    db = sdb.connect(tmp_path)
    db.create("d.t", "file://in/*.json")
    (tmp_path / "rows.json").write_text(json.dumps({"a": 1}))
    done = db.append("d.t", tmp_path / "rows.json")
    db.append("d.t", [{"a": 2}])
    (tmp_path / done.key).unlink()
    with pytest.raises(errors.CorruptError, match=f"{done.key} is missing") as raised:
        rows(db, "SELECT SUM(a) AS n FROM d.t@1")
    assert raised.value.hint is not None
    assert "sdb log" in raised.value.hint


def test_views_of_branches_are_written_to_and_others_are_not(tmp_path: Path) -> None:
    db = sdb.connect(tmp_path)
    db.create("d.t", "file://in/*.json")
    db.append("d.t", [{"a": 1}])
    table = db.table("d.t")
    table.branch("x")
    side = table.at("x")
    side.append([{"a": 2}])
    side.append([{"a": 3}])
    assert side.to_arrow()["a"].to_pylist() == [1, 2, 3]
    side.delete("a = 2")
    side.restore("x@-1")
    assert side.to_arrow()["a"].to_pylist() == [1, 2, 3]
    table.append([{"a": 4}], branch="x")
    assert table.to_arrow()["a"].to_pylist() == [1]
    side.merge("main")
    assert db.table("d.t@x").to_arrow().num_rows == 4
    assert table.merge("x").is_new
    assert sorted(table.to_arrow()["a"].to_pylist()) == [1, 2, 3, 4]
    for write in (lambda old: old.append([{"a": 5}]), lambda old: old.sync(), lambda old: old.gc()):
        with pytest.raises(errors.UsageError, match="is a version"):
            write(table.at(1))
    with pytest.raises(errors.UsageError, match="the whole table"):
        side.compact()


def test_show(db: Connection) -> None:
    """SHOW TABLES is `sdb.tables`; SHOW COLUMNS, DESC and DESCRIBE are one."""

    def answer(text: str) -> list[dict[str, Any]]:
        with db.sql(text) as result:
            return [dict(row) for row in result]

    every = answer("SELECT * FROM sdb.tables")
    assert [(row["database"], row["table"], row["rows"]) for row in every] == [("web", "gha", 15)]
    for text in ("show tables", "SHOW ALL TABLES", "SHOW TABLES FROM web", "SHOW TABLES LIKE 'g%'"):
        assert answer(text) == every
    assert answer("SHOW TABLES IN web LIKE 'x%'") == answer("SHOW TABLES FROM ops") == []
    assert answer("SHOW DATABASES") == answer("SHOW SCHEMAS;") == [{"database": "web"}]
    fields = answer("DESCRIBE web.gha")
    assert [row["field"] for row in fields] == ["k", "ts"]
    for text in ("SHOW COLUMNS FROM web.gha", "SHOW FIELDS IN web.gha", "DESC web.gha"):
        assert answer(text) == fields
    for text, message in (
        ("SHOW", "TABLES or COLUMNS is expected"),
        ("SHOW CREATE TABLE web.gha", "TABLES or COLUMNS is expected, not 'CREATE'"),
        ("SHOW TABLES web", "'web' cannot stand here"),
        ("SHOW COLUMNS web.gha", "FROM is expected, not 'web'"),
    ):
        with pytest.raises(errors.QueryError, match=message):
            answer(text)
