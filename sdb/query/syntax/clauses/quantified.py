"""Comparisons with several values at once: ANY and ALL, and rows of values in parentheses."""

from __future__ import annotations

from sdb.errors import QueryError
from sdb.query.syntax import ast, operators
from sdb.query.syntax.clauses import setqueries
from sdb.query.syntax.clauses.patterns import matched, pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.query.syntax.expressions import ExpressionParser

COMPARES = frozenset({"=", "<>", "<", "<=", ">", ">="})
_SIGNS = {"EQ": "=", "NE": "<>", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
_STRICT = {"<=": "<", ">=": ">"}
_MOST_ROWS = 100_000
_ELEMENT = "element"


def quantifier(parser: ExpressionParser) -> str | None:
    """Step over ANY, SOME or ALL before a parenthesis: the operator that joins the comparisons."""
    token = parser.token
    word = str(token.value).upper() if token.kind in {"ID", "ALL"} and not token.quoted else ""
    if word not in {"ANY", "SOME", "ALL"} or parser.ahead() != "(":
        return None
    parser.advance()
    return "AND" if word == "ALL" else "OR"


def comparison(parser: ExpressionParser, left: ast.Expr, op: str) -> ast.Expr | None:
    """Parse what follows a sign of comparison, if it is ANY or ALL."""
    joint = quantifier(parser)
    if joint is None:
        return None
    members = _members(parser)
    span = parser.since(left)
    test: ast.Expr
    if (op, joint) in {("=", "OR"), ("<>", "AND")}:
        test = _is_member(left, members, span)
        return ast.Unary("NOT", test, span=span) if op == "<>" else test
    match members:
        case (ast.MakeList(items=items),):
            members = items
        case (member,) if not isinstance(member, ast.Param | ast.Literal):
            members = _elements(member)
    several = ast.Quantified(op, left, joint == "AND", members, span=span)
    if isinstance(members, ast.Subquery) or any(isinstance(m, ast.Param) for m in members):
        return several
    return written_out(several)


def _members(parser: ExpressionParser) -> tuple[ast.Expr, ...] | ast.Subquery:
    """Parse what is in the parentheses: a query, or expressions."""
    opening = parser.expect("(").start
    if setqueries.begins(parser):
        query = parser.subquery()
        parser.expect(")")
        return ast.Subquery(query, span=(opening, parser.last.stop))
    members = parser.expressions()
    parser.expect(")", saying=(",", ")"))
    if len(members) == 1 and isinstance(members[0], ast.Subquery):
        return members[0]
    return members


def _is_member(
    left: ast.Expr, members: tuple[ast.Expr, ...] | ast.Subquery, span: ast.Span
) -> ast.Expr:
    match members:
        case () | (ast.MakeList(items=()),):
            return ast.Literal(value=False, span=span)
        case (ast.MakeList(items=items),):
            return ast.In(left, items, span=span)
        case (member,) if not isinstance(member, ast.Param):
            return ast.Call("ARRAY_CONTAINS", (member, left), "ANY", span=span)
    return ast.In(left, members, span=span)


def _elements(values: ast.Expr) -> ast.Subquery:
    """Return the query of the elements of a list."""
    span = values.span
    table = ast.ListTable("UNNEST", (values,), _ELEMENT, span=span)
    item = ast.Item(ast.Name(_ELEMENT, span=span), span=span)
    source = ast.Source(table, None, span=span)
    return ast.Subquery(ast.Select((item,), sources=(source,), span=span), span=span)


def written_out(test: ast.Quantified) -> ast.Expr:
    """Return the comparisons with each of several expressions."""
    assert isinstance(test.items, tuple)  # noqa: S101 - not with a query
    tests = [_compared_with(test, item) for item in test.items]
    return _joined("AND" if test.every else "OR", tests, test.span)


def _compared_with(test: ast.Quantified, item: ast.Expr) -> ast.Expr:
    if test.op in COMPARES:
        return ast.Binary(test.op, test.operand, item, span=test.span)
    op = test.op.removeprefix("NOT ")
    equality = matched(op, test.operand, item, None, test.span)
    if equality is None:
        raise QueryError(f"{op} takes constant texts, no parameter")
    return ast.Unary("NOT", equality, span=test.span) if op != test.op else equality


def patterns(
    parser: ExpressionParser, left: ast.Expr, op: str, *, negated: bool
) -> ast.Expr | None:
    """Parse ANY or ALL and the patterns behind it, if they come."""
    joint = quantifier(parser)
    if joint is None:
        return None
    parser.expect("(")
    bracket = parser.accept("[")
    matches: list[ast.Expr] = []
    made: list[ast.Expr] = []
    while True:
        if parser.at("PARAM") and parser.ahead() in {",", ")", "]"}:
            token = parser.advance()
            made.append(ast.Param(str(token.value), span=(token.start, token.stop)))
        else:
            matches.append(pattern(parser, left, op, negated=negated))
        if not parser.accept(","):
            break
    if bracket:
        parser.expect("]", saying=(",", "]"))
    parser.expect(")", saying=(",", ")"))
    span = parser.since(left)
    if made:
        word = f"{'NOT ' * negated}{op}"
        matches.append(ast.Quantified(word, left, joint == "AND", tuple(made), span=span))
    return _joined(joint, matches, span)


def row(parser: ExpressionParser, first: ast.Expr, start: int) -> ast.Expr:
    """Parse the rest of a row of values, and what it is compared with."""
    values = [first]
    while parser.accept(","):
        values.append(parser.expression())
    parser.expect(")", saying=(",", ")"))
    negated = bool(parser.accept("NOT"))
    if negated or parser.at("IN"):
        parser.expect("IN")
        opening = parser.expect("(").start
        if setqueries.begins(parser):
            query = ast.Subquery(parser.subquery(), span=(opening, parser.last.stop))
            parser.expect(")")
            span = (start, parser.last.stop)
            row_of = ast.Row(tuple(values), span=(start, parser.last.stop))
            member: ast.Expr = ast.In(row_of, query, span=span)
            return ast.Unary("NOT", member, span=span) if negated else member
        rows = [_other(parser, len(values))]
        while parser.accept(","):
            rows.append(_other(parser, len(values)))
            if len(rows) * len(values) > _MOST_ROWS:
                raise parser.fault(f"more than {_MOST_ROWS:,} values in rows")
        parser.expect(")", saying=(",", ")"))
        span = (start, parser.last.stop)
        test = _joined("OR", [_compared("=", values, other, span) for other in rows], span)
        return ast.Unary("NOT", test, span=span) if negated else test
    op = _SIGNS.get(parser.token.kind)
    if op is None:
        hint = "as in (a, b) IN ((1, 2), (3, 4)); a list is written [a, b]; COUNT(DISTINCT a, b)"
        raise parser.fault("a row of values is compared with others", start, hint=hint)
    parser.advance()
    other = _other(parser, len(values))
    return _compared(op, values, other, (start, parser.last.stop))


def _other(parser: ExpressionParser, count: int) -> tuple[ast.Expr, ...]:
    """Parse a row of as many values."""
    start = parser.expect("(")
    values = parser.expressions()
    parser.expect(")", saying=(",", ")"))
    if len(values) != count:
        raise parser.fault(f"a row of {count} values is compared with {len(values)}", start)
    return values


def _compared(
    op: str, left: Sequence[ast.Expr], right: Sequence[ast.Expr], span: ast.Span
) -> ast.Expr:
    """Return the comparison of two rows: the first difference decides."""
    pairs = list(zip(left, right, strict=True))
    if op in {"=", "<>"}:
        equal = _joined("AND", [ast.Binary("=", *pair, span=span) for pair in pairs], span)
        return ast.Unary("NOT", equal, span=span) if op == "<>" else equal
    last = pairs.pop()
    test: ast.Expr = ast.Binary(op, *last, span=span)
    for pair in reversed(pairs):
        same = ast.Binary("AND", ast.Binary("=", *pair, span=span), test, span=span)
        test = ast.Binary("OR", ast.Binary(_STRICT.get(op, op), *pair, span=span), same, span=span)
    return test


def _joined(joint: str, tests: list[ast.Expr], span: ast.Span) -> ast.Expr:
    if not tests:
        return ast.Literal(joint == "AND", span=span)
    parts = [part for test in tests for part in operators.operands(test, joint)]
    return parts[0] if len(parts) == 1 else operators.balanced(joint, parts)
