"""UNION, INTERSECT and EXCEPT: the queries that they join.

``a UNION b`` is a query of all columns of a `SetTable`, with what orders and limits the rows of
both.
"""

from __future__ import annotations

from sdb.query.syntax import ast, operators, printer
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.expressions import ExpressionParser
    from sdb.query.syntax.parser import Parser

    _Operator = tuple[str, bool, bool]  # its word, and whether ALL and BY NAME were written

_WORDS = frozenset({"INTERSECT", "EXCEPT"})
_QUERY_STARTS = frozenset({"SELECT", "FROM", "(", "ALL", "DISTINCT"})


def coming(parser: ExpressionParser) -> str | None:
    """Return the set operator that comes; None: none, or a word that is a name here."""
    token = parser.token
    if parser.at("UNION"):
        return "UNION"
    word = str(token.value).upper()
    is_word = parser.at("ID") and not token.quoted and word in _WORDS
    return word if is_word and parser.ahead() in _QUERY_STARTS else None


def begins(parser: ExpressionParser) -> bool:
    """Return whether a query comes, behind a parenthesis, that does not begin with another one."""
    token = parser.token
    is_values = parser.at("ID") and not token.quoted and str(token.value).upper() == "VALUES"
    return parser.at("SELECT", "WITH", "FROM") or (is_values and parser.ahead() == "(")


def compound(
    parser: Parser, into: list[ast.Expr] | None = None, *, left: ast.Select | None = None
) -> ast.Select:
    """Parse a query: one SELECT, or several that set operators join.

    * ``into``: Where the path of INTO goes; without it there may be none.
    * ``left``: The first of them, if it was parsed already, in parentheses.
    """
    start = parser.token.start if left is None else left.span[0]
    is_closed = left is not None or parser.at("(")
    operands = [_operand(parser, into) if left is None else left]
    operators: list[_Operator] = []
    while (word := coming(parser)) is not None:
        if not is_closed and _is_ordered(operands[-1]):
            hint = "or in parentheses, with its SELECT"
            fault = f"ORDER BY and LIMIT go behind the last SELECT of {word}"
            raise parser.fault(fault, hint=hint)
        parser.advance()
        every = bool(parser.accept("ALL"))
        if not every:
            parser.accept("DISTINCT")
        by_name = word == "UNION" and bool(parser.accept("BY"))
        if by_name:
            if not parser.at("ID") or str(parser.token.value).upper() != "NAME":
                raise parser.fault("NAME was expected: UNION BY NAME joins columns by their names")
            parser.advance()
        operators.append((word, every, by_name))
        is_closed = parser.at("(")
        operands.append(_operand(parser, None))
    if is_closed:
        whole = _tail(parser, _first_items(operands[0]))
    else:
        whole, operands[-1] = operands[-1], _unordered(operands[-1])
    if not operators and not is_closed:
        return put_in(parser, whole)
    select = _folded(operands, operators)
    if not _is_ordered(whole):
        return select
    if _is_ordered(select) or isinstance(whole.limit, ast.Subquery):
        source = ast.Source(ast.QueryTable(select, span=select.span), None, span=select.span)
        select = ast.Select((), star=True, sources=(source,))
    span = (start, parser.last.stop)
    order = _ordered_as(select, whole)
    return put_in(parser, replace(order, span=span))


def chain(whole: ast.Select) -> tuple[ast.Select, tuple[tuple[bool, ast.Select], ...]]:
    """Return the SELECTs that nothing but UNION joins, from left to right.

    What orders and limits all rows stands in the last one.
    """
    parts: list[tuple[bool, ast.Select]] = []
    first = whole
    while (table := printer.set_table(first)) is not None and table.op == "UNION":
        if table.by_name:
            return whole, ()
        if first is not whole and _is_ordered(first):
            return whole, ()
        parts.insert(0, (table.every, table.right))
        first = table.left
    selects = [first, *(part for _, part in parts)]
    if not parts or any(_is_ordered(s) or printer.set_table(s) is not None for s in selects):
        return whole, ()
    every, last = parts[-1]
    last = _ordered_as(last, whole)
    return first, (*parts[:-1], (every, last))


def _operand(parser: Parser, into: list[ast.Expr] | None) -> ast.Select:
    if not parser.at("("):
        return parser.select(into)
    parser.enter()
    parser.advance()
    select = parser.subquery()
    parser.expect(")")
    parser.leave()
    return select


def _tail(parser: Parser, items: tuple[ast.Item, ...]) -> ast.Select:
    """Parse what stands behind queries in parentheses: ORDER BY, LIMIT and OFFSET."""
    order_by = parser.sort_keys(items)
    limit, offset, ties = parser.cut(has_order=bool(order_by))
    return ast.Select((), order_by=order_by, limit=limit, offset=offset, ties=ties)


def _first_items(select: ast.Select) -> tuple[ast.Item, ...]:
    """Return the items of the first SELECT, whose numbers keys of ORDER BY may be."""
    while (table := printer.set_table(select)) is not None:
        select = table.left
    return select.items


def _is_ordered(select: ast.Select) -> bool:
    return bool(select.order_by) or select.limit is not None or select.offset is not None


def _unordered(select: ast.Select) -> ast.Select:
    return replace(select, order_by=(), limit=None, offset=None, ties=False)


def _ordered_as(select: ast.Select, whole: ast.Select) -> ast.Select:
    return replace(
        select,
        order_by=whole.order_by,
        limit=whole.limit,
        offset=whole.offset,
        ties=whole.ties,
    )


def _folded(operands: list[ast.Select], operators: list[_Operator]) -> ast.Select:
    """Join queries from left to right, those of INTERSECT first."""
    (first, *others) = operands
    sums: list[tuple[_Operator, ast.Select]] = []
    for operator, operand in zip(operators, others, strict=True):
        if operator[0] != "INTERSECT":
            sums.append((operator, operand))
        elif sums:
            before, left = sums[-1]
            sums[-1] = (before, _joined(operator, left, operand))
        else:
            first = _joined(operator, first, operand)
    for operator, operand in sums:
        first = _joined(operator, first, operand)
    return first


def _joined(operator: _Operator, left: ast.Select, right: ast.Select) -> ast.Select:
    span = (left.span[0], right.span[1])
    word, every, by_name = operator
    table = ast.SetTable(word, every, left, right, by_name, span=span)
    return ast.Select((), star=True, sources=(ast.Source(table, None, span=span),), span=span)


# LIMIT and OFFSET by a query, ``LIMIT (SELECT ...)``, and LIMIT of the rows of each key.

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

    Raises `QueryError` if it has QUALIFY or DISTINCT besides, or the number is that of a query.
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

    Raises `QueryError` if the rows have no numbers that such a condition could ask for.
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
