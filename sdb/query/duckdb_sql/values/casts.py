"""CAST, TRY_CAST and DECIMAL: values as those of another type."""

from __future__ import annotations

from sdb.instants import FIRST_US, LAST_US
from sdb.query.analyze.types import BOOL, LIST, MISSING, NULL, NUMBER, STRING, STRUCT, TIME
from sdb.query.duckdb_sql.values import operators, quoting
from sdb.query.duckdb_sql.values.case_values import Chosen, Narrowed
from sdb.query.duckdb_sql.values.lanes import Nothing, Null, Typed, Value
from sdb.query.duckdb_sql.values.numeric import Decimal, Numeric
from sdb.query.syntax.literals import BOOLEANS

_NUMBER = r"^\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*$"
_WHOLE = r"^\s*[+-]?[0-9]{1,20}\s*$"
_PLAIN = r"^\s*([+-]?[0-9]+)(?:\.[0-9]*)?\s*$"  # without an exponent: digits are exact
_ZONED = r"(?:[zZ]|:[0-9.]+[+-][0-9]{2}(?::?[0-9]{2})?)\s*$"


def cast(value: Value, to: str, *, reads_texts: bool = False, original: bool = False) -> Value:
    """Return the value of CAST.

    * ``reads_texts``: Whether texts of fields are read: for TRY_CAST and ``::``.
    * ``original``: Whether a number that no integer holds becomes the least one.
    """
    if to in {"MISSING", "NULL"}:
        return Null() if to == "NULL" else Nothing()
    if to in {"LIST", "STRUCT"}:
        return _nested(value, LIST if to == "LIST" else STRUCT)
    # Of what is nothing but a computed text, the original refuses any other cast.
    reads_texts = reads_texts or (isinstance(value, Typed) and value.kind == STRING)
    if to == "STRING":
        return _whole_text(value) if reads_texts else _string(value)
    if reads_texts and value.mask & STRING:
        return _with_texts(value, to, original=original)
    if to == "TIMESTAMP":
        return Typed(TIME, value.lane("u"))
    return _number(value, to, original=original)


def _with_texts(value: Value, to: str, *, original: bool) -> Value:
    """Return the cast of a value that may be a text."""
    text = value.lane("s")
    if to == "TIMESTAMP":
        return Typed(TIME, f"coalesce({value.lane('u')}, {instant_of(text)})")
    if to == "BOOLEAN":
        plain = _number(value, to, original=original).lane("b")
        words = ", ".join(quoting.string(word) for word in sorted(BOOLEANS))
        said = (
            f"CASE WHEN lower(trim({text})) IN ({words}) THEN TRY_CAST(trim({text}) AS BOOLEAN) END"
        )
        return Typed(BOOL, f"coalesce({plain}, {said})")
    if to == "FLOAT":
        plain = _number(value, to, original=original).lane("n")
        return Typed(NUMBER, f"coalesce({plain}, {double_of_text(text)})")
    # The double next to a number beyond 64 bits may be within.
    plain = quoting.string(_PLAIN)
    said = (
        f"CASE WHEN regexp_matches({text}, {plain}) "
        f"THEN {_within(f'regexp_extract({text}, {plain}, 1)')} "
        f"ELSE {_cut(double_of_text(text))} END"
    )
    sql = f"coalesce({_number(value, to, original=original).lane('x')}, {said})"
    return Typed(NUMBER, sql, integer=True, wide=True)


def number(value: Value) -> Value:
    """Return NUMBER: the number that a value is, or that its text says."""
    double, exact = value.lane("n"), value.lane("x")
    if value.mask & BOOL:
        flag = value.lane("b")
        double = f"coalesce({double}, {flag}::BIGINT::DOUBLE)"
        exact = f"coalesce({exact}, {flag}::BIGINT)"
    if value.mask & STRING:
        text = value.lane("s")
        double = f"coalesce({double}, {double_of_text(text)})"
        exact = f"coalesce({exact}, {_exact(text)})"
    return Numeric(double, exact, absent=MISSING)


