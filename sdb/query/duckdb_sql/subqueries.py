"""Sub-queries as values."""

from __future__ import annotations

from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import LETTERS, LIST, MISSING, NULL
from sdb.query.duckdb_sql import operators
from sdb.query.duckdb_sql.composed import Chosen
from sdb.query.duckdb_sql.lanes import Keyed, Nothing, Value
from sdb.query.duckdb_sql.levels import Level, Lookup
from sdb.query.duckdb_sql.made import whole_row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.duckdb_sql.context import Query, SqlContext
    from sdb.query.duckdb_sql.scope import Scope
    from sdb.query.syntax import ast


def scalar(select: ast.Select, scope: Scope, context: SqlContext, *, one: bool = False) -> Value:
    """Give value of ``(SELECT ...)``: a scalar, a structure or a list of structures."""
    query = context.plan(select, scope)
    if one and not query.single:
        raise rejected("scalar sub-query has unbounded results; use LIMIT 1", select)
    if one and len(query.columns) != 1:
        raise rejected(f"sub-query should have 1 column; have {len(query.columns)}", select)
    if not query.single:
        return _rows(query, context)
    lookup = Lookup(query.level, query.correlated)
    columns = query.through(lookup, optional=not query.certain)
    if len(columns) == 1:
        ((_, value),) = columns
        return value
    struct = whole_row(columns)
    if query.certain:
        return struct
    return Chosen([(f"{lookup.column('true')} IS NOT NULL", struct)], Nothing())


def _rows(query: Query, context: SqlContext) -> Value:
    """Give a list with a structure for each row, in their order."""
    struct = whole_row(query.columns)
    lanes = [(struct.lane(letter), letter) for letter in "kv"]
    rows = query.level.text([*lanes, ("row_number() OVER ()", "i")])
    if query.level.order:
        rows = f"SELECT k, v, row_number() OVER () AS i FROM ({query.level.text(lanes)}) AS o"
    key, text = (
        f"concat('[', string_agg(strlen({letter}) || ':' || {letter}, '' ORDER BY i))"
        for letter in "kv"
    )
    level = Level(context.name("q"), (f"({rows}) AS o",))
    lookup = Lookup(level, correlated=query.correlated)
    if not query.correlated:
        context.levels.append(level)
    return Keyed(lookup.column(key), LIST, lookup.column(text))


def exists(select: ast.Select, scope: Scope, context: SqlContext) -> str:
    """Give SQL of EXISTS."""
    query = context.plan(select, scope)
    if query.correlated:
        return f"EXISTS ({query.level.text([('1', 'c0')])})"
    return f"EXISTS (FROM {query.level.name})"


def contains(select: ast.Select, value: Value, scope: Scope, context: SqlContext) -> str:
    """Give SQL of ``value IN (SELECT ...)``: MISSING when the value is, else TRUE or FALSE."""
    query = context.plan(select, scope)
    if len(query.columns) != 1:
        raise rejected(f"IN sub-query should have 1 column; have {len(query.columns)}", select)
    item = query.columns[0][1]
    letter = LETTERS.get(item.only, "k")
    if letter == "n" or value.only != item.only or (item.mask | value.mask) & NULL:
        letter = "k"
    inner = item.lane(letter)
    if query.correlated:
        rows = query.level.text([(inner, "c0")])
        rows = f"SELECT c0 FROM ({rows}) AS i WHERE c0 IS NOT NULL"
    else:
        column = query.level.column(inner)
        rows = f"SELECT {column} FROM {query.level.name} WHERE {column} IS NOT NULL"
    found = f"({value.lane(letter)} IN ({rows}))"
    if not value.mask & MISSING:
        return f"coalesce({found}, false)"
    return operators.settled(found, value)
