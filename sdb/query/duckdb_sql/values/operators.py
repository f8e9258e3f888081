"""Operators over values, as SQL.

What is three-valued here follows the dialect: SQL's NULL is MISSING.
"""

from __future__ import annotations

from sdb.query.analyze.types import BOOL, LETTERS, LIST, MISSING, NULL, NUMBER, STRING, STRUCT, TIME
from sdb.query.duckdb_sql.values import quoting
from sdb.query.duckdb_sql.values.lanes import (
    Constant,
    Null,
    Typed,
    Value,
)
from sdb.query.syntax import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_TWO_63, _TWO_64 = 2**63, 2**64
_LEAST, _MOST = (f"({bound})::{quoting.WIDE}" for bound in (-_TWO_63, _TWO_64 - 1))
"""Bounds of integers of 64 bits, with a sign or without."""


def boolean(sql: str, *operands: Value, wants: int = 0) -> Typed:
    """Return a boolean, MISSING when the SQL is NULL: never when no operand is of another type."""
    return Typed(BOOL, sql, absent=absent(wants, operands))


def number(sql: str, *operands: Value, wants: int = NUMBER) -> Typed:
    """Return a number of double precision."""
    return Typed(NUMBER, sql, absent=absent(wants, operands))


def whole(sql: str, *operands: Value, wants: int = NUMBER, wide: bool = False) -> Typed:
    """Return a static integer."""
    return Typed(NUMBER, sql, absent=absent(wants, operands), integer=True, wide=wide)


def string(sql: str, *operands: Value, wants: int = STRING) -> Typed:
    """Return a string."""
    return Typed(STRING, sql, absent=absent(wants, operands))


def instant(sql: str, *operands: Value, wants: int = TIME) -> Typed:
    """Return a timestamp."""
    return Typed(TIME, sql, absent=absent(wants, operands))


def joined(left: Value, right: Value) -> Typed:
    """Return SQL of ``left || right``: of texts."""
    return string(f"({left.lane('s')} || {right.lane('s')})", left, right)


def absent(wants: int, operands: Sequence[Value]) -> int:
    """Return what NULL of an operator means: 0 when no operand is of another type, else MISSING."""
    fits = operands and all(not operand.mask & ~wants for operand in operands)
    return 0 if fits else MISSING


def truth(value: Value) -> str:
    """Return SQL of a value in the place of a boolean: present values other than TRUE are FALSE."""
    if value.only == BOOL or value.mask == MISSING:
        return value.lane("b")
    if not value.mask & MISSING:
        return f"coalesce({value.lane('b')}, false)" if value.mask & BOOL else "false"
    fallback = f"coalesce({value.lane('b')}, false)" if value.mask & BOOL else "false"
    return f"CASE WHEN {value.missing()} THEN NULL ELSE {fallback} END"


def compare_numbers(op: str, left: Value, right: Value) -> str:
    """Return SQL that compares the numbers of two values; NULL when one is no number.

    Doubles cannot tell integers beyond 2**53 apart, so where one side may hold them the exact
    integers decide. What is not whole, or beyond all integers, doubles compare rightly with these.
    """
    left, right = exact(left), exact(right)
    if left.whole and right.whole:
        return f"({left.lane('x')} {op} {right.lane('x')})"
    if is_double(left) or is_double(right) or (_calculated(left) and _calculated(right)):
        return f"({left.lane('n')} {op} {right.lane('n')})"
    whole = f"({left.lane('x')} {op} {right.lane('x')})"
    return f"coalesce({whole}, {left.lane('n')} {op} {right.lane('n')})"


def same_numbers(left: Value, right: Value) -> str:
    """Return SQL that is true for equal numbers only; the engine sees that it can hash both."""
    left, right = exact(left), exact(right)
    if left.whole or right.whole:
        double = next((side for side in (left, right) if is_double(side) and not side.whole), None)
        if double is None:
            return f"({left.lane('x')} = {right.lane('x')})"
    same = f"({left.lane('n')} = {right.lane('n')})"
    if is_double(left) or is_double(right) or (_calculated(left) and _calculated(right)):
        return same
    # Whole numbers have both lanes, others only the first.
    return f"({same} AND {left.lane('x')} IS NOT DISTINCT FROM {right.lane('x')})"


def exact(value: Value) -> Value:
    """Return a constant among the integers that doubles cannot tell apart as an integer."""
    if not isinstance(value, Constant) or not isinstance(value.value, float):
        return value
    return Constant(int(value.value)) if 2**53 <= abs(value.value) <= _TWO_64 else value


def is_double(value: Value) -> bool:
    """Return whether this is a constant that doubles compare rightly with any number."""
    return (
        isinstance(value, Constant)
        and isinstance(value.value, (int, float))
        and (isinstance(value.value, float) or abs(value.value) < 2**53)
    )


def _calculated(value: Value) -> bool:
    """Return whether a value is a double."""
    return isinstance(value, Typed) and not value.whole


