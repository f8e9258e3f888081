"""Views that are rows of one table are read as that table; answers stay those of a sub-query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import SdbError
from sdb.query.catalog.views import ViewExpansion
from sdb.query.syntax import ast, versions
from sdb.query.syntax.parser import parse
from sdb.table.catalog.root import table_root
from sdb.table.catalog.views import find_view

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [
    {"a": 1, "b": "x", "v": {"a": 5}},
    {"a": None, "b": "y"},
    {"b": "x", "c": [1, 2]},
    {"a": 2, "t": {"a": 1}},
    {"a": "1", "b": None, "v": 3},
    {"a": 3, "b": "x", "w": {"a": 3, "b": 1}},
]
VIEWS = {
    "whole": "SELECT * FROM d.t",
    "some": "SELECT * FROM d.t WHERE a > 1 OR b = 'x'",
    "named": "SELECT * FROM d.t AS q WHERE q.b = 'x'",
    "alias": "SELECT * FROM d.t WHERE v.a = 5",
    "element": "SELECT * FROM d.t WHERE c[1] = 2 OR w.b = 1 OR b = 'y'",
    "again": "SELECT * FROM d.some WHERE b = 'x'",
    "inner": "SELECT * FROM d.t WHERE a IN (SELECT a FROM d.t WHERE b = 'x')",
    "first": "SELECT * FROM d.t ORDER BY b LIMIT 2",
    "fewer": "SELECT a, b FROM d.t",
    "kinds": "SELECT DISTINCT b FROM d.t",
}
QUERIES = (
    "SELECT * FROM {}",
    "SELECT COUNT(*) AS n FROM {}",
    "SELECT COUNT(*) AS n, MAX(a) AS m FROM {} WHERE b = 'x'",
    "SELECT * FROM {} WHERE a = 1 OR b IS MISSING",
    "SELECT b, COUNT(*) AS n FROM {} GROUP BY b",
    "SELECT v.a AS va, a FROM {} AS v WHERE v.a >= 1",
    "SELECT t.a AS ta FROM {} AS t WHERE t.b = 'x'",
    "SELECT v FROM {} WHERE v IS NOT MISSING",
    "SELECT x.a FROM {} AS x, x.c AS e",
    "SELECT a FROM {} AS o WHERE EXISTS (SELECT 1 FROM d.t AS i WHERE i.a = o.a AND i.b = 'x')",
    "SELECT * EXCLUDE (a) FROM {} WHERE NOT (a = 1)",
    "SELECT COUNT(*) AS n FROM {} WHERE a = 1 HAVING COUNT(*) > 0",
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("views") / "lake"
    db = sdb.connect(folder)
    db.create("d.t", "in/*.json")
    db.append("d.t", ROWS)
    for name, text in VIEWS.items():
        db.execute(f"CREATE VIEW d.{name} AS {text}")
    return folder


def answer(root: Path, sql: str) -> Any:
    try:
        return sorted(map(repr, sdb.sql(sql, root=root)))
    except SdbError as error:
        return type(error).__name__


def text_of(name: str) -> str:
    text = VIEWS[name]
    return text.replace("d.some", f"({VIEWS['some']})")


@pytest.mark.filterwarnings("ignore::sdb.errors.SdbWarning")
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_gives_what_its_text_does_as_a_sub_query(root: Path, name: str) -> None:
    for query in QUERIES:
        if name != "first":
            expected = answer(root, query.format(f"({text_of(name)})"))
            assert answer(root, query.format(f"d.{name}")) == expected, query


@pytest.mark.parametrize(
    ("query", "is_table"),
    [
        ("SELECT * FROM d.whole", True),
        ("SELECT a FROM d.some AS s WHERE s.a = 1", True),
        ("SELECT a FROM d.again", True),
        ("SELECT a FROM d.alias AS v", False),  # v.a would be the field a of the view
        ("SELECT a FROM d.alias AS u", True),
        ("SELECT a FROM d.named", False),
        ("SELECT a FROM d.inner", False),
        ("SELECT a FROM d.first", False),
        ("SELECT a FROM d.fewer", False),
        ("SELECT b FROM d.kinds", False),
        ("SELECT * FROM d.some TABLESAMPLE 1 ROWS", False),
        ("SELECT x.a FROM d.whole AS x JOIN d.whole AS y ON x.a = y.a", False),
    ],
)
def test_a_view_that_is_rows_of_a_table_is_read_as_the_table(
    root: Path, query: str, *, is_table: bool
) -> None:
    tables = table_root(root)
    look = ViewExpansion(lambda _name, pair, _inner: find_view(tables, *pair), str(root), "")
    select = look.statement(parse(query)).select
    table = select.sources[0].table
    assert (isinstance(table, ast.CallTable) and table.name == versions.THROUGH) == is_table
