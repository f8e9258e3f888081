"""Aggregates that choose a value of any type: by an order, by another value, or by frequency.

Values travel as typed text, so that what comes out is what the row had. Rows whose value is MISSING
are left out, but for the first and last of an order; in the dialect of the original there, too, and
so are rows that have no key.
"""

from __future__ import annotations

from sdb.query.analyze.types import BOOL, LIST, MISSING, NULL, NUMBER, STRING, TIME
from sdb.query.duckdb_sql.functions.strings import position
from sdb.query.duckdb_sql.values import standard
from sdb.query.duckdb_sql.values.case_values import Chosen, Filled
from sdb.query.duckdb_sql.values.casts import cast
from sdb.query.duckdb_sql.values.lanes import Keyed, Null, Typed, Value
from sdb.query.duckdb_sql.values.operators import sort_keys
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sdb.query.duckdb_sql.aggregates import AggregateCall
    from sdb.query.syntax import ast

_MOST_FREQUENT = 10_000
"""Most values that APPROX_TOP_K returns."""


def _present(value: Value) -> str:
    """Return SQL that is true where a value is neither MISSING nor NULL."""
    if isinstance(value, Typed):
        return f"{value.sql} IS NOT NULL" if value.absent else "true"
    return f"{value.lane('t')} > {NULL}" if value.mask & (MISSING | NULL) else "true"


def _sort_key(order: Sequence[str]) -> str:
    """Return SQL of one value that sorts as terms of ORDER BY do."""
    parts = []
    for term in order:
        sql, _, direction = term.rpartition(" ")
        if direction not in {"ASC", "DESC"}:
            sql, direction = term, "ASC"
        parts.append(f"{sql}, '{direction} NULLS LAST'")
    return f"create_sort_key({', '.join(parts)})"


def _as_it_was(call: AggregateCall, template: str, arg: Value, also: str) -> Value:
    """Return what an aggregate makes of the typed text of a value, which is there."""
    if not arg.mask & ~MISSING:
        return Null()
    text, key = arg.lane("v"), arg.lane("k")
    is_there = " AND ".join(part for part in (f"{key} IS NOT NULL", also) if part != "true")
    chosen = call(template.replace("{}", text, 1), is_there)  # keys may have braces, too
    return Keyed(f"coalesce({chosen}, 'z')", arg.mask & ~MISSING | NULL)


def any_value(call: AggregateCall, arg: Value) -> Value:
    """Return ANY_VALUE: a value that is neither MISSING nor NULL."""
    return _as_it_was(call, "any_value({})", arg, _present(arg))


def by_extreme(name: str, *, skips: bool = False) -> Callable[..., Value]:
    """Return ARG_MIN or ARG_MAX: the value of the row in which another one is least or greatest.

    * ``skips``: Whether rows in which the value is NULL are left out, too.
    """

    def make(call: AggregateCall, arg: Value, by: Value) -> Value:
        key = _sort_key(sort_keys(by, descending=False, nulls_last=True))
        also = f"{_present(by)} AND {_present(arg)}" if skips else _present(by)
        return _as_it_was(call, f"{name}({{}}, {key})", arg, also)

    return make


def at_end(
    call: AggregateCall,
    arg: Value,
    sorts: Sequence[tuple[Value, ast.Sort]],
    *,
    is_last: bool,
    keeps: bool,
) -> Value:
    """Return FIRST or LAST: the value of the first or last row of an order.

    * ``keeps``: Whether rows that lack the value or a key count, too.
    """
    keys = "true" if keeps else " AND ".join(_present(value) for value, _ in sorts)
    order = _sort_key(terms(sorts))
    template = f"{'arg_max' if is_last else 'arg_min'}({{}}, {order})"
    return _as_it_was(call, template, Filled(arg) if keeps else arg, keys)


def extreme(
    name: str, number: Callable[[AggregateCall, Value], Value]
) -> Callable[[AggregateCall, Value], Value]:
    """Return MIN or MAX.

    It is that of the numbers; where there are none that of the times, then of the texts, then of
    the booleans: one type is never compared with another.
    """

    def make(call: AggregateCall, arg: Value) -> Value:
        limbs: list[tuple[str, Value]] = []
        if arg.mask & NUMBER:
            first = call(f"{name}({arg.lane('n')})")
            limbs.append((f"{first} IS NOT NULL", number(call, arg)))
        for kind, letter in ((TIME, "u"), (STRING, "s"), (BOOL, "b")):
            if arg.mask & kind:
                value = Typed(kind, call(f"{name}({arg.lane(letter)})"), absent=NULL)
                limbs.append((f"{value.sql} IS NOT NULL", value))
        if not limbs:
            # As the scan says it: the NULL of a number.
            return number(call, arg)
        *others, (_, last) = limbs
        return Chosen(others, last) if others else last

    return make


