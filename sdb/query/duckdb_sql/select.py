"""One SELECT."""

from __future__ import annotations

from sdb.query.analyze.binder import columns, has_aggregates, has_windows, is_grouped
from sdb.query.analyze.refusals import refuse, rejected
from sdb.query.analyze.types import MISSING
from sdb.query.catalog.pseudo import Certain
from sdb.query.duckdb_sql import aggregates, chosen_aggregates, joins, windows
from sdb.query.duckdb_sql.functions.growth import looked, window
from sdb.query.duckdb_sql.groups import Groups
from sdb.query.duckdb_sql.lowering import condition, translate
from sdb.query.duckdb_sql.scope import Level, Query, Reference, ScanRows, Scope
from sdb.query.duckdb_sql.sources import From
from sdb.query.duckdb_sql.values import standard
from sdb.query.duckdb_sql.values.case_values import passed
from sdb.query.duckdb_sql.values.constructors import FieldValue, whole_row
from sdb.query.duckdb_sql.values.lanes import (
    Constant,
    Keyed,
    Nothing,
    Null,
    Typed,
    Value,
    Whole,
)
from sdb.query.plan.pushdown import pushed
from sdb.query.syntax import visitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sdb.query.duckdb_sql.scope import SqlContext
    from sdb.query.syntax import ast

_TRUTHS = {"true", "false"}


def select(node: ast.Select, parent: Scope | None, context: SqlContext) -> Query:
    """Translate a SELECT; its SQL joins the common table expressions unless it is correlated."""
    with context.inside(node):
        return _Select(node, parent, context).query()


