"""State of the translation of one statement, which its parts share."""

from __future__ import annotations

from sdb.query.duckdb_sql.composed import passed
from sdb.query.duckdb_sql.levels import Level, Reference
from sdb.query.plan.scans import ScanNode
from sdb.records import changing_record, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.query.duckdb_sql.composed import Relation
    from sdb.query.duckdb_sql.lanes import Value
    from sdb.query.duckdb_sql.scope import Scope
    from sdb.query.plan.dataset import Dataset, OpenDataset, TableName, ValuePath
    from sdb.query.syntax import ast


@changing_record
class Query:
    """A translated SELECT.

    Attributes
    ----------
    level : Level
        Its SQL.
    columns : list of (name, value)
        Its output, in terms of the inside of the level; the empty name for a whole row.
    single : bool
        Whether it returns at most one row.
    certain : bool
        Whether it returns at least one row.
    correlated : bool
        Whether it uses names of the queries around it; then it stands where it is used.
    """

    level: Level
    columns: list[tuple[str, Value]]
    single: bool
    certain: bool
    correlated: bool

    def through(self, relation: Relation, *, optional: bool) -> list[tuple[str, Value]]:
        """Columns as they look from outside."""
        return [(name, passed(relation, value, optional=optional)) for name, value in self.columns]


@changing_record
class SqlContext:
    """State of the translation of one statement.

    Attributes
    ----------
    datasets : callable
        Opens tables.
    holds : callable
        Tells whether any row of a data set has a value at a path.
    plan : callable
        Translates a sub-query, given the scope around it.
    scans : list of ScanNode
        What is read.
    levels : list of Level
        The common table expressions, each after those that it uses.
    queries : dict
        The entries of WITH; those that are used once are translated where they are used.
    left_out : list of str
        What is told of rows without a key, by the numbers of :class:`~.levels.Drop`.
    """

    datasets: OpenDataset
    holds: Callable[[Dataset, ValuePath], bool]
    plan: Callable[[ast.Select, Scope | None], Query]
    scans: list[ScanNode] = field(default_factory=list)
    levels: list[Level] = field(default_factory=list)
    queries: dict[str, Query | ast.Select] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    _names: int = 0

    def name(self, prefix: str) -> str:
        """Give a name that the statement does not use yet."""
        self._names += 1
        return f"{prefix}{self._names}"

    def scan(self, tables: tuple[TableName, ...], where: ast.Expr | None) -> ScanNode:
        """Read tables, leaving out blocks where a condition is never TRUE."""
        scan = ScanNode(self.name("s"), tables, where, self.datasets, self.holds)
        scan.open()
        self.scans.append(scan)
        return scan

    def drop(self, scan: ScanNode) -> None:
        """Do not read what was opened after all."""
        self.scans.remove(scan)

    def refer(self, query: Query) -> tuple[str | Level, Reference]:
        """Put a query into FROM: what to write there, and the relation."""
        if query.correlated:
            return query.level, Reference(query.level, query.level.name)
        alias = self.name("r")
        return f"{query.level.name} AS {alias}", Reference(query.level, alias)
