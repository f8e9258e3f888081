"""Aggregates that put the values of a group together, or choose the most frequent one."""

from __future__ import annotations

from sdb.query.analyze.types import LIST, MISSING, NULL, STRING
from sdb.query.duckdb_sql.values.lanes import Keyed, Null, Typed, Value
from sdb.query.duckdb_sql.values.operators import sort_keys
from sdb.query.duckdb_sql.values.ordering import kept_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.query.duckdb_sql.aggregates import AggregateCall
    from sdb.query.syntax import ast


def terms(sorts: Sequence[tuple[Value, ast.Sort]], *, keeps: bool = False) -> list[str]:
    """Return terms of ORDER BY inside of an aggregate: what has no key comes last.

    * ``keeps``: Whether it comes first where NULLS FIRST says so.
    """
    order = []
    for value, sort in sorts:
        if keeps:
            order += kept_keys(value, sort)
            continue
        if value.mask & MISSING:
            order.append(f"{value.missing()} ASC")
        order += sort_keys(value, descending=sort.descending, nulls_last=sort.nulls_last)
    return order


def array(call: AggregateCall, arg: Value, order: Sequence[str], *, distinct: bool) -> Value:
    """Return ARRAY_AGG: all that is there, NULL too, as a list."""
    if not arg.mask & ~MISSING:
        return Null()

    def text(letter: str) -> str:
        sql = arg.lane(letter)
        items = call(f"list({_arguments([sql], order, distinct=distinct)})", f"{sql} IS NOT NULL")
        sized = f"list_transform({items}, lambda item: strlen(item) || ':' || item)"
        return f"coalesce('[' || array_to_string({sized}, ''), 'z')"

    return Keyed(text("k"), LIST | NULL, text("k" if distinct else "v"))


def joined(
    call: AggregateCall, arg: Value, separator: str, order: Sequence[str], *, distinct: bool
) -> Value:
    """Return STRING_AGG: the strings, with a separator between them."""
    if distinct and order:
        # The only key may be the text itself; DuckDB takes it as it stands.
        text = arg.lane("s")
        way = " DESC" if any(term.endswith(" DESC") for term in order) else ""
        sorted_ = f"DISTINCT {text}, {separator} ORDER BY {text}{way}"
        return Typed(STRING, call(f"string_agg({sorted_})"), absent=NULL)
    arguments = _arguments([arg.lane("s"), separator], order, distinct=distinct)
    return Typed(STRING, call(f"string_agg({arguments})"), absent=NULL)


def _arguments(args: list[str], order: Sequence[str], *, distinct: bool) -> str:
    """Write the arguments; values that come once come in their own order."""
    keys = [args[0]] if distinct else order
    sorted_ = f" ORDER BY {', '.join(keys)}" if keys else ""
    return f"{'DISTINCT ' * distinct}{', '.join(args)}{sorted_}"


def mode(call: AggregateCall, arg: Value) -> Value:
    """Return MODE: the value that occurs most; of several the one whose key comes first."""
    key = arg.lane("k")
    counts = call(f"histogram({key})", f"{key} <> 'z'")
    entry = "{'rank': -(entry.value::BIGINT), 'key': entry.key}"
    first = f"list_min(list_transform(map_entries({counts}), lambda entry: {entry}))"
    return Keyed(f"coalesce(({first})['key'], 'z')", arg.mask & ~MISSING | NULL)
