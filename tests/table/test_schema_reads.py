"""Queries on tables with a schema: names, order, defaults, eras and types."""

from __future__ import annotations

import datetime as dt
import pickle
import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sdb
from sdb.errors import QueryError, SdbWarning, UnsupportedError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.client.connection import Connection

AT = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
ROWS: list[dict[str, Any]] = [
    {"a": 1, "b": {"x": 1, "y": "u", "z": 9}, "l": [{"p": 1, "q": 2}, {"p": 3}], "extra": 5},
    {"a": 2, "b": {"x": 5}, "l": [], "t": None},
    {"a": 3, "c": 7, "t": "hi"},
]
INNER = {
    "type": "struct",
    "columns": [
        {"name": "first", "path": ["x"], "type": "integer"},
        {"name": "y", "type": "string"},
        {"name": "d", "type": "integer", "default": 77},
    ],
}
ITEM = {"type": "struct", "columns": [{"name": "pp", "path": ["p"], "type": "integer"}]}
COLUMNS: list[dict[str, Any]] = [
    {"name": "n", "path": ["a"], "type": "integer"},
    {"name": "ob", "path": ["b"], "type": INNER},
    {"name": "l", "type": {"type": "list", "item": ITEM}},
    {"name": "t", "type": "string", "aliases": ["title"]},
    {"name": "c", "type": "integer", "default": 0},
]
SHOWN = [
    {"n": 1, "ob": {"first": 1, "y": "u", "d": 77}, "l": [{"pp": 1}, {"pp": 3}], "c": 0},
    {"n": 2, "ob": {"first": 5, "d": 77}, "l": [], "t": None, "c": 0},
    {"n": 3, "t": "hi", "c": 7},
]


@pytest.fixture
def db(tmp_path: Path) -> Connection:
    db = sdb.connect(str(tmp_path))
    db.execute("CREATE TABLE web.t")
    db.append("web.t", ROWS)
    db.table("web.t").set_schema(COLUMNS)
    return db


def rows(db: Connection, text: str, **options: Any) -> list[dict[str, Any]]:
    with db.sql(text, **options) as result:
        return list(result)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM web.t", SHOWN),
        ("SELECT q.* FROM web.t AS q WHERE q.n < 3", SHOWN[:2]),
        ("SELECT * FROM (SELECT * FROM web.t) AS q WHERE q.n = 3", SHOWN[2:]),
        ("SELECT * EXCLUDE (l, ob) FROM web.t WHERE n = 1", [{"n": 1, "c": 0}]),
        ("SELECT COLUMNS('^[nc]$') FROM web.t WHERE n = 3", [{"n": 3, "c": 7}]),
        ("SELECT n FROM web.t WHERE c = 0", [{"n": 1}, {"n": 2}]),
        ("SELECT n FROM web.t WHERE c <> 0", [{"n": 3}]),
        ("SELECT n FROM web.t WHERE ob.d = 77", [{"n": 1}, {"n": 2}]),
        ("SELECT n FROM web.t WHERE NOT (ob.first = 1)", [{"n": 2}]),
        ("SELECT title FROM web.t WHERE t = 'hi'", [{"title": "hi"}]),
        ("SELECT ob.first FROM web.t WHERE n = 2", [{"first": 5}]),
        ("SELECT ob FROM web.t WHERE n = 2", [{"ob": {"first": 5, "d": 77}}]),
        ("SELECT e.pp FROM web.t AS q, q.l AS e", [{"pp": 1}, {"pp": 3}]),
        ("SELECT e FROM web.t AS q, q.l AS e WHERE e.pp = 3", [{"e": {"pp": 3}}]),
        ("SELECT u.pp FROM web.t AS q, UNNEST(q.l) AS u", [{"pp": 1}, {"pp": 3}]),
        ("SELECT l[1].pp AS p FROM web.t WHERE n = 1", [{"p": 3}]),
        ("SELECT c, COUNT(*) AS k FROM web.t GROUP BY c ORDER BY c", None),
        ("SELECT COUNT(*) AS k FROM web.t", [{"k": 3}]),
        ("SELECT MAX(n) AS k FROM web.t", [{"k": 3}]),
        ("SELECT n FROM web.t ORDER BY n DESC LIMIT 1", [{"n": 3}]),
        # An outer join has no row to show a default of
        (
            "SELECT u.n, v.c FROM web.t u LEFT JOIN web.t v ON u.n = v.n AND v.n = 3 ORDER BY u.n",
            [{"n": 1, "c": None}, {"n": 2, "c": None}, {"n": 3, "c": 7}],
        ),
        ("SELECT u.n, v.t FROM web.t u JOIN web.t v USING (n) WHERE n = 3", [{"n": 3, "t": "hi"}]),
        ("SELECT n FROM web.t WHERE n IN (SELECT ob.first FROM web.t)", [{"n": 1}]),
        ("WITH q AS (SELECT * FROM web.t) SELECT n FROM q WHERE c = 7", [{"n": 3}]),
        ("SELECT k FROM UNPIVOT web.t AS v AT k WHERE v = 7", [{"k": "c"}]),
        ("SELECT n FROM web.t WHERE _row = 0", [{"n": 1}]),
        (
            "SELECT (SELECT COUNT(*) FROM web.t AS v WHERE v.n < u.n) AS k FROM web.t AS u",
            [{"k": 0}, {"k": 1}, {"k": 2}],
        ),
    ],
)
def test_names_are_those_of_columns(
    db: Connection, text: str, expected: list[dict[str, Any]] | None
) -> None:
    assert rows(db, text) == (expected or [{"c": 0, "k": 2}, {"c": 7, "k": 1}])


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("SELECT a FROM web.t", "the schema has no column a", "the columns are n, ob, l, t, c"),
        ("SELECT titel FROM web.t", "no column titel", None),
        ("SELECT q.nn FROM web.t AS q", "no column nn", None),
        ("SELECT ob.x FROM web.t", "no column x", "the columns are first, y, d"),
        ("SELECT ob.frst FROM web.t", "no column frst", "did you mean first?"),
        ("SELECT n FROM web.t WHERE extra = 5", "no column extra", None),
        ("SELECT e.p FROM web.t AS q, q.l AS e", "no column p", "the columns are pp"),
    ],
)
def test_names_that_the_schema_lacks_are_errors(
    db: Connection, text: str, message: str, hint: str | None
) -> None:
    with pytest.raises(QueryError) as caught:
        rows(db, text)
    assert message in caught.value.message
    assert caught.value.offset is not None
    if hint is not None:
        assert caught.value.hint == hint


