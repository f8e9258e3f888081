"""Types of columns for Arrow, which are the same whatever the rows have.

========================  =====================================================
type                      in Arrow
========================  =====================================================
boolean; integer; double  bool; int64; float64
string; binary            utf8; binary
timestamp; date           timestamp(us, UTC); date32
decimal(p,s)              decimal128(p, s)
struct; list              struct with its columns in their order; list
variant; map              utf8 with the JSON text of each value: the metadata
                          of the field have ``sdb.encoding = json``
========================  =====================================================
"""

from __future__ import annotations

from sdb.table.schema.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    DecimalType,
    ListType,
    StructType,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa

    from sdb.table.schema.types import ColumnType, TableColumn

_ENCODED = {"sdb.encoding": "json"}


def arrow_schema(columns: Iterable[TableColumn]) -> pa.Schema:
    """Return the schema of Arrow that columns have, by their names."""
    import pyarrow as pa

    return pa.schema([arrow_field(column.name, column.type) for column in columns])


def arrow_field(name: str, kind: ColumnType) -> pa.Field:
    """Return the field of Arrow that a column of a type becomes."""
    import pyarrow as pa

    scalars = {
        BOOLEAN: pa.bool_(),
        INTEGER: pa.int64(),
        DOUBLE: pa.float64(),
        STRING: pa.utf8(),
        BINARY: pa.binary(),
        TIMESTAMP: pa.timestamp("us", "UTC"),
        DATE: pa.date32(),
    }
    if kind in scalars:
        return pa.field(name, scalars[kind])
    if isinstance(kind, DecimalType):
        return pa.field(name, pa.decimal128(kind.precision, kind.scale))
    if isinstance(kind, ListType):
        return pa.field(name, pa.list_(arrow_field("item", kind.item)))
    if isinstance(kind, StructType):
        inner = [arrow_field(column.name, column.type) for column in kind.columns]
        return pa.field(name, pa.struct(inner))
    return pa.field(name, pa.utf8(), metadata=_ENCODED)


def surely_fits(field: pa.Field, kind: ColumnType) -> bool:
    """Return whether all values of a column of Arrow are of a type.

    * ``field``: The column that was made of the values, see :mod:`sdb.packfile.read.arrow`.
    """
    import pyarrow as pa

    of = field.type
    if pa.types.is_null(of):
        return True
    wanted = arrow_field("", kind)
    if wanted.metadata:
        return True
    if (field.metadata or {}).get(b"sdb.encoding") == b"json":
        return False
    if isinstance(kind, StructType):
        inner = {column.name: column.type for column in kind.columns}
        return bool(pa.types.is_struct(of)) and all(
            surely_fits(member, inner[member.name]) for member in of if member.name in inner
        )
    if isinstance(kind, ListType):
        return bool(pa.types.is_list(of)) and surely_fits(of.value_field, kind.item)
    tests: dict[ColumnType, Callable[[pa.DataType], bool]] = {
        BOOLEAN: pa.types.is_boolean,
        INTEGER: pa.types.is_int64,
        DOUBLE: lambda of: pa.types.is_floating(of) or pa.types.is_int64(of),
        STRING: pa.types.is_string,
        BINARY: pa.types.is_binary,
        TIMESTAMP: pa.types.is_timestamp,
    }
    return kind in tests and tests[kind](of)
