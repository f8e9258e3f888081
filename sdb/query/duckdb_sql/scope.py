"""Names in SQL: finds the value that each stands for."""

from __future__ import annotations

from contextlib import contextmanager

from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import ANY, MISSING, NUMBER
from sdb.query.catalog.pseudo import PSEUDO, Certain
from sdb.query.duckdb_sql.functions.growth import Growth
from sdb.query.duckdb_sql.values import equality, standard
from sdb.query.duckdb_sql.values.case_values import passed
from sdb.query.duckdb_sql.values.constructors import FieldValue
from sdb.query.duckdb_sql.values.lanes import Typed
from sdb.query.plan.scans import ScanNode
from sdb.query.syntax import ast, hints
from sdb.records import changing_record, field, record
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sdb.errors import QueryError
    from sdb.query.catalog.dataset import Dataset, OpenDataset, TableName, ValuePath
    from sdb.query.duckdb_sql.values.case_values import Relation
    from sdb.query.duckdb_sql.values.lanes import Value


class Binding(Protocol):
    """A source of FROM, as names see it."""

    alias: str | None  # the name that qualifies its fields

    def named(self, name: str) -> Value | None:
        """Return value of a bare name, ``None`` when the source does not know it."""

    def field(self, name: str) -> Value | None:
        """Return value of a field behind the alias; ``None`` when the alias is itself a value."""

    def outputs(self) -> list[tuple[str, Value]]:
        """Return what ``*`` stands for: names and values, the empty name for a whole row."""


@changing_record
class ScanRows:
    """The rows of a scan, or those that an outer join may lack."""

    alias: str | None
    scan: ScanNode
    row: Value
    reference: Reference | None = None  # the level that they are read through, if there is one
    optional: bool = False

    def named(self, name: str) -> Value | None:
        """Return value of a bare name: a field, when there is no alias."""
        if self.alias == name:
            raise rejected(f"cannot reference raw table {name!r}")
        return self.field(name) if self.alias is None else None

    def field(self, name: str) -> Value | None:
        """Return value of a field, or of a pseudo-column that no field has the name of."""
        is_field = not isinstance(name, Certain) and (name not in PSEUDO or self.scan.has(name))
        if is_field:
            is_known = self.scan.under is None or self.scan.has(name)
            return self.row.step(name) if is_known else None
        letter, kind = PSEUDO[name]
        lane = self.scan.lane(0, (name,), letter)
        value = Typed(kind, lane, absent=0, integer=kind == NUMBER)
        if self.reference is None:
            return value
        return passed(self.reference, value, optional=self.optional)

    def outputs(self) -> list[tuple[str, Value]]:
        """Return the row as a whole, or its columns."""
        if self.scan.under is not None:
            return [(name, self.row.step(name)) for name in self.scan.under.names]
        return [("", self.row)]


@changing_record
class Names:
    """Values with their own names: unnested elements, keys and values of UNPIVOT."""

    values: dict[str, Value]
    alias: str | None = None
    is_first: bool = False  # whether they hide fields of the same name

    def named(self, name: str) -> Value | None:
        """Return value of a bare name."""
        return self.values.get(name)

    def field(self, _: str) -> Value | None:
        """Return no field: the alias is the value."""
        return None

    def outputs(self) -> list[tuple[str, Value]]:
        """Return all of them."""
        return list(self.values.items())


@changing_record
class MergedNames(Names):
    """Fields of USING, which two sources have in common."""

    def outputs(self) -> list[tuple[str, Value]]:
        """Return nothing: the sources have them."""
        return []


@changing_record
class Outputs:
    """The output of a sub-query, which can be read with or without its alias."""

    alias: str | None
    columns: list[tuple[str, Value]]

    def named(self, name: str) -> Value | None:
        """Return value of a bare name."""
        if name == self.alias and not any(name == column for column, _ in self.columns):
            raise rejected(f"cannot reference raw table {name!r}")
        return self.field(name)

    def field(self, name: str) -> Value | None:
        """Return value of a column; the last one of that name."""
        if isinstance(name, Certain):
            for column, value in self.columns:
                if isinstance(column, Certain) and column == name:
                    return value
            return None
        for column, value in reversed(self.columns):
            if column == name:
                return value
        for column, value in reversed(self.columns):
            if not column:
                return value.step(name)
        return None

    def outputs(self) -> list[tuple[str, Value]]:
        """Return all columns."""
        return [pair for pair in self.columns if not isinstance(pair[0], Certain)]