def test_files_and_tables_without_a_schema_stay_as_they_are(db: Connection) -> None:
    db.table("web.t").set_schema(None)
    assert rows(db, "SELECT * FROM web.t") == ROWS
    assert rows(db, "SELECT a FROM web.t WHERE extra = 5") == [{"a": 1}]
    assert rows(db, "SELECT n FROM web.t@3 WHERE n = 1") == [{"n": 1}]


def test_each_version_has_its_schema(db: Connection) -> None:
    assert rows(db, "SELECT * FROM web.t@2") == ROWS
    db.execute("ALTER TABLE web.t RENAME COLUMN n TO number, DROP COLUMN l")
    assert list(rows(db, "SELECT * FROM web.t")[0]) == ["number", "ob", "c"]
    assert rows(db, "SELECT * FROM web.t@3") == SHOWN
    db.execute("INSERT INTO web.t (number) VALUES (4)")
    assert rows(db, "SELECT number FROM web.t WHERE number = 4") == [{"number": 4}]
    assert rows(db, "SELECT n FROM web.t WHERE n = 1", at="3") == [{"n": 1}]


def test_an_old_column_does_not_show_through_a_new_one(db: Connection) -> None:
    db.execute("ALTER TABLE web.t DROP COLUMN t")
    db.execute("ALTER TABLE web.t ADD COLUMN t STRING DEFAULT 'new'")
    db.append("web.t", [{"a": 4, "t": "now"}, {"a": 5}])
    expected = [(1, "new"), (2, "new"), (3, "new"), (4, "now"), (5, "new")]
    shown = rows(db, "SELECT n, t FROM web.t ORDER BY n")
    assert [(row["n"], row["t"]) for row in shown] == expected
    assert rows(db, "SELECT n FROM web.t WHERE t = 'hi'") == []
    assert rows(db, "SELECT n FROM web.t WHERE t = 'now'") == [{"n": 4}]
    assert rows(db, "SELECT COUNT(*) AS k FROM web.t WHERE t = 'new'") == [{"k": 4}]
    assert rows(db, "SELECT * FROM web.t WHERE n = 4") == [{"n": 4, "c": 0, "t": "now"}]
    assert len(rows(db, "SELECT n FROM web.t WHERE _row >= 0")) == 5
    assert rows(db, "SELECT n, t FROM web.t@3 WHERE t = 'hi'") == [{"n": 3, "t": "hi"}]
    (done,) = db.execute("DELETE FROM web.t WHERE t = 'new' AND n = 3")
    assert done.effects[0].rows_deleted == 1
    (done,) = db.execute("UPDATE web.t SET c = 9 WHERE t = 'new'")
    assert done.effects[0].rows_updated == 3
    assert sorted(row["c"] for row in rows(db, "SELECT c FROM web.t")) == [0, 9, 9, 9]


