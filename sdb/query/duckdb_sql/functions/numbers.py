"""Functions of numbers."""

from __future__ import annotations

import math
from functools import reduce
from operator import and_, or_

from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import BOOL, LETTERS, MISSING, NULL, NUMBER, STRING, TIME
from sdb.query.duckdb_sql.values import casts, quoting, standard
from sdb.query.duckdb_sql.values.case_values import Chosen
from sdb.query.duckdb_sql.values.lanes import Constant, Typed, Value
from sdb.query.duckdb_sql.values.numeric import best
from sdb.query.duckdb_sql.values.operators import absent, int64, number, whole, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.duckdb_sql.functions.arguments import Arguments, Function


def _plain(template: str) -> Function:
    """Return a function of doubles; ``{0}``, ``{1}`` stand for the arguments."""

    def function(call: Arguments) -> Value:
        return number(template.format(*(arg.lane("n") for arg in call.values)), *call.values)

    return function


def _keeping(template: str, whole_template: str, wide_template: str = "") -> Function:
    """Return a function that keeps static integers; with a template also those beyond BIGINT."""

    def function(call: Arguments) -> Value:
        (arg,) = call.values
        if arg.integer and arg.wide and wide_template:
            return whole(wide_template.format(arg.lane("x")), arg, wide=True)
        if arg.integer:
            return whole(whole_template.format(arg.lane("x")), arg)
        return number(template.format(arg.lane("n")), arg)

    return function


def _log(call: Arguments) -> Value:
    if len(call.values) == 1:
        return number(f"log10({call.values[0].lane('n')})", *call.values)
    base, x = call.values
    return number(f"(log2({x.lane('n')}) / log2({base.lane('n')}))", *call.values)


def _pi(_: Arguments) -> Value:
    return Constant(math.pi)


def _extreme(name: str) -> Function:
    def function(call: Arguments) -> Value:
        if len(call.values) == 1:
            return call.values[0]
        values, skipped = call.values, 0 if call.node.original else NULL | MISSING
        if skipped:
            values = [value for value in values if value.mask & ~skipped] or values[:1]
        held = reduce(or_ if skipped else and_, (value.mask for value in values))
        others = [kind for kind in (TIME, STRING, BOOL) if held & kind]
        limbs = [_best_of(name, values, kind, skipped) for kind in others]
        if not limbs:
            return of_numbers(values, skipped)
        limbs_present: list[tuple[str, Value]] = [
            (f"{value.sql} IS NOT NULL", value) for value in limbs
        ]
        if held & NUMBER:
            return Chosen(limbs_present, of_numbers(values, skipped))
        return limbs[0] if len(limbs) == 1 else Chosen(limbs_present[:-1], limbs[-1])

    def of_numbers(values: list[Value], skipped: int) -> Value:
        def sql(letter: str) -> str:
            return _best(name, values, NUMBER, letter, skipped)

        if all(value.integer for value in values):
            return whole(sql("x"), *values, wide=any(value.wide for value in values))
        if all(isinstance(value, Typed) and not value.whole for value in values):
            return number(sql("n"), *values)
        return best(sql("n"), sql("x"), absent=absent(NUMBER, values))

    return function


def _best(name: str, values: list[Value], kind: int, letter: str, skipped: int) -> str:
    """Return SQL of the least or greatest of values, where all but those skipped are of a type."""
    test = LETTERS[kind]
    doubtful = [
        f"({value.lane(test)} IS NOT NULL{f' OR {standard.null(value)}' if skipped else ''})"
        for value in values
        if value.mask & ~(kind | skipped)
    ]
    extreme = f"{name}({', '.join(value.lane(letter) for value in values)})"
    return f"CASE WHEN {' AND '.join(doubtful)} THEN {extreme} END" if doubtful else extreme


def _best_of(name: str, values: list[Value], kind: int, skipped: int) -> Typed:
    sql = _best(name, values, kind, LETTERS[kind], skipped)
    return Typed(kind, sql, absent=absent(kind, values))


def _pmod(call: Arguments) -> Value:
    are_integers = all(arg.integer for arg in call.values)
    if are_integers:
        a, b = (f"({arg.lane('x')})::HUGEINT" for arg in call.values)
        b = f"nullif({b}, 0)"
    else:
        a, b = (arg.lane("n") for arg in call.values)
    sql = f"CASE WHEN ({a} % {b}) < 0 THEN ({a} % {b}) + abs({b}) ELSE ({a} % {b}) END"
    if are_integers:
        return Typed(NUMBER, wrap(sql), integer=True)
    return number(sql, *call.values)


