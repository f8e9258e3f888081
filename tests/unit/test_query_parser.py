"""What the vectors do not have: extensions, limits, places of errors, parameters."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdb.errors import QueryError
from sdb.query import ast
from sdb.query.lexer import KEYWORDS
from sdb.query.literals import timestamp
from sdb.query.binding import bind
from sdb.query.parser import parse
from sdb.query.walk import nodes, rewrite, too_deep

A, B, C = map(ast.Name, "abc")
ONE, TWO = ast.Literal(1), ast.Literal(2)


def expr(text: str) -> ast.Expr:
    return parse(f"SELECT {text}").select.items[0].expr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a -1", ast.Binary("-", A, ONE)),
        ("a-1", ast.Binary("-", A, ONE)),
        ("-1", ast.Literal(-1)),
        ("- 1", ast.Unary("-", ONE)),
        ("+1", ONE),
        ("-9223372036854775808", ast.Literal(-(1 << 63))),
        ("9223372036854775808", ast.Literal(float(1 << 63))),
        ("a NOT IN (1)", ast.Unary("NOT", ast.In(A, (ONE,)))),
        ("a NOT BETWEEN 1 AND 2", ast.Unary("NOT", ast.Between(A, ONE, TWO))),
        ("a BETWEEN 1 AND 2 AND b", ast.Binary("AND", ast.Between(A, ONE, TWO), B)),
        ("a = b IS NULL", ast.Binary("=", A, ast.Is(B, "NULL", negated=False))),
        ("~a + 1", ast.Unary("~", ast.Binary("+", A, ONE))),
        ("a || b * c", ast.Binary("*", ast.Binary("||", A, B), C)),
        ("a - b - c", ast.Binary("-", ast.Binary("-", A, B), C)),
        ("[NULL]", ast.MakeList((ast.Literal(None),))),
        ("value.x", ast.Dot(ast.Name("value"), "x")),
        ("a['b'][0]", ast.Index(ast.Dot(A, "b"), 0)),
        ("TRIM(LEADING 'x' FROM a)", ast.Call("LTRIM", (A, ast.Literal("x")))),
        (r"'\ud83d\ude00'", ast.Literal("\U0001f600")),
        ("'it\nis'", ast.Literal("it\nis")),
        ("017 + 0x_f", ast.Binary("+", ast.Literal(15), ast.Literal(15))),
    ],
)
def test_expressions(text: str, expected: ast.Expr) -> None:
    assert expr(text) == expected


def test_tables() -> None:
    file = ast.CallTable("READ_FILE", (ast.Literal("d/x.zion"),))
    for table in ("read_file('d/x.zion')", "'d/x.zion'", '"d/x.zion"'):
        assert parse(f"SELECT a FROM {table} AS t").select.sources == (ast.Source(file, "t"),)
    assert parse("FROM t WHERE a").select == parse("SELECT * FROM t WHERE a").select
    assert parse("FROM t SELECT a LIMIT 1;").select == parse("SELECT a FROM t LIMIT 1").select
    assert parse('SELECT a FROM "x y"').select.sources == (
        ast.Source(ast.PathTable(ast.Name("x y")), None),
    )


@pytest.mark.parametrize(
    "text",
    ["(", "[", "- ", "NOT ", "(SELECT ", "CASE WHEN ", "f(", "COUNT(", "/*", "a.", "a+"],
)
def test_depth_is_bounded(text: str) -> None:
    with pytest.raises(QueryError):
        parse(f"SELECT {text * 5000}a")


def test_long_chains_are_flat() -> None:
    chain = expr(" OR ".join(f"a = {number}" for number in range(10_000)))
    assert too_deep(chain, 20) is None
    values = [node.value for node in nodes(chain) if isinstance(node, ast.Literal)]
    assert values == list(range(10_000))


def test_places_are_bytes() -> None:
    with pytest.raises(QueryError) as caught:
        parse("SELECT 'é',\n\t'ß' FROM FROM x")
    error = caught.value
    assert (error.line, error.column, error.offset) == (2, 16, 28)
    assert error.underlined() == "SELECT 'é',\n\t'ß' FROM FROM x\n\t" + " " * 13 + "^^"
    assert QueryError("no place").underlined() == ""


def test_parameters() -> None:
    moment = dt.datetime(2021, 3, 4, tzinfo=dt.UTC)
    statement = parse("SELECT $a AS a, [$b, $a] FROM t WHERE x > $t")
    bound = bind(statement, {"a": None, "b": "x' OR 1", "t": moment})
    assert bound.select.items[1].expr == ast.MakeList((ast.Literal("x' OR 1"), ast.Literal(None)))
    assert bound.select.where == ast.Binary(
        ">", ast.Name("x"), ast.Literal(ast.Instant(1614816000000000))
    )
    assert not any(isinstance(node, ast.Param) for node in nodes(bound))


@pytest.mark.parametrize("params", [{}, {"a": 1, "b": 2}, {"a": 1 << 63}, {"a": [1]}])
def test_wrong_parameters(params: dict[str, object]) -> None:
    with pytest.raises(QueryError):
        bind(parse("SELECT $a"), params)


def test_rewriting_keeps_what_it_does_not_change() -> None:
    statement = parse("SELECT CAST(a AS STRING), b + 1 FROM t")
    same = rewrite(statement, lambda node: node)
    assert same is statement
    changed = rewrite(statement, lambda node: C if node == B else node)
    assert changed.select.items[1].expr == ast.Binary("+", C, ONE)
    assert changed.select.items[0] is statement.select.items[0]


def test_times() -> None:
    assert timestamp(" 1970-01-01 00:00:60.1234567+00:01 ") == ast.Instant(123456)
    assert timestamp("1969-12-31T23:59:59.999999Z") == ast.Instant(-1)
    for text in ("2021-03-04", "2021-02-30T00:00:00Z", "2021-01-01T00:00:61Z", "yesterday"):
        assert timestamp(text) is None


WORDS = st.sampled_from([*sorted(KEYWORDS), *"()[]{},.:;+-*/%=<>!~|&^$'\"`#\n0", "a", "1.5", "''"])


@given(st.lists(WORDS, max_size=30).map(" ".join) | st.text(max_size=40))
def test_any_text_parses_or_is_refused(text: str) -> None:
    size = len(text.encode(errors="surrogatepass"))
    try:
        spans = [node.span for node in nodes(parse(text))]
    except QueryError as error:
        spans = [(error.offset or 0, size)]
    assert all(0 <= start <= stop <= size for start, stop in spans)
