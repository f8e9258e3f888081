"""Conditions in a tree, split and joined."""

from __future__ import annotations

from sdb.query.syntax import ast, visitor
from sdb.query.syntax.precedence import balanced, operands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def conjuncts(node: ast.Expr | None) -> list[ast.Expr]:
    """Give the conditions that AND joins."""
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
    """Give the part of a condition that is about one source, with paths that start at its rows.

    Parameters
    ----------
    node : Expr or None
        The condition.
    alias : str or None
        The name of the source.
    alone : bool
        Whether names without it are fields of its rows.
    others : tuple of Source
        The sources behind it. A name that stands for the elements of a list becomes a path to one
        of them: for a row to come out, one has to satisfy each part of the condition.
    """
    if alias is None:
        return node if alone else None
    elements = _elements(alias, others)
    kept = []
    for part in conjuncts(node):
        found = visitor.nodes(part, into_selects=False)
        names = [node.name for node in found if isinstance(node, ast.Name)]
        if all(name == alias or name in elements for name in names):
            kept.append(visitor.rewrite(part, stop=lambda node: _stripped(node, alias, elements)))
    return conjunction(kept)


def own(path: ast.Expr, alias: str | None, *, alone: bool) -> ast.Expr | None:
    """Give a path as it is from the rows of a source on.

    Parameters
    ----------
    path : Expr
        What may be a path into them.
    alias : str or None
        The name of the source.
    alone : bool
        Whether names without it are fields of its rows.

    Returns
    -------
    Expr or None
        The path; None: it is none, or that of something else.
    """
    root = visitor.root_name(path)
    if root is None or (alias is None and not alone):
        return None
    if alias is None:
        return path
    found = visitor.rewrite(path, stop=lambda node: _stripped(node, alias, {}))
    return None if root.name != alias or found == path else found


def _elements(alias: str, others: tuple[ast.Source, ...]) -> dict[str, ast.Expr]:
    """Give the paths to elements of lists in a source's rows, by the names that stand for them."""
    found: dict[str, ast.Expr] = {}
    for source in others:
        if source.join != "CROSS" or not isinstance(source.table, ast.PathTable):
            continue
        path = source.table.expr
        root = visitor.root_name(path)
        is_inside = root is not None and (root.name == alias or root.name in found)
        if is_inside and root != path and source.alias not in {None, alias, *found}:
            inner = visitor.rewrite(path, stop=lambda node: _stripped(node, alias, found))
            found[str(source.alias)] = ast.Index(inner, 0)
    return found


def _stripped(node: ast.Node, alias: str, elements: Mapping[str, ast.Expr]) -> ast.Node | None:
    if isinstance(node, ast.Dot) and node.base == ast.Name(alias):
        return ast.Name(node.name, span=node.span)
    return elements.get(node.name) if isinstance(node, ast.Name) else None
