"""Walks over syntax trees."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from sdb.query import ast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


def children(node: ast.Node) -> Iterator[ast.Node]:
    """Nodes right below a node; those of sub-queries are left out."""
    for item in dataclasses.fields(node):
        yield from _nodes(getattr(node, item.name))


def _nodes(value: object) -> Iterator[ast.Node]:
    if isinstance(value, ast.Node):
        if not isinstance(value, ast.Select):
            yield value
    elif isinstance(value, tuple):
        for element in value:
            yield from _nodes(element)


def walk(node: ast.Node) -> Iterator[ast.Node]:
    """Give a node and all below it, but not into sub-queries."""
    yield node
    for child in children(node):
        yield from walk(child)


def everything(node: object) -> Iterator[ast.Node]:
    """Give a node and all below it, sub-queries and tables too."""
    if isinstance(node, tuple):
        for element in node:
            yield from everything(element)
    elif isinstance(node, ast.Node):
        yield node
        for item in dataclasses.fields(node):
            yield from everything(getattr(node, item.name))


def aggregates(node: ast.Node) -> Iterator[ast.Aggregate]:
    """Find the aggregates, other than windows, in an expression."""
    for found in walk(node):
        if isinstance(found, ast.Aggregate) and found.over is None:
            yield found


def replaced(node: Any, change: Callable[[ast.Node], ast.Node | None]) -> Any:  # noqa: ANN401
    """Make a tree in which `change` has replaced nodes; what it returns is not looked into."""
    if isinstance(node, tuple):
        return tuple(replaced(element, change) for element in node)
    if not isinstance(node, ast.Node) or isinstance(node, (ast.Select, ast.Literal)):
        return node
    new = change(node)
    if new is not None:
        return new
    updates = {}
    for item in dataclasses.fields(node):
        old = getattr(node, item.name)
        value = replaced(old, change)
        if value is not old and value != old:
            updates[item.name] = value
    return dataclasses.replace(node, **updates) if updates else node


def expanded(node: ast.Expr, aliases: Mapping[str, ast.Expr], qualifiers: set[str]) -> ast.Expr:
    """Give an expression with what aliases stand for in their place.

    A name that qualifies a field (``t`` in ``t.x``) is no alias of the select list.
    """

    def change(part: ast.Node) -> ast.Node | None:
        if isinstance(part, ast.Dot) and isinstance(part.base, ast.Name):
            return part if part.base.name in qualifiers else None
        if isinstance(part, ast.Name):
            return aliases.get(part.name)
        return None

    result: ast.Expr = replaced(node, change)
    return result


def conjuncts(node: ast.Expr | None) -> list[ast.Expr]:
    """Conditions that AND joins."""
    if node is None:
        return []
    if isinstance(node, ast.Binary) and node.op == "AND":
        return conjuncts(node.left) + conjuncts(node.right)
    return [node]


def conjunction(parts: list[ast.Expr]) -> ast.Expr | None:
    """AND of conditions."""
    result: ast.Expr | None = None
    for part in parts:
        result = part if result is None else ast.Binary("AND", result, part)
    return result


def about(node: ast.Expr | None, alias: str | None, *, alone: bool) -> ast.Expr | None:
    """Give the part of a condition that is about one source, with paths that start at its rows."""
    if alias is None:
        return node if alone else None
    kept = []
    for part in conjuncts(node):
        stripped = replaced(part, lambda child: _stripped(child, alias))
        names = [found for found in walk(part) if isinstance(found, ast.Name)]
        if all(name.name == alias for name in names):
            kept.append(stripped)
    return conjunction(kept)


def _stripped(node: ast.Node, alias: str) -> ast.Node | None:
    if isinstance(node, ast.Dot) and node.base == ast.Name(alias):
        return ast.Name(node.name, span=node.span)
    return None
