"""Groups of several sets of keys (GROUPING SETS, ROLLUP, CUBE), and groups that FILL adds."""

from __future__ import annotations

from sdb.query.analyze.calendar import call as evaluated
from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import MISSING, NULL, NUMBER
from sdb.query.duckdb_sql import aggregates
from sdb.query.duckdb_sql.lowering import translate
from sdb.query.duckdb_sql.scope import Reference, Scope
from sdb.query.duckdb_sql.values import standard
from sdb.query.duckdb_sql.values.case_values import Chosen, passed
from sdb.query.duckdb_sql.values.lanes import Constant, Keyed, Nothing, Null, Typed, Whole
from sdb.query.plan.hints.storedpaths import path_of
from sdb.query.syntax import ast, printer
from sdb.query.syntax.calls import stride_us
from sdb.query.syntax.intervals import MONTHS, UNITS_US

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.query.duckdb_sql.scope import Level, SqlContext
    from sdb.query.duckdb_sql.values.lanes import Value

MOST_BUCKETS = 10_000_000
"""Most buckets that FILL makes."""
_INT64_MAX = (1 << 63) - 1
_WEEK_US = 7 * 86_400_000_000
_HOW = "it fills TIME_BUCKET, DATE_TRUNC and DATE_BIN, as in TIME_BUCKET('1 hour', at) FILL(0)"


