"""Operators of the dialect `standard`: what is MISSING is NULL to each of them.

Logic has three values. SQL's own NULL stands for both where a lane has one type.
"""

from __future__ import annotations

from copy import copy

from sdb.query.analyze.types import BOOL, LETTERS, MISSING, NULL, NUMBER, STRUCT
from sdb.query.duckdb_sql.values.case_values import Chosen, Filled
from sdb.query.duckdb_sql.values.lanes import Keyed, Nothing, Null, Typed, Value, Whole
from sdb.query.duckdb_sql.values.numeric import Numeric
from sdb.query.duckdb_sql.values.operators import value_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax import ast

_EMPTY = NULL | MISSING


def kind_of(value: Value) -> int:
    """Return the one type that a value has where it is not NULL; 0: there are several."""
    types = value.mask & ~_EMPTY
    return 0 if types & (types - 1) else types


def null(value: Value) -> str:
    """Return SQL that is true where a value is NULL or MISSING, never NULL."""
    if not value.mask & _EMPTY:
        return "false"
    if not value.mask & ~_EMPTY:
        return "true"
    if not value.mask & NULL:
        return value.missing()
    if isinstance(value, Typed):
        return f"({value.sql} IS NULL)"
    letter = LETTERS.get(kind_of(value))
    if letter:
        return f"({value.lane('x' if value.whole else letter)} IS NULL)"
    return f"({value.lane('t')} <= {NULL})"


def key(value: Value) -> str:
    """Return SQL that is the same for equal values, and NULL for those that are NULL."""
    if isinstance(value, Typed):
        return value.sql
    if not value.mask & NULL:
        return value.key()
    kind = kind_of(value)
    if kind in LETTERS and kind != NUMBER:
        return value.lane(LETTERS[kind])
    return f"nullif({value.lane('k')}, 'z')"


def of_key(value: Value, column: str, *, optional: bool = False) -> Value:
    """Return what a column of such keys has, NULL in the place of MISSING.

    * ``optional``: Whether it is NULL where there is no key, too.
    """
    absent = NULL if optional or value.mask & _EMPTY else 0
    if isinstance(value, Typed):
        return value.like(column, absent)
    own = key(value)
    if own == value.lane("k") or own.startswith("nullif("):
        sql = f"coalesce({column}, 'z')" if absent else column
        return Keyed(sql, value.mask & ~MISSING | absent)
    if value.whole:
        return Whole(column, absent=absent, wide=value.wide, bounds=value.bounds)
    return Typed(kind_of(value), column, absent=absent)


def text(value: Value) -> str:
    """Return SQL of a text that tells all values apart, NULL where it is."""
    key_text = value.lane("k")
    return f"nullif({key_text}, 'z')" if value.mask & NULL else key_text


def truth(value: Value) -> str:
    """Return SQL of a value where a boolean stands: any other value is NULL."""
    return value.lane("b") if value.mask & BOOL else "NULL::BOOLEAN"


def sort_keys(value: Value, sort: ast.Sort) -> list[str]:
    """Return terms of ORDER BY; what is MISSING sorts as NULL."""
    terms = value_keys(value, "greatest({}, 1)", descending=sort.descending)
    if value.mask & _EMPTY:
        terms.insert(0, f"{null(value)} {'DESC' if sort.is_null_first else 'ASC'}")
    return terms


def without_nulls(row: Value) -> Value:
    """Return a structure, known by its key, without the members that are NULL."""
    members = f"list_filter(sdb_key_members({row.lane('k')}), lambda member: member.key <> 'z')"
    sized = "strlen({0}) || ':' || {0}"
    text = f"{sized.format('member.name')} || {sized.format('member.key')}"
    texts = f"list_transform({members}, lambda member: {text})"
    return Keyed(f"('{{' || array_to_string({texts}, ''))", STRUCT)


def computed(value: Value) -> Value:
    """Return what an operator has made of values: NULL where it would be MISSING."""
    if isinstance(value, Nothing):
        return Null()
    if isinstance(value, Typed | Numeric):
        if value.absent != MISSING:
            return value
        value = copy(value)
        value.absent, value.mask = NULL, value.mask & ~MISSING | NULL
        return value
    letter = LETTERS.get(kind_of(value))
    if isinstance(value, Chosen) and value.mask & _EMPTY and letter not in {None, "n"}:
        return Typed(kind_of(value), value.lane(str(letter)), absent=NULL)
    return Filled(value) if value.mask & MISSING else value
