"""Equality of values, as SQL: ``=``, IN, and IS NOT DISTINCT FROM.

In SQL a comparison with NULL is NULL. In the dialect of the original NULL is a value, which equals
NULL and differs from all others: that is what ``nulls`` says. MISSING never is a value.
"""

from __future__ import annotations

from itertools import chain

from sdb.query.analyze.types import LETTERS, LIST, MISSING, NULL, NUMBER, STRUCT, TIME
from sdb.query.duckdb_sql.values.lanes import Constant, Null, Value
from sdb.query.duckdb_sql.values.operators import (
    TimedText,
    compare_numbers,
    exact,
    is_double,
    same_numbers,
)
from sdb.query.duckdb_sql.values.standard import kind_of, null, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def equal(left: Value, right: Value, *, nulls: bool, holds: bool = False) -> str:
    """Return SQL of ``left = right``: NULL where a side is no value.

    * ``nulls``: Whether NULL is a value.
    * ``holds``: Whether it only matters where it is TRUE: then joins can hash both sides.
    """
    if (left.has_timed and right.mask & TIME) or (right.has_timed and left.mask & TIME):
        return _equal_timed(left, right, nulls=nulls, holds=holds)
    if isinstance(left, (Constant, Null)) and not isinstance(right, (Constant, Null)):
        left, right = right, left
    empty = _empty(nulls=nulls)
    common = left.mask & right.mask & ~empty
    if not common:
        return settled("false", left, right, nulls=nulls)
    if common & (common - 1) or common in {LIST, STRUCT}:
        return _as_texts(left, right, nulls=nulls)
    if common == NULL:
        test = f"({left.lane('t')} = 1 AND {right.lane('t')} = 1)"
    elif common == NUMBER:
        test = same_numbers(left, right) if holds else compare_numbers("=", left, right)
    else:
        test = f"({left.lane(LETTERS[common])} = {right.lane(LETTERS[common])})"
    if holds or not (left.mask | right.mask) & ~(common | empty):
        return test
    if nulls and right.mask & ~common and left.mask & ~common:
        return _as_texts(left, right, nulls=nulls)
    return settled(test, left, right, nulls=nulls)


def _equal_timed(left: Value, right: Value, *, nulls: bool, holds: bool) -> str:
    """Return SQL of ``left = right`` where one may be a text that is a time beside times."""
    if isinstance(left, TimedText):
        left, right = right, left
    if isinstance(right, TimedText):
        forms = (right.text, right.time)
        as_text, as_time = (equal(left, form, nulls=nulls, holds=holds) for form in forms)
        return f"({as_text} OR {as_time})"
    is_time = f"coalesce({left.lane('u')} = {right.lane('u')}, false)"
    return f"({_as_texts(left, right, nulls=nulls)} OR {is_time})"


def _as_texts(left: Value, right: Value, *, nulls: bool) -> str:
    """Compare texts that tell all values apart."""
    sides = [side.lane("k") if nulls else text(side) for side in (left, right)]
    return f"({sides[0]} = {sides[1]})"


def settled(sql: str, *operands: Value, nulls: bool) -> str:
    """Turn NULL into FALSE unless an operand is no value."""
    empty = [_absent(value, nulls=nulls) for value in operands if value.mask & _empty(nulls=nulls)]
    if not empty:
        return f"coalesce({sql}, false)"
    return f"CASE WHEN {' OR '.join(empty)} THEN NULL ELSE coalesce({sql}, false) END"


def same(left: Value, right: Value) -> str:
    """Return SQL of ``left IS NOT DISTINCT FROM right``, never NULL."""
    if isinstance(left, TimedText) or isinstance(right, TimedText):
        return f"coalesce({equal(left, right, nulls=False)}, false)"
    kind = kind_of(left)
    if kind in LETTERS and kind != NUMBER and kind == kind_of(right):
        sides = [side.lane(LETTERS[kind]) for side in (left, right)]
    else:
        sides = [text(left), text(right)]
    return f"({sides[0]} IS NOT DISTINCT FROM {sides[1]})"


def among(value: Value, items: Sequence[Value], *, nulls: bool) -> str:
    """Return SQL of ``value IN (items)``: NULL where nothing is equal, and something is NULL.

    * ``nulls``: Whether NULL is a value: then it is FALSE where nothing is equal.
    """
    empty = _empty(nulls=nulls)
    if not value.mask & ~empty:
        return "NULL::BOOLEAN"
    lists: dict[str, list[str]] = {}
    hits = []
    forms = [[item.text, item.time] if isinstance(item, TimedText) else [item] for item in items]
    for item in map(exact, chain.from_iterable(forms)):
        if isinstance(item, Constant) and (item.kind != NUMBER or is_double(item)):
            if value.mask & item.kind:
                letter = LETTERS[item.kind]
                lists.setdefault(letter, []).append(item.lane(letter))
        elif item.mask & ~empty:
            hits.append(f"coalesce({equal(value, item, nulls=nulls)}, false)")
    members = [f"{value.lane(letter)} IN ({', '.join(texts)})" for letter, texts in lists.items()]
    gaps = [] if nulls else [null(item) for item in items if item.mask & empty]
    kind = value.only if nulls else kind_of(value)
    if not hits and not gaps and len(members) == 1 and LETTERS.get(kind) in lists:
        return f"({members[0]})"
    hits += [f"coalesce({member}, false)" for member in members]
    hit = f"WHEN {' OR '.join(hits)} THEN true " if hits else ""
    gap = f"WHEN {' OR '.join(gaps)} THEN NULL " if gaps else ""
    return f"CASE WHEN {_absent(value, nulls=nulls)} THEN NULL {hit}{gap}ELSE false END"


def _empty(*, nulls: bool) -> int:
    """Return the types of what is no value."""
    return MISSING if nulls else NULL | MISSING


def _absent(value: Value, *, nulls: bool) -> str:
    """Return SQL that is true where there is no value, never NULL."""
    return value.missing() if nulls else null(value)
