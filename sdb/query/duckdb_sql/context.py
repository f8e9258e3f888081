"""State of the translation of one statement, which its parts share."""

from __future__ import annotations

from contextlib import contextmanager

from sdb.query.analyze.types import MISSING
from sdb.query.duckdb_sql.functions.growth import Growth
from sdb.query.duckdb_sql.levels import Level, Reference
from sdb.query.duckdb_sql.values import equality, standard
from sdb.query.duckdb_sql.values.case_values import passed
from sdb.query.plan.scans import ScanNode
from sdb.records import changing_record, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sdb.query.catalog.dataset import Dataset, OpenDataset, TableName, ValuePath
    from sdb.query.duckdb_sql.levels import FromItem, Level
    from sdb.query.duckdb_sql.scope import Scope
    from sdb.query.duckdb_sql.values.case_values import Relation
    from sdb.query.duckdb_sql.values.lanes import Value
    from sdb.query.syntax import ast


@changing_record
class Query:
    """A translated SELECT."""

    level: Level  # its SQL
    # Its output, in terms of the inside of the level; the empty name for a whole row
    columns: list[tuple[str, Value]]
    single: bool  # whether it returns at most one row
    certain: bool  # whether it returns at least one row
    # Whether it uses names of the queries around it; then it stands where it is used
    correlated: bool

    def through(self, relation: Relation, *, optional: bool) -> list[tuple[str, Value]]:
        """Columns as they look from outside."""
        return [(name, passed(relation, value, optional=optional)) for name, value in self.columns]


@changing_record
class SqlContext:
    """State of the translation of one statement."""

    datasets: OpenDataset  # opens tables
    # Tells whether any row of a data set has a value at a path
    holds: Callable[[Dataset, ValuePath], bool]
    # Translates a sub-query, given the scope around it
    plan: Callable[[ast.Select, Scope | None], Query]
    scans: list[ScanNode] = field(default_factory=list)  # what is read
    # The common table expressions, each after those that it uses
    levels: list[FromItem] = field(default_factory=list)
    # The entries of WITH; those that are used once are translated where they are used
    queries: dict[str, Query | ast.Select] = field(default_factory=dict)
    original: bool = False  # whether the select at hand is one of the original's
    growth: Growth = Growth()  # what texts may grow to
    _names: int = 0

    def name(self, prefix: str) -> str:
        """Return a name that the statement does not use yet."""
        self._names += 1
        return f"{prefix}{self._names}"

    def scan(self, tables: tuple[TableName, ...], where: ast.Expr | None) -> ScanNode:
        """Read tables, leaving out blocks where a condition is never TRUE."""
        scan = ScanNode(self.name("s"), tables, where, self.datasets, self.holds)
        scan.open()
        self.scans.append(scan)
        return scan

    def reading(self, scan: ScanNode, dataset: Dataset) -> ScanNode:
        """Read a part of what a scan was to read."""
        part = ScanNode(self.name("s"), scan.tables, None, self.datasets, self.holds)
        part.reads(dataset)
        self.scans.append(part)
        return part

    def drop(self, scan: ScanNode) -> None:
        """Do not read what was opened after all."""
        self.scans.remove(scan)

    @contextmanager
    def inside(self, select: ast.Select) -> Iterator[None]:
        """Translate a select."""
        around, self.original = self.original, select.original
        try:
            yield
        finally:
            self.original = around

    def leaves_out(self, key: Value) -> bool:
        """Return whether rows without a key are left out."""
        return bool(key.mask & MISSING) and self.original

    def key(self, value: Value) -> str:
        """Return SQL that is equal for values of one group, NULL for those that have no key."""
        return value.key() if self.original else standard.key(value)

    def equal(self, left: Value, right: Value, *, holds: bool = False) -> str:
        """Return SQL of ``left = right``; see `equality.equal`."""
        return equality.equal(left, right, nulls=self.original, holds=holds)

    def filled(self, value: Value) -> Value:
        """Return a value of rows that are compared: MISSING is NULL, but for the original."""
        return value if self.original else standard.computed(value)

    def compared(self, row: Value) -> Value:
        """Return what rows are compared by: without members that are NULL, but for the original."""
        return row if self.original else standard.without_nulls(row)

    def refer(self, query: Query) -> tuple[str | Level, Reference]:
        """Put a query into FROM: what to write there, and the relation."""
        if query.correlated:
            return query.level, Reference(query.level, query.level.name)
        alias = self.name("r")
        return f"{query.level.name} AS {alias}", Reference(query.level, alias)
