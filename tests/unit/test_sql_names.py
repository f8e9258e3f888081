"""Names: a bare one is that of the source which is known to have it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import QueryError, SdbWarning, UsageError
from sdb.query.plan import resolution
from sdb.query.plan.sourcefields import SourceFields

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS: dict[str, list[dict[str, Any]]] = {
    "A": [{"k": 1, "v": "a"}, {"k": 2, "v": "b"}],
    "B": [{"j": 1, "w": "x"}],
    "C": [{"m": 1, "z": "q"}, {"m": 2, "z": "r"}],
    "D": [{"k": 2, "d": "e"}],
    "J": [{"j": 1}],
    "L": [{"l": 1, "items": [{"k": 7}, {"k": 8}]}],
    "T": [{"ts": "2026-01-01T00:00:00Z"}, {"ts": "2026-01-01T00:01:00Z"}],
    "R": [{"repo": {"name": "x", "id": 1}}, {"repo": {"name": "x", "id": 2}}],
}

_CHAIN = """
WITH x AS (SELECT * FROM B), y AS (SELECT * FROM x)
SELECT v, z FROM y, (SELECT * FROM A) AS a, C WHERE k = j AND m = k
"""


CASES = [
    ("SELECT v FROM A AS a CROSS JOIN C", [("a",), ("a",), ("b",), ("b",)]),
    ("SELECT v FROM A CROSS JOIN C AS c WHERE z = 'q'", [("a",), ("b",)]),
    ("SELECT v, z FROM A JOIN C ON k = m WHERE z = 'r'", [("b", "r")]),
    ("SELECT v, w FROM A AS a JOIN (SELECT * FROM B) AS b ON a.k = b.j", [("a", "x")]),
    ("SELECT w FROM A AS a JOIN (SELECT * FROM B) AS b ON k = j WHERE v = 'a'", [("x",)]),
    ("SELECT w FROM A AS a JOIN (SELECT * FROM B) ON k = j WHERE v = 'a'", [("x",)]),
    ("WITH x AS (SELECT * FROM B) SELECT v FROM A JOIN x ON k = j", [("a",)]),
    (
        _CHAIN,
        [("a", "q")],
    ),
    ("SELECT a.v, t.w FROM A AS a, LATERAL (SELECT w FROM B WHERE j = k) AS t", [("a", "x")]),
    ("SELECT v, u FROM A CROSS JOIN UNNEST([k]) AS e(u) JOIN B ON j = u", [("a", 1)]),
    ("SELECT z, e.k FROM L AS x, x.items AS e, C WHERE m = l", [("q", 7), ("q", 8)]),
    (
        "SELECT v, w, z FROM A JOIN B ON k = j JOIN (SELECT * FROM C WHERE m < 5) ON m = j",
        [("a", "x", "q")],
    ),
    ("SELECT v FROM A WHERE EXISTS (SELECT * FROM B WHERE j = k)", [("a",)]),
    ("SELECT v FROM A WHERE k IN (SELECT m FROM C WHERE z = 'q' AND v = 'a')", [("a",)]),
    ("SELECT v FROM A AS x WHERE k > (SELECT MIN(j) FROM B AS y WHERE w <> v)", [("b",)]),
    ("SELECT z FROM A, C WHERE k = m AND EXISTS (SELECT * FROM B AS b WHERE j = k)", [("q",)]),
    ("SELECT k, v, d FROM A JOIN D USING (k)", [(2, "b", "e")]),
    ("SELECT k, v, z FROM A NATURAL JOIN D JOIN (SELECT * FROM C) ON m = k", [(2, "b", "r")]),
    ("SELECT A.k, d FROM A JOIN D ON A.k = D.k", [(2, "e")]),
    ("SELECT v FROM A AS a SEMI JOIN (SELECT * FROM B) AS b ON k = j WHERE v > ''", [("a",)]),
    (
        "SELECT v, u FROM A JOIN (SELECT j AS u FROM B UNION SELECT m AS u FROM C) ON k = u",
        [("a", 1), ("b", 2)],
    ),
    ("SELECT v FROM A AS a WHERE EXISTS (SELECT * FROM D WHERE k = 1)", []),
    ("SELECT MAX(v) AS v, z FROM A CROSS JOIN C GROUP BY z", [("b", "q"), ("b", "r")]),
]
ALIASES = [
    # A source is called by its name in any case, where no field has that name.
    ("SELECT X.k FROM A AS x WHERE X.v = 'a'", [(1,)]),
    ("SELECT Q.n FROM (SELECT COUNT(*) AS n FROM A) AS q", [(2,)]),
    ("SELECT x.k, Y.j FROM A AS X JOIN B AS y ON x.k = Y.j", [(1, 1)]),
    ("SELECT REPO.name, COUNT(*) AS n FROM R AS repo GROUP BY REPO.name", [(None, 2)]),
    # Later items: a field goes first.
    ("SELECT 0 AS k, k + 1 AS k1 FROM A", [(0, 2), (0, 3)]),
    ("SELECT 0 AS n, n + 1 AS k1 FROM A", [(0, 1), (0, 1)]),
    ("SELECT 0 AS k, k + m AS s FROM A, C WHERE m = 1", [(0, 2), (0, 3)]),
    ("SELECT 0 AS k, x.k + 1 AS k1 FROM A AS x", [(0, 2), (0, 3)]),
    ("SELECT 0 AS u, u + 1 AS k1 FROM UNNEST([5]) AS e(u)", [(0, 6)]),
    ("SELECT 0 AS k, (SELECT MAX(m) FROM C WHERE m = k) AS s FROM A", [(0, 1), (0, 2)]),
    # A path behind an alias.
    (
        "SELECT repo.name AS repo, COUNT(DISTINCT repo.id) AS n FROM R GROUP BY repo.name",
        [("x", 2)],
    ),
    ("SELECT {'id': 5} AS s, s.id AS i FROM A WHERE k = 1", [({"id": 5}, 5)]),
    # GROUP BY, HAVING, QUALIFY and DISTINCT ON: a field goes first, then the name of a column.
    ("SELECT 0 AS k, COUNT(*) AS n FROM A GROUP BY k", [(0, 1), (0, 1)]),
    ("SELECT repo.name, COUNT(*) AS n FROM R GROUP BY name", [("x", 2)]),
    ("SELECT k, MAX(-k) AS m FROM A GROUP BY k HAVING m < -1", [(2, -2)]),
    ("SELECT v, COUNT(*) AS k FROM A GROUP BY v, k HAVING k > 1", [("b", 1)]),
    ("SELECT DISTINCT ON (k) 0 AS k FROM A", [(0,), (0,)]),
    # WHERE and ON: an alias only where no source has the name.
    ("SELECT k + 1 AS v FROM A WHERE v = 'a'", [(2,)]),
    ("SELECT k + 1 AS kk FROM A WHERE kk = 3", [(3,)]),
    ("SELECT 5 AS j, k FROM A JOIN B ON k = j", [(5, 1)]),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    for name, rows in ROWS.items():
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        sdb.pack([str(folder / f"{name}.json")], str(folder / f"{name}.zion"))
    return folder


def _rows(folder: Path, query: str, **options: Any) -> list[Any]:
    with sdb.sql(query, root=str(folder), threads=1, **options) as result:
        rows = list(result)
    return sorted((tuple(row.values()) for row in rows), key=repr)


@pytest.mark.parametrize(("query", "answer"), CASES)
def test_a_source_never_answers_to_a_name_that_it_cannot_have(
    folder: Path, query: str, answer: list[Any]
) -> None:
    for dialect in ("sneller", "standard"):
        assert _rows(folder, f"SET dialect = {dialect}; {query}") == answer, dialect


@pytest.mark.parametrize(
    ("queries", "answer"),
    [
        ("SELECT j AS a FROM B INTERSECT SELECT m AS v FROM C INTERSECT SELECT k AS v FROM A", [1]),
        ("SELECT j AS a FROM B UNION SELECT m AS v FROM C", [1, 2]),
        ("SELECT m AS a FROM C EXCEPT SELECT j AS v FROM B", [2]),
    ],
)
def test_rows_of_set_operations_have_the_columns_of_the_first_query(
    folder: Path, queries: str, answer: list[int]
) -> None:
    joined = _rows(folder, f"SELECT v, a FROM A, ({queries}) AS x WHERE k = a")
    assert joined == [(" ab"[a], a) for a in answer]
    for star in ("x.*", "COLUMNS('.')"):
        assert _rows(folder, f"SELECT {star} FROM ({queries}) AS x") == [(a,) for a in answer]


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("SELECT k FROM A CROSS JOIN D", "A.k or D.k"),
        ("SELECT v FROM A AS x JOIN A AS y ON k = k", "x.k or y.k"),
        (
            "SELECT x.v FROM A AS x JOIN (SELECT * FROM D) AS y ON x.k = y.k WHERE k = 2",
            "x.k or y.k",
        ),
        ("SELECT v FROM A WHERE EXISTS (SELECT * FROM D, A AS b WHERE k = 1)", "D.k or b.k"),
    ],
)
def test_a_name_of_several_sources_is_an_error_that_names_them(
    folder: Path, query: str, hint: str
) -> None:
    with pytest.raises(QueryError, match="k is a field of several tables") as caught:
        _rows(folder, query)
    assert caught.value.hint == f"write {hint}"


def test_a_name_that_no_source_has_is_warned_of_and_an_error_under_strict(folder: Path) -> None:
    for query in (
        "SELECT nope FROM B, C AS c",
        "SELECT nope FROM B AS b, (SELECT * FROM C) AS c",
    ):
        with pytest.warns(SdbWarning, match='has "nope"'):
            assert _rows(folder, query) == [(), ()]
        with pytest.raises(UsageError, match='has "nope"'):
            _rows(folder, query, strict=True)
    with pytest.raises(QueryError, match="undefined variable"):
        _rows(folder, "SELECT nope FROM B AS b, C AS c")


@pytest.mark.parametrize(("query", "answer"), ALIASES)
def test_a_field_goes_before_an_alias(folder: Path, query: str, answer: list[Any]) -> None:
    assert _rows(folder, query, dialect="standard") == answer


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("SELECT -k AS k FROM A ORDER BY k", [-2, -1]),
        ("SELECT -k AS k FROM A ORDER BY k + 0 DESC", [-2, -1]),
        ("SELECT repo.id FROM R ORDER BY id DESC", [2, 1]),
        ("SELECT x.k FROM A AS x, D ORDER BY k DESC", [2, 1]),
    ],
)
def test_a_bare_name_of_order_by_is_a_column_first(
    folder: Path, query: str, answer: list[int]
) -> None:
    with sdb.sql(query, root=str(folder), dialect="standard") as result:
        assert [next(iter(row.values())) for row in result] == answer


def test_where_refuses_an_alias_of_an_aggregate_in_words(folder: Path) -> None:
    with pytest.raises(QueryError, match="n is an aggregate, which WHERE comes before"):
        _rows(folder, "SELECT COUNT(*) AS n FROM A WHERE n > 1", dialect="standard")


def test_two_items_with_one_alias_are_two_columns(folder: Path) -> None:
    for query, names in (
        ("SELECT k AS id, v AS id, 1 AS id FROM A", ["id", "id_1", "id_2"]),
        ("SELECT k AS id, v AS id, 1 AS id_1 FROM A", ["id", "id_2", "id_1"]),
        ("SELECT k, 5 AS k FROM A", ["k", "k_1"]),
        ("SELECT q.id_1 FROM (SELECT k AS id, v AS id FROM A) AS q", ["id_1"]),
    ):
        with sdb.sql(query, root=str(folder)) as result:
            assert list(next(iter(result))) == names, query
    with pytest.raises(QueryError, match="id is the name of several columns"):
        _rows(folder, "SELECT k AS id, v AS id FROM A ORDER BY id")


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("SELECT v FROM A WHERE k IN (SELECT * FROM J)", [("a",)]),
        ("SELECT v FROM A WHERE k NOT IN (SELECT * FROM J)", [("b",)]),
        ("SELECT v FROM A WHERE k = ANY (SELECT * FROM (SELECT j FROM B) AS q)", [("a",)]),
        ("SELECT v FROM A WHERE k > ALL (SELECT * FROM J)", [("b",)]),
        ("SELECT v FROM A WHERE k = (SELECT * FROM J)", [("a",)]),
        ("SELECT v FROM A WHERE (k, v) IN (SELECT * FROM A WHERE k = 2)", [("b",)]),
        ("WITH q AS (SELECT * FROM J) SELECT v FROM A WHERE k IN (SELECT * FROM q)", [("a",)]),
        ("SELECT v FROM A WHERE k IN (SELECT * FROM J UNION SELECT * FROM J)", [("a",)]),
    ],
)
def test_a_star_of_one_column_is_compared_as_that_column(
    folder: Path, query: str, answer: list[Any]
) -> None:
    assert _rows(folder, query) == answer


@pytest.mark.parametrize("test", ["k IN ({})", "k NOT IN ({})", "k = ANY ({})", "k < ({})"])
def test_a_star_of_several_columns_is_no_value(folder: Path, test: str) -> None:
    with pytest.raises(QueryError, match="sub-query should have 1 column; have 2"):
        _rows(folder, f"SELECT v FROM A WHERE {test.format('SELECT * FROM C')}")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT A.k, b.k FROM A JOIN A AS b ON A.k = b.k",
        "SELECT x.k, A.k FROM A AS x JOIN A ON x.k = A.k",
        "SELECT A.k, b.k FROM A AS A JOIN A AS b ON A.k = b.k",
        "SELECT A.k FROM A WHERE EXISTS (SELECT * FROM A AS b WHERE b.k = A.k)",
        "SELECT ts - LAG(ts) OVER (ORDER BY ts) AS d FROM T",
        "SELECT ts - FIRST_VALUE(ts) OVER (ORDER BY ts) AS d FROM T",
        "SELECT MAX(ts) - MIN(ts) AS d FROM T",
        "SELECT x.ts - y.ts AS d FROM T AS x CROSS JOIN T AS y",
    ],
)
def test_nothing_is_said_of_names_and_values_that_are_there(folder: Path, query: str) -> None:
    with sdb.sql(query, root=str(folder), strict=True) as result:
        list(result)
        assert result.notes == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ts + 5 AS x FROM T",
        "SELECT ts FROM T WHERE ts > ts - 1",
        "SELECT x.ts FROM T AS x JOIN T AS y ON x.ts > y.ts + 1",
        "SELECT 1 + MAX(ts) AS x FROM T",
    ],
)
def test_a_number_added_to_a_time_is_refused(folder: Path, query: str) -> None:
    with pytest.raises(QueryError, match="a number is added to a time") as caught:
        _rows(folder, query)
    assert "INTERVAL" in str(caught.value.hint)


def _of_every_name(*_: object) -> bool:
    return True


def _of_every_star(gives: Callable[..., bool]) -> Callable[..., bool]:
    return lambda fields, select, name: select.star or gives(fields, select, name)


def _alias_first(method: Callable[..., Any]) -> Callable[..., Any]:
    def name(resolver: Any, part: Any, seen: Any) -> Any:
        is_late = part.name in seen.late and not part.certain
        return resolver._late(part, seen) if is_late else method(resolver, part, seen)

    return name


def _far_first(method: Callable[..., Any]) -> Callable[..., Any]:
    def outermost(resolver: Any, part: Any, names: Any) -> Any:
        outside = names.outer and outermost(resolver, part, names.outer)
        return outside or method(resolver, part, names)

    return outermost


@pytest.mark.parametrize(
    ("owner", "method", "mutated"),
    [
        (SourceFields, "_of_table", lambda _: _of_every_name),
        (SourceFields, "_gives", _of_every_star),
        (resolution._Resolver, "_name", _alias_first),
        (resolution._Resolver, "_found", _far_first),
        (resolution._Resolver, "_key", lambda _: lambda _resolver, item, *_: item),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_resolver_that_finds_the_wrong_source_is_noticed(
    folder: Path, owner: type, method: str, mutated: Callable[..., Any], monkeypatch: Any
) -> None:
    monkeypatch.setattr(owner, method, mutated(getattr(owner, method)))

    def differs(query: str, answer: list[Any]) -> bool:
        try:
            return _rows(folder, query) != answer
        except Exception:  # noqa: BLE001 - noticed as well
            return True

    assert any(differs(*case) for case in CASES + ALIASES)
