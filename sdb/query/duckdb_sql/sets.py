"""UNION, INTERSECT and EXCEPT of two queries.

Rows are compared as a whole, by the key of a structure of their values, in which those that are
MISSING have no member: MISSING equals MISSING and nothing else, NULL equals NULL.
"""

from __future__ import annotations

from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import NUMBER
from sdb.query.catalog.pseudo import PSEUDO, Certain
from sdb.query.duckdb_sql.functions.growth import window
from sdb.query.duckdb_sql.scope import Level, Query, Reference
from sdb.query.duckdb_sql.values.constructors import FieldValue, MadeStruct, whole_row
from sdb.query.duckdb_sql.values.lanes import Nothing, Typed, Value
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.query.duckdb_sql.scope import SqlContext
    from sdb.query.plan.scans import ScanNode
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

    Raises `QueryError` if the queries have not equally many columns.
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

    Raises `QueryError` if the sides have not equally many columns, or those of one side are not
    known.
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


# Rows of several queries, one after the other: ``++`` and UNION.


class Union:
    """Branches of UNION ALL, whose columns are asked for together."""

    def __init__(self, name: str, branches: Sequence[Level]) -> None:
        self.name = name
        self.branches = branches
        self._columns: dict[tuple[str, ...], str] = {}

    def column(self, sqls: tuple[str, ...]) -> str:
        """Return SQL of a column, given that of each branch."""
        return f"{self.name}.{self._columns.setdefault(sqls, f'c{len(self._columns)}')}"

    def text(self) -> str:
        """Write it out."""
        texts = []
        for number, branch in enumerate(self.branches):
            columns = [(sqls[number], name) for sqls, name in self._columns.items()]
            texts.append(f"({branch.text(columns)})")
        return " UNION ALL ".join(texts)


class Merged(Value):
    """A value that each branch has in its own way."""

    def __init__(self, union: Union, values: Sequence[Value]) -> None:
        self.union = union
        self.values = values
        self.mask = 0
        for value in values:
            self.mask |= value.mask
        self.integer = all(value.integer for value in values)
        declared = {value.declared for value in values}
        self.declared = declared.pop() if len(declared) == 1 else None

    def _lane(self, letter: str) -> str:
        return self.union.column(tuple(value.lane(letter) for value in self.values))

    def step(self, step: str | int) -> Value:
        """Return value of a member or element."""
        return Merged(self.union, [value.step(step) for value in self.values])


def united(
    parts: Sequence[ScanNode | Query], context: SqlContext, *, distinct: bool = False
) -> Query:
    """Return the rows of all parts; each once, if so wished."""
    queries = [_query(part, context) for part in parts]
    union = Union(context.name("u"), [query.level for query in queries])
    level = Level(context.name("q"), (union,))
    names = list(dict.fromkeys(name for query in queries for name, _ in query.columns))
    if "" in names:
        rows = [whole_row(shown(query.columns)) for query in queries]
        columns: list[tuple[str, Value]] = [("", Merged(union, rows))]
    else:
        columns = []
        for name in names:
            values = [dict(query.columns).get(name, Nothing()) for query in queries]
            columns.append((name, Merged(union, values)))
    if distinct:
        keys = (
            context.key(value if name else context.compared(value))
            for name, value in columns
            if not isinstance(name, Certain)
        )
        level.prefix = f"DISTINCT ON ({', '.join(keys)}) "
        columns = [(name, context.filled(value) if name else value) for name, value in columns]
    correlated = any(query.correlated for query in queries)
    if not correlated:
        context.levels.append(level)
    return Query(level, columns, single=False, certain=False, correlated=correlated)


def shown(columns: list[tuple[str, Value]]) -> list[tuple[str, Value]]:
    """Return columns without those that have names which no query has."""
    return [pair for pair in columns if not isinstance(pair[0], Certain)]


def _query(part: ScanNode | Query, context: SqlContext) -> Query:
    if isinstance(part, Query):
        return part
    level = Level(context.name("q"), (part.name,))
    columns: list[tuple[str, Value]] = [("", FieldValue(part, 0, ()))]
    if part.under is not None:
        from sdb.query.duckdb_sql.values.schemavalues import SchemaValue

        row = SchemaValue(columns[0][1], part.under.row, part.under, ())
        columns = [*hidden_columns(part), *row.outputs()]
    return Query(level, columns, single=False, certain=False, correlated=False)


class OriginValue(Value):
    """A pseudo-column of a scan, which is read if it is asked for."""

    def __init__(self, scan: ScanNode, name: str) -> None:
        self.scan = scan
        self.name = name
        self.letter, self.mask = PSEUDO[name]

    def _lane(self, letter: str) -> str:
        sql = self.scan.lane(0, (self.name,), self.letter)
        return Typed(self.mask, sql, absent=0, integer=self.mask == NUMBER).lane(letter)


def hidden_columns(scan: ScanNode) -> list[tuple[str, Value]]:
    """Return the pseudo-columns of a scan, by names that no query has."""
    return [(Certain(name), OriginValue(scan, name)) for name in PSEUDO]
