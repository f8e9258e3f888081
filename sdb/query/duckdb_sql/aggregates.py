"""Aggregates as SQL over the lanes of rows."""

from __future__ import annotations

from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import (
    BOOL,
    LETTERS,
    MISSING,
    NULL,
    NUMBER,
    STRUCT,
    TIME,
    has_flags,
)
from sdb.query.duckdb_sql import chosen_aggregates
from sdb.query.duckdb_sql.lowering import condition, translate
from sdb.query.duckdb_sql.values import quoting, standard
from sdb.query.duckdb_sql.values.constructors import whole_row
from sdb.query.duckdb_sql.values.lanes import (
    Constant,
    Keyed,
    Nothing,
    Shifted,
    Typed,
    Value,
    WholeDouble,
    double_of,
    whole_of,
)
from sdb.query.duckdb_sql.values.numeric import Decimal, Numeric, best
from sdb.query.duckdb_sql.values.operators import int64, truth, within, wrap
from sdb.query.syntax import ast, visitor
from sdb.query.syntax.literals import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.query.duckdb_sql.scope import Scope, SqlContext

_HUGE = "1e30"
"""Whole numbers below add up in 128 bits, 10**8 of them at least."""

_FEW_ROWS = 1 << 24
"""Most rows of which percentiles are exact: 128 MiB of doubles."""


class AggregateCall:
    """Writes calls of SQL aggregates with the FILTER and OVER of one aggregate.

    * ``few``: Whether all values of a group can be kept in memory.
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
    """Return value of an aggregate; its SQL contains calls of SQL aggregates."""
    where = None if node.where is None else condition(node.where, scope, context)
    return value_of(node, scope, context, AggregateCall(where, None, few=_are_few(context)))


def _are_few(context: SqlContext) -> bool:
    counts = [scan.dataset.row_count() for scan in context.scans]
    return all(count is not None and count <= _FEW_ROWS for count in counts)


def value_of(node: ast.Aggregate, scope: Scope, context: SqlContext, call: AggregateCall) -> Value:
    """Return value of an aggregate whose calls are written with a FILTER and an OVER."""
    if node.name == "SNELLER_DATASHAPE":
        return _datashape(scope, call, node)
    if node.name == "GROUPING":
        hint = "as in SELECT a, GROUPING(a) FROM t GROUP BY ROLLUP(a)"
        raise rejected("GROUPING goes with ROLLUP, CUBE or GROUPING SETS", node, hint)
    if node.star or not node.args:
        return Typed(NUMBER, call("count(*)"), absent=0, whole=True)
    arg = translate(node.args[0], scope, context)
    if not node.original and node.name in {"SUM", "AVG"} and has_flags(arg.mask):
        arg = _flags(arg)
    if node.name in {"ARRAY_AGG", "STRING_AGG", "FIRST", "LAST"}:
        return _collected(node, arg, scope, context, call)
    make = _DISTINCT if node.name == "COUNT" and node.distinct else _AGGREGATES.get(node.name)
    if not node.original:
        make = _STANDARD.get((node.name, node.distinct), make)
    if node.distinct and node.name in {"SUM", "AVG"}:
        return _of_distinct(node.name, call, arg)
    if make is None:
        raise rejected(f"{node.name} is not supported here", node)
    rest = [translate(other, scope, context) for other in node.args[1:]]
    is_cut = node.original and not _is_newer(node.args[0])
    if node.name == "AVG" and arg.integer and not is_cut:
        arg = WholeDouble(arg.lane("x"), absent=arg.mask & MISSING, wide=arg.wide)
    return make(call, arg, *rest)


def _flags(arg: Value) -> Value:
    """Return booleans as 1 and 0, beside the numbers that there may be."""
    flags = f"({arg.lane('b')})::BIGINT"
    if not arg.mask & NUMBER:
        return WholeDouble(flags, absent=arg.mask & MISSING)
    return Typed(NUMBER, f"coalesce({arg.lane('n')}, {flags}::DOUBLE)")


def _is_newer(arg: ast.Expr) -> bool:
    """Return whether integers are averaged as numbers: the original cuts averages of its own."""
    return any(
        (isinstance(node, ast.Call) and node.name == "LENGTH")
        or (isinstance(node, ast.Cast) and node.reads_texts)
        for node in visitor.nodes(arg, into_selects=False)
    )


def _collected(
    node: ast.Aggregate, arg: Value, scope: Scope, context: SqlContext, call: AggregateCall
) -> Value:
    sorts = [(translate(sort.expr, scope, context), sort) for sort in node.order]
    if node.name in {"FIRST", "LAST"}:
        return chosen_aggregates.at_end(
            call, arg, sorts, is_last=node.name == "LAST", keeps=not node.original
        )
    if node.name == "ARRAY_AGG" and not node.original:
        arg = standard.computed(arg)
    order = tuple(chosen_aggregates.terms(sorts))
    descending = bool(sorts) and sorts[0][1].descending
    collected = chosen_aggregates.ListedValues(arg, order, node.distinct, descending, node.most)
    if node.name == "ARRAY_AGG":
        return chosen_aggregates.array(call, collected)
    separator = "','" if len(node.args) == 1 else translate(node.args[1], scope, context).lane("s")
    return chosen_aggregates.joined(call, collected, separator)


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
    elif arg.only in LETTERS:
        sql = call(f"count({arg.lane('x' if arg.whole else LETTERS[arg.only])})")
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
    there are any, are put into a text. Of doubles that were computed all are taken for such others.

    * ``exact``: SQL of the sum of the whole numbers, NULL when there are others; empty for doubles.
    """

    def __init__(self, call: AggregateCall, arg: Value) -> None:
        self.arg = arg
        if arg.whole:
            self.exact = call(f"sum({arg.lane('x')})")
            self.double = double_of(self.exact)
            return
        if isinstance(arg, Shifted):
            whole = arg.base.lane("x")
            total, count = call(f"sum({whole})"), call(f"count({whole})")
            self.exact = ""
            self.double = double_of(f"{total}::HUGEINT + {count} * {arg.offset}::HUGEINT")
            return
        double = arg.lane("n")
        calculated = isinstance(arg, Typed)
        beside = "" if calculated else f"{arg.lane('x')} IS NULL AND "
        # No FILTER: for each of them DuckDB walks the columns of all aggregates.
        small = f"CASE WHEN {beside}abs({double}) < {_HUGE} THEN"
        parts = call(f"sum({small} TRY_CAST(trunc({double}) AS HUGEINT) END)")
        rest = call(f"fsum({small} {double} - trunc({double}) END)")
        others = f"CASE WHEN {beside}NOT abs({double}) < {_HUGE} THEN {double}::VARCHAR END"
        large = call(f"string_agg({others}, ' ')")
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
        every = f"list_append(string_split({large}, ' ')::DOUBLE[], coalesce({sum_}, 0))"
        self.double = f"CASE WHEN {large} IS NULL THEN {sum_} ELSE sdb_sum({every}) END"

    def value(self) -> Value:
        """Return the sum: exact when all numbers are whole and 64 bits hold it, else a double."""
        if not self.exact or isinstance(self.arg, WholeDouble):
            return Typed(NUMBER, self.double, absent=NULL)
        # A lambda says once what all the aggregates are in: the engine takes each for one more.
        of_double = f"list_transform([{self.double}], lambda sum: {whole_of('sum')})[1]"
        whole = (
            f"CASE WHEN {within(self.exact)} THEN ({self.exact})::{quoting.WIDE} "
            f"ELSE {of_double} END"
        )
        return Numeric(self.double, whole, absent=NULL)


