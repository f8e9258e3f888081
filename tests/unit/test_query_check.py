from __future__ import annotations

import math

import pytest

from sdb.errors import QueryError
from sdb.query.analyze import types
from sdb.query.analyze.check import check, fold, static_type
from sdb.query.syntax import ast, printer
from sdb.query.syntax.parser import parse

FROM = " FROM 'x.zion'"


def expr(text: str) -> ast.Expr:
    return parse(f"SELECT {text}{FROM}").select.items[0].expr


def refusal(text: str) -> QueryError:
    with pytest.raises(QueryError) as caught:
        check(parse(text))
    return caught.value


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a", types.ANY),
        ("a + 1", types.NUMBER | types.MISSING),
        ("CHAR_LENGTH(a) / 2", types.INTEGER | types.MISSING),
        ("CHAR_LENGTH(a) / 2.0", types.NUMBER | types.MISSING),
        ("CAST(a AS INTEGER) * CAST(b AS INTEGER)", types.INTEGER | types.MISSING),
        ("LEAST(SIZE(a), 3)", types.INTEGER | types.MISSING),
        ("LEAST(SIZE(a), b)", types.NUMBER | types.MISSING),
        ("-SIZE(a)", types.INTEGER | types.MISSING),
        ("a | 1", types.INTEGER | types.MISSING),
        ("COUNT(*)", types.NUMBER),
        ("SUM(a)", types.NUMBER | types.NULL),
        ("EARLIEST(a)", types.TIME | types.NULL),
        ("1 + 2", types.INTEGER),
        ("1.0", types.NUMBER),
        ("a IS NULL", types.BOOL),
        ("a = 1", types.BOOL | types.MISSING),
        ("CASE WHEN a THEN 1 ELSE 'x' END", types.INTEGER | types.STRING),
        ("CASE WHEN a THEN 1 END", types.INTEGER | types.MISSING),
        ("COALESCE(UPPER(a), 'x')", types.STRING),
        ("COALESCE(UPPER(a), NULL)", types.STRING | types.NULL),
        ("[a]", types.LIST),
        ("{'a': 1}.a", types.INTEGER),
        ("TYPE_BIT(a)", types.INTEGER),
        ("UTCNOW()", types.TIME),
        ("CAST(a AS NULL)", types.NULL),
    ],
)
def test_static_kinds(text: str, kind: int) -> None:
    assert static_type(expr(text)) == kind


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("7 / 2", 3.5),
        ("8 / 2", 4),
        ("1 / 3", 1 / 3),
        ("-7 % 3", -1),
        ("7.5 % 2", 1.5),
        ("9223372036854775806 + 1", 2**63 - 1),
        ("-(-5)", 5),
        ("~5", -6),
        ("2.5 | 1", 3),
        ("1 << 63", -(2**63)),
        ("1 << 64", 0),
        ("-16 >> 2", -4),
        ("-16 >> 99", -1),
        ("-16 >>> 60", 15),
        ("1 < 2.5", True),
        ("1 = 1.0", True),
        ("'a' || 'b'", "ab"),
        ("'a' < 'b'", True),
        ("FALSE AND a", False),
        ("a OR TRUE", True),
        ("NOT TRUE", False),
        ("{'a': {'b': 5}}.a.b", 5),
        ("[10, 20][1]", 20),
        ("TO_UNIX_EPOCH(`1969-12-31T23:59:59.5Z`)", -1),
        ("TIME_BUCKET(`1969-12-31T23:59:50Z`, 60)", 0),
        ("DATE_DIFF(MONTH, `2020-02-29T00:00:00Z`, `2021-02-28T00:00:00Z`)", 11),
        ("DATE_DIFF(YEAR, `2020-02-29T00:00:00Z`, `2021-02-28T00:00:00Z`)", 0),
        ("DATE_DIFF(DAY, `2020-03-02T00:00:00Z`, `2020-03-01T00:00:01Z`)", 0),
        ("EXTRACT(MILLISECOND FROM `2021-01-01T00:00:07.891234Z`)", 7891),
        ("EXTRACT(DOW FROM `2021-03-04T00:00:00Z`)", 4),
        ("EXTRACT(DOY FROM `2020-12-31T00:00:00Z`)", 366),
    ],
)
def test_constants_fold(text: str, value: ast.Constant) -> None:
    actual = fold(expr(text))
    assert isinstance(actual, ast.Literal)
    assert actual == ast.Literal(value)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("DATE_ADD(MONTH, 1, `2024-01-31T00:00:00Z`)", "2024-03-02T00:00:00Z"),
        ("DATE_ADD(YEAR, 1, `2024-02-29T10:00:00Z`)", "2025-03-01T10:00:00Z"),
        ("DATE_ADD(DAY, -30, UTCNOW())", "1970-01-01T00:00:00Z"),
        ("DATE_TRUNC(WEEK, `2021-03-04T05:00:00Z`)", "2021-02-28T00:00:00Z"),
        ("DATE_TRUNC(WEEK(MONDAY), `2021-03-04T05:00:00Z`)", "2021-03-01T00:00:00Z"),
        ("DATE_TRUNC(QUARTER, `2021-06-04T05:00:00Z`)", "2021-04-01T00:00:00Z"),
        (
            "DATE_BIN('15 minutes', `1969-12-31T23:59:00Z`, `2000-01-01T00:00:00Z`)",
            "1969-12-31T23:45:00Z",
        ),
    ],
)
def test_times_fold(text: str, time: str) -> None:
    now = ast.Instant(30 * 86_400_000_000)
    assert printer.text(fold(expr(text), now)) == f"`{time}`"


