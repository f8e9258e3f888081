"""WITH: queries that have a name in the one behind them.

Those of a whole query are entries of its statement. Those of a sub-query stand where they are used,
or become entries as well, under a name that no text can have as a bare word; there they see nothing
of the query around them.
"""

from __future__ import annotations

import re

from sdb.query.syntax import ast, printer, visitor
from sdb.query.syntax.clauses import setqueries
from sdb.query.syntax.outputnames import output_names
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeVar

    from sdb.query.syntax.expressions import ExpressionParser
    from sdb.query.syntax.parser import Parser

    T = TypeVar("T", bound=ast.Node)

_HOW = "it is written WITH RECURSIVE r AS (SELECT first UNION ALL SELECT next FROM r)"


@record
class WithQuery:
    """One query of WITH."""

    name: str
    select: ast.Select
    recurses: bool  # whether it reads its own rows


def entries(parser: Parser) -> tuple[list[WithQuery], dict[str, ast.Expr]]:
    """Parse WITH, if it comes; names of its queries mean tables from then on.

    Returns: The queries, and values with their names.
    """
    made: list[WithQuery] = []
    values: dict[str, ast.Expr] = {}
    if not parser.accept("WITH"):
        return made, values
    may_recurse = parser.at_word("RECURSIVE") and parser.ahead() == "ID"
    if may_recurse:
        parser.advance()
    while True:
        if is_value(parser):
            name, value = named_value(parser, values)
            values[name] = value
        else:
            made.append(_entry(parser, may_recurse=may_recurse))
        if not parser.accept(","):
            return made, values


def _entry(parser: Parser, *, may_recurse: bool) -> WithQuery:
    start = parser.token
    name = parser.name()
    columns = listed(parser)
    parser.expect("AS")
    if parser.at_word("NOT") or parser.at("NOT"):
        parser.advance()
    if parser.at_word("MATERIALIZED"):
        parser.advance()
    parser.expect("(")
    around = parser.recursing
    parser.recursing = around | {name} if may_recurse else around
    select = parser.subquery()
    parser.recursing = around
    parser.expect(")")
    recurses = may_recurse and bool(_uses(select, name))
    if recurses:
        _check_recursion(parser, name, select, start.start)
    if columns and (recurses or printer.set_table(select) is not None):
        # Set operators join columns by their names, and a part that reads the query's own rows
        # knows them by these.
        select = _named(parser, select, columns, start.start, is_first=recurses)
    else:
        select = named(parser, select, columns)
    parser.with_names.add(name)
    return WithQuery(name, select, recurses)


def _check_recursion(parser: Parser, name: str, select: ast.Select, at: int) -> None:
    """Refuse a query that reads its own rows otherwise than in the second part of a UNION."""
    both = printer.set_table(select)
    if both is None or both.op != "UNION" or _uses(both.left, name):
        why = "a recursive query is a UNION, and only its last part reads from it"
        raise parser.fault(f"{name}: {why}", at, hint=_HOW)
    if select.order_by or select.limit is not None or select.offset is not None:
        hint = f"put them behind the query that reads FROM {name}"
        raise parser.fault(f"{name}: ORDER BY and LIMIT do not go with recursion", at, hint=hint)


def _named(
    parser: Parser, select: ast.Select, columns: tuple[str, ...], at: int, *, is_first: bool
) -> ast.Select:
    """Return a query whose columns have names.

    * ``is_first``: Whether only the first part of a UNION has to have them.
    """
    both = printer.set_table(select)
    if both is not None:
        left = _named(parser, both.left, columns, at, is_first=False)
        right = both.right
        if not is_first:
            right = _named(parser, right, columns, at, is_first=False)
        source = replace(select.sources[0], table=replace(both, left=left, right=right))
        return replace(select, sources=(source,))
    if not select.items or any(isinstance(item.expr, ast.Star) for item in select.items):
        hint = "name the columns in the select list"
        raise parser.fault("names of columns do not go with *", at, hint=hint)
    if len(columns) != len(select.items):
        have = f"the query has {len(select.items)} columns, {len(columns)} have a name"
        raise parser.fault(have, at)
    pairs = zip(select.items, columns, strict=True)
    return replace(select, items=tuple([replace(item, alias=name) for item, name in pairs]))


