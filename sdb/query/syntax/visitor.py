"""Ways through a syntax tree."""

from __future__ import annotations

import re

from sdb.query.syntax import ast
from sdb.records import field_names, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    T = TypeVar("T", bound=ast.Node)


# Keys of joins are as they are.
_FIELDS: dict[type[ast.Node], tuple[str, ...]] = {ast.Among: ()}
_PLAIN = frozenset({type(None), bool, int, float, str})
_PLAIN_WORDS = frozenset({"None", "bool", "str", "tuple", "type", "Constant", "FieldRead", "Span"})
"""Words of the types of fields that no node is in; a parameter may stand for a number."""


def children(node: ast.Node) -> tuple[ast.Node, ...]:
    """Return the nodes right below a node, in the order of the text; they are found once."""
    try:
        return node.below
    except AttributeError:
        inner: list[ast.Node] = []
    for name in _names(type(node)):
        value = getattr(node, name)
        if type(value) not in _PLAIN:
            _add_nodes(value, inner)
    below = tuple(inner)
    object.__setattr__(node, "below", below)
    return below


def _names(kind: type[ast.Node]) -> tuple[str, ...]:
    """Return the fields that may hold nodes."""
    if kind not in _FIELDS:
        types = {
            name: of
            for base in kind.__mro__[::-1]
            for name, of in vars(base).get("__annotations__", {}).items()
        }
        _FIELDS[kind] = tuple(
            name
            for name in field_names(kind)
            if not _PLAIN_WORDS.issuperset(re.findall(r"\w+", types[name]))
        )
    return _FIELDS[kind]


def _add_nodes(value: object, below: list[ast.Node]) -> None:
    if isinstance(value, ast.Node):
        below.append(value)
    elif isinstance(value, tuple):
        for part in value:
            _add_nodes(part, below)


def nodes(root: ast.Node, *, into_selects: bool = True) -> Iterator[ast.Node]:
    """Yield a node and all below it, parents first."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        below = children(node)[::-1]
        if not into_selects:
            below = tuple([child for child in below if not isinstance(child, ast.Select)])
        waiting += below


def call_in(root: ast.Node, name: str) -> ast.Call | None:
    """Return the first call of a function in an expression, sub-queries left out."""
    for node in nodes(root, into_selects=False):
        if isinstance(node, ast.Call) and node.name == name:
            return node
    return None


def too_deep(root: ast.Node, limit: int) -> ast.Node | None:
    """Look for a node that stands deeper than a limit.

    * ``limit``: The greatest depth allowed, that of the root being 0.
    """
    level = [root]
    for _ in range(limit + 1):
        level = [child for node in level for child in children(node)]
        if not level:
            break
    return level[0] if level else None


def aggregates(root: ast.Node) -> Iterator[ast.Aggregate]:
    """Yield the aggregates and window functions in an expression, sub-queries left aside."""
    for node in nodes(root, into_selects=False):
        if isinstance(node, ast.Aggregate):
            yield node


def root_name(path: ast.Node) -> ast.Name | None:
    """Return the name that a path starts with; ``None`` when it starts otherwise, or is no path."""
    while isinstance(path, ast.Dot | ast.Index):
        path = path.base
    return path if isinstance(path, ast.Name) else None


def conditions(select: ast.Select) -> Iterator[tuple[str, ast.Expr]]:
    """Yield what stands where a condition is wanted, with the words around it."""
    for word in ("WHERE", "HAVING", "QUALIFY"):
        expr = getattr(select, word.lower())
        if expr is not None:
            yield word, expr
    yield from [("ON", source.on) for source in select.sources if source.on is not None]
    for node in nodes(select, into_selects=False):
        match node:
            case ast.Case(operand=None, limbs=limbs):
                yield from [("CASE WHEN", when) for when, _ in limbs]
            case ast.Aggregate(where=ast.Node() as where):
                yield "FILTER", where


def rewrite(
    root: T,
    change: Callable[[ast.Node], ast.Node] | None = None,
    *,
    stop: Callable[[ast.Node], ast.Node | None] | None = None,
) -> T:
    """Make a tree anew, from the leaves to the root.

    * ``change``: Gives what stands for a node whose own parts are new already; the node itself
      where nothing changes.
    * ``stop``: Asked before the parts of a node are looked into: gives what stands for the node as
      a whole, or ``None`` to go on.

    Returns: The new tree, which shares with the old one what did not change.
    """
    if stop is not None and (new := stop(root)) is not None:
        return new  # type: ignore[return-value]
    changes: dict[str, object] = {}
    for name in _names(type(root)):
        old = getattr(root, name)
        new_part = _rewritten(old, change, stop)
        if new_part is not old:
            changes[name] = new_part
    whole = replace(root, **changes) if changes else root
    return whole if change is None else change(whole)  # type: ignore[return-value]


def _rewritten(
    value: object,
    change: Callable[[ast.Node], ast.Node] | None,
    stop: Callable[[ast.Node], ast.Node | None] | None,
) -> object:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, ast.Node):
        return rewrite(value, change, stop=stop)
    if isinstance(value, tuple):
        parts = tuple([_rewritten(part, change, stop) for part in value])
        same = all(new is old for new, old in zip(parts, value, strict=True))
        return value if same else parts
    return value