@changing_record
class Scope:
    """The names that an expression may use."""

    parent: Scope | None  # scope of the query around this one
    sources: list[Binding] = field(default_factory=list)  # FROM
    # Values of whole expressions: the keys of GROUP BY
    known: dict[ast.Expr, Value] = field(default_factory=dict)
    closed: bool = False  # whether only known expressions, and what is around, may be used
    # Makes the value of an aggregate; ``None`` where none is allowed
    aggregate: Callable[[ast.Aggregate], Value] | None = None
    correlated: bool = False  # whether something was found in the parent
    # Values of the select list that sub-queries may use, by alias
    aliases: dict[str, Value] = field(default_factory=dict)

    def path(self, node: ast.Name) -> Value:
        """Return value of a bare name."""
        value = self.found(node)
        if value is None:
            if not self.sources:
                raise _unbound(node)
            if len(self.sources) == 1 and _has_schema(self.sources[0]):
                raise _no_column(self.sources[0], node.name, node)
            fault = rejected(f'reference to undefined variable "{node.name}"', node)
            columns = [name for source in self.sources for name, _ in source.outputs() if name]
            aliases = [source.alias for source in self.sources if source.alias]
            tables = f"the tables are {', '.join(aliases)}" if aliases else None
            fault.hint = hints.nearest(node.name, columns) or tables
            raise fault
        return value

    def field(self, node: ast.Dot) -> Value | None:
        """Return value of a name behind an alias, ``None`` when the alias is itself a value."""
        return self.found(node)

    def qualifies(self, node: ast.Expr) -> bool:
        """Return whether an expression is the alias of a source, with fields behind it."""
        if not isinstance(node, ast.Name):
            return False
        scope: Scope | None = self
        while scope is not None:
            if any(source.alias == node.name for source in scope.sources):
                return True
            # Only an alias further out makes it matter what the rows have: finding out may be dear.
            if not scope.has_alias_outside(node.name) or scope.hides(node.name):
                return False
            scope = scope.parent
        return False

    def has_alias_outside(self, name: str) -> bool:
        """Return whether a source of a query around this one has an alias."""
        scope = self.parent
        while scope is not None:
            if any(source.alias == name for source in scope.sources):
                return True
            scope = scope.parent
        return False

    def hides(self, name: str) -> bool:
        """Return whether a bare name certainly is a field here."""
        for source in self.sources:
            if isinstance(source, Names) and name in source.values:
                return True
            if source.alias is None and not isinstance(source, Names):
                value = source.named(name)
                if value is not None and not is_absent(value):
                    return True
        return False

    def found(self, node: ast.Name | ast.Dot) -> Value | None:
        """Return the value of a name, ``None`` when it means nothing."""
        if node in self.known:
            return self.known[node]
        value = self._local(node)
        outside = self.parent is not None and self.parent.lends(node)
        if value is not None and not (outside and is_absent(value)):
            if self.closed:
                raise _unbound(node)
            return value
        if outside and self.parent is not None:
            self.correlated = True
            is_alias = isinstance(node, ast.Name) and not node.certain
            lent = is_alias and self.parent.aliases.get(node.name)
            return lent or self.parent.found(node)
        return None

    def lends(self, node: ast.Name | ast.Dot) -> bool:
        """Return whether a name means something to queries inside: here or further out."""
        if isinstance(node, ast.Name) and any(source.alias == node.name for source in self.sources):
            return True
        if node in self.known or (isinstance(node, ast.Name) and node.name in self.aliases):
            return True
        return self._local(node) is not None or (
            self.parent is not None and self.parent.lends(node)
        )

    def _local(self, node: ast.Name | ast.Dot) -> Value | None:
        if node in self.known:
            return self.known[node]
        if isinstance(node, ast.Dot):
            for source in self.sources:
                if isinstance(node.base, ast.Name) and source.alias == node.base.name:
                    return _behind(source, node)
            return None
        local = None
        for source in self.sources:
            if isinstance(source, Names) and source.is_first and node.name in source.values:
                return source.values[node.name]
        for source in self.sources:
            value = source.named(node.name)
            if value is not None and (local is None or local.mask == MISSING):
                local = value
        return local