class _Select:
    def __init__(self, node: ast.Select, parent: Scope | None, context: SqlContext) -> None:
        self.node = node
        self.context = context
        self.rows = Scope(parent)
        self.source = From(node, self.rows, context)
        self.level = Level(context.name("q"), tuple(self.source.parts))
        self.grouped = is_grouped(node)
        self.windows = has_windows(node)
        self.gap: Callable[[Value], Value] | None = None

    def query(self) -> Query:
        """Translate it."""
        filtered = self._filter()
        scope = self._group() if self.grouped else self.rows
        if self.windows:
            self._enable_windows(scope)
        columns = self._columns(scope)
        having = self.node.having
        if having is not None:
            having_test = condition(having, scope, self.context)
            (self._after if has_windows(having) else self.level.conditions).append(having_test)
        if self.node.qualify is not None:
            self._after.append(condition(self.node.qualify, scope, self.context))
        if self.node.distinct:
            columns = self._distinct(columns, scope)
        else:
            self._sort(
                [(translate(sort.expr, scope, self.context), sort) for sort in self.node.order_by]
            )
        self._limit(filtered=filtered)
        if self.node.sample is not None:
            take_sample(self.node.sample, self.rows, self.level)
        correlated = self.rows.correlated or scope.correlated
        if correlated and self.node.fill is not None:
            raise rejected("FILL cannot stand in a query that names one around it", self.node.fill)
        if not correlated:
            self.context.levels.append(self.level)
        return Query(self.level, columns, self._is_single(), self._is_certain(), correlated)

    def _filter(self) -> bool:
        """Apply WHERE; whether the scans do all of it."""
        scans = [] if self.source.outer else self.source.scans
        rest = pushed(self.node.where, scans, self._place)
        for scan in self.source.scans:
            scan.is_decisive = not rest and scan in scans
        self.level.conditions += [condition(part, self.rows, self.context) for part in rest]
        return not rest

    def _place(self, path: ast.Expr) -> FieldValue | None:
        value = translate(path, self.rows, self.context)
        return value if isinstance(value, FieldValue) else None

    def _group(self) -> Scope:
        """Make groups; the scope of what may be said about them."""
        if self.node.grouping_sets or self.node.fill is not None:
            return self._special_groups()
        inner = self.level
        self.level = Level(self.context.name("q"), (inner,))
        reference = Reference(inner, inner.name)
        scope = Scope(self.rows.parent, self.rows.sources, closed=True)
        keys = []
        for expr in [item.expr for item in self.node.group_by or ()]:
            value = translate(expr, self.rows, self.context)
            original = self.node.original
            if isinstance(value, (Constant, Null)) or (value.mask == MISSING and not original):
                scope.known[expr] = Null() if value.mask == MISSING else value
                continue
            key = self.context.key(value)
            keys.append(key)
            if self.context.leaves_out(value):
                inner.conditions.append(f"{key} IS NOT NULL")
            scope.known[expr] = (
                _grouped(reference, value, key)
                if original
                else standard.of_key(value, reference.column(key))
            )
            scope.known[expr].declared = value.declared
        if keys:
            inner.group = f"GROUP BY {', '.join(keys)}"
        elif self.node.group_by is not None:
            # Keys that are constants make no group of no rows, as an aggregate without GROUP BY
            # does.
            inner.group = "HAVING count(*) > 0"

        def aggregate(node: ast.Aggregate) -> Value:
            value = aggregates.aggregate(node, self.rows, self.context)
            return passed(reference, value)

        scope.aggregate = aggregate
        # Without keys there is one row even when nothing is asked about it.
        if not keys:
            inner.column("count(*)")
        return scope

    def _special_groups(self) -> Scope:
        """Make groups of several sets of keys, or those that FILL adds to."""
        inner = self.level
        groups = Groups(self.node, self.rows, inner, self.context)
        self.level = Level(self.context.name("q"))
        if self.node.fill is not None:
            scope = groups.filled(self.level)
        else:
            scope = groups.in_sets(self.level)
        self.level.conditions += groups.conditions
        self.gap = groups.gap
        return scope

    def _enable_windows(self, scope: Scope) -> None:
        inner = scope.aggregate

        def aggregate(node: ast.Aggregate) -> Value:
            if node.over is not None:
                value = windows.window(node, scope, self.context)
                return looked(value) if self.context.growth.has_copies else value
            if inner is None:
                raise rejected("aggregate functions are not allowed here", node)
            return inner(node)

        scope.aggregate = aggregate

    def _columns(self, scope: Scope) -> list[tuple[str, Value]]:
        if self.node.star:
            if self.grouped:
                raise rejected("'*' cannot be grouped", self.node)
            return joins.star(self.rows.sources)
        values: dict[ast.Expr, Value] = {}
        for item in self.node.items:
            values[item.expr] = self._item(item.expr, scope)
            if item.alias:
                scope.aliases[item.alias] = values[item.expr]
        return [(name, values[expr]) for name, expr in columns(self.node).items()]

    def _item(self, expr: ast.Expr, scope: Scope) -> Value:
        """Translate an item; in a bucket that FILL adds it is what FILL says."""
        value = translate(expr, scope, self.context)
        root = visitor.root_name(expr)
        if root is not None and root.name in self.source.lacking:
            value = self.context.filled(value)  # no partner makes NULL, and no field as well
        if self.gap is None or not has_aggregates(expr) or has_windows(expr):
            return value
        value = self.gap(value)
        scope.known[expr] = value
        return value

    def _sort(self, keys: Iterable[tuple[Value, ast.Sort]]) -> None:
        """Write ORDER BY, and drop rows without a sort key."""
        terms: list[str] = []
        for value, sort in keys:
            terms += standard.sort_keys(value, sort)
            if sort.original and value.mask & MISSING:
                self._after.append(f"NOT {value.missing()}")
        if terms:
            self.level.order = f"ORDER BY {', '.join(terms)}"
        if terms and self.node.ties:
            # As many rows as the last of the others, and those that sort as it does.
            if self.windows:
                hint = "put them into a sub-query"
                raise rejected("WITH TIES does not go with window functions", self.node, hint)
            most = (self.node.limit or 0) + (self.node.offset or 0)
            self.level.qualified.append(f"rank() OVER (ORDER BY {', '.join(terms)}) <= {most}")

    def _distinct(self, outputs: list[tuple[str, Value]], scope: Scope) -> list[tuple[str, Value]]:
        """Keep one row for each combination of items, or the first of each key of DISTINCT ON."""
        values = [value for _, value in outputs]
        if self.node.star and not all(name for name, _ in outputs):
            values = [self.context.compared(whole_row(outputs))]
        if self.node.distinct_on:
            values = [translate(expr, scope, self.context) for expr in self.node.distinct_on]
        sorts = [(translate(sort.expr, scope, self.context), sort) for sort in self.node.order_by]
        inner = self.level
        self._after.extend(
            f"NOT {value.missing()}" for value in values if self.context.leaves_out(value)
        )
        # DuckDB ignores DISTINCT ON when one of its keys is a literal.
        row_keys = {
            self.context.key(value)
            for value in values
            if not isinstance(value, (Constant, Null)) and value.mask != MISSING
        }
        keys = ", ".join(sorted(row_keys - _TRUTHS)) or "1::BIGINT"
        if self.node.distinct_on and sorts:
            # The first row as a whole: DISTINCT ON would take any, or parts of several.
            order = chosen_aggregates.terms(sorts)
            inner.qualified.append(f"row_number() OVER ({window([keys], order)}) = 1")
        else:
            inner.prefix = f"DISTINCT ON ({keys}) "
        self.level = Level(self.context.name("q"), (inner,))
        self.windows = False
        reference = Reference(inner, inner.name)
        self._sort([(passed(reference, value), sort) for value, sort in sorts])
        items = [(name, passed(reference, value)) for name, value in outputs]
        if self.node.distinct_on:
            return items  # rows as they are, without what they lack
        return [(name, self.context.filled(value) if name else value) for name, value in items]

    @property
    def _after(self) -> list[str]:
        """Return where conditions go that come after window functions."""
        return self.level.qualified if self.windows else self.level.conditions

    def _limit(self, *, filtered: bool) -> None:
        node = self.node
        if node.limit is not None and not node.ties:
            self.level.tail = f"LIMIT {node.limit}"
        if node.offset:
            self.level.tail += f" OFFSET {node.offset}"
        plain = filtered and not (
            node.ties or self.grouped or self.windows or node.distinct or node.order_by
        )
        if plain and node.limit is not None and node.having is None and len(node.sources) == 1:
            for scan in self.source.scans:
                if not scan.explode:
                    scan.limit = node.limit + (node.offset or 0)

    def _is_single(self) -> bool:
        one_group = self.grouped and not self.node.group_by
        return (
            (self.node.limit in {0, 1} and not self.node.ties)
            or one_group
            or not self.node.sources
            or (self.source.is_single and not self.node.grouping_sets)
        )

    def _is_certain(self) -> bool:
        node = self.node
        plain = not (node.having or node.qualify) and not node.offset and node.limit != 0
        if node.group_by is None and self.grouped:
            return plain and not node.distinct and not node.order_by
        return plain and not node.sources and node.where is None


