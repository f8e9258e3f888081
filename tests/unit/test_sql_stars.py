"""Stars that leave out, replace or rename columns, of one source or beside other items."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import sdb
from sdb.errors import QueryError
from sdb.query.syntax import printer
from sdb.query.syntax.parser import parse

if TYPE_CHECKING:
    from pathlib import Path

ROWS: list[dict[str, Any]] = [
    {"id": number, "name": f"n{number}", "nick": f"k{number % 2}", "size": number / 4}
    for number in range(5)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stars")
    (folder / "t.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    sdb.pack([str(folder / "t.json")], str(folder / "t.zion"))
    return folder


def rows(folder: Path, query: str) -> list[dict[str, Any]]:
    with sdb.sql(query.replace("$T", "'t.zion'"), root=str(folder)) as result:
        return [dict(row) for row in result]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a.* FROM $T AS a",
        "SELECT a.* EXCLUDE (size), a.id + 1 AS next FROM $T AS a",
        "SELECT * EXCLUDE (nick) REPLACE (upper(name) AS name) FROM $T",
        "SELECT * REPLACE (upper(name) AS name, size * 2 AS size) FROM $T",
        "SELECT * RENAME (id AS number, size AS weight) FROM $T",
        "SELECT *, length(name) AS l FROM $T",
        "SELECT 1 AS x, * FROM $T WHERE id > 2",
        "SELECT COLUMNS('^n') FROM $T",
        "SELECT x.* FROM (SELECT *, 5 AS five FROM $T) AS x",
        "WITH q AS (SELECT * RENAME (id AS key) FROM $T) SELECT q.* EXCLUDE (nick) FROM q",
        "SELECT a.name AS one, b.* RENAME (name AS two) FROM $T AS a JOIN $T AS b ON a.id = b.id",
        "SELECT * EXCLUDE (x) FROM (SELECT 1 AS x, * FROM $T) AS q",
    ],
)
def test_answers_are_those_of_duckdb(folder: Path, query: str) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT * FROM read_json(?)", [str(folder / "t.json")])
        relation = connection.sql(query.replace("$T", "t"))
        theirs = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
    ours = rows(folder, query)
    assert list(ours[0]) == list(theirs[0])
    assert sorted(ours, key=str) == sorted(theirs, key=str)


def test_an_expression_of_each_column(folder: Path) -> None:
    assert rows(folder, "SELECT MAX(COLUMNS('^(id|size)$')) FROM $T") == [{"id": 4, "size": 1.0}]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a.*, b.x FROM t AS a, b",
        "SELECT * EXCLUDE (a) REPLACE (b + 1 AS b) RENAME (c AS d) FROM t",
        "SELECT 1, * FROM t",
        'SELECT "a b".* RENAME (c AS "d e") FROM t AS "a b"',
    ],
)
def test_what_is_written_is_read_again(query: str) -> None:
    statement = parse(query)
    assert parse(printer.statement(statement)) == statement


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * REPLACE (1 AS zz) FROM $T", 'there is no column "zz" to replace'),
        ("SELECT * RENAME (zz AS a) FROM $T", 'there is no column "zz" to rename'),
        ("SELECT * RENAME (id AS name) FROM $T", 'there is a column "name" already'),
        ("SELECT * REPLACE (size AS id, id AS size) FROM $T", "which is replaced"),
        ("SELECT z.* FROM $T AS a", 'no table of FROM is named "z"'),
        ("SELECT COLUMNS('^zz') FROM $T", "no column matches '^zz'"),
        ("SELECT COLUMNS('(') FROM $T", "COLUMNS: missing )"),
        ("SELECT COLUMNS(id) FROM $T", "COLUMNS takes a regular expression"),
        ("SELECT COLUMNS('^n') AS x FROM $T", "has 2 columns, and one name"),
        ("SELECT *, id FROM $T ORDER BY 9", "there is no item 9: * has"),
        ("SELECT * EXCLUDE (id, name, nick, size), 1 AS x FROM $T", "EXCLUDE leaves no column"),
    ],
)
def test_faults_are_said_in_words(folder: Path, query: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        rows(folder, query)
    assert message in caught.value.message
