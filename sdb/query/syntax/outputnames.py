"""Names that a query gives to its columns."""

from __future__ import annotations

from sdb.query.syntax import ast
from sdb.query.syntax.printer import set_table

_AGGREGATE_NAMES = {
    "APPROX_COUNT_DISTINCT": "count",
    "AVG": "avg",
    "COUNT": "count",
    "EARLIEST": "min",
    "LATEST": "max",
    "MAX": "max",
    "MIN": "min",
    "SUM": "sum",
}


def output_names(select: ast.Select) -> list[str]:
    """Name the columns of a select.

    * ``select``: The select; not ``SELECT *``, whose columns are those of the rows.

    Returns: For each item its alias, or a name made of the expression where it has no alias or an
    empty one. An alias may repeat: the last item of that name counts. The structure that
    SNELLER_DATASHAPE gives stands for the whole row when it is the only item.

    >>> from sdb.query.syntax.parser import parse
    >>> output_names(parse("SELECT user.city, tags[0], n + 1, COUNT(*), COUNT(*)").select)
    ['city', 'tags_0', '_3', 'count', 'count_5']
    """
    names: list[str] = []
    for position, item in enumerate(select.items, 1):
        name = item.alias
        if not name:
            name = _automatic(item.expr)
            if not name or name in names:
                name = f"{name}_{position}"
        names.append(name)
    return names


def naming_sides(table: ast.SetTable, *, is_standard: bool) -> tuple[ast.Select, ...]:
    """Return the queries whose names of columns the rows of a set operation have.

    * ``is_standard``: Whether UNION goes by position, where the columns have names.
    """
    first = table.left
    while (inner := set_table(first)) is not None:
        first = inner.left
    is_by_name = table.by_name or first.star or not is_standard
    return (table.left, table.right) if table.op == "UNION" and is_by_name else (table.left,)


def _automatic(expr: ast.Expr) -> str:
    match expr:
        case ast.Name() | ast.Dot():
            return expr.name
        case ast.Index():
            return f"{_automatic(expr.base)}_{expr.index}"
        case ast.Aggregate():
            return _AGGREGATE_NAMES.get(expr.name, "")
    return ""
