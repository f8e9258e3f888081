from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdb.query.syntax import ast, operators, printer
from sdb.query.syntax.outputnames import output_names
from sdb.query.syntax.parser import parse
from tests.amounts import usual


def expr(text: str) -> ast.Expr:
    return parse(f"SELECT {text} FROM 'x.zion'").select.items[0].expr


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("upper(a)||'x/y'", r"UPPER(a) || 'x\/y'"),
        ("not a", "!(a)"),
        ("date_trunc(day, t)", "DATE_TRUNC_DAY(t)"),
        ("date_trunc(week(friday), t)", "DATE_TRUNC(WEEK(FRIDAY), t)"),
        ("extract(year from t)", "DATE_EXTRACT_YEAR(t)"),
        ("date_bin('1 day', t, u)", "DATE_BIN('1 day', t, u)"),
        ("(a + b) * c", "(a + b) * c"),
        ("a + b * c", "a + b * c"),
        ("a - (b - c)", "a - (b - c)"),
        ("a AND (b AND c)", "a AND b AND c"),
        ("(NOT a) = b", "(!(a)) = b"),
        ("a.select['x y'][0]", 'a.select."x y"[0]'),
        ('"select" + "1st"', '"select" + "1st"'),
        ("case a when 1 then 2 else 3 end", "CASE a WHEN 1 THEN 2 ELSE 3 END"),
        ("'ż\n'", r"'\u017c\n'"),
        ("`2021-03-04T07:06:07+02:00`", "`2021-03-04T05:06:07Z`"),
        (
            "rank() over (partition by a order by b desc)",
            "RANK() OVER (PARTITION BY a ORDER BY b DESC)",
        ),
        (
            "count(distinct a) filter (where b)",
            "COUNT(DISTINCT a) FILTER (WHERE b)",
        ),
        ("a in (select b from t limit 1)", "a IN (SELECT b FROM t LIMIT 1)"),
        ("every(a)", "BOOL_AND(a)"),
    ],
)
def test_normal_form(text: str, normal: str) -> None:
    assert printer.text(expr(text)) == normal


def test_statements() -> None:
    text = (
        "EXPLAIN AS text WITH w AS (SELECT 1 AS x) SELECT DISTINCT ON (a) a AS b INTO c FROM"
        " READ_FILE('p', 'q') ++ d.e AS t JOIN w ON t.x = w.x WHERE a GROUP BY a AS k HAVING b"
        " ORDER BY a ASC NULLS LAST LIMIT 3 OFFSET 1"
    )
    assert printer.statement(parse(text)) == text
    union = "SELECT a FROM UNPIVOT t AS v AT k UNION ALL SELECT * FROM t, t.x AS y"
    assert printer.statement(parse(union)) == union.replace(", t.x", " CROSS JOIN t.x")


def test_quoting_in_messages_doubles_backslashes() -> None:
    assert printer.quoted(expr("'a/b'")) == r'''"'a\\/b'"'''


def test_output_names() -> None:
    text = 'SELECT a, a, b AS c, c[0][1], f(x), MAX(x), LATEST(x), d AS "", e AS a, SUM(x) FROM t'
    assert output_names(parse(text).select) == [
        "a", "a_2", "c", "c_0_1", "_5", "max", "max_7", "d", "a", "sum",
    ]  # fmt: skip


NAMES = st.sampled_from(["a", "b", "select", "x y", "", "ünï", "end", "null", "count", 'q"\\'])
CONSTANTS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.integers(-(2**55), 2**57).map(ast.Instant),
)
PLAIN_OPS = sorted(operators.LEVELS.keys() - operators.ASSOCIATIVE)


def trees(below: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Expr]:
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
    paths = st.recursive(
        NAMES.map(ast.Name),
        lambda path: (
            st.builds(ast.Dot, path, NAMES) | st.builds(ast.Index, path, st.integers(0, 9))
        ),
        max_leaves=3,
    )
    some = st.lists(below, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        paths,
        st.builds(ast.Unary, st.sampled_from(["NOT", "-", "~"]), below),
        st.builds(ast.Binary, st.sampled_from(PLAIN_OPS), below, below),
        st.builds(chain, st.sampled_from(sorted(operators.ASSOCIATIVE)), below, below),
        st.builds(ast.Between, below, below, below),
        st.builds(ast.In, below, some),
        st.builds(ast.Is, below, st.sampled_from(["NULL", "TRUE", "MISSING"]), st.booleans()),
        st.builds(
            ast.Match, st.sampled_from(["~", "~*", "SIMILAR TO"]), below, texts, st.none(),
            st.booleans(),
        ),
        st.builds(
            ast.Match, st.sampled_from(["LIKE", "ILIKE"]), below, texts, st.none() | texts,
            st.booleans(),
        ),
        st.builds(ast.Call, st.sampled_from(["UPPER", "LEAST", "LTRIM", "NO"]), some),
        st.builds(ast.Cast, below, st.sampled_from(["INTEGER", "STRING"])),
        st.builds(
            ast.Case, st.none() | below, st.tuples(st.tuples(below, below)), st.none() | below
        ),
        st.builds(ast.MakeList, some),
        st.builds(ast.MakeStruct, st.lists(st.tuples(texts, below), max_size=2).map(tuple)),
        st.builds(ast.Aggregate, st.just("SUM"), below.map(lambda arg: (arg,))),
    )  # fmt: skip


def chain(op: str, left: ast.Expr, right: ast.Expr) -> ast.Expr:
    return operators.balanced(op, operators.operands(left, op) + operators.operands(right, op))


# A backspace is printed as \b, of which a query that is written by hand is warned.
@pytest.mark.filterwarnings("ignore:.*where it says:sdb.errors.SdbWarning")
@settings(max_examples=usual(600), deadline=None)
@given(st.recursive(CONSTANTS.map(ast.Literal) | st.just(ast.Missing()), trees, max_leaves=12))
def test_what_is_printed_reads_the_same(tree: ast.Expr) -> None:
    assert expr(printer.text(tree)) == tree
