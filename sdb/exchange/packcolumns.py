"""The columns that the rows of a packfile have."""

from __future__ import annotations

from sdb.lake.columntypes import (
    BIG,
    BINARY,
    BOOLEAN,
    DOUBLE,
    JSON,
    LONG,
    STRING,
    TIMESTAMP,
)
from sdb.packfile.read.arrow import Scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from sdb.lake.columntypes import Columns, ColumnType
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.fieldcounts import FieldPath

_KINDS = (
    (1 << 1, BOOLEAN),
    (0b11 << 2, LONG),
    (0b111 << 2, DOUBLE),
    (1 << 6, TIMESTAMP),
    (0b11 << 7, STRING),
    (0b11 << 9, BINARY),
)
_LIST, _STRUCT = 1 << 11, 1 << 13


def columns_of(pack: Packfile) -> Columns:
    """Return the columns of the rows of a packfile; its rows are read if its trailer is vague."""
    trailer = pack.trailer
    if not trailer.blocks:
        return {}
    presence = trailer.sparse.presence()
    if presence is None or not presence.complete:
        return observed_columns(pack)
    children: dict[FieldPath, list[FieldPath]] = {}
    masks = {path: count.types for path, count in presence.fields.items()}
    for path in masks:
        children.setdefault(path[:-1], []).append(path)

    def kind_of(path: FieldPath) -> ColumnType:
        mask = masks[path] & ~1
        inner = children.get(path, ())
        if not mask:
            return None
        if mask == _LIST:
            return [kind_of(inner[0]) if inner else None]
        if mask == _STRUCT:
            return {str(child[-1]): kind_of(child) for child in inner}
        return next((kind for bits, kind in _KINDS if not mask & ~bits), JSON)

    return {str(path[0]): kind_of(path) for path in children.get((), ())}


def observed_columns(pack: Packfile) -> Columns:
    """Return the columns of the rows of a packfile, of which all rows are read."""
    schema = Scan([(pack, pack.select())]).schema
    return {field.name: _from_arrow(field) for field in schema}


def _from_arrow(field: pa.Field) -> ColumnType:
    from pyarrow import types

    kind = field.type
    if (field.metadata or {}).get(b"sdb.encoding") == b"json":
        return JSON
    if types.is_list(kind):
        return [_from_arrow(kind.value_field)]
    if types.is_struct(kind):
        return {inner.name: _from_arrow(inner) for inner in kind}
    tests: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
        (types.is_boolean, BOOLEAN),
        (types.is_int64, LONG),
        (types.is_uint64, BIG),
        (types.is_decimal, BIG),
        (types.is_floating, DOUBLE),
        (types.is_timestamp, TIMESTAMP),
        (types.is_string, STRING),
        (types.is_binary, BINARY),
    )
    return next((name for test, name in tests if test(kind)), None)
