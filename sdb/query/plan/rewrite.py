"""Conditions in a tree, split and joined."""

from __future__ import annotations

from sdb.query.syntax import ast, visitor
from sdb.query.syntax.operators import balanced, operands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def conjuncts(node: ast.Expr | None) -> list[ast.Expr]:
    """Return the conditions that AND joins."""
    return [] if node is None else operands(node, "AND")


def conjunction(parts: list[ast.Expr]) -> ast.Expr | None:
    """Join conditions by AND."""
    return balanced("AND", parts) if parts else None


def about(
    node: ast.Expr | None,
    alias: str | None,
    *,
    alone: bool,
    others: tuple[ast.Source, ...] = (),
) -> ast.Expr | None:
    """Return the part of a condition that is about one source, with paths that start at its rows.

    * ``alone``: Whether names without it are fields of its rows.
    * ``others``: The sources behind it. A name that stands for the elements of a list becomes a
      path to one of them: for a row to come out, one has to satisfy each part of the condition.
    """
    if alias is None:
        return node if alone else None
    elements = _elements(alias, others)
    related = []
    for part in conjuncts(node):
        part_nodes = visitor.nodes(part, into_selects=False)
        names = [node.name for node in part_nodes if isinstance(node, ast.Name)]
        if all(name == alias or name in elements for name in names):
            related.append(
                visitor.rewrite(part, stop=lambda node: _stripped(node, alias, elements))
            )
    return conjunction(related)


def own(path: ast.Expr, alias: str | None, *, alone: bool) -> ast.Expr | None:
    """Return a path as it is from the rows of a source on.

    * ``alone``: Whether names without it are fields of its rows.

    Returns: The path; None: it is no path, or that of something else.
    """
    root = visitor.root_name(path)
    if root is None or (alias is None and not alone):
        return None
    if alias is None:
        return path
    stripped = visitor.rewrite(path, stop=lambda node: _stripped(node, alias, {}))
    return None if root.name != alias or stripped == path else stripped


def _elements(alias: str, others: tuple[ast.Source, ...]) -> dict[str, ast.Expr]:
    """Return paths to elements of lists in a source's rows, by the names that stand for them."""
    elements: dict[str, ast.Expr] = {}
    for source in others:
        if source.join != "CROSS" or not isinstance(source.table, ast.PathTable):
            continue
        path = source.table.expr
        root = visitor.root_name(path)
        is_inside = root is not None and (root.name == alias or root.name in elements)
        if is_inside and root != path and source.alias not in {None, alias, *elements}:
            inner = visitor.rewrite(path, stop=lambda node: _stripped(node, alias, elements))
            elements[str(source.alias)] = ast.Index(inner, 0)
    return elements


def _stripped(node: ast.Node, alias: str, elements: Mapping[str, ast.Expr]) -> ast.Node | None:
    if isinstance(node, ast.Dot) and node.base == ast.Name(alias):
        return ast.Name(node.name, span=node.span)
    return elements.get(node.name) if isinstance(node, ast.Name) else None


_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})


def is_strict(node: ast.Expr) -> bool:
    """Return whether a condition certainly is not TRUE of rows that have none of its fields."""
    match node:
        case ast.Binary(op="AND"):
            return is_strict(node.left) or is_strict(node.right)
        case ast.Binary(op="OR"):
            return is_strict(node.left) and is_strict(node.right)
        case ast.Binary(op=op) if op in _COMPARISONS:
            return _is_path(node.left) or _is_path(node.right)
        case ast.Between() | ast.In() | ast.Match():
            return _is_path(node.operand)
    return False


def _is_path(node: ast.Expr) -> bool:
    return visitor.root_name(node) is not None
