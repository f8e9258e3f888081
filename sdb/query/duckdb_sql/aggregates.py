"""Aggregates and window functions as SQL over the lanes of rows."""

from __future__ import annotations

from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import BOOL, MISSING, NULL, NUMBER, STRUCT, TIME
from sdb.query.duckdb_sql import collected, quoting
from sdb.query.duckdb_sql.composed import Chosen
from sdb.query.duckdb_sql.lanes import (
    Constant,
    Keyed,
    Nothing,
    Null,
    Typed,
    Value,
    double_of,
    whole_of,
)
from sdb.query.duckdb_sql.lowering import condition, translate
from sdb.query.duckdb_sql.made import whole_row
from sdb.query.duckdb_sql.numeric import Numeric, best
from sdb.query.duckdb_sql.operators import int64, window_keys, within, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.query.duckdb_sql.context import SqlContext
    from sdb.query.duckdb_sql.scope import Scope
    from sdb.query.syntax import ast

_HUGE = "1e30"
"""Whole numbers below add up in 128 bits, 10**8 of them at least."""

_FEW_ROWS = 1 << 24
"""Of so many rows, 128 MiB of doubles, percentiles are exact."""


class AggregateCall:
    """Writes calls of SQL aggregates with the FILTER and OVER of one aggregate.

    Attributes
    ----------
    few : bool
        Whether all values of a group can be kept in memory.
    """

    def __init__(self, where: str | None, over: str | None, *, few: bool) -> None:
        self.where = where
        self.over = over
        self.few = few

    def __call__(self, sql: str, also: str | None = None) -> str:
        """Write one call."""
        conditions = [text for text in (also, self.where) if text]
        if conditions:
            sql += f" FILTER (WHERE {' AND '.join(conditions)})"
        return f"{sql} OVER ({self.over})" if self.over is not None else sql


def aggregate(node: ast.Aggregate, scope: Scope, context: SqlContext) -> Value:
    """Give value of an aggregate; its SQL contains calls of SQL aggregates."""
    where = None if node.where is None else condition(node.where, scope, context)
    return _value(node, scope, context, AggregateCall(where, None, few=_are_few(context)))


def _are_few(context: SqlContext) -> bool:
    counts = [scan.dataset.row_count() for scan in context.scans]
    return all(count is not None and count <= _FEW_ROWS for count in counts)


def window(node: ast.Aggregate, scope: Scope, context: SqlContext) -> Value:
    """Give value of a window function."""
    assert node.over is not None  # noqa: S101
    keys = [translate(key, scope, context) for key in node.over.partition]
    partition = [value.key() for value in keys]
    order = []
    for sort in node.over.order:
        value = translate(sort.expr, scope, context)
        order += window_keys(value, descending=sort.descending, nulls_last=sort.nulls_last)
    over = f"PARTITION BY {', '.join(partition)}" if partition else ""
    # With an order, an aggregate is about the rows up to this one and its peers.
    over += f" ORDER BY {', '.join(order)}" if order else ""
    if node.name in _RANKS:
        return Typed(NUMBER, f"{_RANKS[node.name]} OVER ({over})", absent=0, whole=True)
    where = None if node.where is None else condition(node.where, scope, context)
    value = _value(node, scope, context, AggregateCall(where, over, few=True))
    absent = [
        f"{key} IS NULL" for key, of in zip(partition, keys, strict=True) if of.mask & MISSING
    ]
    if absent and isinstance(value, Chosen):
        return Chosen([(" OR ".join(absent), Null())], value)
    if not absent or not isinstance(value, Typed | Numeric):
        return value
    default = "0" if value.absent == 0 else "NULL"

    def kept(sql: str) -> str:
        return f"CASE WHEN {' OR '.join(absent)} THEN {default} ELSE {sql} END"

    if isinstance(value, Numeric):
        return Numeric(kept(value.number), kept(value.exact), absent=value.absent)
    return value.like(kept(value.sql), value.absent)


def _value(node: ast.Aggregate, scope: Scope, context: SqlContext, call: AggregateCall) -> Value:
    if node.name == "SNELLER_DATASHAPE":
        return _datashape(scope, call, node)
    if node.star or not node.args:
        return Typed(NUMBER, call("count(*)"), absent=0, whole=True)
    arg = translate(node.args[0], scope, context)
    if node.name in {"ARRAY_AGG", "STRING_AGG"}:
        return _collected(node, arg, scope, context, call)
    make = _DISTINCT if node.name == "COUNT" and node.distinct else _AGGREGATES.get(node.name)
    if make is None:
        raise rejected(f"{node.name} is not supported here", node)
    rest = [translate(other, scope, context) for other in node.args[1:]]
    return make(call, arg, *rest)