def _has_schema(source: Binding) -> bool:
    return isinstance(source, ScanRows) and source.scan.under is not None


def _behind(source: Binding, node: ast.Dot) -> Value | None:
    """Return the value of a field behind the alias of a source."""
    value = source.field(node.name)
    if value is None and _has_schema(source):
        raise _no_column(source, node.name, node)
    if value is None and isinstance(source, Outputs):
        fault = _unbound(node)
        columns = [name for name, _ in source.outputs() if name]
        fault.hint = hints.nearest(node.name, columns)
        raise fault
    return value


def _no_column(source: Binding, name: str, node: ast.Expr) -> QueryError:
    """Make the error for a name that the schema of a table does not have."""
    from sdb.table.schema.names import meant

    assert isinstance(source, ScanRows)  # noqa: S101 - the caller has looked
    under = source.scan.under
    hint = None if under is None else meant(under.schema.columns, name)
    return rejected(f"the schema has no column {name}", node, hint)


def _unbound(node: ast.Expr) -> QueryError:
    return rejected(f"path {_spelled(node)} references an unbound variable", node)


def is_absent(value: Value) -> bool:
    """Return whether no row of the source has that field."""
    if value.is_column:
        return False
    if value.mask == ANY and isinstance(value, FieldValue) and not value.level:
        return not value.scan.holds(value.path)
    return value.mask == MISSING


def _spelled(node: ast.Expr) -> str:
    if isinstance(node, ast.Dot):
        return f"{_spelled(node.base)}.{node.name}"
    return node.name if isinstance(node, ast.Name) else ""


# Statements of SQL whose columns are asked for one by one.


class FromItem(Protocol):
    """SQL that is written out in FROM, under an alias."""

    @property
    def name(self) -> str:
        """Its alias."""

    def text(self) -> str:
        """Write it out."""


@changing_record
class Level:
    """One SELECT."""

    name: str  # its name among the common table expressions of the statement
    source: tuple[str | FromItem, ...] = ()  # what stands after FROM; empty without FROM
    prefix: str = ""  # what stands between SELECT and the columns
    # Conditions, all of which rows must satisfy
    conditions: list[str] = field(default_factory=list)
    # Conditions that come after the window functions
    qualified: list[str] = field(default_factory=list)
    # The clauses, with their keywords; empty for none
    group: str = ""
    order: str = ""
    tail: str = ""
    columns: dict[str, str] = field(default_factory=dict)  # name of the column for each expression

    def column(self, sql: str) -> str:
        """Return name of a column that holds an expression."""
        return self.columns.setdefault(sql, f"c{len(self.columns)}")

    def text(self, columns: Iterable[tuple[str, str]] | None = None) -> str:
        """Write it out, with the columns asked for so far or with given ones (SQL, name)."""
        wanted = self.columns.items() if columns is None else columns
        listed = ", ".join(f"{sql} AS {name}" for sql, name in wanted) or "1 AS c0"
        source = "".join(
            part if isinstance(part, str) else f"({part.text()}) AS {part.name}"
            for part in self.source
        )
        clauses = [f"SELECT {self.prefix}{listed}"]
        if source:
            clauses.append(f"FROM {source}")
        if self.conditions:
            clauses.append(f"WHERE {' AND '.join(self.conditions)}")
        clauses.append(self.group)
        if conditions := list(self.qualified):
            # The engine wants a window there, and that of a column may not be asked for.
            if not any(" OVER (" in sql for sql in (listed, *conditions)):
                conditions.append("row_number() OVER () > 0")
            clauses.append(f"QUALIFY {' AND '.join(conditions)}")
        clauses += [self.order, self.tail]
        return " ".join(clause for clause in clauses if clause)


@record
class Reference:
    """A level in FROM, or the level below another one, under an alias."""

    level: Level
    alias: str

    def column(self, sql: str) -> str:
        """Return SQL for an expression of the level."""
        return f"{self.alias}.{self.level.column(sql)}"


@record
class Lookup:
    """A level of at most one row, read by scalar sub-queries."""

    level: Level
    correlated: bool

    def column(self, sql: str) -> str:
        """Return SQL for an expression of the level."""
        if self.correlated:
            return f"({self.level.text([(sql, 'c0')])})"
        return f"(SELECT {self.level.column(sql)} FROM {self.level.name})"


# State of the translation of one statement, which its parts share.


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
