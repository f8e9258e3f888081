"""Rows of several queries, one after the other: ``++`` and UNION."""

from __future__ import annotations

from sdb.query.analyze.types import NUMBER
from sdb.query.catalog.pseudo import PSEUDO, Certain
from sdb.query.duckdb_sql.context import Query
from sdb.query.duckdb_sql.levels import Level
from sdb.query.duckdb_sql.values.constructors import whole_row
from sdb.query.duckdb_sql.values.fields import FieldValue
from sdb.query.duckdb_sql.values.lanes import Nothing, Typed, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.query.duckdb_sql.context import SqlContext
    from sdb.query.plan.scans import ScanNode


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
