"""Aggregates that put the values of a group together, or choose the most frequent one."""

from __future__ import annotations

from sdb.query.analyze.types import LIST, MISSING, NULL, STRING
from sdb.query.duckdb_sql.values import standard
from sdb.query.duckdb_sql.values.casts import cast
from sdb.query.duckdb_sql.values.lanes import Keyed, Null, Typed, Value
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.query.duckdb_sql.aggregates import AggregateCall
    from sdb.query.syntax import ast


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
