"""Sub-queries as values."""

from __future__ import annotations

from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import LETTERS, LIST, MISSING, NULL
from sdb.query.duckdb_sql.functions.growth import looked
from sdb.query.duckdb_sql.scope import Level, Lookup
from sdb.query.duckdb_sql.values import equality, standard
from sdb.query.duckdb_sql.values.case_values import Chosen
from sdb.query.duckdb_sql.values.constructors import whole_row
from sdb.query.duckdb_sql.values.lanes import Keyed, Nothing, Value
from sdb.query.syntax import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sdb.query.duckdb_sql.scope import Query, Scope, SqlContext


def scalar(
    select: ast.Select, scope: Scope, context: SqlContext, *, is_single: bool = False
) -> Value:
    """Return value of ``(SELECT ...)``: a scalar, a structure or a list of structures."""
    query = context.plan(select, scope)
    if is_single and len(query.columns) != 1:
        raise rejected(f"sub-query should have 1 column; have {len(query.columns)}", select)
    # Where one value is wanted, the engine looks that there is no second row.
    if not query.single and not is_single:
        rows = _rows(query, context)
        return looked(rows) if context.growth.has_copies and not query.correlated else rows
    lookup = Lookup(query.level, query.correlated)
    columns = query.through(lookup, optional=not query.certain)
    if context.growth.has_copies and not query.correlated:
        columns = [(name, looked(value)) for name, value in columns]
    if len(columns) == 1:
        ((_, value),) = columns
        return value
    struct = whole_row(columns)
    if query.certain:
        return struct
    return Chosen([(f"{lookup.column('true')} IS NOT NULL", struct)], Nothing())


def _rows(query: Query, context: SqlContext) -> Value:
    """Return a list with a structure for each row, in their order."""
    struct = whole_row(query.columns)
    lanes = [(struct.lane(letter), letter) for letter in "kv"]
    rows = query.level.text([*lanes, ("row_number() OVER ()", "i")])
    if query.level.order:
        # Numbered above the ORDER BY, which DuckDB carries out behind window functions.
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
    """Return SQL of EXISTS."""
    query = context.plan(select, scope)
    if query.correlated:
        return f"EXISTS ({query.level.text([('1', 'c0')])})"
    return f"EXISTS (FROM {query.level.name})"


def contains(select: ast.Select, value: Value, scope: Scope, context: SqlContext) -> str:
    """Return SQL of ``value IN (SELECT ...)``, three-valued."""
    query = _of_columns(select, 1, "IN", scope, context)
    name, item = query.columns[0]
    _check_known(name, select)
    return _member(query, item, value)


def contains_original(select: ast.Select, value: Value, scope: Scope, context: SqlContext) -> str:
    """Return SQL of the original's IN: MISSING when the value is, else TRUE or FALSE."""
    query = _of_columns(select, 1, "IN", scope, context)
    _, item = query.columns[0]
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
    membership = f"({value.lane(letter)} IN ({rows}))"
    if not value.mask & MISSING:
        return f"coalesce({membership}, false)"
    return equality.settled(membership, value, nulls=True)


def _of_columns(
    select: ast.Select, count: int, word: str, scope: Scope, context: SqlContext
) -> Query:
    """Translate a query that a word takes with that many columns."""
    query = context.plan(select, scope)
    if len(query.columns) != count:
        columns = f"{count} column{'s' * (count > 1)}"
        have = len(query.columns)
        raise rejected(f"{word} sub-query should have {columns}; have {have}", select)
    return query


def _check_known(name: str, select: ast.Select) -> None:
    """Refuse a whole row of unknown columns where one column is wanted."""
    if not name:
        hint = "name the column: IN (SELECT key FROM ...)"
        raise rejected("the columns of this `*` are not known: they may be several", select, hint)


def _member(query: Query, item: Value, value: Value) -> str:
    """Return SQL of ``value IN (SELECT item ...)``, three-valued as it is in the engine."""
    kind = standard.kind_of(value)
    letter = LETTERS.get(kind) if kind == standard.kind_of(item) else None
    if letter in {None, "n"}:
        own, inner = (standard.text(each) for each in (value, item))
    else:
        own, inner = (each.lane(str(letter)) for each in (value, item))
    if query.correlated:
        return f"({own} IN ({query.level.text([(inner, 'c0')])}))"
    return f"({own} IN (SELECT {query.level.column(inner)} FROM {query.level.name}))"


