"""GROUP BY: keys, sets of keys (GROUPING SETS, ROLLUP, CUBE), and FILL behind a key of times."""

from __future__ import annotations

from itertools import combinations, product

from sdb.errors import QueryError
from sdb.query.syntax import ast, visitor
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from sdb.query.syntax.expressions import ExpressionParser
    from sdb.query.syntax.lexer import Token
    from sdb.query.syntax.parser import Parser

    Set: TypeAlias = tuple[int, ...]

MOST_SETS = 4096
_MOST_CUBE = 12
_SETS = ("GROUPING", "ROLLUP", "CUBE")


def keys(
    parser: Parser, items: tuple[ast.Item, ...]
) -> tuple[tuple[ast.Item, ...] | None, tuple[Set, ...], ast.Fill | None]:
    """Parse GROUP BY, if it comes: the keys, the sets of them by their places, and FILL."""
    if not parser.accept("GROUP"):
        return None, (), None
    parser.expect("BY")
    if items and (every := parser.accept("ALL")):
        return all_keys(items, (every.start, every.stop)), (), None
    grouping = _Grouping(parser, items)
    grouping.element()
    while parser.accept(","):
        grouping.element()
    if parser.at("WITH") and parser.has_ahead("ROLLUP", "CUBE"):
        grouping.all_in_sets()
    return tuple(grouping.keys), grouping.sets(), grouping.fill


class _Grouping:
    """Keys in the making."""

    def __init__(self, parser: Parser, items: tuple[ast.Item, ...]) -> None:
        self.parser = parser
        self.items = items
        self.keys: list[ast.Item] = []
        self.parts: list[list[Set]] = []
        self.has_sets = False
        self.fill: ast.Fill | None = None

    def element(self) -> None:
        """Parse one element between commas."""
        if not self._at_sets():
            self.parts.append([(self._key(fills=True),)])
            return
        start = self.parser.token
        self.has_sets = True
        self.parts.append(self._sets())
        if self.fill is not None or self.parser.at_word("FILL"):
            hint = "write a query for each of the sets"
            raise self.parser.fault("FILL does not go with GROUPING SETS", start, hint=hint)

    def all_in_sets(self) -> None:
        """Parse WITH ROLLUP or WITH CUBE behind plain keys, as MySQL and Spark have it."""
        parser = self.parser
        start = parser.advance()
        word = str(parser.advance().value).upper()
        if self.has_sets or self.fill is not None:
            raise parser.fault(f"WITH {word} goes with plain keys", start)
        units = [unit for part in self.parts for unit in part]
        self.has_sets = True
        self.parts = [self._sets_of(word, units, start)]

    def sets(self) -> tuple[Set, ...]:
        """Return the sets of the whole clause: each of an element with each of the others."""
        if not self.has_sets:
            return ()
        total = 1
        for part in self.parts:
            total *= len(part)
        if total > MOST_SETS:
            raise self.parser.fault(f"GROUP BY has {total:,} sets of keys, {MOST_SETS:,} are most")
        return tuple(
            [
                tuple(dict.fromkeys([number for part in parts for number in part]))
                for parts in product(*self.parts)
            ]
        )

    def _at_sets(self) -> bool:
        """Return whether ROLLUP, CUBE or GROUPING SETS comes."""
        parser = self.parser
        if not parser.at_word(*_SETS):
            return False
        if parser.at_word("GROUPING"):
            return parser.ahead() == "ID"
        return parser.ahead() == "("

    def _sets(self) -> list[Set]:
        """Parse ROLLUP, CUBE or GROUPING SETS and what is in their parentheses."""
        parser = self.parser
        word = str(parser.advance().value).upper()
        if word == "GROUPING":
            if not parser.at_word("SETS"):
                raise parser.unexpected("SETS")
            parser.advance()
            return self._listed()
        start = parser.expect("(")
        units = [self._unit()]
        while parser.accept(","):
            units.append(self._unit())
        parser.expect(")", saying=(",", ")"))
        return self._sets_of(word, units, start)

    def _sets_of(self, word: str, units: list[Set], start: Token) -> list[Set]:
        """Return the sets that ROLLUP or CUBE makes of keys."""
        if word == "ROLLUP":
            counts = range(len(units), -1, -1)
            return [_joined(units[:count]) for count in counts]
        if len(units) > _MOST_CUBE:
            raise self.parser.fault(f"CUBE takes at most {_MOST_CUBE} keys", start)
        return [
            _joined(some)
            for count in range(len(units), -1, -1)
            for some in combinations(units, count)
        ]

    def _listed(self) -> list[Set]:
        """Parse the sets of GROUPING SETS, among which others may stand."""
        parser = self.parser
        parser.expect("(")
        sets: list[Set] = []
        while True:
            sets += self._sets() if self._at_sets() else [self._unit()]
            if not parser.accept(","):
                break
        parser.expect(")", saying=(",", ")"))
        return sets

    def _unit(self) -> Set:
        """Parse a key, or several in parentheses."""
        parser = self.parser
        if not parser.accept("("):
            return (self._key(),)
        if parser.accept(")"):
            return ()
        numbers = [self._key()]
        while parser.accept(","):
            numbers.append(self._key())
        parser.expect(")", saying=(",", ")"))
        return tuple(dict.fromkeys(numbers))

    def _key(self, *, fills: bool = False) -> int:
        """Parse a key and return its place; one that was there before has its place."""
        key = self.parser.group_key(self.items)
        if key not in self.keys or not self.has_sets:
            self.keys.append(key)
        number = self.keys.index(key) if self.has_sets else len(self.keys) - 1
        if fills and self.parser.at_word("FILL"):
            self._fill(number)
        return number

    def _fill(self, number: int) -> None:
        """Parse FILL behind a key."""
        parser = self.parser
        word = parser.advance()
        if self.has_sets or self.fill is not None:
            what = "GROUPING SETS" if self.has_sets else "another FILL"
            raise parser.fault(f"FILL does not go with {what}", word)
        parser.expect("(")
        if is_previous := parser.at_word("PREVIOUS"):
            parser.advance()
            value: ast.Constant = None
        elif parser.accept("NULL"):
            value = None
        elif parser.at("NUMBER", "STRING", "TRUE", "FALSE"):
            token = parser.advance()
            value = token.kind == "TRUE" if token.kind in {"TRUE", "FALSE"} else token.value
        else:
            raise parser.unexpected("a constant", "NULL", "PREVIOUS")
        parser.expect(")")
        span = (word.start, parser.last.stop)
        self.fill = ast.Fill(number, value, is_previous=is_previous, span=span)


def _joined(units: tuple[Set, ...] | list[Set]) -> Set:
    return tuple(dict.fromkeys([number for unit in units for number in unit]))


# Keys of GROUP BY and ORDER BY that say where in the select list they stand: a number, or ALL.

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

    Raises `QueryError` if there is no column of such a number.
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