def double_of_text(text: str) -> str:
    """Return SQL of the double that a text says; NULL where it says none."""
    # DuckDB reads 1e999 as infinity, which no text says.
    said = f"TRY_CAST(regexp_extract({text}, {quoting.string(_NUMBER)}) AS DOUBLE)"
    return f"nullif(nullif({said}, 'inf'::DOUBLE), '-inf'::DOUBLE)"


def _exact(text: str) -> str:
    """Return SQL of the whole number of 64 bits that a text says."""
    return _within(f"regexp_extract({text}, {quoting.string(_WHOLE)})")


def _within(digits: str) -> str:
    """Return SQL of the whole number of digits; NULL beyond 64 bits."""
    read = f"TRY_CAST({digits} AS {quoting.WIDE})"
    return f"CASE WHEN {operators.within(read)} THEN {read} END"


def _cut(double: str) -> str:
    """Return SQL of a double without its fraction; NULL beyond 64 bits."""
    fits = f"{double} >= -9223372036854775808 AND {double} < 18446744073709551616"
    return f"CASE WHEN {fits} THEN trunc({double})::HUGEINT::{quoting.WIDE} END"


def instant_of(text: str) -> str:
    """Return SQL of the time that a text says, UTC where it has no offset."""
    zoned = f"regexp_matches({text}, {quoting.string(_ZONED)})"
    has_time = f"regexp_matches({text}, '[0-9]:[0-9]')"
    read = f"CASE WHEN {zoned} OR NOT {has_time} THEN {text} ELSE trim({text}) || 'Z' END"
    # What the reader of inputs does not take, such as 2024-3-4, the engine may.
    us = f"coalesce(sdb_time({text}), epoch_us(TRY_CAST({read} AS TIMESTAMPTZ)))"
    return f"make_timestamp(CASE WHEN {us} BETWEEN {FIRST_US} AND {LAST_US} THEN {us} END)"


def decimal(value: Value, precision: int, scale: int) -> Value:
    """Return DECIMAL(p, s): a number rounded to `s` places, MISSING with too many digits."""
    known = number(value)
    type_ = f"DECIMAL({precision}, {scale})"
    forms = [f"round({known.lane('n')}, {scale})"]
    if value.integer or not isinstance(value, Typed):
        forms.insert(0, known.lane("x"))
    if value.mask & STRING:
        said = f"regexp_extract({value.lane('s')}, {quoting.string(_NUMBER)})"
        forms.insert(0, f"trim({said})")
    exact = ", ".join([f"TRY_CAST({form} AS {type_})" for form in forms])
    return Decimal(f"coalesce({exact})", precision, scale, absent=MISSING)


def _whole_text(value: Value) -> Value:
    """Return the text of any value, for TRY_CAST and ``::``; of lists and structures, JSON."""
    if isinstance(value, Typed):
        return _string(value)
    texts = [value.lane("s")] if value.mask & STRING else []
    if value.mask & TIME:
        time = Typed(TIME, value.lane("u"))
        texts.append(f"trim({time.lane('j')}, '\"')")
    if value.mask & ~(STRING | TIME | NULL | MISSING):
        texts.append(f"CASE WHEN {value.lane('t')} > {NULL} THEN {value.lane('j')} END")
    return Typed(STRING, f"coalesce({', '.join(texts)})") if texts else Nothing()


def _string(value: Value) -> Value:
    """Return a text: for fields that of strings and numbers, for computed values of any type."""
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


def _nested(value: Value, kind: int) -> Value:
    if not value.mask & kind:
        return Nothing()
    if value.mask == kind:
        return value
    return Chosen([(f"{value.lane('t')} = {kind}", Narrowed(value, kind))], Nothing())


def _number(value: Value, to: str, *, original: bool) -> Value:
    flag = value.lane("b")
    may_lose = to == "INTEGER" and not (original or value.integer)
    if to == "INTEGER":
        otherwise = {"otherwise": "NULL"} if may_lose else {}
        whole = value.lane("x") if value.integer else operators.truncated(value, **otherwise)
        terms = [whole] if value.mask & NUMBER else []
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
    absent = MISSING if may_lose or value.mask & ~(NUMBER | BOOL) else 0
    integer = to == "INTEGER"
    wide = integer and bool(value.mask & NUMBER) and (value.wide or not value.integer)
    return Typed(kind, sql, absent=absent, integer=integer, wide=wide)
