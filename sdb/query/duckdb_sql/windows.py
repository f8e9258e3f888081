"""Window functions as SQL over the lanes of rows.

Values of other rows travel as typed text, so that what comes out is what the row had.
"""

from __future__ import annotations

from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import LIST, MISSING, NULL, NUMBER, STRUCT
from sdb.query.duckdb_sql.aggregates import AggregateCall, value_of
from sdb.query.duckdb_sql.functions import growth
from sdb.query.duckdb_sql.lowering import condition, translate
from sdb.query.duckdb_sql.values import quoting, standard
from sdb.query.duckdb_sql.values.case_values import Chosen
from sdb.query.duckdb_sql.values.lanes import Keyed, Null, Typed, Value
from sdb.query.duckdb_sql.values.numeric import Numeric
from sdb.query.syntax import ast
from sdb.query.syntax.clauses.windows import RANKS, VALUES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.duckdb_sql.scope import Scope, SqlContext

_SHARES = frozenset({"CUME_DIST", "PERCENT_RANK"})
_FRAMED = frozenset({"FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"})
_NO_VALUE = "'m'"
"""Stands for MISSING in typed texts: SQL's NULL is that there is no such row."""


def window(node: ast.Aggregate, scope: Scope, context: SqlContext) -> Value:
    """Return value of a window function."""
    assert node.over is not None  # noqa: S101
    keys = [translate(key, scope, context) for key in node.over.partition]
    partition = [context.key(value) for value in keys]
    over = _window(node, node.over, partition, scope, context)
    if node.name in RANKS:
        return _rank(node, over)
    if node.name in VALUES:
        return _of_row(node, over, scope, context)
    where = None if node.where is None else condition(node.where, scope, context)
    value = value_of(node, scope, context, AggregateCall(where, over, few=True))
    absent = [
        f"{key} IS NULL" for key, of in zip(partition, keys, strict=True) if context.leaves_out(of)
    ]
    return _without(value, f"({' OR '.join(absent)})") if absent else value


def _without(value: Value, absent: str) -> Value:
    """Return an aggregate, which is NULL or 0 where a key of the partition is MISSING."""

    def kept(sql: str) -> str:
        default = "0" if isinstance(value, Typed) and value.absent == 0 else "NULL"
        return f"CASE WHEN {absent} THEN {default} ELSE {sql} END"

    if isinstance(value, Numeric):
        return Numeric(kept(value.number), kept(value.exact), absent=value.absent)
    if isinstance(value, Typed):
        return value.like(kept(value.sql), value.absent)
    return Chosen([(absent, Null())], value)


def _window(
    node: ast.Aggregate, over: ast.Over, partition: list[str], scope: Scope, context: SqlContext
) -> str:
    """Write what stands in the parentheses of OVER."""
    # Ranks and neighbours are those of the partition, whatever the frame.
    frame = over.frame if node.name in _FRAMED or node.name not in RANKS | VALUES else None
    order: list[str] = []
    for sort in over.order:
        value = translate(sort.expr, scope, context)
        if frame is not None and (lane := _distance_lane(frame)):
            order.append(_distance_key(value, lane, sort))
        else:
            order += standard.sort_keys(value, sort)
    if frame is None:
        return growth.window(partition, order)
    excluded = f" EXCLUDE {frame.excluded}" if frame.excluded else ""
    ends = f"{_end(frame, frame.start)} AND {_end(frame, frame.end)}"
    return growth.window(partition, order, f"{frame.unit} BETWEEN {ends}{excluded}")


def _distance_lane(frame: ast.WindowFrame) -> str:
    """Return the lane in which RANGE measures its distances; none when it has none."""
    for end in (frame.start, frame.end):
        if frame.unit == "RANGE" and end.distance is not None:
            return "u" if isinstance(end.distance, ast.Interval) else "n"
    return ""


def _distance_key(value: Value, lane: str, sort: ast.Sort) -> str:
    """Return the key of an order with distances: what is of another type sorts as NULL."""
    direction = "DESC" if sort.descending else "ASC"
    return f"{value.lane(lane)} {direction} NULLS {'FIRST' if sort.is_null_first else 'LAST'}"


def _end(frame: ast.WindowFrame, end: ast.FrameEnd) -> str:
    # At a distance of 0 the engine splits rows that are equal (its issue 23664).
    if end.side == "CURRENT ROW" or (frame.unit == "RANGE" and _is_zero(end.distance)):
        return "CURRENT ROW"
    match end.distance:
        case None:
            distance = "UNBOUNDED"
        case ast.Interval(months=months, us=us):
            distance = f"(to_months({months}) + to_microseconds({us}))"
        case ast.Literal(value=int() | float() as number):
            is_range = frame.unit == "RANGE"
            distance = quoting.double(float(number)) if is_range else quoting.integer(int(number))
        case other:
            raise rejected("a frame takes constants", other)
    return f"{distance} {end.side}"


def _is_zero(distance: ast.Expr | None) -> bool:
    if isinstance(distance, ast.Interval):
        return not (distance.months or distance.us)
    return isinstance(distance, ast.Literal) and distance.value == 0


def _rank(node: ast.Aggregate, over: str) -> Value:
    args = ""
    if node.args and isinstance(node.args[0], ast.Literal):
        args = quoting.constant(node.args[0].value)
    sql = f"{node.name.lower()}({args}) OVER ({over})"
    return Typed(NUMBER, sql, absent=0, whole=node.name not in _SHARES)


def _of_row(node: ast.Aggregate, over: str, scope: Scope, context: SqlContext) -> Value:
    """Return the value that another row has; NULL, or the default, when there is no such row."""
    arg, *rest = [translate(part, scope, context) for part in node.args]
    default = rest[1] if len(rest) > 1 else Null()
    count = f", {rest[0].lane('x')}" if rest else ""
    nulls = " IGNORE NULLS" * node.ignores_nulls
    name = node.name.lower()
    if isinstance(arg, Typed) and arg.absent != MISSING and isinstance(default, Null):
        return arg.like(f"{name}({arg.sql}{count}{nulls}) OVER ({over})", NULL)

    def text(letter: str) -> str:
        lane = arg.lane(letter)
        value = f"nullif({lane}, 'z')" if node.ignores_nulls else f"coalesce({lane}, {_NO_VALUE})"
        other = default.lane(letter)
        also = f", coalesce({other}, {_NO_VALUE})" if len(rest) > 1 else ""
        return f"nullif(coalesce({name}({value}{count}{also}{nulls}) OVER ({over}), 'z'), 'm')"

    mask = arg.mask | default.mask | NULL
    has_members = mask & (LIST | STRUCT)
    return Keyed(text("k"), mask, text("v") if has_members else None)
