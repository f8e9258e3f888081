"""Values that depend on conditions: CASE, COALESCE, NULLIF, CAST."""

from __future__ import annotations

from sdb.query.analyze.types import BOOL, LIST, MISSING, NULL, NUMBER, STRING, STRUCT, TIME
from sdb.query.duckdb_sql import operators
from sdb.query.duckdb_sql.composed import Chosen
from sdb.query.duckdb_sql.lanes import Constant, Nothing, Null, Typed, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.duckdb_sql.arguments import Arguments


class Narrowed(Value):
    """A value known to be of some of its types."""

    def __init__(self, value: Value, mask: int) -> None:
        self.value = value
        self.mask = mask

    def _lane(self, letter: str) -> str:
        return self.value.lane(letter)

    def step(self, step: str | int) -> Value:
        """Give value of a member or element."""
        return self.value.step(step)


def choice(limbs: list[tuple[str, Value]], otherwise: Value) -> Value:
    """One of several values."""
    found = Chosen(limbs, otherwise)
    values = [value for _, value in limbs] + [otherwise]
    simple = {STRING: "s", BOOL: "b", TIME: "u"}.get(found.only)
    if simple is None and found.only == NUMBER and all(map(_double, values)):
        simple = "n"
    if simple is None:
        return found
    return Typed(found.only, found.lane(simple), absent=found.mask & MISSING)


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
            return choice(limbs, Present(value))
        limbs.append((operators.is_test(value, "NULL", negated=True), _present(value)))
    return choice(limbs, Null())


class Present(Value):
    """A value with NULL in the place of MISSING."""

    def __init__(self, value: Value) -> None:
        self.value = value
        self.mask = value.mask & ~MISSING | NULL

    def _lane(self, letter: str) -> str:
        sql = self.value.lane(letter)
        if letter == "t":
            return f"greatest({sql}, 1)::UTINYINT"
        return f"coalesce({sql}, '{_ABSENT[letter]}')" if letter in _ABSENT else sql

    def step(self, step: str | int) -> Value:
        """Give the value of a member or element."""
        return self.value.step(step)


_ABSENT = {"k": "z", "v": "z", "j": "null"}


def _present(value: Value) -> Value:
    """Leave NULL and MISSING out of the types of a value."""
    if isinstance(value, Typed):
        return value.like(value.sql, 0)
    return Narrowed(value, value.mask & ~(NULL | MISSING))


def nullif(call: Arguments) -> Value:
    """NULLIF: NULL when both are equal, else the first."""
    left, right = call.values
    return choice([(operators.equal(left, right), Null())], left)


def cast(value: Value, to: str) -> Value:
    """Give the value of CAST."""
    if to in {"MISSING", "NULL"}:
        return Null() if to == "NULL" else Nothing()
    if to in {"INTEGER", "FLOAT", "BOOLEAN"}:
        return _cast_number(value, to)
    if to == "STRING":
        return _cast_string(value)
    if to == "TIMESTAMP":
        return Typed(TIME, value.lane("u"))
    return _cast_nested(value, LIST if to == "LIST" else STRUCT)


def _cast_string(value: Value) -> Value:
    """Give a text: of fields that of strings and numbers, of what is computed also of the rest."""
    if value.integer:
        return operators.string(f"({value.lane('x')})::VARCHAR", value, wants=NUMBER)
    if isinstance(value, Typed) and value.kind in {NUMBER, BOOL, TIME}:
        text = f"trim({value.lane('j')}, '\"')" if value.kind == TIME else value.lane("j")
        if value.absent == NULL:
            text = f"CASE WHEN {value.sql} IS NOT NULL THEN {text} END"
        return Typed(STRING, text, absent=MISSING if value.absent else 0)
    if not value.mask & NUMBER:
        return Typed(STRING, value.lane("s"))
    number = f"CASE WHEN {value.lane('t')} = {NUMBER} THEN {value.lane('j')} END"
    return Typed(STRING, f"coalesce({value.lane('s')}, {number})")


def _cast_nested(value: Value, kind: int) -> Value:
    if not value.mask & kind:
        return Nothing()
    if value.mask == kind:
        return value
    return Chosen([(f"{value.lane('t')} = {kind}", Narrowed(value, kind))], Nothing())


def _cast_number(value: Value, to: str) -> Value:
    flag = value.lane("b")
    if to == "INTEGER":
        found = value.lane("x") if value.integer else operators.truncated(value)
        terms = [found] if value.mask & NUMBER else []
        terms += [f"{flag}::BIGINT"] if value.mask & BOOL else []
    elif to == "FLOAT":
        terms = [value.lane("n")] if value.mask & NUMBER else []
        terms += [f"{flag}::BIGINT::DOUBLE"] if value.mask & BOOL else []
    else:
        terms = [f"({value.lane('n')} <> 0)"] if value.mask & NUMBER else []
        terms += [flag] if value.mask & BOOL else []
    if not terms:
        return Nothing()
    sql = terms[0] if len(terms) == 1 else f"coalesce({', '.join(terms)})"
    kind = BOOL if to == "BOOLEAN" else NUMBER
    absent = MISSING if value.mask & ~(NUMBER | BOOL) else 0
    integer = to == "INTEGER"
    wide = integer and bool(value.mask & NUMBER) and (value.wide or not value.integer)
    return Typed(kind, sql, absent=absent, integer=integer, wide=wide)