def inner(parser: Parser) -> ast.Select:
    """Parse the WITH of a sub-query and the query behind it."""
    names = parser.with_names
    parser.with_names = set(names)
    parts, values = entries(parser)
    last = put_values_in(setqueries.compound(parser), values)
    selects = [*[part.select for part in parts], last]
    parser.with_names = names
    for number, part in enumerate(parts):
        later = range(number + 1, len(selects))
        uses = sum(_uses(selects[at], part.name) for at in later)
        is_direct = uses == sum(_in_from(selects[at], part.name) for at in later)
        query = selects[number]
        whole: ast.Table = ast.QueryTable(query, span=query.span)
        is_bound = parser.entries is None or any(_uses(query, name) for name in parser.recursing)
        if part.recurses and is_bound:
            hint = "write it in front of the whole query"
            raise parser.fault("a recursive query cannot stand here", query.span[0], hint=hint)
        if not (is_bound or (uses == 1 and is_direct)) or part.recurses:
            name = _free_name(parser, part.name)
            _enter(parser, WithQuery(name, _put(query, part.name, name), part.recurses))
            whole = ast.PathTable(ast.Name(name, span=query.span), span=query.span)
        for at in later:
            selects[at] = _put(selects[at], part.name, whole)
    return selects[-1]


def enter_all(parser: Parser) -> dict[str, ast.Expr]:
    """Parse the WITH of a whole query; its queries are entries of the statement.

    Returns: Its values, by their names.
    """
    queries, values = entries(parser)
    for entry in queries:
        _enter(parser, entry)
    return values


def _enter(parser: Parser, entry: WithQuery) -> None:
    assert parser.entries is not None  # noqa: S101 - inside of a query
    parser.entries.append((entry.name, entry.select))
    if entry.recurses:
        parser.recursive.append(entry.name)


def _free_name(parser: Parser, name: str) -> str:
    """Return a name for an entry that comes from a sub-query."""
    taken = {entry for entry, _ in parser.entries or ()}
    number = 2
    while (free := f"{name} {number}") in taken:
        number += 1
    return free


def _is_named(node: ast.Node, name: str) -> bool:
    return isinstance(node, ast.PathTable) and node.expr == ast.Name(name)


def _uses(select: ast.Select, name: str) -> int:
    """Return how often a query reads from a name, with the queries in it."""
    return sum(_is_named(node, name) for node in visitor.nodes(select))


def _in_from(select: ast.Select, name: str) -> int:
    """Return how often a name stands in FROM of a query itself."""
    count = 0
    for source in select.sources:
        if isinstance(source.table, ast.SetTable):
            count += _in_from(source.table.left, name) + _in_from(source.table.right, name)
        else:
            count += _is_named(source.table, name)
    return count


def with_name(select: ast.Select, old: str, new: str) -> ast.Select:
    """Return a query that knows a WITH query by another name."""
    return _put(select, old, new)


def _put(select: ast.Select, name: str, table: ast.Table | str) -> ast.Select:
    """Put a table, or another name, into the place of a name in FROM, which stays its alias."""

    def change(node: ast.Node) -> ast.Node:
        made = table
        if isinstance(made, str):
            made = ast.PathTable(ast.Name(made, span=node.span), span=node.span)
        if _is_named(node, name):
            return made
        if isinstance(node, ast.Source) and node.alias is None and node.table == made:
            return replace(node, alias=name)
        return node

    return visitor.rewrite(select, change)


# Names of columns: ``t AS u (a, b)``, ``(SELECT ...) AS q (a, b)``, ``WITH q (a, b) AS (...)``.

_INSIDE = "query"


def listed(parser: ExpressionParser) -> tuple[str, ...]:
    """Parse ``(a, b)``, if it comes."""
    if not parser.accept("("):
        return ()
    names = [parser.name()]
    while parser.accept(","):
        names.append(parser.name())
    parser.expect(")", saying=(",", ")"))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise parser.fault(f"two columns are named {twice}", parser.last)
    return tuple(names)


