"""Arithmetic: of static integers in 64 bits, of all else as doubles, exactly where it can be."""

from __future__ import annotations

import math
import operator

from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import NUMBER, TIME
from sdb.query.duckdb_sql.values import quoting
from sdb.query.duckdb_sql.values.lanes import (
    Constant,
    Nothing,
    Shifted,
    Typed,
    Value,
    WholeDouble,
    exact_bounds,
)
from sdb.query.duckdb_sql.values.operators import absent, int64, number, whole, wrap

_EXACT = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_BY_ZERO = {"/": "division by zero", "%": "modulo by zero"}
_TWO_64 = 2**64


def arithmetic(op: str, left: Value, right: Value, *, cuts: bool = False) -> Value:
    """``+ - * / %``.

    * ``cuts``: Whether a quotient of static integers is one.
    """
    if op in _BY_ZERO and isinstance(right, Constant) and right.kind == NUMBER and not right.value:
        raise rejected(_BY_ZERO[op])
    if op == "-" and left.mask & right.mask & TIME:
        return _between(left, right)
    if isinstance(left, Constant) and isinstance(right, Constant):
        return folded(op, left, right)
    if left.integer and right.integer and (cuts or op != "/"):
        return _integer_arithmetic(op, left, right)
    if op in _EXACT and left.bounds and right.bounds:
        # As long as doubles are exact integers, they may be computed as such.
        corners = [_EXACT[op](a, b) for a in left.bounds for b in right.bounds]
        bounds = exact_bounds(min(corners), max(corners))
        if bounds is not None:
            sql = f"({left.lane('x')} {op} {right.lane('x')})"
            return WholeDouble(sql, absent=absent(NUMBER, (left, right)), bounds=bounds)
    sum_ = number(f"({left.lane('n')} {op} {right.lane('n')})", left, right)
    return _shifted(op, left, right, sum_) if op in {"+", "-"} else sum_


def _shifted(op: str, left: Value, right: Value, sum_: Typed) -> Typed:
    """Return what is known of a sum besides, if a constant is added to a whole number."""
    if op == "+" and isinstance(left, Constant):
        left, right = right, left
    if not isinstance(right, Constant) or not right.bounds:
        return sum_
    offset = right.bounds[0] if op == "+" else -right.bounds[0]
    if isinstance(left, Shifted):
        return Shifted(sum_.sql, left.base, left.offset + offset, absent=sum_.absent)
    return Shifted(sum_.sql, left, offset, absent=sum_.absent) if left.whole else sum_


def _between(left: Value, right: Value) -> Typed:
    """Return the seconds between two times, and the difference of two numbers."""
    seconds = f"((epoch_us({left.lane('u')}) - epoch_us({right.lane('u')})) / 1e6::DOUBLE)"
    if left.mask & right.mask & NUMBER:
        seconds = f"coalesce({left.lane('n')} - {right.lane('n')}, {seconds})"
        return Typed(NUMBER, seconds)
    return number(seconds, left, right, wants=TIME)


def _integer_arithmetic(op: str, left: Value, right: Value) -> Typed:
    # As HUGEINTs, since DuckDB refuses BIGINTs that overflow, where these integers wrap around; a
    # division by 0, which it refuses as well, gives MISSING here.
    a, b = left.lane("x"), right.lane("x")
    if op == "%":
        sql = wrap(f"({a})::HUGEINT % nullif({b}, 0)::HUGEINT")
        return Typed(NUMBER, sql, integer=True)
    if op == "/":
        return Typed(NUMBER, wrap(f"({a})::HUGEINT // nullif({b}, 0)::HUGEINT"), integer=True)
    return whole(wrap(f"({a})::HUGEINT {op} ({b})::HUGEINT"), left, right)


def folded(op: str, left: Constant, right: Constant) -> Value:
    """Arithmetic over literals, exact where integers allow it."""
    a, b = left.value, right.value
    if not (left.mask & right.mask & NUMBER):
        return Nothing()
    assert isinstance(a, (int, float))  # noqa: S101
    assert isinstance(b, (int, float))  # noqa: S101
    both = isinstance(a, int) and isinstance(b, int)
    try:
        if op == "/":
            value: int | float = a // b if both and a % b == 0 else a / b
        elif op == "%":
            value = int(math.copysign(abs(a) % abs(b), a)) if both else math.fmod(a, b)
        else:
            value = a + b if op == "+" else a - b if op == "-" else a * b
    except OverflowError:
        value = math.inf
    if isinstance(value, int) and abs(value) >= _TWO_64:
        value = float(value)
    return Constant(value)


def negative(value: Value) -> Value:
    """Unary minus."""
    if isinstance(value, Constant) and isinstance(value.value, (int, float)):
        return folded("*", value, Constant(-1)) if value.integer else Constant(-value.value)
    if value.integer:
        return whole(wrap(f"-({value.lane('x')})::HUGEINT"), value)
    return number(f"(-({value.lane('n')}))", value)


def bitwise(op: str, left: Value, right: Value) -> Value:
    """``& | ^ << >> >>>`` on 64-bit integers."""
    a, b = int64(left), int64(right)
    if op == "^":
        return whole(f"xor({a}, {b})", left, right)
    if op in {"&", "|"}:
        return whole(f"({a} {op} {b})", left, right)
    # DuckDB refuses to shift negative numbers to the left, and any bit out.
    return whole(f"sdb_shift({a}, {b}, {quoting.string(op)})", left, right)