class Groups:
    """The groups of a SELECT.

    * ``conditions``: SQL that is true for groups that have the keys of their sets.
    * ``gap``: Returns what stands for a value in a bucket that FILL adds.
    """

    def __init__(self, node: ast.Select, rows: Scope, inner: Level, context: SqlContext) -> None:
        self.node = node
        self.rows = rows
        self.inner = inner
        self.context = context
        self.conditions: list[str] = []
        self.gap: Callable[[Value], Value] | None = None
        self.exprs = [item.expr for item in node.group_by or ()]
        self.values = [self._key(expr) for expr in self.exprs]

    def _key(self, expr: ast.Expr) -> Value:
        value = translate(expr, self.rows, self.context)
        if isinstance(value, Constant) and self.node.fill is None:
            return Keyed(value.lane("k"), value.mask)
        if isinstance(value, Null | Nothing) and self.node.fill is None:
            return Keyed("'z'", NULL)
        if isinstance(value, Constant | Null | Nothing):
            raise rejected(f"the constant {printer.text(expr)} is no key beside FILL", expr)
        return value

    def in_sets(self, outer: Level) -> Scope:
        """Make the groups of each set of keys, below a level."""
        outer.source = (self.inner,)
        reference = Reference(self.inner, self.inner.name)
        scope = Scope(self.rows.parent, self.rows.sources, closed=True)
        keys = self._keys()
        for expr, value, key in zip(self.exprs, self.values, keys, strict=True):
            column = reference.column(key)
            if not self.node.original:
                scope.known[expr] = standard.of_key(value, column, optional=True)
                continue
            # A total has NULL for a key that its set lacks.
            scope.known[expr] = _seen(value, value.key(), column, absent=NULL)
            if not value.mask & MISSING:
                continue
            in_set = reference.column(f"grouping({key})")
            if self.context.leaves_out(value):
                self.conditions.append(f"({column} IS NOT NULL OR {in_set} = 1)")
            else:
                present = _seen(value, value.key(), column, absent=MISSING)
                scope.known[expr] = Chosen([(f"{in_set} = 1", Null())], present)
        sets = [
            f"({', '.join(dict.fromkeys([keys[number] for number in places]))})"
            for places in self.node.grouping_sets
        ]
        self.inner.group = f"GROUP BY GROUPING SETS ({', '.join(sets)})"

        def aggregate(node: ast.Aggregate) -> Value:
            if node.name != "GROUPING":
                return passed(reference, aggregates.aggregate(node, self.rows, self.context))
            return Typed(NUMBER, reference.column(self._grouping(node)), absent=0, integer=True)

        scope.aggregate = aggregate
        return scope

    def _keys(self) -> list[str]:
        """Return SQL of the keys: each has its own, since it is in sets of its own."""
        keys: list[str] = []
        for value in self.values:
            key = self.context.key(value)
            while key in keys:
                key = f"coalesce({key}, {key})"
            keys.append(key)
        return keys

    def _grouping(self, node: ast.Aggregate) -> str:
        """Return SQL of GROUPING."""
        for arg in node.args:
            if arg not in self.exprs:
                hint = "its arguments are keys of GROUP BY"
                raise rejected(f"{printer.text(arg)} is no key of GROUP BY", arg, hint)
        every = self._keys()
        keys = [every[self.exprs.index(arg)] for arg in node.args]
        return f"grouping({', '.join(keys)})::BIGINT"

    def filled(self, outer: Level) -> Scope:
        """Make groups and those between them, below a level."""
        fill = self.node.fill
        assert fill is not None  # noqa: S101
        keys = [self.context.key(value) for value in self.values]
        timeless = self._timeless(fill)
        if timeless:
            # Groups without a time are in a bucket behind all others.
            keys[fill.key] = f"coalesce({keys[fill.key]}, {timeless})"
        self.inner.group = f"GROUP BY {', '.join(keys)}"
        self.inner.conditions += [
            f"{key} IS NOT NULL"
            for value, key in zip(self.values, keys, strict=True)
            if self.context.leaves_out(value)
        ]
        self.context.levels.append(self.inner)
        groups, buckets = self.context.name("g"), self.context.name("b")
        series = self._series(fill, keys, timeless)
        same = "=" if self.node.original else "IS NOT DISTINCT FROM"
        tests = [
            f"{buckets}.k{number} {same} {groups}.{self.inner.column(key)}"
            for number, key in enumerate(keys)
            if number != fill.key
        ]
        at = f"{groups}.{self.inner.column(keys[fill.key])}"
        tests.append(f"{buckets}.k{fill.key} {'>=' if fill.is_previous else '='} {at}")
        join = " ASOF LEFT JOIN " if fill.is_previous else " LEFT JOIN "
        outer.source = (
            f"({series}) AS {buckets}",
            join,
            f"{self.inner.name} AS {groups}",
            f" ON {' AND '.join(tests)}",
        )
        reference = Reference(self.inner, groups)
        scope = Scope(self.rows.parent, self.rows.sources, closed=True)
        for number, (expr, value) in enumerate(zip(self.exprs, self.values, strict=True)):
            column = f"{buckets}.k{number}"
            if number == fill.key and timeless:
                column = f"nullif({column}, {timeless})"
            scope.known[expr] = (
                _seen(value, value.key(), column, absent=0)
                if self.node.original
                else standard.of_key(value, column)
            )
        gap = Null() if fill.value is None else Constant(fill.value)

        def filled(value: Value) -> Value:
            return Chosen([(f"{at} IS NULL", gap)], value)

        def aggregate(node: ast.Aggregate) -> Value:
            value = aggregates.aggregate(node, self.rows, self.context)
            return filled(passed(reference, value, optional=True))

        scope.aggregate = aggregate
        self.gap = filled
        return scope

    def _timeless(self, fill: ast.Fill) -> str:
        """Return SQL of the bucket of rows without a time, where these are kept; else nothing."""
        if self.node.original or not self.values[fill.key].mask & (MISSING | NULL):
            return ""
        return f"{_INT64_MAX}::BIGINT" if self._type == "BIGINT" else "'infinity'::TIMESTAMP"

    def _series(self, fill: ast.Fill, keys: list[str], timeless: str) -> str:
        """Return SQL of all buckets, for each combination of the other keys."""
        name = self.inner.name
        column = self.inner.column(keys[fill.key])
        others = {
            number: self.inner.column(key) for number, key in enumerate(keys) if number != fill.key
        }
        expr = self.exprs[fill.key]
        step, width = _step(expr)
        first, last = self._bounds(fill, expr)
        at = f"nullif({column}, {timeless})" if timeless else column
        low = f"min({at})" if first is None else f"least(min({at}), {first})"
        high = f"max({at})" if last is None else f"greatest(max({at}), {last})"
        if isinstance(expr, ast.Call) and expr.name == "TIME_BUCKET":
            count = f"({high} - {low}) / {width}"
        else:
            count = f"(epoch_us({high}) - epoch_us({low})) / {width}"
        most = f"error('FILL would make more than {MOST_BUCKETS:,} buckets')"
        end = (
            f"CASE WHEN {count} > {MOST_BUCKETS} THEN {most}::BIGINT::{self._type} ELSE {high} END"
        )
        series = f"SELECT unnest(generate_series({low}, {end}, {step})) AS k{fill.key} FROM {name}"
        listed = ", ".join([f"{other} AS k{number}" for number, other in others.items()])
        if others:
            series = f"SELECT * FROM ({series}) CROSS JOIN (SELECT DISTINCT {listed} FROM {name})"
        if not timeless:
            return series
        late = f"SELECT {', '.join([f'{column} AS k{fill.key}', *[listed][: len(others)]])}"
        return f"{series} UNION ALL BY NAME {late} FROM {name} WHERE {column} = {timeless}"

    def _bounds(self, fill: ast.Fill, expr: ast.Expr) -> tuple[str | None, str | None]:
        """Return SQL of the first and last bucket of the times that are asked for."""
        assert isinstance(expr, ast.Call)  # noqa: S101 - _step has looked
        path = path_of(expr.args[0], self.node) if len(self.node.sources) == 1 else None
        if path is None or (fill.path and fill.path != path):
            return None, None
        stop = None if fill.stop_us is None else fill.stop_us - 1
        texts = []
        for us in fill.start_us, stop:
            bucket = None
            if us is not None:
                rest = [arg.value for arg in expr.args[1:] if isinstance(arg, ast.Literal)]
                bucket = evaluated(expr, [ast.Instant(us), *rest])
            texts.append(None if bucket is None else Constant(bucket).sql)
        return texts[0], texts[1]

    @property
    def _type(self) -> str:
        fill = self.node.fill
        assert fill is not None  # noqa: S101
        expr = self.exprs[fill.key]
        is_number = isinstance(expr, ast.Call) and expr.name == "TIME_BUCKET"
        return "BIGINT" if is_number else "TIMESTAMP"


