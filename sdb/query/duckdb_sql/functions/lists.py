"""Functions of lists and structures."""

from __future__ import annotations

from sdb.query.analyze.types import BOOL, LIST, MISSING, NUMBER, STRUCT
from sdb.query.duckdb_sql.values.lanes import Nothing, Typed, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.query.duckdb_sql.functions.arguments import Arguments, Function


def _size(call: Arguments) -> Value:
    value = call.values[0]
    absent = MISSING if value.mask & ~(LIST | STRUCT) else 0
    return Typed(NUMBER, value.lane("z"), absent=absent, integer=True)


def _array_size(call: Arguments) -> Value:
    value = call.values[0]
    if not value.mask & STRUCT:
        return _size(call)
    sql = f"CASE WHEN {value.lane('t')} = {LIST} THEN {value.lane('z')} END"
    return Typed(NUMBER, sql, integer=True)


def _array_contains(call: Arguments) -> Value:
    member = call.values[1].lane("k")
    # DuckDB 2 finds no NULL in an empty list, where it gave NULL before.
    holds = f"list_contains({call.values[0].lane('e')}, {member})"
    return Typed(BOOL, f"CASE WHEN {member} IS NOT NULL THEN {holds} END")


def _array_position(call: Arguments) -> Value:
    position = f"list_position({call.values[0].lane('e')}, {call.values[1].lane('k')})"
    return Typed(NUMBER, f"nullif({position}, 0)::BIGINT", integer=True)


def _array_sum(call: Arguments) -> Value:
    numbers = call.values[0].lane("l")
    return Typed(
        NUMBER, f"CASE WHEN {numbers} IS NOT NULL THEN coalesce(list_sum({numbers}), 0.0) END"
    )


def _zipped(a: str, b: str, term: str) -> str:
    pairs = f"list_zip({a}, {b}, true)"
    return f"coalesce(list_sum(list_transform({pairs}, lambda p: {term})), 0.0)"


def _vectors(make: Callable[[str, str], str]) -> Function:
    def function(call: Arguments) -> Value:
        if not all(arg.mask & LIST for arg in call.values):
            return Nothing()
        a, b = (arg.lane("l") for arg in call.values)
        sql = f"CASE WHEN {a} IS NOT NULL AND {b} IS NOT NULL THEN {make(a, b)} END"
        return Typed(NUMBER, sql)

    return function


def _inner(a: str, b: str) -> str:
    return _zipped(a, b, "p[1] * p[2]")


def _l1(a: str, b: str) -> str:
    return _zipped(a, b, "abs(p[1] - p[2])")


def _l2(a: str, b: str) -> str:
    return f"sqrt({_zipped(a, b, '(p[1] - p[2]) * (p[1] - p[2])')})"


def _cosine(a: str, b: str) -> str:
    lengths = f"{_zipped(a, b, 'p[1] * p[1]')}) * sqrt({_zipped(a, b, 'p[2] * p[2]')}"
    ratio = f"{_inner(a, b)} / nullif(sqrt({lengths}), 0)"
    return f"coalesce(1 - {ratio}, 0.0)"


FUNCTIONS: dict[str, Function] = {
    "SIZE": _size,
    "ARRAY_SIZE": _array_size,
    "ARRAY_CONTAINS": _array_contains,
    "ARRAY_POSITION": _array_position,
    "ARRAY_SUM": _array_sum,
    "INNER_PRODUCT": _vectors(_inner),
    "L1_DISTANCE": _vectors(_l1),
    "L2_DISTANCE": _vectors(_l2),
    "COSINE_DISTANCE": _vectors(_cosine),
}