def _collected(
    node: ast.Aggregate, arg: Value, scope: Scope, context: SqlContext, call: AggregateCall
) -> Value:
    sorts = [(translate(sort.expr, scope, context), sort) for sort in node.order]
    order = collected.terms(sorts)
    if node.name == "ARRAY_AGG":
        return collected.array(call, arg, order, distinct=node.distinct)
    separator = "','" if len(node.args) == 1 else translate(node.args[1], scope, context).lane("s")
    return collected.joined(call, arg, separator, order, distinct=node.distinct)


def _datashape(scope: Scope, call: AggregateCall, node: ast.Aggregate) -> Value:
    if len(scope.sources) != 1:
        raise rejected("SNELLER_DATASHAPE(*) takes the rows of one table", node)
    keys = whole_row(scope.sources[0].outputs()).lane("k")
    # Without rows there is no list.
    return Keyed(f"sdb_datashape(coalesce({call(f'list({keys})')}, []))", STRUCT)


def _count(call: AggregateCall, arg: Value) -> Value:
    if isinstance(arg, Nothing):
        return Constant(0)
    if isinstance(arg, Typed) and arg.absent == MISSING:
        sql = call(f"count({arg.sql})")
    elif arg.mask & MISSING:
        sql = call("count(*)", f"NOT {arg.missing()}")
    else:
        sql = call("count(*)")
    return Typed(NUMBER, sql, absent=0, whole=True)


def _count_distinct(call: AggregateCall, arg: Value) -> Value:
    return Typed(NUMBER, call(f"count(DISTINCT {arg.key()})"), absent=0, whole=True)


def _approximate_count(call: AggregateCall, arg: Value, *_: Value) -> Value:
    """Count exactly: DuckDB's approx_count_distinct is wrong by 4 in 50 already."""
    return _count_distinct(call, arg)


class _Total:
    """A sum, as exact as Neumaier's.

    Whole numbers are added up exactly, and so are the whole parts of the others; what is left of
    each of these, which is below 1, in Kahan's way. The few numbers for which that is too small, if
    there are any, are put into a list. Of doubles that were computed all are taken for such others.

    Attributes
    ----------
    double : str
        SQL of the sum as a double.
    exact : str
        SQL of the sum of the whole numbers, NULL when there are others; empty for doubles.
    """

    def __init__(self, call: AggregateCall, arg: Value) -> None:
        if isinstance(arg, Typed) and arg.whole:
            self.exact = call(f"sum({arg.sql})")
            self.double = double_of(self.exact)
            return
        double = arg.lane("n")
        calculated = isinstance(arg, Typed)
        beside = "" if calculated else f"{arg.lane('x')} IS NULL AND "
        small = f"{beside}abs({double}) < {_HUGE}"
        parts = call(f"sum(TRY_CAST(trunc({double}) AS HUGEINT))", small)
        rest = call(f"fsum({double} - trunc({double}))", small)
        large = call(f"list({double})", f"{beside}NOT abs({double}) < {_HUGE}")
        if calculated:
            self.exact = ""
            sum_ = f"({double_of(parts)} + {rest})"
        else:
            whole = call(f"sum({arg.lane('x')})")
            both = double_of(f"coalesce({whole}::HUGEINT, 0) + coalesce({parts}, 0)")
            self.exact = f"CASE WHEN {parts} IS NULL AND {large} IS NULL THEN {whole} END"
            sum_ = (
                f"CASE WHEN {whole} IS NOT NULL OR {parts} IS NOT NULL "
                f"THEN {both} + coalesce({rest}, 0) END"
            )
        self.double = (
            f"CASE WHEN {large} IS NULL THEN {sum_} "
            f"ELSE sdb_sum(list_append({large}, coalesce({sum_}, 0))) END"
        )

    def value(self) -> Value:
        """Give the sum: exact when all numbers are whole and 64 bits hold it, else a double."""
        if not self.exact:
            return Typed(NUMBER, self.double, absent=NULL)
        # A lambda says once what all the aggregates are in: the engine takes each for one more.
        of_double = f"list_transform([{self.double}], lambda sum: {whole_of('sum')})[1]"
        whole = (
            f"CASE WHEN {within(self.exact)} THEN ({self.exact})::{quoting.WIDE} "
            f"ELSE {of_double} END"
        )
        return Numeric(self.double, whole, absent=NULL)


