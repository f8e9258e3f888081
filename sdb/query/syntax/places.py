"""Keys of GROUP BY and ORDER BY that say where in the select list they stand: a number, or ALL.

Where the list has a star, the numbers of its columns are known when it is written out.
"""

from __future__ import annotations

from sdb.errors import QueryError
from sdb.query.syntax import ast, visitor
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.query.syntax.expressions import ExpressionParser
    from sdb.query.syntax.parser import Parser

ALL = 0
"""The number that stands for all items of a list with a star."""


def of_group(parser: ExpressionParser, key: ast.Item, items: tuple[ast.Item, ...]) -> ast.Item:
    """Return a key of GROUP BY; a number without a name stands for an item."""
    if key.alias is not None:
        return key
    key_expr = _place(parser, key.expr, items)
    if isinstance(key_expr, ast.Position) and _is_aggregate(items[key_expr.number - 1]):
        raise parser.fault(f"item {key_expr.number} is an aggregate, and no key", key_expr.span[0])
    return ast.Item(key_expr, span=key.span)


def of_sort(parser: ExpressionParser, key: ast.Sort, items: tuple[ast.Item, ...]) -> ast.Sort:
    """Return a key of ORDER BY; a number stands for an item."""
    return replace(key, expr=of_item(parser, key.expr, items))


def of_item(parser: ExpressionParser, key: ast.Expr, items: tuple[ast.Item, ...]) -> ast.Expr:
    """Return a key; a number stands for an item, or for a column of the star if none is known."""
    is_number = isinstance(key, ast.Literal) and type(key.value) is int and key.value > 0
    if not items and isinstance(key, ast.Literal) and is_number:
        return ast.Position(int(str(key.value)), span=key.span)
    return _place(parser, key, items)


def numbers_in(select: ast.Select) -> bool:
    """Return whether a key is a number."""
    keys = [*[sort.expr for sort in select.order_by], *select.distinct_on]
    return any(isinstance(key, ast.Position) for key in keys)


def counted(select: ast.Select, columns: Sequence[ast.Expr]) -> ast.Select:
    """Return a select whose keys by number are columns of its star.

    Raises
    ------
    QueryError
        There is no column of such a number.
    """

    def column(key: ast.Expr) -> ast.Expr:
        if not isinstance(key, ast.Position):
            return key
        if key.number > len(columns):
            start, stop = key.span
            message = f"there is no item {key.number}: * has {len(columns)}"
            raise QueryError(message, offset=start, length=stop - start)
        return columns[key.number - 1]

    sorts: list[ast.Sort] = []
    for sort in select.order_by:
        is_all = isinstance(sort.expr, ast.Position) and sort.expr.number == ALL
        exprs = columns if is_all else [column(sort.expr)]
        sorts += [replace(sort, expr=expr) for expr in exprs]
    keys = tuple(map(column, select.distinct_on))
    return replace(select, order_by=tuple(sorts), distinct_on=keys)


def collated(parser: Parser, expr: ast.Expr) -> ast.Expr:
    """Parse COLLATE behind a key of ORDER BY: texts in lower case, all else as it is."""
    word = parser.advance()
    name = parser.name().upper()
    if isinstance(expr, ast.Literal):
        raise parser.fault("COLLATE takes a field or an expression, not a number", word)
    if name in {"BINARY", "C"}:
        return expr
    if name != "NOCASE":
        hint = "NOCASE is without regard to case, BINARY the order without COLLATE"
        raise parser.fault(f"there is no collation {name}", parser.last, hint=hint)
    lower = ast.Call("LOWER", (expr,), span=expr.span)
    return ast.Call("COALESCE", (lower, expr), span=expr.span)


def all_keys(items: tuple[ast.Item, ...], span: ast.Span) -> tuple[ast.Item, ...] | None:
    """Return the keys that GROUP BY ALL stands for: the items that are no aggregates."""
    numbers = [number for number, item in enumerate(items, 1) if not _is_aggregate(item)]
    return tuple([ast.Item(ast.Position(n, span=span), span=span) for n in numbers]) or None


def all_sorts(items: tuple[ast.Item, ...], whole: ast.Sort) -> tuple[ast.Sort, ...]:
    """Return the keys that ORDER BY ALL stands for: all items, from left to right."""
    if not items:
        return (whole,)
    return tuple(
        [
            replace(whole, expr=ast.Position(number, span=whole.span))
            for number in range(1, len(items) + 1)
        ]
    )


def _place(parser: ExpressionParser, key: ast.Expr, items: tuple[ast.Item, ...]) -> ast.Expr:
    if not isinstance(key, ast.Literal) or type(key.value) is not int:
        return key
    if not 1 <= key.value <= len(items):
        have = f"the select list has {len(items)}" if items else "* is no key"
        raise parser.fault(f"there is no item {key.value}: {have}", key.span[0])
    return ast.Position(key.value, span=key.span)


def _is_aggregate(item: ast.Item) -> bool:
    return next(visitor.aggregates(item.expr), None) is not None
