"""Conditions in a tree, split and joined."""

from __future__ import annotations

from sdb.query.syntax import ast, visitor
from sdb.query.syntax.precedence import balanced, operands


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