def _sum(call: AggregateCall, arg: Value) -> Value:
    if arg.integer:
        return _whole(wrap(call(f"sum({arg.lane('x')})")))
    return _Total(call, arg).value()


def _average(call: AggregateCall, arg: Value) -> Value:
    if arg.integer:
        whole = arg.lane("x")
        sum_, count = call(f"sum({whole})"), call(f"count({whole})")
        sql = f"({sum_}::HUGEINT // nullif({count}, 0))::{quoting.WIDE if arg.wide else 'BIGINT'}"
        return _whole(sql, wide=arg.wide)
    total, count = _Total(call, arg).double, call(f"count({arg.lane('n')})")
    return Typed(NUMBER, f"(({total}) / nullif({count}, 0))", absent=NULL)


def _whole(sql: str, *, wide: bool = False) -> Value:
    return Typed(NUMBER, sql, absent=NULL, integer=True, wide=wide)


def _extreme(name: str) -> Callable[..., Value]:
    """Give what makes the least or greatest number; the time, where there are only times."""

    def make(call: AggregateCall, arg: Value) -> Value:
        if not arg.mask & TIME:
            return number(call, arg)
        time = Typed(TIME, call(f"{name}({arg.lane('u')})"), absent=NULL)
        if not arg.mask & NUMBER:
            return time
        first = call(f"{name}({arg.lane('n')})")
        return Chosen([(f"{first} IS NOT NULL", number(call, arg))], time)

    def number(call: AggregateCall, arg: Value) -> Value:
        if arg.integer:
            return _whole(call(f"{name}({arg.lane('x')})"), wide=arg.wide)
        found = call(f"{name}({arg.lane('n')})")
        if isinstance(arg, Typed) and not arg.whole:
            return Typed(NUMBER, found, absent=NULL)
        return best(found, call(f"{name}({arg.lane('x')})"), absent=NULL)

    return make


def _plain(kind: int, template: str, letter: str) -> Callable[..., Value]:
    def make(call: AggregateCall, arg: Value) -> Value:
        return Typed(kind, call(template.format(arg.lane(letter))), absent=NULL)

    return make


def _bits(name: str) -> Callable[..., Value]:
    def make(call: AggregateCall, arg: Value) -> Value:
        return _whole(call(f"{name}({int64(arg)})"))

    return make


def _percentile(call: AggregateCall, arg: Value, fraction: Value | None = None) -> Value:
    share = "0.5" if fraction is None else fraction.lane("n")
    name, type_ = ("quantile_cont", "DOUBLE") if call.few else ("approx_quantile", "FLOAT")
    return Typed(NUMBER, call(f"{name}({arg.lane('n')}, {share}::{type_})"), absent=NULL)


def _quantile(name: str) -> Callable[..., Value]:
    def make(call: AggregateCall, arg: Value, fraction: Value | None = None) -> Value:
        share = "0.5" if fraction is None else fraction.lane("n")
        return Typed(NUMBER, call(f"{name}({arg.lane('n')}, {share}::DOUBLE)"), absent=NULL)

    return make


_RANKS = {"ROW_NUMBER": "row_number()", "RANK": "rank()", "DENSE_RANK": "dense_rank()"}
_DISTINCT = _count_distinct
_AGGREGATES: dict[str, Callable[..., Value]] = {
    "COUNT": _count,
    "SUM": _sum,
    "AVG": _average,
    "MIN": _extreme("min"),
    "MAX": _extreme("max"),
    "EARLIEST": _plain(TIME, "min({})", "u"),
    "LATEST": _plain(TIME, "max({})", "u"),
    "VARIANCE": _plain(NUMBER, "var_pop({})", "n"),
    "VARIANCE_POP": _plain(NUMBER, "var_pop({})", "n"),
    "STDDEV": _plain(NUMBER, "stddev_pop({})", "n"),
    "STDDEV_POP": _plain(NUMBER, "stddev_pop({})", "n"),
    "BIT_AND": _bits("bit_and"),
    "BIT_OR": _bits("bit_or"),
    "BIT_XOR": _bits("bit_xor"),
    "BOOL_AND": _plain(BOOL, "bool_and({})", "b"),
    "BOOL_OR": _plain(BOOL, "bool_or({})", "b"),
    "APPROX_COUNT_DISTINCT": _approximate_count,
    "MEDIAN": _quantile("quantile_cont"),
    "QUANTILE": _quantile("quantile_cont"),
    "QUANTILE_DISC": _quantile("quantile_disc"),
    "MODE": collected.mode,
    "APPROX_MEDIAN": _percentile,
    "APPROX_PERCENTILE": _percentile,
}