def test_what_does_not_fold_stays() -> None:
    for text in ("UTCNOW()", "a + 1", "DATE_ADD(YEAR, 9000, `2024-01-01T00:00:00Z`)", "FALSE OR a"):
        assert fold(expr(text)) == expr(text)
    whole = fold(parse(f"SELECT a{FROM} WHERE b > 1 + 1"))
    assert whole == parse(f"SELECT a{FROM} WHERE b > 2")
    infinite = ast.Binary("%", ast.Literal(math.inf), ast.Literal(2.0))
    assert fold(infinite) == infinite


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 9223372036854775807 + 1", "9223372036854775808 overflows int64"),
        ("SELECT a / (1 - 1)" + FROM, "division by zero"),
        ("SELECT UPPER(1 + 1)", "not compatible with type string"),
        ("SELECT a IN (SELECT b, c FROM t)" + FROM, "should have 1 column; have 2"),
        ("SELECT a" + FROM + " GROUP BY SUM(a)", "not allowed in GROUP BY"),
        ("SELECT a FROM t x JOIN u y ON COUNT(*) = 1", "not allowed in ON"),
        ("SELECT SUM(a) FILTER (WHERE COUNT(*) > 1)" + FROM, "nested aggregate COUNT(*)"),
        ("SELECT (SELECT 1 / 0) AS x", "division by zero"),
        ("SELECT * FROM (SELECT UPPER(5)) x", "not compatible with type string"),
        ("WITH w AS (SELECT * LIMIT 1) SELECT 1", "without FROM"),
        ("SELECT a FROM t UNION SELECT UPPER(5)", "not compatible with type string"),
        ("SELECT a ~ '(?<x'" + FROM, "missing closing )"),
        ("SELECT p.a, q.b FROM t AS p WHERE q.b = 1", 'undefined variable "q"'),
        ("SELECT p.a FROM t AS p GROUP BY p.b", "path p.a references an unbound variable"),
        ("SELECT a + b, COUNT(*) FROM t GROUP BY a", "path b references an unbound variable"),
        ("SELECT p.a FROM t AS p WHERE p.b = (SELECT q.x FROM u AS q WHERE r.y = 1 LIMIT 1)",
         'undefined variable "r"'),
    ],
)  # fmt: skip
def test_refusals(text: str, message: str) -> None:
    assert message in refusal(text).message


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a + b AS c, COUNT(*) FROM t GROUP BY a + b",
        "SELECT UPPER(city) AS c, COUNT(*) AS n FROM t GROUP BY c HAVING n > 1 ORDER BY c",
        "SELECT c, MAX(x) FROM t GROUP BY UPPER(city) AS c ORDER BY MAX(x)",
        "SELECT u.name, COUNT(*) FROM t GROUP BY u",
        "SELECT s.a, COUNT(*) FROM (SELECT a FROM t) AS s GROUP BY a",
        "SELECT SUM(x) / COUNT(*) AS r FROM t",
        "SELECT a, RANK() OVER (ORDER BY COUNT(*)) FROM t GROUP BY a",
        "SELECT a, SUM(x) OVER (PARTITION BY b) FROM t",
        "SELECT e.x FROM t AS a, a.list AS l, l AS e",
        "SELECT e FROM t AS a, a.list AS e",
        "SELECT e FROM t, list AS e",
        "SELECT a.x AS x, COUNT(*) FROM t AS a GROUP BY x",
        "SELECT (SELECT COUNT(*) FROM u) AS c, name FROM t",
        "SELECT l[0].x, COUNT(*) FROM t GROUP BY l[0]",
        "SELECT 1 AS x, x + 1 AS y",
        "SELECT COUNT(*) AS n FROM t HAVING n > 1",
        "SELECT a.x FROM t AS a WHERE EXISTS (SELECT b.y FROM u AS b WHERE b.y = a.x)",
        "SELECT p.a AS z FROM t AS p ORDER BY z",
        "WITH w AS (SELECT a FROM t) SELECT a FROM w AS v WHERE v.a = 1",
        "SELECT k, v FROM UNPIVOT t AS v AT k WHERE v = 1",
        "SELECT age AS a, a + 1 AS b, b * 2 AS c FROM t",
        "SELECT a ~ '[]a(]+\\\\(' AS m FROM t",
    ],
)
def test_what_passes(text: str) -> None:
    check(parse(text))