def test_statements_name_columns(db: Connection) -> None:
    (done,) = db.execute("UPDATE web.t SET ob.first = ob.first + n WHERE c = 0")
    assert done.effects[0].rows_updated == 2
    assert [row["f"] for row in rows(db, "SELECT ob.first AS f FROM web.t WHERE n < 3")] == [2, 7]
    with pytest.raises(QueryError, match="no column a"):
        db.execute("DELETE FROM web.t WHERE a = 1")
    db.execute("CREATE TABLE web.copy AS SELECT n, ob, c FROM web.t")
    assert rows(db, "SELECT c FROM web.copy WHERE n = 1") == [{"c": 0}]
    db.execute(
        "MERGE INTO web.t AS t USING web.copy AS s ON t.n = s.n AND s.n = 3"
        " WHEN MATCHED THEN UPDATE SET c = s.n"
    )
    assert rows(db, "SELECT c FROM web.t WHERE n = 3") == [{"c": 3}]


def test_several_schemas_are_read_one_after_the_other(db: Connection) -> None:
    db.execute("CREATE TABLE web.u")
    db.append("web.u", [{"n": 8, "k": 1}])
    assert rows(db, "SELECT n FROM web.t ++ web.u WHERE n > 2") == [{"n": 3}, {"n": 8}]
    with pytest.raises(UnsupportedError, match="several schemas"):
        rows(db, 'SELECT n FROM TABLE_GLOB(web."*")')


def test_blocks_are_left_out_as_without_a_schema(tmp_path: Path) -> None:
    db = sdb.connect(str(tmp_path))
    db.execute("CREATE TABLE web.t")
    chance = random.Random(7)
    many = [
        {"id": number, "user": {"name": f"u{number}"}, "pad": chance.randbytes(40).hex()}
        for number in range(40_000)
    ]
    options: dict[str, Any] = {"stats": "id,user.name", "block_bytes": 1 << 18}
    db.append("web.t", many, align_bytes=1 << 14, **options)
    texts = [
        "SELECT {id} AS i FROM web.t WHERE {id} = 7000",
        "SELECT {id} AS i FROM web.t WHERE {name} = 'u777'",
        "SELECT {id} AS i FROM web.t WHERE {id} BETWEEN 7000 AND 7001 OR {id} IN (3, 4)",
        "SELECT {id} AS i FROM web.t ORDER BY {id} DESC LIMIT 3",
        "SELECT a.{id} AS i FROM web.t a JOIN web.t b ON a.{id} = b.{id} WHERE b.{id} = 12345",
        "SELECT {id} AS i FROM web.t WHERE {id} IN (SELECT {id} FROM web.t WHERE {id} = 12345)",
    ]

    def read(**names: str) -> list[tuple[list[dict[str, Any]], int, int]]:
        results = []
        for text in texts:
            with db.sql(text.format(**names)) as result:
                rows = list(result)
                results.append((rows, result.reading.blocks, result.reading.all_blocks))
        return results

    without = read(id="id", name="user.name")
    assert all(rows and 3 * blocks < total for rows, blocks, total in without)
    db.table("web.t").set_schema(db.table("web.t").infer_schema())
    assert read(id="id", name="user.name") == without
    db.execute("ALTER TABLE web.t RENAME COLUMN id TO n, RENAME COLUMN user.name TO login")
    assert read(id="n", name="user.login") == without
    db.execute("ALTER TABLE web.t ADD COLUMN flag INTEGER DEFAULT 0")
    with db.sql("SELECT n FROM web.t WHERE flag = 1") as result:
        assert (list(result), result.reading.blocks) == ([], 0)


