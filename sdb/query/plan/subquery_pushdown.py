"""Conditions on the output of a sub-query, moved to where its rows are read.

There they can leave out blocks and rows; the condition outside stays as it is.
"""

from __future__ import annotations

from sdb.query.analyze.binder import columns
from sdb.query.plan.rewrite import conjunction, conjuncts
from sdb.query.syntax import ast, visitor
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def narrowed(inner: ast.Select, where: ast.Expr | None, alias: str | None) -> ast.Select:
    """Return a sub-query the conditions on its output.

    * ``where``: The condition of a query around it that has no other source.
    """
    names = _passed_on(inner)
    if where is None or names is None:
        return inner
    remaining = []
    for part in conjuncts(where):
        moved = _moved(part, names, alias)
        if moved is not None:
            remaining.append(moved)
    if not remaining:
        return inner
    own = [] if inner.where is None else [inner.where]
    return replace(inner, where=conjunction(own + remaining))


def _passed_on(inner: ast.Select) -> Mapping[str, ast.Expr] | str | None:
    """Return paths behind output names, or the alias of the rows; ``None`` when rows change."""
    exprs = [item.expr for item in inner.items] + [sort.expr for sort in inner.order_by]
    changed = (
        inner.limit is not None
        or inner.offset is not None
        or inner.distinct_on
        or inner.group_by is not None
        or inner.having is not None
        or inner.qualify is not None
        or inner.sample is not None
        or any(True for expr in exprs for _ in visitor.aggregates(expr))
    )
    if changed:
        return None
    if inner.star:
        (source, *others) = inner.sources or (None,)
        plain = source is not None and not others
        return (source.alias or "") if plain and source is not None else None
    return {name: e for name, e in columns(inner).items() if visitor.root_name(e) is not None}


def _moved(
    part: ast.Expr, names: Mapping[str, ast.Expr] | str, alias: str | None
) -> ast.Expr | None:
    """Say a condition in terms of the rows of the sub-query; ``None`` when that cannot be."""
    failed = False

    def inside(name: str) -> ast.Expr:
        nonlocal failed
        if isinstance(names, str):
            return ast.Dot(ast.Name(names), name) if names else ast.Name(name)
        if name not in names:
            failed = True
            return ast.Missing()
        return names[name]

    def change(node: ast.Node) -> ast.Node | None:
        nonlocal failed
        if isinstance(node, (ast.Subquery, ast.Exists, ast.Aggregate)):
            failed = True
            return node
        if isinstance(node, ast.Dot) and alias is not None and node.base == ast.Name(alias):
            return inside(node.name)
        return inside(node.name) if isinstance(node, ast.Name) else None

    moved = visitor.rewrite(part, stop=change)
    return None if failed else moved