def test_errors_know_their_place() -> None:
    error = refusal("SELECT 1,\n  age / 0 AS x\nFROM 'x.zion'")
    assert (error.line, error.column, error.length) == (2, 3, 7)
    assert error.underlined().splitlines()[2] == "  ^^^^^^^"
    assert error.query is not None
    assert error.within("q.sql").underlined() == error.underlined()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT a FROM t ORDER BY b",
        "SELECT DISTINCT a.x FROM t ORDER BY a",
        "SELECT DISTINCT a, COUNT(*) FROM t GROUP BY a ORDER BY SUM(b)",
        "SELECT DISTINCT a FROM t ORDER BY a + b",
        "SELECT DISTINCT a FROM t ORDER BY RANK() OVER (ORDER BY a)",
        "SELECT DISTINCT a FROM t ORDER BY (SELECT MIN(a) FROM u)",
        "SELECT n FROM (SELECT DISTINCT a FROM t ORDER BY b LIMIT 3)",
    ],
)
def test_distinct_is_sorted_by_its_items(query: str) -> None:
    with pytest.raises(QueryError, match="DISTINCT cannot be sorted by"):
        check(parse(query))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT a FROM t ORDER BY a",
        "SELECT DISTINCT UPPER(a) AS u FROM t ORDER BY u DESC, CHAR_LENGTH(u)",
        "SELECT DISTINCT a FROM t ORDER BY a.b, a[0], 1",
        "SELECT DISTINCT x.a FROM t AS x ORDER BY a",
        "SELECT DISTINCT a, COUNT(*) FROM t GROUP BY a ORDER BY COUNT(*), 1",
        "SELECT DISTINCT ON (a) a FROM t ORDER BY b",
    ],
)
def test_what_is_made_of_items_sorts_distinct(query: str) -> None:
    check(parse(query))


def test_ranks_count_all_rows() -> None:
    with pytest.raises(QueryError, match="does not accept FILTER"):
        check(parse("SELECT RANK() FILTER (WHERE a > 1) OVER (ORDER BY a) FROM t"))
