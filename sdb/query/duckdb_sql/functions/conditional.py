"""Values that depend on conditions: CASE, COALESCE, NULLIF."""

from __future__ import annotations

from sdb.query.analyze.types import BOOL, MISSING, NULL, NUMBER, STRING, TIME
from sdb.query.duckdb_sql.values import equality, operators
from sdb.query.duckdb_sql.values.case_values import Chosen, Filled, Narrowed
from sdb.query.duckdb_sql.values.lanes import Constant, Nothing, Null, Typed, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.duckdb_sql.functions.arguments import Arguments


def choice(limbs: list[tuple[str, Value]], otherwise: Value) -> Value:
    """One of several values."""
    chosen = Chosen(limbs, otherwise)
    values = [value for _, value in limbs] + [otherwise]
    simple = {STRING: "s", BOOL: "b", TIME: "u"}.get(chosen.only)
    if simple is None and chosen.only == NUMBER and all(map(_double, values)):
        simple = "n"
    if simple is None:
        return chosen
    return Typed(chosen.only, chosen.lane(simple), absent=chosen.mask & MISSING)


def _double(value: Value) -> bool:
    if isinstance(value, Constant):
        return operators.is_double(value)
    return isinstance(value, Nothing) or (isinstance(value, Typed) and not value.whole)


def coalesce(call: Arguments) -> Value:
    """COALESCE: the first that is neither NULL nor MISSING, else NULL."""
    limbs: list[tuple[str, Value]] = []
    for number, value in enumerate(call.values, 1):
        present = value.mask & ~(NULL | MISSING)
        if not present:
            continue
        if present == value.mask:
            return choice(limbs, value)
        if number == len(call.values):
            return choice(limbs, Filled(value))
        limbs.append((operators.is_test(value, "NULL", negated=True), _present(value)))
    return choice(limbs, Null())


def _present(value: Value) -> Value:
    """Leave NULL and MISSING out of the types of a value."""
    if isinstance(value, Typed):
        return value.like(value.sql, 0)
    return Narrowed(value, value.mask & ~(NULL | MISSING))


def nullif(call: Arguments) -> Value:
    """NULLIF: NULL when both are equal, else the first."""
    left, right = call.values
    return choice([(equality.equal(left, right, nulls=True), Null())], left)