def test_views_and_system_tables_go_on(db: Connection) -> None:
    db.execute("CREATE VIEW web.v AS SELECT n, c FROM web.t WHERE c = 0")
    db.execute("ALTER TABLE web.t RENAME COLUMN l TO list")
    assert rows(db, "SELECT * FROM web.v") == [{"n": 1, "c": 0}, {"n": 2, "c": 0}]
    assert rows(db, "SELECT operation FROM sdb.versions('web.t') WHERE version = 3") == [
        {"operation": "schema"}
    ]


TYPED: list[dict[str, Any]] = [
    {"name": "d", "type": "date"},
    {"name": "m", "type": "decimal(10,2)"},
    {"name": "b", "type": "binary"},
    {"name": "v", "type": "variant"},
    {"name": "i", "type": "integer"},
    {"name": "f", "type": "double"},
    {"name": "x", "type": {"type": "struct", "columns": [{"name": "d", "type": "date"}]}},
    {"name": "gone", "type": "list<decimal(5,2)>"},
]


def test_arrow_has_the_types_of_the_schema(tmp_path: Path) -> None:
    db = sdb.connect(str(tmp_path))
    db.execute("CREATE TABLE web.t")
    noon = AT + dt.timedelta(hours=12)
    good = {"d": AT, "m": 1.25, "b": b"\x00\xff", "v": {"a": 1}, "i": 1, "f": 2, "x": {"d": AT}}
    bad = {"d": noon, "m": 1.255, "b": "!", "v": [1, "x"], "i": 1.5, "f": "s", "x": {"d": noon}}
    db.append("web.t", [good, bad])
    table = db.table("web.t")
    table.set_schema(TYPED)
    with pytest.warns(SdbWarning) as warned:
        arrow = table.to_arrow()
    assert arrow.schema.names == [column["name"] for column in TYPED]
    assert arrow.schema.types == [
        pa.date32(),
        pa.decimal128(10, 2),
        pa.binary(),
        pa.utf8(),
        pa.int64(),
        pa.float64(),
        pa.struct([("d", pa.date32())]),
        pa.list_(pa.decimal128(5, 2)),
    ]
    day = AT.date()
    first, second = arrow.to_pylist()
    assert first == {
        "d": day,
        "m": Decimal("1.25"),
        "b": b"\x00\xff",
        "v": '{"a": 1}',
        "i": 1,
        "f": 2.0,
        "x": {"d": day},
        "gone": None,
    }
    assert second == dict.fromkeys(first) | {"v": '[1, "x"]', "x": {"d": None}}
    texts = [str(warning.message) for warning in warned]
    for name in ("d", "m", "b", "i", "f", "x"):
        assert any(f"of {name}: null here" in text for text in texts), (name, texts)
    # In SQL values stay what they are.
    assert rows(db, "SELECT i, f FROM web.t WHERE f = 's'") == [{"i": 1.5, "f": "s"}]


def test_no_row_changes_no_type(db: Connection) -> None:
    whole = db.table("web.t").to_arrow().schema
    with db.sql("SELECT * FROM web.t WHERE n = 99") as result:
        assert result.to_arrow().schema == whole
    with db.sql("SELECT ob.first, t FROM web.t WHERE n = 1") as result:
        assert result.to_arrow().schema.types == [pa.int64(), pa.utf8()]


def test_libraries_get_columns(db: Connection) -> None:
    import duckdb
    import polars as pl

    table = db.table("web.t")
    lazy = table.lazy().filter(pl.col("n") >= 2).select("n", "c").collect()
    assert lazy.to_dicts() == [{"n": 2, "c": 0}, {"n": 3, "c": 7}]
    with pytest.raises(UsageError, match="no column a"):
        table.lazy(fields=["a"])
    connection = duckdb.connect()
    registered = sdb.register(connection, "g", table)
    text = 'SELECT n, ob."first", c FROM g WHERE n < 3 ORDER BY n'
    assert connection.sql(text).fetchall() == [(1, 1, 0), (2, 5, 0)]
    registered.close()
    assert list(table.to_pandas().columns) == ["n", "ob", "l", "t", "c"]
    with table.splits(where="c = 0") as splits:
        copies = pickle.loads(pickle.dumps(splits))  # noqa: S301 - our own
        assert [row for split in copies for row in split.rows()] == SHOWN[:2]
        assert copies[0].to_arrow().schema == table.to_arrow().schema
