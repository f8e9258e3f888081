"""Types of columns that hold the rows of many packfiles.

A type is plain data, so that it can be stored as JSON and compared: the name of a scalar, a list
with the type of the items, or a dict with the types of the fields of a struct, in their order.
None stands for values that are all null.

=======================================  ==========================================================
values at a path (nulls aside)           type
=======================================  ==========================================================
booleans; text; timestamps; bytes        ``boolean``, ``string``, ``timestamp``, ``binary``
integers; some of them above 2^63-1      ``long``, ``decimal(20,0)``
integers and other numbers               ``double``
lists; structs                           ``[item]``; ``{name: type}``
values of kinds that do not go together  ``json``, the text of each value
=======================================  ==========================================================
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import TypeAlias

    import pyarrow as pa

    ColumnType: TypeAlias = "str | list[ColumnType] | dict[str, ColumnType] | None"
    Columns: TypeAlias = dict[str, ColumnType]
    NestedPath: TypeAlias = tuple[str, ...]

BOOLEAN, LONG, BIG, DOUBLE = "boolean", "long", "decimal(20,0)", "double"
TIMESTAMP, STRING, BINARY, JSON = "timestamp", "string", "binary", "json"
DATE = "date"
"""Type of columns that a schema calls so; of decimals it has any precision and scale."""
MOST_FIELDS = 1000
"""Structs that have more become JSON texts, and so do the widest ones where all have more."""
MOST_DEPTH = 5
"""What lies deeper becomes JSON text: names on the way from the row, that of the value included."""

_NUMBERS = (LONG, BIG, DOUBLE)
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)\Z")


def joined(first: ColumnType, second: ColumnType) -> ColumnType:
    """Return the type that values of two types have in common."""
    if first == second or second is None:
        return first
    if first is None:
        return second
    if isinstance(first, dict) and isinstance(second, dict):
        return joined_columns(first, second)
    if isinstance(first, list) and isinstance(second, list):
        return [joined(first[0], second[0])]
    if first in _NUMBERS and second in _NUMBERS:
        return max(first, second, key=lambda kind: _NUMBERS.index(str(kind)))
    return JSON


def joined_columns(first: Columns, second: Columns) -> Columns:
    """Return the columns of both; those that only the second one has come behind."""
    columns = dict(first)
    for name, kind in second.items():
        columns[name] = joined(columns.get(name), kind)
    return columns


def bounded(columns: Columns) -> Columns:
    """Make JSON text of what is deep, and of structs with too many fields."""
    shallow = {name: _bounded(kind, 1) for name, kind in columns.items()}
    while sum(map(_leaves, shallow.values())) > MOST_FIELDS:
        nested = [name for name, kind in shallow.items() if isinstance(kind, dict | list)]
        if not nested:
            break
        shallow[max(nested, key=lambda name: _leaves(shallow[name]))] = JSON
    return shallow


def _bounded(kind: ColumnType, depth: int, lists: int = 0) -> ColumnType:
    if isinstance(kind, list):
        return [_bounded(kind[0], depth, lists + 1)] if lists < MOST_DEPTH else JSON
    if not isinstance(kind, dict):
        return kind
    if kind and (depth >= MOST_DEPTH or len(kind) > MOST_FIELDS or not _are_names(kind)):
        return JSON
    return {name: _bounded(inner, depth + 1) for name, inner in kind.items()}


def _are_names(names: Iterable[str]) -> bool:
    """Return whether names can be those of columns: other engines do not tell cases apart."""
    lower = [name.lower() for name in names]
    return len(set(lower)) == len(lower) and all(name and "\0" not in name for name in lower)


def published(names: Iterable[str]) -> dict[str, str]:
    """Return the names that columns get: others where several differ only in their case.

    Returns: For each name the one of the column. Names that no column can have are left out.

    >>> published(["port", "Port", "PORT"])
    {'port': 'port', 'Port': 'Port_2', 'PORT': 'PORT_3'}
    """
    known = [name for name in names if "\0" not in name]
    taken = {name.lower() for name in known}
    seen: set[str] = set()
    columns = {}
    for name in known:
        column, number = name or "_", 2
        while column.lower() in seen or (column != name and column.lower() in taken):
            column, number = f"{name}_{number}", number + 1
        seen.add(column.lower())
        columns[name] = column
    return columns


def _leaves(kind: ColumnType) -> int:
    if isinstance(kind, list):
        return _leaves(kind[0])
    if isinstance(kind, dict):
        return sum(map(_leaves, kind.values())) or 1
    return 1


def chosen(kind: ColumnType) -> ColumnType:
    """Return the type that a column gets: one for structs without fields, and unknown items.

    None: it gets no column yet, since all of its values are null.
    """
    if isinstance(kind, list):
        return [chosen(kind[0]) or STRING]
    if isinstance(kind, dict):
        fields = {name: chosen(inner) for name, inner in kind.items()}
        return {name: inner for name, inner in fields.items() if inner is not None} or JSON
    return kind


def chosen_columns(columns: Columns) -> Columns:
    """Return the columns that a table gets: those that have a value in any row, typed."""
    typed = {name: chosen(kind) for name, kind in columns.items() if "\0" not in name}
    return {name: kind for name, kind in typed.items() if kind is not None}


def layout_of(wanted: Columns, present: Columns) -> Columns:
    """Return the columns of a file: those of which its rows have a value, or one if none has.

    Structs are whole: DuckDB 2.0 cannot read files together if some lack a struct in a struct.

    * ``present``: What the rows of the file have.
    """
    layout = {name: kind for name, kind in wanted.items() if present.get(name) is not None}
    # A file of columns needs one to have rows.
    return layout or dict([*wanted.items()][:1])


def fits(before: ColumnType, after: ColumnType) -> bool:
    """Return whether values in a file of one type can be read as another one: it has more fields.

    >>> fits({"a": "long"}, {"a": "long", "b": "json"}), fits("long", "double")
    (True, False)
    """
    if isinstance(before, dict) and isinstance(after, dict):
        return all(name in after and fits(kind, after[name]) for name, kind in before.items())
    if isinstance(before, list) and isinstance(after, list):
        return fits(before[0], after[0])
    return before == after


def texts(columns: Mapping[str, ColumnType], above: NestedPath = ()) -> Iterator[NestedPath]:
    """Yield the paths of the columns that hold JSON text."""
    for name, kind in columns.items():
        path = (*above, name)
        while isinstance(kind, list):
            kind, path = kind[0], (*path[:-1], f"{path[-1]}[]")  # noqa: PLW2901 - one level in
        if kind == JSON:
            yield path
        elif isinstance(kind, dict):
            yield from texts(kind, path)


def arrow_schema(columns: Columns) -> pa.Schema:
    """Return the schema that the core makes columns for."""
    import pyarrow as pa

    return pa.schema([_field(name, kind) for name, kind in columns.items()])


def _field(name: str, kind: ColumnType) -> pa.Field:
    import pyarrow as pa

    if isinstance(kind, dict):
        inner = pa.struct([_field(member, item) for member, item in kind.items()])
        return pa.field(name, inner)
    if isinstance(kind, list):
        return pa.field(name, pa.list_(_field("element", kind[0])))
    if kind == JSON:
        return pa.field(name, pa.string(), metadata={"sdb.encoding": "json"})
    simple = {
        BOOLEAN: pa.bool_(),
        LONG: pa.int64(),
        DOUBLE: pa.float64(),
        TIMESTAMP: pa.timestamp("us", "UTC"),
        STRING: pa.string(),
        BINARY: pa.binary(),
        DATE: pa.date32(),
    }
    if isinstance(kind, str) and (digits := _DECIMAL.match(kind)):
        return pa.field(name, pa.decimal128(int(digits[1]), int(digits[2])))
    return pa.field(name, simple[str(kind)])
