"""Expressions of a SELECT in full: aliases are replaced by what they stand for."""

from __future__ import annotations

from sdb.query.analyze.binder import output_names
from sdb.query.plan.rewrite import Aliases, has_aggregates, has_windows
from sdb.query.syntax import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

_SHAPE = ast.Aggregate("SNELLER_DATASHAPE", (), star=True)


class SelectList:
    """Expressions of a SELECT.

    Parameters
    ----------
    node : Select
        The SELECT.
    qualifiers : container of str
        Aliases of its sources.
    needless : str or None
        The one of them that may be left out.

    Attributes
    ----------
    items, groups, order, distinct_on : list
        Items, keys of GROUP BY, sort keys, and keys of DISTINCT ON.
    having : Expr or None
        The condition on groups.
    names : list of (str, int)
        Members of the output, the empty name for a whole row, and their numbers among the items.
    grouped : bool
        Whether rows are made of groups of rows.
    windows : bool
        Whether there is a window function.
    """

    def __init__(
        self, node: ast.Select, qualifiers: Container[str], needless: str | None = None
    ) -> None:
        groups = node.group_by or ()
        named = Aliases(
            {item.alias: item.expr for item in groups if item.alias is not None},
            qualifiers,
            needless,
            [],
        )
        self.items: list[ast.Expr] = []
        for item in node.items:
            expr = named.expanded(item.expr)
            self.items.append(expr)
            if item.alias and expr != ast.Name(item.alias):
                named.exprs[item.alias] = expr
            elif item.alias:
                named.exprs.pop(item.alias, None)
        pairs = list(zip(node.items, self.items, strict=True))

        def key(expr: ast.Expr) -> ast.Expr:
            # An item in full is that item, whatever its alias hides in it.
            full = next((full for item, full in pairs if item.expr == expr), None)
            return full or named.expanded(expr)

        self.groups = [item.expr if item.alias is not None else key(item.expr) for item in groups]
        named.keys.extend((item.expr, expr) for item, expr in zip(groups, self.groups, strict=True))
        self.having = None if node.having is None else named.expanded(node.having)
        self.order = [
            ast.Sort(named.expanded(sort.expr), sort.descending, sort.nulls_last)
            for sort in node.order_by
        ]
        self.distinct_on = [key(expr) for expr in node.distinct_on]
        self.names = _names(node)
        exprs = [*self.items, *[sort.expr for sort in self.order], *self.distinct_on]
        exprs += [self.having] if self.having is not None else []
        self.grouped = (
            (self.having is not None and not has_windows(self.having))
            or node.group_by is not None
            or any(map(has_aggregates, exprs))
        )
        self.windows = any(map(has_windows, exprs))


def _names(node: ast.Select) -> list[tuple[str, int]]:
    """Name the items; of those with one alias the last one counts."""
    names: list[tuple[str, int]] = []
    for number, (item, name) in enumerate(zip(node.items, output_names(node), strict=True)):
        if item.alias:
            names = [pair for pair in names if pair[0] != name]
        names.append(("" if not item.alias and item.expr == _SHAPE else name, number))
    return names
