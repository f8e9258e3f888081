"""Ways through a syntax tree."""

from __future__ import annotations

from sdb.query.syntax import ast
from sdb.records import field_names, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    T = TypeVar("T", bound=ast.Node)


_LEAVES = frozenset({ast.Literal, ast.Missing, ast.Param, ast.Name})
_FIELDS: dict[type[ast.Node], tuple[str, ...]] = {}


def children(node: ast.Node) -> Iterator[ast.Node]:
    """Give the nodes right below a node, in the order of the text.

    Parameters
    ----------
    node : ast.Node
        Any node.

    Yields
    ------
    ast.Node
        Expressions, tables, sources, items, sort keys, windows and selects alike.
    """
    for name in _names(type(node)):
        value = getattr(node, name)
        if isinstance(value, ast.Node):
            yield value
        elif isinstance(value, tuple):
            yield from _nodes(value)


def _names(kind: type[ast.Node]) -> tuple[str, ...]:
    """Give the fields that may hold nodes."""
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(name for name in field_names(kind) if name != "span")
    return _FIELDS[kind]


def _nodes(values: tuple[object, ...]) -> Iterator[ast.Node]:
    for value in values:
        if isinstance(value, ast.Node):
            yield value
        elif isinstance(value, tuple):
            yield from _nodes(value)


def nodes(root: ast.Node, *, into_selects: bool = True) -> Iterator[ast.Node]:
    """Give a node and all below it, parents first.

    Parameters
    ----------
    root : ast.Node
        Where to start.
    into_selects : bool
        Whether to look into sub-queries.

    Yields
    ------
    ast.Node
        The next one.
    """
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if type(node) in _LEAVES:
            continue
        below = [
            child for child in children(node) if into_selects or not isinstance(child, ast.Select)
        ]
        waiting += reversed(below)


def too_deep(root: ast.Node, limit: int) -> ast.Node | None:
    """Look for a node that stands deeper than a limit.

    Parameters
    ----------
    root : ast.Node
        The tree.
    limit : int
        The greatest depth allowed, that of the root being 0.

    Returns
    -------
    ast.Node or None
        The first node below it, or nothing.
    """
    level = [root]
    for _ in range(limit + 1):
        level = [child for node in level if type(node) not in _LEAVES for child in children(node)]
    return level[0] if level else None


def rewrite(root: T, change: Callable[[ast.Node], ast.Node]) -> T:
    """Make a tree anew, from the leaves to the root.

    Parameters
    ----------
    root : ast.Node
        The tree.
    change : callable
        Gives what stands for a node whose own parts are new already; the node itself where nothing
        changes.

    Returns
    -------
    ast.Node
        The new tree, which shares with the old one what did not change.
    """
    if type(root) in _LEAVES:
        return change(root)  # type: ignore[return-value]
    changes: dict[str, object] = {}
    for name in _names(type(root)):
        old = getattr(root, name)
        new = _rewritten(old, change)
        if new is not old:
            changes[name] = new
    whole = replace(root, **changes) if changes else root
    return change(whole)  # type: ignore[return-value]


def _rewritten(value: object, change: Callable[[ast.Node], ast.Node]) -> object:
    if isinstance(value, ast.Node):
        return rewrite(value, change)
    if isinstance(value, tuple):
        parts = tuple([_rewritten(part, change) for part in value])
        same = all(new is old for new, old in zip(parts, value, strict=True))
        return value if same else parts
    return value
