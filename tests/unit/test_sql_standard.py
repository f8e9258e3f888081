"""Standard SQL where fields are absent: what DuckDB says of rows with NULL there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import sdb
from sdb.errors import QueryError
from sdb.query.duckdb_sql.values import equality, operators, standard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import ModuleType

    Engines = tuple[Path, duckdb.DuckDBPyConnection]

T = [
    {"i": 1, "a": 1, "s": "x", "b": True, "l": [1, None, 2]},
    {"i": 2, "a": None, "s": "y", "b": False, "l": []},
    {"i": 3, "s": None, "b": None, "l": None},
    {"i": 4, "a": 2, "b": True, "l": [4, 7]},
    {"i": 5, "a": 1, "s": "x"},
    {"i": 6, "a": None, "l": [None]},
]
TYPES = "{i: 'BIGINT', a: 'BIGINT', s: 'VARCHAR', b: 'BOOLEAN', l: 'BIGINT[]'}"
U = [{"k": 1, "w": "p"}, {"k": None, "w": "q"}, {"w": "r"}, {"k": 7, "w": None}]
QUERIES = [
    "select i, b and i = 3 as x, i = 3 or b as y, i = 4 and b as z from t order by i",
    "select i, b and i < 9 as x, b or i > 9 as y from t order by i",
    "select i from t where a is null",
    "select i from t where a is not null",
    "select i from t where not (a = 1)",
    "select i from t where a <> 1",
    "select i from t where not (a <> 1 or s = 'x')",
    "select i from t where a = 1 or s is null",
    "select i from t where not (a is null)",
    "select i from t where a in (1, null)",
    "select i from t where a not in (1, 5)",
    "select i from t where a not in (2, null)",
    "select i from t where not b",
    "select i from t where b is not true",
    "select i from t where a = null",
    "select i from t where a is distinct from 1",
    "select i from t where a is not distinct from null",
    "select i from t where a is not distinct from i",
    "select a, count(*) as n from t group by a order by a",
    "select a, count(*) as n from t group by a order by a desc",
    (
        "select a, s, count(*) as n, count(a) as c, count(distinct s) as d, avg(i) as v, sum(a) "
        "as m from t group by a, s order by n, a, s"
    ),
    "select s, a from t order by s, a",
    "select s, a from t order by s desc, a nulls first",
    "select distinct a from t order by a",
    "select distinct a, s from t order by a, s",
    (
        "select count(a) as n, count(*) as m, count(distinct a) as d, avg(a) as v, stddev(i) as "
        "s, variance(i) as x from t"
    ),
    (
        "select i, a + 1 as x, a = 1 as y, not b as z, s || 'k' as k, upper(s) as up, coalesce(a,"
        " i) as co, case when a = 1 then 's' end as ca, nullif(a, 1) as nu from t order by i"
    ),
    (
        "select i, a is null as x, a in (1) as y, a between 0 and 1 as z, s like 'x%' as l, a in "
        "(2, null) as q, (a = 1) is null as r from t order by i"
    ),
    "select t.i, u.w from t left join u on t.a = u.k where u.k is null order by i",
    "select t.i, u.w from t join u on t.a = u.k order by i",
    (
        "select t.i, case when u.k is null then 'no' else 'yes' end as c from t left join u on "
        "t.a = u.k order by i"
    ),
    "select i from t where a in (select k from u) order by i",
    "select i from t where a not in (select k from u) order by i",
    "select i from t where a not in (select k from u where k is not null) order by i",
    "select i from t where i not in (select a from t where a is not null) order by i",
    "select i from t where exists (select 1 from u where u.k = t.a) order by i",
    "select i from t where not exists (select 1 from u where u.k = t.a) order by i",
    "select i from t where a = any (select k from u) order by i",
    "select i from t where i > all (select k from u where k is not null) order by i",
    "select a from t union select k from u order by 1",
    "select a from t union all select k from u",
    "select a, s from t intersect select k, w from u",
    "select a from t intersect select k from u",
    "select a from t except select k from u order by 1",
    (
        "select i, count(*) over (partition by a) as n, rank() over (order by a) as r, rank() "
        "over (order by a desc) as d, sum(i) over (order by a rows 1 preceding) as x from t order"
        " by i"
    ),
    (
        "select i, lag(a) over (order by i) as l, first_value(a) over (partition by b order by i)"
        " as f from t order by i"
    ),
    (
        "select a, b, count(*) as n, grouping(a) as g from t group by rollup(a, b) order by g, a,"
        " b, n"
    ),
    "select coalesce(k, -1) as k, count(*) as n from u group by coalesce(k, -1) order by 1",
    "select i from t where (a, s) in (select k, w from u)",
    "select i, (select w from u where u.k = t.a) as w from t order by i",
    "select max(a) as m, min(s) as s from t where i > 10",
    (
        "select count(*) filter (where a is null) as n, sum(case when a is null then 1 else 0 "
        "end) as s from t"
    ),
    "select t.i, u.w from t full join u on t.a = u.k order by i, w",
    "select bool_and(b) as x, bool_or(b) as y from t",
    "select i from t where s < 'y' or a > 1 order by i",
    "select i from t where not (s < 'y') order by i",
    "select i from t where s not like 'x%' order by i",
    "select a from t group by a having count(*) > 1 order by a",
    "select i, a from t order by a, i limit 3",
    "select i, a from t order by a desc, i limit 4",
    "select i from t where (a = 1) = (s = 'x') order by i",
    ("select case a when null then 'n' when 1 then 'one' else 'e' end as x, i from t order by i"),
    "select i from t where a = 1 and s = 'x' is not true",
    "select x.i, y.i as j from t x join t y on x.a is not distinct from y.a order by 1, 2",
    "select i, least(a, i) as x, greatest(a, 5, i) as y, greatest(null, s) as z from t order by i",
    "select i, a = any([1, null]) as x, a <> all([5, null]) as y, a > any([1, null]) as z from t",
    "select i, a = any(l) as x, 4 = any(l) as y, a <> all(l) as z, null = any(l) as n from t",
    "select i from t where not (4 = any(l)) order by i",
    "select i, list_contains(l, a) as x, list_contains([1, 2], a) as y, a in l as z from t",
    "select i, contains(l, 4) as x, contains(l, a) as y, contains(s, 'x') as z from t",
    "select i from t where contains(l, 4) or contains(s, 'y') order by i",
    "select i, a between null and 1 as x, not (a between 2 and null) as y from t",
    "select distinct * from (select a from t)",
    "select count(*) as n from (select distinct * exclude (i, l) from t)",
    (
        "select count(*) as n from (select * exclude (i, l) from t union"
        " select * exclude (i, l) from t)"
    ),
    "select * exclude (i, l) from t intersect select * exclude (i, l) from t",
    "select count(*) as n from (select * from t except all select * from t where i < 4)",
    (
        "select last(i order by a, i) as x, first(s order by a desc, i) as y, first(a order by i"
        " desc) as z, array_agg(a order by i) as l from t"
    ),
    "select arg_max(s, i) as x, max_by(a, i) as y, arg_min(a, s) as z from t",
    "select i, [a, i] as x, {'k': a, 'j': i} as y from t order by i",
]


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    folder = tmp_path_factory.mktemp("standard")
    with duckdb.connect() as connection:
        for name, rows, types in (
            ("t", T, TYPES),
            ("u", U, "{k: 'BIGINT', w: 'VARCHAR'}"),
        ):
            path = folder / f"{name}.json"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            sdb.pack([path], folder / f"{name}.zion")
            connection.execute(
                f"CREATE TABLE {name} AS SELECT * FROM read_json('{path}', columns = {types})"
            )
        yield folder, connection


def answers(engines: Engines, query: str) -> tuple[list[Any], list[Any]]:
    """The rows of both, in their order if the query has one."""
    folder, duck = engines
    cursor = duck.execute(query)
    names = [column[0] for column in cursor.description or ()]
    expected = [list(row) for row in cursor.fetchall()]
    with sdb.sql(query, root=str(folder)) as result:
        actual = [[row.get(name) for name in names] for row in result]
        assert result.notes == []
    if " order by " not in query:
        actual, expected = (sorted(rows, key=repr) for rows in (actual, expected))
    return actual, expected


@pytest.mark.parametrize("query", QUERIES)
def test_queries_mean_what_they_do_in_duckdb(engines: Engines, query: str) -> None:
    actual, expected = answers(engines, query)
    assert actual == expected


def _by_null_alone(value: Any) -> str:
    return operators.is_test(value, "NULL", negated=False)


def _null_first(value: Any, sort: Any) -> list[str]:
    last = sort.nulls_last
    return operators.sort_keys(value, descending=sort.descending, nulls_last=last)


def _where_null_is_a_value(function: Callable[..., str]) -> Callable[..., str]:
    return lambda *values, **options: function(*values, **(options | {"nulls": True}))


@pytest.mark.parametrize(
    ("module", "operator", "of_the_original"),
    [
        (standard, "null", _by_null_alone),
        (equality, "equal", _where_null_is_a_value(equality.equal)),
        (equality, "among", _where_null_is_a_value(equality.among)),
        (standard, "truth", operators.truth),
        (standard, "key", lambda value: value.key()),
        (equality, "same", _where_null_is_a_value(equality.equal)),
        (standard, "sort_keys", _null_first),
        (standard, "computed", lambda value: value),
    ],
)
def test_an_operator_of_the_other_dialect_is_noticed(
    engines: Engines,
    module: ModuleType,
    operator: str,
    of_the_original: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, operator, of_the_original)

    def differs(query: str) -> bool:
        try:
            actual, expected = answers(engines, query)
        except Exception:  # noqa: BLE001 - noticed as well
            return True
        return actual != expected

    assert any(map(differs, QUERIES))


@pytest.mark.parametrize(
    ("dialect", "condition", "left"),
    [
        ("standard", "a IS NULL", [1, 4, 5]),
        ("standard", "NOT (a = 1)", [1, 2, 3, 5, 6]),
        ("standard", "a NOT IN (1)", [1, 2, 3, 5, 6]),
        ("sneller", "a IS NULL", [1, 3, 4, 5]),
        ("sneller", "NOT (a = 1)", [1, 3, 5]),
    ],
)
def test_delete_means_what_select_does(
    tmp_path: Path, dialect: str, condition: str, left: list[int]
) -> None:
    db = sdb.connect(tmp_path, dialect=dialect)
    path = tmp_path / "t.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in T))
    sdb.pack([path], tmp_path / "t.zion")
    db.execute(f"CREATE TABLE web.t AS SELECT * FROM read_file('{tmp_path}/t.zion')")
    with db.sql(f"SELECT i FROM web.t WHERE {condition}") as result:
        chosen = {row["i"] for row in result}
    db.execute(f"DELETE FROM web.t WHERE {condition}")
    with db.sql("SELECT i FROM web.t ORDER BY i") as result:
        assert [row["i"] for row in result] == left
    assert chosen == {1, 2, 3, 4, 5, 6} - set(left)


def test_blocks_without_a_field_have_its_null(tmp_path: Path) -> None:
    rows = [{"i": number, "pad": "x" * 90} for number in range(3000)]
    rows += [{"i": number, "a": number, "pad": "x" * 90} for number in range(3000, 6000)]
    path = tmp_path / "t.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sdb.pack([path], tmp_path / "t.zion", block_bytes=8192, stats="all")
    for condition, count in (
        ("a IS NULL", 3000),
        ("NOT (a IS NOT NULL)", 3000),
        ("a IS NOT NULL", 3000),
        ("NOT (a = 4000)", 2999),
        ("a <> 4000 OR a IS NULL", 5999),
        ("NOT (a IS NULL)", 3000),
        ("nothing IS NULL", 6000),
    ):
        query = f"SELECT COUNT(*) AS n FROM t WHERE {condition}"
        for prune in (True, False):
            with sdb.sql(query, root=str(tmp_path), prune=prune) as result:
                assert next(iter(result)) == {"n": count}, condition


def test_computed_values_and_keys_are_null_where_values_pass_as_they_are(engines: Engines) -> None:
    folder, _ = engines
    query = "SELECT a, a + 1 AS b, CASE WHEN a = 9 THEN 1 END AS c FROM t WHERE i = 3"
    with sdb.sql(query, root=str(folder)) as result:
        assert b"".join(result.lines()) == b'{"b": null, "c": null}\n'
    with sdb.sql(
        "SELECT a, COUNT(*) AS n FROM t WHERE i = 3 GROUP BY a", root=str(folder)
    ) as grouped:
        assert b"".join(grouped.lines()) == b'{"a": null, "n": 1}\n'
    query = "SELECT TYPEOF(a) AS t, a IS MISSING AS m FROM t WHERE i IN (2, 3) ORDER BY i"
    with sdb.sql(query, root=str(folder)) as result:
        assert list(result) == [{"t": "null", "m": False}, {"t": "missing", "m": True}]


def test_columns_named_of_a_side_without_partner_are_null(engines: Engines) -> None:
    folder, _ = engines
    joined = "t LEFT JOIN u ON t.a = u.k WHERE t.i = 2"
    with sdb.sql(f"SELECT t.i, u.w AS w FROM {joined}", root=str(folder)) as result:
        assert b"".join(result.lines()) == b'{"i": 2, "w": null}\n'
    with sdb.sql(f"SELECT * FROM {joined}", root=str(folder)) as result:
        assert b'"w"' not in b"".join(result.lines())


def test_rows_of_stars_that_are_equal_keep_the_form_of_the_first(tmp_path: Path) -> None:
    sdb.pack([{"a": 1}, {"a": 1, "b": None}, {"b": {}}], tmp_path / "v.zion")
    for query in ("SELECT DISTINCT * FROM v", "SELECT * FROM v UNION SELECT * FROM v"):
        with sdb.sql(query, root=str(tmp_path)) as result:
            lines = b"".join(result.lines()).splitlines()
        assert sorted(lines) == [b'{"a": 1}', b'{"b": {}}'], query


@pytest.mark.parametrize(
    "query",
    [
        "SELECT i FROM t WHERE 5",
        "SELECT i FROM t WHERE a + 1",
        "SELECT COUNT(*) AS n FROM t HAVING COUNT(*)",
        "SELECT i FROM t QUALIFY RANK() OVER (ORDER BY i)",
        "SELECT t.i FROM t JOIN u ON 'x'",
        "SELECT COUNT(*) FILTER (WHERE 1) AS n FROM t",
    ],
)
def test_what_is_never_a_condition_is_refused(engines: Engines, query: str) -> None:
    with pytest.raises(QueryError, match="takes a condition, not"):
        sdb.sql(query, root=str(engines[0]))


def test_values_that_are_no_condition_are_told_of(tmp_path: Path) -> None:
    sdb.pack([{"b": True, "n": 1}, {"b": 5}, {"b": "x"}, {}], tmp_path / "v.zion")
    for condition, count, note in (
        ("b", 1, "b is no condition in some rows, and NULL as one"),
        ("NOT b", 0, "b is no condition in some rows, and NULL as one"),
        ("NOT (n OR b IS NULL)", 0, "n is no condition, and NULL as one: n has numbers and no"),
        ("b IS NULL", 1, ""),
    ):
        query = f"SELECT COUNT(*) AS n FROM v WHERE {condition}"
        with sdb.sql(query, root=str(tmp_path)) as result:
            assert list(result) == [{"n": count}], condition
            assert note in " ".join(result.notes), condition
            assert bool(note) == bool(result.notes), condition


def test_texts_that_say_numbers_are_numbers_beside_nothing_else(tmp_path: Path) -> None:
    rows = [{"n": 404, "m": "404", "o": {"k": 5}}, {"n": 200, "m": 404, "o": {"k": 7}}, {"n": None}]
    sdb.pack(rows, tmp_path / "v.zion")
    for condition, count, reading in (
        ("n = '404'", 1, "n = 404"),
        ("'2e2' < n", 1, "200.0 < n"),
        ("n NOT IN ('404', '5')", 1, "404, 5"),
        ("v.o.k BETWEEN '6' AND '8'", 1, "o.k BETWEEN 6 AND 8"),
        ("CASE n WHEN '404' THEN TRUE END", 1, "404"),
        ("n IS DISTINCT FROM '404'", 2, "n IS DISTINCT FROM 404"),
        ("m = '404'", 1, ""),
        ("m = 404", 1, ""),
    ):
        for query in (
            f"SELECT COUNT(*) AS n FROM v WHERE {condition}",
            f"SELECT COUNT(*) AS n FROM (SELECT * FROM v) AS v WHERE {condition}",
            f"WITH a AS (SELECT n, m, o FROM v) SELECT COUNT(*) AS n FROM a AS v WHERE {condition}",
        ):
            with sdb.sql(query, root=str(tmp_path)) as result:
                assert list(result) == [{"n": count}], query
                assert (result.notes, bool(result.readings)) == ([], bool(reading)), query
                assert reading in " ".join(result.readings).replace("v.n", "n")
    with sdb.sql(
        "SELECT 1 FROM v WHERE n = '404'", root=str(tmp_path), dialect="sneller"
    ) as result:
        assert (list(result), result.readings) == ([], [])


def test_averages_are_not_cut(engines: Engines) -> None:
    folder, _ = engines
    text = "CASE WHEN i = 1 THEN 'ab' ELSE 'abc' END"
    query = f"SELECT AVG(CHAR_LENGTH({text})) AS v FROM t WHERE i < 3"
    with sdb.sql(query, root=str(folder)) as result:
        assert list(result) == [{"v": 2.5}]
    with sdb.sql(query, root=str(folder), dialect="sneller") as result:
        assert list(result) == [{"v": 2}]
