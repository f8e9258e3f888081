"""Columns of a star: left out, replaced or renamed, or those whose names match."""

from __future__ import annotations

import re

from sdb.query.analyze.refusals import refuse
from sdb.query.syntax import ast, visitor
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SHOWN = 20


def changed(star: ast.Star, columns: Mapping[str, ast.Expr]) -> list[ast.Item]:
    """Return the items of a star.

    * ``columns``: All columns by name.

    Raises
    ------
    QueryError
        There is no such column, or a name would stand for two.
    """
    replaced, renamed = dict(star.replaced), dict(star.renamed)
    for word, names in (
        ("exclude", star.excluded),
        ("replace", tuple(replaced)),
        ("rename", tuple(renamed)),
    ):
        for name in names:
            _check(name, columns, word, star)
    for new in renamed.values():
        if new in columns:
            refuse(f'RENAME: there is a column "{new}" already', star, "choose another name")
    _check_replaced(star, replaced)
    if len(star.named) > len(columns):
        refuse(f"the table has {len(columns)} columns, {len(star.named)} have a name", star)
    renamed |= dict(zip(columns, star.named, strict=False))
    if twice := set(star.named) & set(list(columns)[len(star.named) :]):
        refuse(f"two columns are named {min(twice)}", star, "name all columns, or other ones")
    items = []
    for name, expr in columns.items():
        if name in star.excluded:
            continue
        # Without an alias where it can be, for it might hide the name of a source.
        alias = renamed.get(name, name if name in replaced else None)
        items.append(ast.Item(replaced.get(name, expr), alias, span=star.span))
    return items


def _check(name: str, columns: Mapping[str, ast.Expr], word: str, node: ast.Node) -> None:
    if name not in columns:
        known = ", ".join(list(columns)[:_SHOWN])
        refuse(f'there is no column "{name}" to {word}', node, f"the columns are {known}")


def _check_replaced(star: ast.Star, replaced: Mapping[str, ast.Expr]) -> None:
    """Refuse what is made of another column that is replaced: it might mean the old or the new."""
    for name, expr in replaced.items():
        for node in visitor.nodes(expr):
            if isinstance(node, ast.Name) and node.name in replaced and node.name != name:
                hint = "replace one of them in a sub-query"
                refuse(f"REPLACE: {name} is made of {node.name}, which is replaced", star, hint)


def pattern_in(expr: ast.Expr) -> ast.Call | None:
    """Return the COLUMNS('re') in an expression."""
    return next(
        (
            node
            for node in visitor.nodes(expr, into_selects=False)
            if isinstance(node, ast.Call) and node.name == "COLUMNS"
        ),
        None,
    )


def matching(item: ast.Item, call: ast.Call, columns: Mapping[str, ast.Expr]) -> list[ast.Item]:
    """Return an item for each column whose name matches.

    Raises
    ------
    QueryError
        No name matches, or that is no regular expression.
    """
    match call.args:
        case (ast.Literal(value=str() as text),):
            pass
        case _:
            refuse("COLUMNS takes a regular expression, as in COLUMNS('^user_')", call)
    try:
        wanted = re.compile(text)
    except re.error as error:
        refuse(f"COLUMNS: {error} in '{text}'", call)
    names = [name for name in columns if wanted.search(name)]
    if not names:
        known = ", ".join(list(columns)[:_SHOWN])
        refuse(f"no column matches '{text}'", call, f"the columns are {known}")
    if item.alias is not None and len(names) > 1:
        refuse(f"COLUMNS('{text}') has {len(names)} columns, and one name", call)
    items = []
    for name in names:
        column = columns[name]

        def put(node: ast.Node, column: ast.Expr = column) -> ast.Node:
            return column if node == call else node

        # A column as it is has its name already.
        alias = item.alias or (None if item.expr == call else name)
        items.append(replace(item, expr=visitor.rewrite(item.expr, put), alias=alias))
    return items
