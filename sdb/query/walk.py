"""Goes over syntax trees."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar

from sdb.query.ast import Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_Kind = TypeVar("_Kind", bound=Node)
_NAMES: dict[type[Node], tuple[str, ...]] = {}


def _names(kind: type[Node]) -> tuple[str, ...]:
    if kind not in _NAMES:
        _NAMES[kind] = tuple(field.name for field in fields(kind) if field.name != "span")
    return _NAMES[kind]


def children(node: Node) -> Iterator[Node]:
    """Go over the nodes right below a node, sub-queries included."""
    pending: list[object] = [getattr(node, name) for name in reversed(_names(type(node)))]
    while pending:
        value = pending.pop()
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            pending.extend(reversed(value))


def walk(node: Node) -> Iterator[Node]:
    """Go over a node and all below it, parents first."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(children(node))


def depth(node: Node) -> int:
    """Count the levels of a tree."""
    deepest = 0
    pending = [(node, 1)]
    while pending:
        node, level = pending.pop()
        deepest = max(deepest, level)
        pending.extend((child, level + 1) for child in children(node))
    return deepest


def rewrite(node: _Kind, change: Callable[[Node], Node]) -> _Kind:
    """Make a tree with nodes changed, from the leaves up.

    Parameters
    ----------
    node : Node
        The root; trees of the parser are not too deep for this.
    change : callable
        Gives what takes the place of a node whose own children are changed already; the node
        itself, to keep it.

    Returns
    -------
    Node
        The new tree, of the same kind as the old one, which is left alone.
    """

    def deep(value: object) -> object:
        if isinstance(value, tuple):
            items = tuple(map(deep, value))
            return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
        return change(inner(value)) if isinstance(value, Node) else value

    def inner(node: Node) -> Node:
        found = {name: getattr(node, name) for name in _names(type(node)) if name != "type"}
        changed = {name: deep(value) for name, value in found.items()}
        changed = {name: value for name, value in changed.items() if value is not found[name]}
        return replace(node, **changed) if changed else node

    return inner(node)  # type: ignore[return-value]  # `replace` keeps the class