def contains_row(
    select: ast.Select,
    values: Sequence[Value],
    scope: Scope,
    context: SqlContext,
    *,
    holds: bool = False,
) -> str:
    """Return SQL of ``(a, b) IN (SELECT ...)``; see `_row_member`."""
    level, columns = _compared_rows(select, len(values), scope, context)
    return _row_member(level, columns, values, holds=holds)


def _compared_rows(
    select: ast.Select, count: int, scope: Scope, context: SqlContext
) -> tuple[Level, list[Value]]:
    """Return the rows that ``(a, b) IN`` compares with, and their columns."""
    query = _of_columns(select, count, "IN", scope, context)
    part, reference = context.refer(query)
    columns = [column for _, column in query.through(reference, optional=False)]
    return Level(context.name("q"), (part,)), columns


def contains_original_row(
    select: ast.Select, values: Sequence[Value], scope: Scope, context: SqlContext
) -> str:
    """Return SQL of the original's ``(a, b) IN (SELECT ...)``: rows that lack a column are none."""
    level, columns = _compared_rows(select, len(values), scope, context)
    keys = [column.lane("k") for column in columns]
    level.conditions += [f"{key} IS NOT NULL" for key in keys]
    # One text: the engine compares no rows with a query that names one around it.
    rows = level.text([(_row_key(keys), "c0")])
    row = _row_key([value.lane("k") for value in values])
    return f"coalesce(({row} IN ({rows})), false)"


def _row_member(
    level: Level, columns: Sequence[Value], values: Sequence[Value], *, holds: bool
) -> str:
    """Return SQL of ``(a, b) IN (SELECT ...)``, three-valued.

    * ``holds``: Whether it only matters where it is TRUE: then the engine can hash both sides.
    """
    if holds:
        rows = level.text([(_row_key([standard.text(column) for column in columns]), "c0")])
        return f"({_row_key([standard.text(value) for value in values])} IN ({rows}))"
    equal = [equality.equal(*pair, nulls=False) for pair in zip(values, columns, strict=True)]
    test = f"{level.name}.{level.column(' AND '.join(equal))}"
    decided = f"bool_or({test}) THEN true WHEN bool_or({test} IS NULL) THEN NULL ELSE false"
    whole = Level(f"{level.name}w", (level,))
    return f"({whole.text([(f'CASE WHEN {decided} END', 'c0')])})"


def _row_key(keys: Sequence[str]) -> str:
    return " || ".join([f"strlen({key}) || ':' || {key}" for key in keys])


def quantified(
    node: ast.Quantified, compared: Callable[[Value], str], scope: Scope, context: SqlContext
) -> str:
    """Return SQL of a comparison with ANY or ALL rows of a query; those without a value are none.

    * ``compared``: Returns SQL of the comparison with a value: NULL where there is no order.
    """
    assert isinstance(node.items, ast.Subquery)  # noqa: S101 - others are written out
    every = node.every
    query = _of_columns(node.items.select, 1, "ALL" if every else "ANY", scope, context)
    part, reference = context.refer(query)
    ((_, item),) = query.through(reference, optional=False)
    rows = Level(context.name("q"), (part,))
    if item.mask & MISSING and node.original:
        rows.conditions.append(f"NOT {item.missing()}")
    # In a column first: an aggregate of nothing but names from outside would be one of that query.
    test = f"{rows.name}.{rows.column(compared(item))}"
    decides = f"bool_and({test}) = false" if every else f"bool_or({test})"
    whole = (
        f"CASE WHEN {decides} THEN {'false' if every else 'true'}"
        f" WHEN bool_or({test} IS NULL) THEN NULL ELSE {'true' if every else 'false'} END"
    )
    level = Level(context.name("q"), (rows,))
    return f"({level.text([(whole, 'c0')])})"


def settled(test: str, values: Sequence[Value]) -> str:
    """Return SQL of a test, MISSING where one of some values is."""
    missing = [value.missing() for value in values if value.mask & MISSING]
    return f"CASE WHEN {' OR '.join(missing)} THEN NULL ELSE {test} END" if missing else test
