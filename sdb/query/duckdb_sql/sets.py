"""UNION, INTERSECT and EXCEPT of two queries.

Rows are compared as a whole, by the key of a structure of their values, in which those that are
MISSING have no member: MISSING equals MISSING and nothing else, NULL equals NULL.
"""

from __future__ import annotations

from sdb.query.analyze.refusals import rejected
from sdb.query.duckdb_sql.context import Query
from sdb.query.duckdb_sql.functions.growth import window
from sdb.query.duckdb_sql.levels import Level, Reference
from sdb.query.duckdb_sql.unions import shown, united
from sdb.query.duckdb_sql.values.constructors import MadeStruct, whole_row
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.duckdb_sql.context import SqlContext
    from sdb.query.duckdb_sql.values.lanes import Value
    from sdb.query.syntax import ast

_KEPT = {
    ("INTERSECT", False): "coalesce({there}, 0) > 0 AND {number} = 1",
    ("INTERSECT", True): "{number} <= coalesce({there}, 0)",
    ("EXCEPT", False): "coalesce({there}, 0) = 0 AND {number} = 1",
    ("EXCEPT", True): "{number} > coalesce({there}, 0)",
}
"""Which of equal rows stay, by their number and by how many there are on the right."""


def combined(node: ast.SetTable, left: Query, right: Query, context: SqlContext) -> Query:
    """Return the rows of two queries that a set operator leaves.

    Raises
    ------
    QueryError
        The queries have not equally many columns.
    """
    if node.op == "UNION":
        right = beside(left, right, node, context, by_name=node.by_name)
        return united([left, right], context, distinct=not node.every)
    row, other = _rows(left, right, node, context)
    part, reference = context.refer(right)
    key = reference.column(other.lane("k"))
    counts = Level(context.name("q"), (part,), group=f"GROUP BY {key}")
    key, there = counts.column(key), counts.column("count(*)")
    if right.correlated:
        counted: tuple[str | Level, ...] = (counts,)
        name = counts.name
    else:
        context.levels.append(counts)
        name = context.name("r")
        counted = (f"{counts.name} AS {name}",)
    part, reference = context.refer(left)
    mine = reference.column(row.lane("k"))
    level = Level(context.name("q"), (part, " LEFT JOIN ", *counted, f" ON {mine} = {name}.{key}"))
    number = f"row_number() OVER ({window([mine])})"
    level.qualified.append(
        _KEPT[node.op, node.every].format(there=f"{name}.{there}", number=number)
    )
    correlated = left.correlated or right.correlated
    if not correlated:
        context.levels.append(level)
    above = Level(context.name("q"), (level,)) if correlated else None
    columns = left.through(reference, optional=False)
    if above is None:
        return Query(level, columns, single=False, certain=False, correlated=False)
    outside = Reference(level, level.name)
    inner = Query(level, columns, single=False, certain=False, correlated=True)
    return Query(
        above, inner.through(outside, optional=False), single=False, certain=False, correlated=True
    )


def _rows(
    left: Query, right: Query, node: ast.SetTable, context: SqlContext
) -> tuple[Value, Value]:
    """Return what rows of both sides are compared by: their columns, in order, or the rows."""
    sides = (left.columns, right.columns)
    if any(not name for columns in sides for name, _ in columns):
        row, other = (context.compared(whole_row(columns)) for columns in sides)
        return row, other
    counts = [len(columns) for columns in sides]
    if counts[0] != counts[1]:
        raise rejected(
            f"{node.op} takes queries of equally many columns, not of {counts[0]} and {counts[1]}",
            node,
        )
    row, other = (
        MadeStruct(
            [(str(number), context.filled(value)) for number, (_, value) in enumerate(columns)]
        )
        for columns in sides
    )
    return row, other


def beside(
    left: Query, right: Query, node: ast.Node, context: SqlContext, *, by_name: bool = False
) -> Query:
    """Return the right side of UNION with the names of the columns that its own go below.

    Raises
    ------
    QueryError
        The sides have not equally many columns, or those of one side are not known.
    """
    if by_name or context.original:
        return right
    sides = [shown(query.columns) for query in (left, right)]
    whole = [any(not name for name, _ in columns) for columns in sides]
    if all(whole):
        return right
    if any(whole):
        hint = "name the columns, or write UNION ALL BY NAME"
        raise rejected("UNION goes by position, and the columns of a `*` are not known", node, hint)
    if len(sides[0]) != len(sides[1]):
        raise rejected(
            "UNION takes queries of equally many columns, "
            f"not of {len(sides[0])} and {len(sides[1])}",
            node,
            "UNION ALL BY NAME joins columns by their names",
        )
    names = [name for name, _ in sides[0]]
    columns = [(name, value) for name, (_, value) in zip(names, sides[1], strict=True)]
    return replace(right, columns=columns)
