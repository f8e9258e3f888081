"""Walks over syntax trees."""

from __future__ import annotations

import operator

from sdb.query.syntax import ast
from sdb.records import field_names, record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator
    from typing import Any


def walk(node: ast.Node) -> Iterator[ast.Node]:
    """Go over a node and all below it, but not into sub-queries."""
    yield from _below(node, ast.Select)


def everything(node: ast.Node) -> Iterator[ast.Node]:
    """Go over a node and all below it, sub-queries and tables too."""
    yield from _below(node, ())


def _below(node: ast.Node, skipped: type | tuple[()]) -> Iterator[ast.Node]:
    # Chains of operators are deeper than Python likes to recurse.
    waiting: list[object] = [node]
    while waiting:
        found = waiting.pop()
        if isinstance(found, tuple):
            waiting.extend(reversed(found))
        elif isinstance(found, ast.Node) and not isinstance(found, skipped):
            yield found
            waiting.extend(getattr(found, name) for name in field_names(type(found))[::-1])


def aggregates(node: ast.Node) -> Iterator[ast.Aggregate]:
    """Find the aggregates, other than windows, in an expression."""
    for found in walk(node):
        if isinstance(found, ast.Aggregate) and found.over is None:
            yield found


def has_windows(node: ast.Node) -> bool:
    """Tell whether there is a window function in an expression."""
    return any(isinstance(found, ast.Aggregate) and found.over is not None for found in walk(node))


def replaced(node: Any, change: Callable[[ast.Node], ast.Node | None]) -> Any:  # noqa: ANN401
    """Make a tree in which `change` has replaced nodes; what it returns is not looked into."""
    if isinstance(node, tuple):
        parts = tuple(replaced(element, change) for element in node)
        return node if all(map(operator.is_, parts, node)) else parts
    if not isinstance(node, ast.Node) or isinstance(node, ast.Literal):
        return node
    # The left sides of a chain of operators are not recursed into: it may be long.
    spine: list[ast.Binary] = []
    while (new := change(node)) is None and isinstance(node, ast.Binary):
        spine.append(node)
        node = node.left
    result: Any = _rebuilt(node, change) if new is None else new
    while spine:
        above = spine.pop()
        right = replaced(above.right, change)
        if result is not above.left or right is not above.right:
            above = replace(above, left=result, right=right)
        result = above
    return result


def _rebuilt(node: ast.Node, change: Callable[[ast.Node], ast.Node | None]) -> ast.Node:
    updates = {}
    for name in field_names(type(node)):
        old = getattr(node, name)
        new = replaced(old, change)
        if new is not old:
            updates[name] = new
    return replace(node, **updates) if updates else node


@record
class Aliases:
    """What names of a SELECT stand for.

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
        result: ast.Expr = replaced(node, self._change)
        return result

    def _change(self, part: ast.Node) -> ast.Node | None:
        for key, meaning in self.keys:
            if key == part:
                return meaning
        if isinstance(part, ast.Dot) and isinstance(part.base, ast.Name):
            if part.base.name == self.needless:
                return ast.Name(part.name, span=part.span)
            return part if part.base.name in self.qualifiers else None
        if isinstance(part, ast.Aggregate) and part.over is None:
            fields = {n: expr for n, expr in self.exprs.items() if not any(aggregates(expr))}
            if len(fields) < len(self.exprs):
                return replace(self, exprs=fields).expanded(part)
        if isinstance(part, ast.Name):
            return self.exprs.get(part.name)
        return part if isinstance(part, ast.Select) else None


def operands(node: ast.Expr, op: str) -> list[ast.Expr]:
    """Give what a chain of one operator combines, from left to right."""
    found: list[ast.Expr] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Binary) and part.op == op:
            waiting += [part.right, part.left]
        else:
            found.append(part)
    return found


def conjuncts(node: ast.Expr | None) -> list[ast.Expr]:
    """Give the conditions that AND joins."""
    return [] if node is None else operands(node, "AND")


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