def behind(parser: ExpressionParser, table: ast.Table) -> ast.Table:
    """Parse names behind the alias of a table and return the table with them."""
    names = listed(parser)
    if not names:
        return table
    if isinstance(table, ast.QueryTable):
        return replace(table, select=named(parser, table.select, names))
    return ast.QueryTable(_of_star(table, names), span=table.span)


def _of_star(table: ast.Table, names: tuple[str, ...]) -> ast.Select:
    """Return the rows of a table whose columns are known when its star is written out."""
    star = ast.Star(named=names, span=table.span)
    source = ast.Source(table, None, span=table.span)
    return ast.Select((ast.Item(star, span=star.span),), sources=(source,), span=table.span)


def named(parser: ExpressionParser, select: ast.Select, names: tuple[str, ...]) -> ast.Select:
    """Return a query whose first columns have these names.

    The query stays as it is, and another one around it renames: a new alias of an item would be
    seen by its own ORDER BY and HAVING.
    """
    if not names:
        return select
    first = select
    while (table := printer.set_table(first)) is not None:
        first = table.left
    if first.star or any(isinstance(item.expr, ast.Star) for item in first.items):
        return _of_star(ast.QueryTable(select, span=select.span), names)
    if len(names) > len(first.items):
        fault = f"the query has {len(first.items)} columns, {len(names)} have a name"
        raise parser.fault(fault, parser.last)
    labels = output_names(first)
    if len(set(labels)) < len(labels):
        raise parser.fault("several columns of the query have the same name", parser.last)
    base = ast.Name(_INSIDE)
    pairs = zip(labels, (*names, *labels[len(names) :]), strict=True)
    items = [ast.Item(ast.Dot(base, label), name) for label, name in pairs]
    source = ast.Source(ast.QueryTable(select, span=select.span), _INSIDE, span=select.span)
    return ast.Select(tuple(items), sources=(source,), span=select.span)


# Values of WITH, as ClickHouse has them: ``WITH expression AS name SELECT ...``.

_COLUMNS = re.compile(
    r"""[\w@$]+ \s* \( [\w\s,"@$]* \) \s* AS \s+ (?:NOT\s+)? (?:MATERIALIZED\s*)? \(""",
    re.IGNORECASE | re.VERBOSE,
)
_QUERY = frozenset({"AS", "ID", "SELECT", "FROM", ",", ")", "$end", ""})
"""What comes behind the name of a query, also by mistake."""


def is_value(parser: Parser) -> bool:
    """Return whether a value comes, and no query."""
    if not parser.at("ID"):
        return parser.at("(", "NUMBER", "STRING", "NOT", "CASE", "CAST", "-") or (
            parser.ahead() == "(" and not parser.at("AS")
        )
    if parser.ahead() != "(":
        return parser.ahead() not in _QUERY
    return _COLUMNS.match(parser.lexer.text, parser.token.start) is None


def named_value(parser: Parser, before: Mapping[str, ast.Expr]) -> tuple[str, ast.Expr]:
    """Parse a value and its name.

    * ``before``: Those before it, which it may name.
    """
    value = _put_value(parser.expression(), before)
    parser.expect("AS")
    return parser.name(), value


def put_values_in(select: ast.Select, values: Mapping[str, ast.Expr]) -> ast.Select:
    """Return a query in which the names are the values."""
    if not values:
        return select
    items = tuple(
        [
            replace(item, alias=item.expr.name)
            if isinstance(item.expr, ast.Name) and item.expr.name in values and not item.alias
            else item
            for item in select.items
        ]
    )
    return _put_value(replace(select, items=items), values)


def _put_value(whole: T, values: Mapping[str, ast.Expr]) -> T:
    def stop(part: ast.Node) -> ast.Node | None:
        if isinstance(part, ast.Name) and part.name in values:
            return values[part.name]
        is_other = isinstance(part, ast.Select | ast.PathTable | ast.CallTable)
        return part if is_other and part is not whole else None

    return visitor.rewrite(whole, stop=stop)
