"""Rows that a query leaves out because a key is MISSING there, as far as trailers count them."""

from __future__ import annotations

from sdb.errors import CorruptError
from sdb.query.plan.tables import table_name
from sdb.query.syntax import ast, printer, visitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sdb.packfile.reader import Packfile
    from sdb.query.plan.dataset import TableName

    Packs = Callable[[TableName], Sequence[Packfile]]

_MOST_PACKFILES = 64
"""Of more than these, counts are not looked up."""


def left_out(statement: ast.Statement, packs: Packs) -> list[str]:
    """Tell of rows without a key of GROUP BY, ORDER BY or DISTINCT.

    Parameters
    ----------
    statement : Statement
        The query, with its names bound.
    packs : callable
        Gives the packfiles of a table, which are open.

    Returns
    -------
    list of str
        A line for each path that is a key and not in all rows of the only table; with their number
        where no condition leaves out others.
    """
    select = statement.select
    if len(select.sources) != 1 or statement.unions or statement.with_:
        return []
    (source,) = select.sources
    parts = source.table.tables if isinstance(source.table, ast.ConcatTable) else (source.table,)
    names = [None if isinstance(p, ast.UnpivotTable) else table_name(p) for p in parts]
    opened = [pack for name in names if name is not None for pack in packs(name)]
    if None in names or not 0 < len(opened) <= _MOST_PACKFILES:
        return []
    lines = []
    for expr, keeps in _keys(select):
        path = _path(expr, source.alias)
        text = printer.text(expr)
        rows = None if path is None or _is_named(select.where, expr) else _counts(opened, path)
        if rows is None or not 0 < rows[0] < rows[1]:
            continue
        count = f"{rows[1] - rows[0]:,} of {rows[1]:,} rows have"
        who = count if select.where is None else "rows that have"
        verb = "and are" if select.where is None else "are"
        lines.append(f"note: {who} no {text} {verb} left out ({keeps.format(text)} keeps them)")
    return lines


def remarks(statement: ast.Statement) -> list[str]:
    """Tell what a plan should say of COUNT, which counts NULL too.

    Parameters
    ----------
    statement : Statement
        The query.

    Returns
    -------
    list of str
        A line for each such count.
    """
    lines = []
    for node in visitor.nodes(statement):
        if isinstance(node, ast.Aggregate) and node.name == "COUNT" and node.args:
            text = printer.text(node.args[0])
            lines.append(
                f"note: COUNT({text}) counts NULL, as all that is there;"
                f" COUNT(*) FILTER (WHERE {text} IS NOT NULL) does not"
            )
    return list(dict.fromkeys(lines))


def _keys(select: ast.Select) -> Iterator[tuple[ast.Expr, str]]:
    """Give the keys that rows must have, and what would keep the others."""
    given = "the key COALESCE({}, '-')"
    for item in select.group_by or ():
        yield item.expr, given
    if select.distinct:
        for expr in select.distinct_on or [item.expr for item in select.items]:
            yield expr, given
    if select.group_by is None:
        for sort in select.order_by:
            last = " NULLS LAST" if sort.nulls_last else ""
            yield sort.expr, f"ORDER BY COALESCE({{}}, NULL){last}"


def _path(expr: ast.Expr, alias: str | None) -> tuple[str, ...] | None:
    """Give the names of a path from the row on."""
    names: list[str] = []
    while isinstance(expr, ast.Dot):
        names.append(expr.name)
        expr = expr.base
    if not isinstance(expr, ast.Name):
        return None
    names += [expr.name] if alias is None else []
    return tuple(reversed(names)) if alias is None or expr.name == alias else None


def _is_named(where: ast.Expr | None, expr: ast.Expr) -> bool:
    """Tell whether a condition is about a path, which rows without it may not satisfy."""
    return where is not None and any(node == expr for node in visitor.nodes(where))


def _counts(packs: Sequence[Packfile], path: tuple[str, ...]) -> tuple[int, int] | None:
    """Count the rows that have a path, and all; None where a packfile does not tell."""
    having = rows = 0
    for pack in packs:
        sparse = pack.trailer.sparse
        try:
            presence = sparse.presence()
        except CorruptError:
            return None
        if presence is None or sparse.summary is None or not presence.complete:
            return None
        found = presence.fields.get(path)
        having += 0 if found is None else found.rows
        rows += sum(sparse.summary.rows)
    return having, rows
