"""Names of columns: ``t AS u (a, b)``, ``(SELECT ...) AS q (a, b)``, ``WITH q (a, b) AS (...)``."""

from __future__ import annotations

from sdb.query.syntax import ast, printer
from sdb.query.syntax.outputnames import output_names
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.expressions import ExpressionParser

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