def histogram(call: AggregateCall, arg: Value, most: Value | None = None) -> Value:
    """Return HISTOGRAM or APPROX_TOP_K: values with their counts, the most frequent ones first."""
    key = arg.lane("k")
    counts = call(f"histogram({key})", f"{key} <> 'z'")
    rank = "{'rank': -(entry.value::BIGINT), 'key': entry.key}"
    entries = f"list_sort(list_transform(map_entries({counts}), lambda entry: {rank}))"
    if most is not None:
        entries = f"list_slice({entries}, 1, least({position(most)}, {_MOST_FREQUENT}))"
    # The text of a structure: the length of each name and value before it.
    number = "'n' || (-(entry['rank']))::VARCHAR"
    count = f"'5:count' || strlen({number}) || ':' || {number}"
    value = "'5:value' || strlen(entry['key']) || ':' || entry['key']"
    text = f"'{{' || {count} || {value}"
    items = f"list_transform({entries}, lambda entry: strlen({text}) || ':' || {text})"
    return Keyed(f"coalesce('[' || array_to_string({items}, ''), 'z')", LIST | NULL)


# Aggregates that put the values of a group together, or choose the most frequent one.


def terms(sorts: Sequence[tuple[Value, ast.Sort]]) -> list[str]:
    """Return terms of ORDER BY inside of an aggregate."""
    order = []
    for value, sort in sorts:
        if sort.original and value.mask & MISSING:
            order.append(f"{value.missing()} ASC")
        order += standard.sort_keys(value, sort)
    return order


@record
class ListedValues:
    """The values that ARRAY_AGG or STRING_AGG puts together."""

    arg: Value
    order: tuple[str, ...]  # terms of ORDER BY
    distinct: bool
    descending: bool = False  # whether values that come once are wanted in descending order
    most: int | None = None  # how many at most

    def listed(self, call: AggregateCall, sql: str) -> str:
        """Return SQL of the list of what an expression gives, where it gives a value."""
        cut = "" if self.most is None else f"[1:{self.most}]"
        known = f"{sql} IS NOT NULL"
        if not (self.distinct and self.order):
            keys = [sql] if self.distinct else self.order
            sorts = f" ORDER BY {', '.join(keys)}" if keys else ""
            values = call(f"list({'DISTINCT ' * self.distinct}{sql}{sorts})", known)
            return f"({values}){cut}" if cut else values
        # The only key is the value itself; DuckDB sorts by what it tells apart.
        members = [f"'{letter}': {self.arg.lane(letter)}" for letter in "nuk"]
        value = f"{{{', '.join(members)}, 'x': {sql}}}"
        way = " DESC" * self.descending
        values = call(f"list(DISTINCT {value} ORDER BY {value}{way})", known)
        return f"list_transform({values}, lambda item: item.x){cut}"


def array(call: AggregateCall, collected: ListedValues) -> Value:
    """Return ARRAY_AGG: all that is there, NULL too, as a list."""
    if not collected.arg.mask & ~MISSING:
        return Null()

    def text(letter: str) -> str:
        items = collected.listed(call, collected.arg.lane(letter))
        sized = f"list_transform({items}, lambda item: strlen(item) || ':' || item)"
        return f"coalesce('[' || array_to_string({sized}, ''), 'z')"

    return Keyed(text("k"), LIST | NULL, text("k" if collected.distinct else "v"))


def joined(call: AggregateCall, collected: ListedValues, separator: str) -> Value:
    """Return STRING_AGG: the texts of values, with a separator between them."""
    text = cast(collected.arg, "STRING", reads_texts=True).lane("s")
    items = collected.listed(call, text)
    return Typed(STRING, f"array_to_string({items}, {separator})", absent=NULL)


def mode(call: AggregateCall, arg: Value) -> Value:
    """Return MODE: the value that occurs most; of several the one whose key comes first."""
    key = arg.lane("k")
    counts = call(f"histogram({key})", f"{key} <> 'z'")
    entry = "{'rank': -(entry.value::BIGINT), 'key': entry.key}"
    first = f"list_min(list_transform(map_entries({counts}), lambda entry: {entry}))"
    return Keyed(f"coalesce(({first})['key'], 'z')", arg.mask & ~MISSING | NULL)