def _grouped(reference: Reference, value: Value, key: str) -> Value:
    """Return value of a group key, seen from above the groups, none of which lacks it."""
    if value.mask == MISSING:
        return Nothing()
    column = reference.column(key)
    if key == value.lane("k"):
        return Keyed(column, value.mask & ~MISSING)
    if isinstance(value, Typed):
        return value.like(column, 0)
    if value.whole:
        return Whole(column, absent=0, wide=value.wide, bounds=value.bounds)
    return Typed(value.only, column, absent=0)


# TABLESAMPLE: rows by chance; with REPEATABLE by a hash of where they stand.

_HASHES = 1 << 64


def take_sample(sample: ast.Sample, rows: Scope, level: Level) -> None:
    """Leave out rows of a level.

    Raises `QueryError` if rows of a query have no place by which they could be the same again.
    """
    if sample.seed is None:
        of = f"reservoir({sample.amount} ROWS)" if sample.is_rows else _bernoulli(sample)
        level.tail = f"USING SAMPLE {of}"
        return
    (source,) = rows.sources
    file = source.field(Certain("_file")) if isinstance(source, ScanRows) else None
    row = source.field(Certain("_row")) if isinstance(source, ScanRows) else None
    if file is None or row is None:
        hint = "sample the table inside of the query"
        refuse("REPEATABLE takes a table: rows of a query have no place", sample, hint)
    rank = f"hash({file.lane('s')}, {row.lane('x')}, {sample.seed}::BIGINT)"
    if sample.is_rows:
        level.order = f"ORDER BY {rank}"
        level.tail = f"LIMIT {sample.amount}"
    else:
        most = int(sample.amount * _HASHES) // 100
        level.conditions.append(f"{rank}::HUGEINT < {most}::HUGEINT")


def _bernoulli(sample: ast.Sample) -> str:
    return f"{sample.amount} PERCENT (bernoulli)"