def ordered(op: str, left: Value, right: Value, *, nulls: bool = True) -> str:
    """Return SQL of ``< <= > >=``: NULL unless both are of one type that has an order.

    * ``nulls``: Whether NULL is such a type.
    """
    common = left.mask & right.mask
    terms = []
    if common & NUMBER:
        terms.append(compare_numbers(op, left, right))
    for kind in (STRING, TIME, BOOL):
        if common & kind:
            letter = LETTERS[kind]
            terms.append(f"({left.lane(letter)} {op} {right.lane(letter)})")
    if common & NULL and nulls:
        both = f"{left.lane('t')} = 1 AND {right.lane('t')} = 1"
        terms.append(f"CASE WHEN {both} THEN {str(op in {'<=', '>='}).lower()} END")
    if len(terms) > 1:
        return f"coalesce({', '.join(terms)})"
    return terms[0] if terms else "NULL::BOOLEAN"


def is_test(value: Value, what: str, *, negated: bool) -> str:
    """Return SQL of ``value IS [NOT] what``, never NULL."""
    if what == "MISSING":
        sql = value.missing()
        return f"(NOT {sql})" if negated else sql
    if what == "NULL":
        if not value.mask & NULL:
            return f"(NOT {value.missing()})" if negated else "false"
        return f"({value.lane('t')} {'NOT IN (0, 1)' if negated else '= 1'})"
    sql = "false"
    if value.mask & BOOL:
        sql = f"({value.lane('b')} IS NOT DISTINCT FROM {what.lower()})"
    return f"(NOT {sql})" if negated else sql


def int64(value: Value) -> str:
    """Return SQL of the 64 bits of a number as a BIGINT: truncated, the least one out of range.

    Integers beyond 2**63 are what their bits are, with the sign that they have then.
    """
    if value.integer or value.whole:
        return wrap(value.lane("x")) if value.wide else value.lane("x")
    if _calculated(value):
        return wrap(truncated(value))
    return f"coalesce(TRY_CAST({value.lane('x')} AS BIGINT), {wrap(truncated(value))})"


def truncated(value: Value, *, otherwise: str = _LEAST) -> str:
    """Return wide SQL of a number as an integer of 64 bits, with a sign or without.

    Fractions are cut off.

    * ``otherwise``: What a number out of range becomes; in the original the least integer.
    """
    double = value.lane("n")
    sql = (
        f"WHEN {double} >= {-_TWO_63} AND {double} < {_TWO_64} "
        f"THEN trunc({double})::HUGEINT::{quoting.WIDE} "
        f"WHEN {double} IS NOT NULL THEN {otherwise} END"
    )
    if _calculated(value):
        return f"CASE {sql}"
    exact = value.lane("x")
    return f"CASE WHEN {within(exact)} THEN {exact} WHEN {exact} IS NOT NULL THEN {otherwise} {sql}"


def within(sql: str) -> str:
    """Return SQL that tells whether 64 bits hold an integer, with a sign or without."""
    return f"{sql} BETWEEN {_LEAST} AND {_MOST}"


def wrap(sql: str) -> str:
    """Return SQL of a HUGEINT cut to 64 bits."""
    shifted = f"({sql})::HUGEINT + {_TWO_63}::HUGEINT"
    return f"((({shifted}) & {_TWO_64 - 1}::HUGEINT) - {_TWO_63}::HUGEINT)::BIGINT"


def sort_keys(value: Value, *, descending: bool, nulls_last: bool) -> list[str]:
    """Terms of ORDER BY that sort as the dialect does: NULL first, lists and structures last."""
    terms = value_keys(value, "{}", descending=descending)
    if value.mask & NULL:
        terms.insert(0, f"({value.lane('t')} = 1) {'ASC' if nulls_last else 'DESC'}")
    return terms


def value_keys(value: Value, tag: str, *, descending: bool) -> list[str]:
    """Terms of ORDER BY for what is neither NULL nor MISSING."""
    terms = []
    direction = "DESC" if descending else "ASC"
    types = value.mask & ~(MISSING | NULL)
    if types & (LIST | STRUCT):
        terms.append(f"{value.lane('t')} >= {LIST}")
    if types & (types - 1):
        terms.append(f"{tag.format(value.lane('t'))} {direction}")
    for kind, letter in ((BOOL, "b"), (NUMBER, "n"), (TIME, "u"), (STRING, "s")):
        if types & kind:
            lane = "x" if kind == NUMBER and value.whole else letter
            terms.append(f"{value.lane(lane)} {direction}")
            if letter == "n" and lane == "n" and not isinstance(value, Typed):
                terms.append(f"{value.lane('x')} {direction}")
    return terms


class TimedText(Value):
    """A text that is a time beside timestamps."""

    mask = STRING | TIME
    has_timed = True

    def __init__(self, value: ast.TimeText) -> None:
        self.text = Constant(str(value))
        self.time = Constant(ast.Instant(value.us))

    def _lane(self, letter: str) -> str:
        return (self.time if letter == "u" else self.text).lane(letter)


def literal(node: ast.Literal) -> Value:
    """Return a constant of the query."""
    if isinstance(node.value, ast.TimeText):
        return TimedText(node.value)
    return Null() if node.value is None else Constant(node.value)