def _of_distinct(name: str, call: AggregateCall, arg: Value) -> Value:
    """Return a sum or average in which each number counts once."""
    sql = call(f"{name.lower()}(DISTINCT {arg.lane('n')})")
    return Typed(NUMBER, sql, absent=NULL)


def _sum(call: AggregateCall, arg: Value) -> Value:
    if isinstance(arg, Decimal) and (total := arg.total(call)) is not None:
        return total
    if arg.integer:
        return _whole(wrap(call(f"sum({arg.lane('x')})")))
    return _Total(call, arg).value()


def _average(call: AggregateCall, arg: Value) -> Value:
    if arg.integer:
        whole = arg.lane("x")
        sum_, count = call(f"sum({whole})"), call(f"count({whole})")
        sql = f"({sum_}::HUGEINT // nullif({count}, 0))::{quoting.WIDE if arg.wide else 'BIGINT'}"
        return _whole(sql, wide=arg.wide)
    if isinstance(arg, Decimal) and (exact := arg.total(call)) is not None:
        # Without the point: a quotient of whole numbers is rounded once.
        whole = f"replace(({exact.exact})::VARCHAR, '.', '')::DOUBLE"
        count = f"({call(f'count({arg.exact})')} * 1e{arg.places}::DOUBLE)"
        return Typed(NUMBER, f"({whole} / nullif({count}, 0))", absent=NULL)
    counted = arg.base if isinstance(arg, Shifted) else arg
    count = call(f"count({counted.lane('x' if counted.whole else 'n')})")
    total = _Total(call, arg).double
    return Typed(NUMBER, f"(({total}) / nullif({count}, 0))", absent=NULL)


def _whole(sql: str, *, wide: bool = False) -> Value:
    return Typed(NUMBER, sql, absent=NULL, integer=True, wide=wide)


