from __future__ import annotations

import inspect

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdb.errors import QueryError
from sdb.query.analyze.check import check
from sdb.query.analyze.params import bind
from sdb.query.syntax import ast, printer
from sdb.query.syntax.literals import words
from sdb.query.syntax.parser import parse
from tests.amounts import usual

FROM = " FROM 'x.zion'"


def expr(text: str) -> ast.Expr:
    return parse(f"SELECT {text}{FROM}").select.items[0].expr


def refusal(text: str) -> QueryError:
    with pytest.raises(QueryError) as caught:
        parse(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a = b IS NULL", "a = (b IS NULL)"),
        ("a = b LIKE 'x'", "a = (b LIKE 'x')"),
        ("1 | 2 = 3", "(1 | 2) = 3"),
        ("~5 + 1", "~(5 + 1)"),
        ("NOT a = b AND c", "(NOT (a = b)) AND c"),
        ("a OR b AND c", "a OR (b AND c)"),
        ("a || b * c", "(a || b) * c"),
        ("-a || b", "(-a) || b"),
        ("a - b - c", "(a - b) - c"),
        ("a | b ^ c & d << e + f * g", "a | (b ^ (c & (d << (e + (f * g)))))"),
        ("a = x BETWEEN 1 AND 2", "(a = x) BETWEEN 1 AND 2"),
        ("x BETWEEN 1 AND 2 = y", "(x BETWEEN 1 AND 2) = y"),
        ("x BETWEEN 1 AND 2 AND y", "(x BETWEEN 1 AND 2) AND y"),
        ("a + 1 IN (1, 2)", "(a + 1) IN (1, 2)"),
        ("a NOT IN (1)", "NOT (a IN (1))"),
        ("a NOT BETWEEN 1 AND 2", "NOT (a BETWEEN 1 AND 2)"),
        ("a != b", "a <> b"),
        ("a CONCAT b", "a || b"),
        ("concat(a, b, c)", "CONCAT(a, b, c)"),
        ("t + 2 * INTERVAL '1 day'", "t + INTERVAL '2 days'"),
        ("-INTERVAL '1 day' + t", "t + INTERVAL '-1 day'"),
        ("a ~~ 'x'", "a LIKE 'x'"),
        ("a ~~* 'x'", "a ILIKE 'x'"),
        ("a OR (b OR (c OR d))", "a OR b OR c OR d"),
        ("o['a']['b c']", 'o.a."b c"'),
        ("+a", "a"),
    ],
)
def test_operators_bind_as_documented(text: str, same: str) -> None:
    assert expr(text) == expr(same)
    assert expr(text) == expr(printer.text(expr(text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TRIM(LEADING ',' FROM s)", ("LTRIM", 2)),
        ("TRIM(TRAILING ',' FROM s)", ("RTRIM", 2)),
        ("TRIM(BOTH ',' FROM s)", ("TRIM", 2)),
        ("TRIM(',' FROM s)", ("TRIM", 2)),
        ("trim(s)", ("TRIM", 1)),
        ("utcnow()", ("UTCNOW", 0)),
        ("coalesce(a, 1)", ("COALESCE", 2)),
    ],
)
def test_calls(text: str, expected: tuple[str, int]) -> None:
    actual = expr(text)
    assert isinstance(actual, ast.Call)
    assert (actual.name, len(actual.args)) == expected
    if len(actual.args) == 2 and actual.name != "COALESCE":
        assert actual.args == (ast.Name("s"), ast.Literal(","))


def test_times() -> None:
    assert expr("DATE_TRUNC(WEEK(monday), t)") == ast.Call(
        "DATE_TRUNC", (ast.Name("t"),), "WEEK", 1
    )
    assert expr("extract(microseconds from t)") == ast.Call(
        "EXTRACT", (ast.Name("t"),), "MICROSECOND"
    )
    assert expr("DATE_EXTRACT_DOW(t)") == expr("EXTRACT(DOW FROM t)")


def test_spans_are_in_bytes() -> None:
    select = parse("SELECT 'é', a.b + 1 FROM t WHERE f(x) = 2").select
    assert [item.expr.span for item in select.items] == [(7, 11), (13, 20)]
    assert select.where is not None
    assert select.where.span == (34, 42)


@pytest.mark.parametrize(
    "text",
    ["FROM 'p.zion'", 'SELECT * FROM "p.zion"', "SELECT * FROM read_file('p.zion');"],
)
def test_ways_to_name_a_file(text: str) -> None:
    select = parse(text).select
    assert select == parse("SELECT * FROM Read_File('p.zion')").select
    assert select.star


def test_quoted_names_that_are_no_files() -> None:
    text = 'WITH "a.b" AS (SELECT 1 AS x) SELECT * FROM "a.b" AS "c.d", "c.d".x AS y'
    tables = [source.table for source in parse(text).select.sources]
    assert [type(table) for table in tables] == [ast.PathTable, ast.PathTable]
    assert parse('FROM "people"').select.sources[0].table == ast.PathTable(ast.Name("people"))


def test_several_files() -> None:
    table = parse("FROM read_file('a', 's3://b/*.zion') AS t SELECT t.x").select.sources[0].table
    assert table == ast.CallTable("READ_FILE", (ast.Literal("a"), ast.Literal("s3://b/*.zion")))


def test_joins_and_unions() -> None:
    select = parse("FROM 'a.z' a LEFT OUTER JOIN b ON a.x = b.x, a.l AS e CROSS JOIN c").select
    assert [source.join for source in select.sources] == ["FIRST", "LEFT", "CROSS", "CROSS"]
    statement = parse("SELECT a FROM t UNION ALL SELECT b FROM t UNION SELECT c FROM t LIMIT 1")
    assert [every for every, _ in statement.unions] == [True, False]
    assert "last SELECT" in refusal("SELECT a FROM t LIMIT 1 UNION SELECT b FROM t").message


@pytest.mark.parametrize(("before", "after"), [("(", ")"), ("[", "]"), ("NOT ", ""), ("ABS(", ")")])
def test_depth_is_bounded(before: str, after: str) -> None:
    fine = f"SELECT {before * 90}a{after * 90}{FROM}"
    check(parse(fine))
    for depth in (200, 10_000):
        error = refusal(f"SELECT {before * depth}a{after * depth}{FROM}")
        assert "nested more than 100 levels" in error.message


@pytest.mark.parametrize("frames", [300, 600, 900])
def test_a_deep_stack_of_the_caller_is_no_crash(frames: int) -> None:
    query = f"SELECT {'CASE WHEN TRUE THEN ' * 95}{'+'.join('a' * 90)}{' END' * 95}{FROM}"
    left = frames - len(inspect.stack(0))
    seen = set()

    def descend(levels: int) -> None:
        if levels > 0:
            descend(levels - 1)
            return
        try:
            seen.add(len(check(parse(query)).select.items))
        except QueryError as error:
            seen.add(error.message[-17:])

    descend(left)
    assert seen <= {1, "nested too deeply"}


def test_long_chains() -> None:
    for op in (" OR ", " AND ", " || "):
        statement = check(parse(f"SELECT {op.join(['a'] * 5000)}{FROM}"))
        assert parse(printer.statement(statement)) == statement
    check(parse(f"SELECT {' + '.join(['a'] * 190)}{FROM}"))
    error = refusal(f"SELECT {' + '.join(['a'] * 5000)}{FROM}")
    assert "more than 200 operators" in error.message
    assert error.hint


def test_parameters() -> None:
    bound = bind(parse(f"SELECT a = $x, $y{FROM} WHERE b IN ($x)"), {"x": "it's", "y": None})
    assert bound.select.items[0].expr == ast.Binary("=", ast.Name("a"), ast.Literal("it's"))
    assert bound.select.items[1].expr == ast.Literal(None)
    for params in ({}, {"x": 1, "y": 2}, {"x": object()}, {"x": 1 << 64}, {"x": "\udcff"}):
        with pytest.raises(QueryError):
            bind(parse(f"SELECT $x{FROM}"), params)
    with pytest.raises(QueryError, match=r"\$x") as caught:
        check(parse(f"SELECT $x{FROM}"))
    assert caught.value.column == 8


WORDS = sorted(
    words(
        "SELECT FROM WHERE a b.c \"q x\" 'str' 1 -2.5 `2020-01-01T00:00:00Z` ( ) [ ] { } , . "
        "* + - / % || ++ = <> < NOT AND OR IN IS NULL MISSING TRUE BETWEEN LIKE SIMILAR TO ~ "
        "CASE WHEN THEN END COUNT( SUM( CAST( AS INTEGER TRIM( EXTRACT( DAY DATE_ADD( GROUP "
        "BY ORDER LIMIT UNPIVOT WITH OVER ( PARTITION DISTINCT EXISTS $p ; ? ' \" ` /* $1 é "
        "0x UNION JOIN ON 'x.zion' read_file( "
    )
)


@settings(max_examples=usual(400), deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=25), st.sampled_from(["", "SELECT a FROM t "]))
def test_tokens_in_any_order_give_a_tree_or_a_query_error(tokens: list[str], start: str) -> None:
    text = start + " ".join(tokens)
    try:
        statement = parse(text)
        assert parse(printer.statement(statement)) == statement
        check(statement)
    except QueryError as error:
        error.underlined()


@pytest.mark.filterwarnings("ignore:.*where it says:sdb.errors.SdbWarning")
@settings(max_examples=usual(300), deadline=None)
@given(st.text(max_size=60))
def test_any_text_gives_a_tree_or_a_query_error(text: str) -> None:
    for query in (text, f"SELECT {text}", f"SELECT '{text}'"):
        try:
            check(parse(query))
        except QueryError as error:
            error.underlined()
