"""LIMIT and OFFSET by a query, ``LIMIT (SELECT ...)``, and LIMIT of the rows of each key.

The numbers of the rows are compared with what the queries give, or counted by key.
"""

from __future__ import annotations

from sdb.query.syntax import ast, operators
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.parser import Parser

_ALL = 1 << 53  # more rows than there are
_AROUND_BY = "put the query into parentheses: SELECT * FROM (...) AS q LIMIT 1 BY a"
_AROUND = "put the query into parentheses: SELECT * FROM (...) AS q LIMIT (SELECT ...)"


@record
class LimitBy:
    """``LIMIT count BY keys``."""

    count: int
    keys: tuple[ast.Expr, ...]


def put_by(parser: Parser, select: ast.Select, by: list[LimitBy]) -> ast.Select:
    """Return a SELECT in which LIMIT BY is a condition behind QUALIFY.

    Raises
    ------
    QueryError
        It has QUALIFY or DISTINCT besides, or the number is that of a query.
    """
    for limit in by:
        if select.distinct or select.qualify is not None or not isinstance(limit.count, int):
            words = "DISTINCT, QUALIFY and numbers that are queries"
            raise parser.fault(f"LIMIT BY does not go with {words}", hint=_AROUND_BY)
        keys = tuple([replace(sort, expr=_key(select, sort.expr)) for sort in select.order_by])
        span = select.span
        groups = tuple([_named(select, key) for key in limit.keys])
        over = ast.Over(groups, keys, span=span)
        number = ast.Aggregate("ROW_NUMBER", (), over=over, span=span)
        most = ast.Literal(limit.count, span=span)
        select = replace(select, qualify=ast.Binary("<=", number, most, span=span))
    return select


def _named(select: ast.Select, key: ast.Expr) -> ast.Expr:
    """Return the item that a name is the alias of, or the expression."""
    aliased = {item.alias: item.expr for item in select.items if item.alias}
    return aliased.get(key.name, key) if isinstance(key, ast.Name) else key


def put_in(parser: Parser, select: ast.Select) -> ast.Select:
    """Return a SELECT whose LIMIT and OFFSET are numbers, or conditions behind QUALIFY.

    Raises
    ------
    QueryError
        The rows have no numbers that such a condition could ask for.
    """
    limit, offset = select.limit, select.offset
    if not isinstance(limit, ast.Subquery) and not isinstance(offset, ast.Subquery):
        return select
    keys = tuple([replace(sort, expr=_key(select, sort.expr)) for sort in select.order_by])
    is_known = all(not isinstance(sort.expr, ast.Position) for sort in keys)
    if select.distinct or select.qualify is not None or select.ties or not is_known:
        words = "DISTINCT, QUALIFY, WITH TIES and numbers of a star's columns"
        raise parser.fault(f"LIMIT by a query does not go with {words}", hint=_AROUND)
    span = select.span
    number = ast.Aggregate("ROW_NUMBER", (), over=ast.Over((), keys, span=span), span=span)
    first = _number(offset, 0, span)
    last = ast.Binary("+", first, _number(limit, _ALL, span), span=span)
    tests: list[ast.Expr] = []
    if offset is not None:
        tests.append(ast.Binary(">", number, first, span=span))
    if limit is not None:
        tests.append(ast.Binary("<=", number, last, span=span))
    return replace(select, limit=None, offset=None, qualify=operators.balanced("AND", tests))


def _key(select: ast.Select, key: ast.Expr) -> ast.Expr:
    if isinstance(key, ast.Position) and select.items:
        return select.items[key.number - 1].expr
    return key


def _number(count: object, otherwise: int, span: ast.Span) -> ast.Expr:
    """Return what counts: a number, or that of a query; NULL is as if nothing were written."""
    if not isinstance(count, ast.Node):
        return ast.Literal(count if isinstance(count, int) else 0, span=span)
    default = ast.Literal(otherwise, span=span)
    return ast.Call("COALESCE", (count, default), span=span)  # type: ignore[arg-type]
