"""Aliases and conditions in a tree, replaced, split and joined."""

from __future__ import annotations

from sdb.query.syntax import ast, visitor
from sdb.query.syntax.precedence import balanced, operands
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container


def has_aggregates(node: ast.Node) -> bool:
    """Tell whether there is an aggregate, other than a window function, in an expression."""
    return any(found.over is None for found in visitor.aggregates(node))


def has_windows(node: ast.Node) -> bool:
    """Tell whether there is a window function in an expression."""
    return any(found.over is not None for found in visitor.aggregates(node))


@record
class Aliases:
    """Aliases of a SELECT, and the expressions that they stand for.

    Attributes
    ----------
    exprs : dict
        The expression of each alias.
    qualifiers : set of str
        Aliases of sources: behind them (``t`` in ``t.x``) stands a field.
    needless : str or None
        The one of these that may be left out.
    keys : list of (Expr, Expr)
        Keys of groups as they are written, and what they stand for; in full they are that, whatever
        an alias hides in them.
    """

    exprs: dict[str, ast.Expr]
    qualifiers: Container[str]
    needless: str | None
    keys: list[tuple[ast.Expr, ast.Expr]]

    def expanded(self, node: ast.Expr) -> ast.Expr:
        """Give an expression with what aliases stand for in their place.

        Inside an aggregate the alias of another one is none.
        """
        return visitor.rewrite(node, stop=self._change)

    def _change(self, part: ast.Node) -> ast.Node | None:
        for key, meaning in self.keys:
            if key == part:
                return meaning
        if isinstance(part, ast.Dot) and isinstance(part.base, ast.Name):
            if part.base.name == self.needless:
                return ast.Name(part.name, span=part.span)
            return part if part.base.name in self.qualifiers else None
        if isinstance(part, ast.Aggregate) and part.over is None:
            fields = {n: expr for n, expr in self.exprs.items() if not has_aggregates(expr)}
            if len(fields) < len(self.exprs):
                return replace(self, exprs=fields).expanded(part)
        if isinstance(part, ast.Name):
            return self.exprs.get(part.name)
        return part if isinstance(part, ast.Select) else None


def conjuncts(node: ast.Expr | None) -> list[ast.Expr]:
    """Give the conditions that AND joins."""
    return [] if node is None else operands(node, "AND")


def conjunction(parts: list[ast.Expr]) -> ast.Expr | None:
    """Join conditions by AND."""
    return balanced("AND", parts) if parts else None


def about(node: ast.Expr | None, alias: str | None, *, alone: bool) -> ast.Expr | None:
    """Give the part of a condition that is about one source, with paths that start at its rows."""
    if alias is None:
        return node if alone else None
    kept = []
    for part in conjuncts(node):
        found = visitor.nodes(part, into_selects=False)
        if all(node.name == alias for node in found if isinstance(node, ast.Name)):
            kept.append(visitor.rewrite(part, stop=lambda node: _stripped(node, alias)))
    return conjunction(kept)


def _stripped(node: ast.Node, alias: str) -> ast.Node | None:
    if isinstance(node, ast.Dot) and node.base == ast.Name(alias):
        return ast.Name(node.name, span=node.span)
    return None
