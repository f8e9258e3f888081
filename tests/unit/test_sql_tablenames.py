"""Names of tables in front of fields, against DuckDB, and where rows have a field of that name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import sdb
from sdb.errors import QueryError

if TYPE_CHECKING:
    from pathlib import Path

ROWS = {
    "t": [
        {"id": 1, "g": "a", "tags": ["x", "y"], "o": {"k": 3}},
        {"id": 2, "g": "a", "tags": ["x"], "o": {"k": 2}},
        {"id": 3, "g": "b", "tags": ["z"], "o": {"k": 1}},
    ],
    "u": [
        {"id": 1, "g": "a", "v": "one"},
        {"id": 2, "g": "b", "v": "two"},
        {"id": 7, "v": "seven"},
    ],
    "logs": [{"id": 1, "logs": {"id": 5}}, {"id": 2}],
}
QUERIES = [
    "SELECT t.id, t.o.k FROM t WHERE t.g = 'a' ORDER BY t.id DESC",
    "SELECT t.g, COUNT(*) AS n FROM t GROUP BY t.g HAVING MAX(t.id) > 2 ORDER BY t.g",
    "SELECT t.id AS a, u.id AS b FROM t JOIN u ON t.id = u.id ORDER BY a",
    "SELECT t.id AS a, u.v FROM t, u WHERE t.g = u.g ORDER BY a, u.v",
    "SELECT t.id AS a, v, t.o.k, o.k + 1 AS l FROM t LEFT JOIN u ON t.id > u.id ORDER BY a, v",
    "SELECT t.*, u.v FROM t JOIN u ON t.id = u.id ORDER BY t.id",
    "SELECT t.id FROM t SEMI JOIN u ON t.id = u.id ORDER BY t.id",
    "SELECT t.id FROM t ANTI JOIN u ON t.id = u.id ORDER BY t.id",
    "SELECT t.id, u.v FROM t ASOF JOIN u ON t.id >= u.id ORDER BY t.id",
    "SELECT t.id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id) ORDER BY t.id",
    "SELECT t.id FROM t WHERE t.id IN (SELECT u.id FROM u WHERE u.g = t.g) ORDER BY t.id",
    "SELECT t.id, n FROM t, LATERAL (SELECT COUNT(*) AS n FROM u WHERE u.id <= t.id) q ORDER BY 1",
    "SELECT x.id FROM t AS x WHERE x.id = (SELECT MAX(t.id) FROM t WHERE t.g = x.g) ORDER BY x.id",
    "WITH w AS (SELECT t.id FROM t) SELECT w.id, u.v FROM w JOIN u ON u.id = w.id ORDER BY w.id",
    "SELECT t.id, e.x FROM t, UNNEST(t.tags) AS e(x) ORDER BY t.id, e.x",
    "SELECT t.id, x FROM t CROSS JOIN UNNEST(t.tags) AS e(x) WHERE e.x <> 'x' ORDER BY t.id",
    "SELECT s.n FROM GENERATE_SERIES(1, 3) AS s(n) WHERE s.n > 1 ORDER BY s.n",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tablenames")
    for name, rows in ROWS.items():
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        sdb.pack([str(folder / f"{name}.json")], str(folder / f"{name}.zion"))
    return folder


def _rows(folder: Path, query: str) -> list[dict[str, Any]]:
    with sdb.sql(query, root=str(folder), threads=1, dialect="standard") as result:
        return [dict(row) for row in result]


@pytest.mark.parametrize("query", QUERIES)
def test_table_names_are_aliases(folder: Path, query: str) -> None:
    with duckdb.connect() as connection:
        for name in ("t", "u"):
            connection.execute(f"CREATE TABLE {name} AS FROM read_json('{folder}/{name}.json')")
        result = connection.sql(query)
        expected = [
            {
                name: value
                for name, value in zip(result.columns, row, strict=True)
                if value is not None
            }
            for row in result.fetchall()
        ]
    rows = [{k: v for k, v in row.items() if v is not None} for row in _rows(folder, query)]
    assert rows == expected


def test_a_field_goes_before_the_table(folder: Path) -> None:
    assert _rows(folder, "SELECT logs.id FROM logs WHERE id = 1") == [{"id": 5}]


def test_a_column_of_the_select_list_goes_before_the_table(folder: Path) -> None:
    assert _rows(folder, "SELECT o AS t, t.k FROM t ORDER BY id LIMIT 1") == [
        {"t": {"k": 3}, "k": 3}
    ]


def test_a_table_that_is_there_twice_needs_aliases(folder: Path) -> None:
    assert _rows(folder, "SELECT t.id FROM t CROSS JOIN t") == [{}] * 9


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT a.id FROM t AS a JOIN u AS b ON a.id = b.id WHERE q.x = 1", "undefined variable"),
        ("SELECT id.x FROM t JOIN u ON t.id = u.id", "id is a field of several tables"),
        ("SELECT o.k FROM t AS a", "undefined variable"),
    ],
)
def test_paths_behind_nothing_are_refused(folder: Path, query: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        _rows(folder, query)
