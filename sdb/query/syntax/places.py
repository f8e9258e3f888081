"""Keys of GROUP BY and ORDER BY that say where in the select list they stand: a number, or ALL."""

from __future__ import annotations

from sdb.query.syntax import ast, visitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.expressions import ExpressionParser


def of_group(parser: ExpressionParser, key: ast.Item, items: tuple[ast.Item, ...]) -> ast.Item:
    """Give a key of GROUP BY; a number without a name stands for an item."""
    if key.alias is not None:
        return key
    place = _place(parser, key.expr, items)
    if isinstance(place, ast.Position) and _is_aggregate(items[place.number - 1]):
        raise parser.fault(f"item {place.number} is an aggregate, and no key", place.span[0])
    return ast.Item(place, span=key.span)


def of_sort(parser: ExpressionParser, key: ast.Sort, items: tuple[ast.Item, ...]) -> ast.Sort:
    """Give a key of ORDER BY; a number stands for an item."""
    place = _place(parser, key.expr, items)
    return ast.Sort(place, key.descending, key.nulls_last, span=key.span)


def all_keys(items: tuple[ast.Item, ...], span: ast.Span) -> tuple[ast.Item, ...] | None:
    """Give the keys that GROUP BY ALL stands for: the items that are no aggregates."""
    numbers = [number for number, item in enumerate(items, 1) if not _is_aggregate(item)]
    return tuple([ast.Item(ast.Position(n, span=span), span=span) for n in numbers]) or None


def all_sorts(items: tuple[ast.Item, ...], whole: ast.Sort) -> tuple[ast.Sort, ...]:
    """Give the keys that ORDER BY ALL stands for: all items, from left to right."""
    return tuple(
        [
            ast.Sort(
                ast.Position(number, span=whole.span),
                whole.descending,
                whole.nulls_last,
                span=whole.span,
            )
            for number in range(1, len(items) + 1)
        ]
    )


def _place(parser: ExpressionParser, key: ast.Expr, items: tuple[ast.Item, ...]) -> ast.Expr:
    if not isinstance(key, ast.Literal) or type(key.value) is not int:
        return key
    if not 1 <= key.value <= len(items):
        have = f"the select list has {len(items)}" if items else "* has no numbers"
        raise parser.fault(f"there is no item {key.value}: {have}", key.span[0])
    return ast.Position(key.value, span=key.span)


def _is_aggregate(item: ast.Item) -> bool:
    return next(visitor.aggregates(item.expr), None) is not None