def _extreme_number(name: str) -> Callable[[AggregateCall, Value], Value]:
    """Return what makes the least or greatest number."""

    def number(call: AggregateCall, arg: Value) -> Value:
        if arg.integer:
            return _whole(call(f"{name}({arg.lane('x')})"), wide=arg.wide)
        if arg.whole:
            sql = call(f"{name}({arg.lane('x')})")
            if isinstance(arg, WholeDouble):
                return Typed(NUMBER, f"({sql})::DOUBLE", absent=NULL)
            return Numeric(double_of(sql) if arg.wide else f"({sql})::DOUBLE", sql, absent=NULL)
        extreme = call(f"{name}({arg.lane('n')})")
        if isinstance(arg, Typed) and not arg.whole:
            return Typed(NUMBER, extreme, absent=NULL)
        return best(extreme, call(f"{name}({arg.lane('x')})"), absent=NULL)

    return number


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
    # The approximate one takes no DOUBLE for the share.
    name, type_ = ("quantile_cont", "DOUBLE") if call.few else ("approx_quantile", "FLOAT")
    return Typed(NUMBER, call(f"{name}({arg.lane('n')}, {share}::{type_})"), absent=NULL)


def _quantile(name: str) -> Callable[..., Value]:
    def make(call: AggregateCall, arg: Value, fraction: Value | None = None) -> Value:
        share = "0.5" if fraction is None else fraction.lane("n")
        return Typed(NUMBER, call(f"{name}({arg.lane('n')}, {share}::DOUBLE)"), absent=NULL)

    return make


def _pair(name: str) -> Callable[..., Value]:
    """Return an aggregate of the rows in which two values are numbers."""

    def make(call: AggregateCall, y: Value, x: Value) -> Value:
        # DuckDB gives NaN where the values do not vary.
        sql = call(f"{name}({y.lane('n')}, {x.lane('n')})")
        return Typed(NUMBER, f"CASE WHEN isfinite({sql}) THEN {sql} END", absent=NULL)

    return make


def _count_if(call: AggregateCall, arg: Value) -> Value:
    return Typed(NUMBER, call("count(*)", truth(arg)), absent=0, whole=True)


def _count_values(call: AggregateCall, arg: Value) -> Value:
    """COUNT of what is neither NULL nor MISSING."""
    if not arg.mask & (NULL | MISSING):
        return Typed(NUMBER, call("count(*)"), absent=0, whole=True)
    if isinstance(arg, Typed):
        return Typed(NUMBER, call(f"count({arg.sql})"), absent=0, whole=True)
    return Typed(NUMBER, call("count(*)", f"NOT {standard.null(arg)}"), absent=0, whole=True)


def _count_distinct_values(call: AggregateCall, arg: Value, *_: Value) -> Value:
    return Typed(NUMBER, call(f"count(DISTINCT {standard.key(arg)})"), absent=0, whole=True)


_PAIRS = words("CORR COVAR_POP COVAR_SAMP REGR_SLOPE REGR_INTERCEPT REGR_R2")
_DISTINCT = _count_distinct
_STANDARD: dict[tuple[str, bool], Callable[..., Value]] = {
    ("COUNT", False): _count_values,
    ("COUNT", True): _count_distinct_values,
    ("APPROX_COUNT_DISTINCT", False): _count_distinct_values,
    ("ARG_MIN", False): chosen_aggregates.by_extreme("arg_min", skips=True),
    ("ARG_MAX", False): chosen_aggregates.by_extreme("arg_max", skips=True),
    ("STDDEV", False): _plain(NUMBER, "stddev_samp({})", "n"),
    ("VARIANCE", False): _plain(NUMBER, "var_samp({})", "n"),
}
"""Aggregates that mean something else in standard SQL than in the original's, and with DISTINCT."""
_AGGREGATES: dict[str, Callable[..., Value]] = {
    "COUNT": _count,
    "SUM": _sum,
    "AVG": _average,
    "MIN": chosen_aggregates.extreme("min", _extreme_number("min")),
    "MAX": chosen_aggregates.extreme("max", _extreme_number("max")),
    "EARLIEST": _plain(TIME, "min({})", "u"),
    "LATEST": _plain(TIME, "max({})", "u"),
    "VARIANCE": _plain(NUMBER, "var_pop({})", "n"),
    "VARIANCE_POP": _plain(NUMBER, "var_pop({})", "n"),
    "VARIANCE_SAMP": _plain(NUMBER, "var_samp({})", "n"),
    "STDDEV_SAMP": _plain(NUMBER, "stddev_samp({})", "n"),
    "SKEWNESS": _plain(NUMBER, "skewness({})", "n"),
    "KURTOSIS": _plain(NUMBER, "kurtosis({})", "n"),
    "PRODUCT": _plain(NUMBER, "product({})", "n"),
    "GEOMEAN": _plain(NUMBER, "geometric_mean({})", "n"),
    "COUNT_IF": _count_if,
    **{name: _pair(name.lower()) for name in _PAIRS},
    "ANY_VALUE": chosen_aggregates.any_value,
    "ARG_MIN": chosen_aggregates.by_extreme("arg_min"),
    "ARG_MAX": chosen_aggregates.by_extreme("arg_max"),
    "HISTOGRAM": chosen_aggregates.histogram,
    "APPROX_TOP_K": chosen_aggregates.histogram,
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
    "MODE": chosen_aggregates.mode,
    "APPROX_MEDIAN": _percentile,
    "APPROX_PERCENTILE": _percentile,
}