def _seen(value: Value, key: str, column: str, *, absent: int) -> Value:
    """Return the value of a key, seen from above the groups; NULL in SQL where it is absent."""
    if key == value.lane("k"):
        sql = f"coalesce({column}, 'z')" if absent == NULL else column
        return Keyed(sql, value.mask & ~MISSING | absent)
    if isinstance(value, Typed):
        return value.like(column, absent)
    if value.whole:
        return Whole(column, absent=absent, wide=value.wide, bounds=value.bounds)
    return Typed(value.only, column, absent=absent)


def _step(expr: ast.Expr) -> tuple[str, int]:
    """Return SQL of the step between buckets, and the least width of one."""
    match expr:
        case ast.Call(name="DATE_BIN", part=str() as stride):
            us = stride_us(stride)
            return f"to_microseconds({us})", us
        case ast.Call(name="DATE_TRUNC", part="WEEK"):
            return f"to_microseconds({_WEEK_US})", _WEEK_US
        case ast.Call(name="DATE_TRUNC", part=str() as part) if part in UNITS_US:
            return f"to_microseconds({UNITS_US[part]})", UNITS_US[part]
        case ast.Call(name="DATE_TRUNC", part=str() as part) if part in MONTHS:
            return f"to_months({MONTHS[part]})", MONTHS[part] * 28 * UNITS_US["DAY"]
        case ast.Call(name="TIME_BUCKET", args=(_, ast.Literal(value=int() as width))) if width > 0:
            return str(width), width
    raise rejected(f"FILL does not know the width of {printer.text(expr)}", expr, _HOW)