def _width_bucket(call: Arguments) -> Value:
    x, low, high, count = (arg.lane("n") for arg in call.values)
    sql = (
        f"CASE WHEN {x} < {low} AND {high} IS NOT NULL AND {count} IS NOT NULL THEN 0.0::DOUBLE "
        f"WHEN {x} >= {high} AND {low} IS NOT NULL THEN {count} + 1 "
        f"ELSE floor(({x} - {low}) * {count} / ({high} - {low})) + 1 END"
    )
    return number(sql, *call.values)


def _round(call: Arguments) -> Value:
    value, *places = (arg.lane("n") for arg in call.values)
    if not places:
        return number(f"round({value})", *call.values)
    # Beyond these a double has no digits.
    fits = f"least(greatest(trunc({places[0]}), -400), 400)::INTEGER"
    return Typed(NUMBER, f"round({value}, {fits})")


def _number_of(call: Arguments) -> Value:
    return casts.number(call.values[0])


def _decimal(call: Arguments) -> Value:
    digits = [getattr(arg, "value", None) for arg in call.node.args[1:]]
    if not digits:
        return casts.number(call.values[0])
    precision, scale = digits if len(digits) > 1 else (*digits, 0)
    if not isinstance(precision, int) or not isinstance(scale, int):
        raise rejected("the digits of DECIMAL are constants", call.node)
    return casts.decimal(call.values[0], precision, scale)


def _bit_count(call: Arguments) -> Value:
    return whole(f"bit_count({int64(call.values[0])})::BIGINT", *call.values)


def _type_bit(call: Arguments) -> Value:
    value = call.values[0]
    if value.mask == MISSING:
        return Typed(NUMBER, "0::BIGINT", absent=0, integer=True)
    return Typed(NUMBER, f"({value.lane('t')})::BIGINT", absent=0, integer=True)


FUNCTIONS: dict[str, Function] = {
    name: _plain(template)
    for name, template in {
        "ROUND_EVEN": "round_even({0}, 0)",
        "TRUNC": "trunc({0})",
        "FLOOR": "floor({0})",
        "CEIL": "ceil({0})",
        "CEILING": "ceil({0})",
        "SQRT": "sqrt({0})",
        "CBRT": "cbrt({0})",
        "EXP": "exp({0})",
        "EXP2": "pow(2.0::DOUBLE, {0})",
        "EXP10": "pow(10.0::DOUBLE, {0})",
        "EXPM1": "sdb_expm1({0})",
        "LN": "ln({0})",
        "LN1P": "sdb_ln1p({0})",
        "LOG2": "log2({0})",
        "LOG10": "log10({0})",
        "POW": "pow({0}, {1})",
        "POWER": "pow({0}, {1})",
        "HYPOT": "sqrt({0} * {0} + {1} * {1})",
        "SIN": "sin({0})",
        "COS": "cos({0})",
        "TAN": "tan({0})",
        "ASIN": "asin({0})",
        "ACOS": "acos({0})",
        "ATAN": "atan({0})",
        "ATAN2": "atan2({0}, {1})",
        "DEGREES": "degrees({0})",
        "RADIANS": "radians({0})",
    }.items()
}
# The least integer has no contrary: it wraps around.
_ABS = f"CASE WHEN {{0}} = {quoting.integer(quoting.INT64_MIN)} THEN {{0}} ELSE abs({{0}}) END"
FUNCTIONS |= {
    "ABS": _keeping("abs({0})", wrap("abs(({0})::HUGEINT)"), _ABS),
    "SIGN": _keeping("sign({0})::DOUBLE", "sign({0})::BIGINT"),
    "LOG": _log,
    "PI": _pi,
    "ROUND": _round,
    "NUMBER": _number_of,
    "DECIMAL": _decimal,
    "LEAST": _extreme("least"),
    "GREATEST": _extreme("greatest"),
    "PMOD": _pmod,
    "WIDTH_BUCKET": _width_bucket,
    "BIT_COUNT": _bit_count,
    "TYPE_BIT": _type_bit,
}
