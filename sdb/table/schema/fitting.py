"""Columns of Arrow in the types of a schema; what does not fit is null, and counted.

Rust makes columns of stored rows for a *draft* of the types: dates are instants there, decimals the
JSON text of each number, so that nothing is rounded. They are finished here.
"""

from __future__ import annotations

from sdb.records import replace
from sdb.table.schema.arrowtypes import arrow_field
from sdb.table.schema.columns import DAY_US, fits_decimal
from sdb.table.schema.types import (
    BINARY,
    DATE,
    STRING,
    TIMESTAMP,
    DecimalType,
    ListType,
    StructType,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import pyarrow as pa

    from sdb.table.schema.types import ColumnType


def draft_field(name: str, kind: ColumnType, *, has_texts: bool = False) -> pa.Field:
    """Return the field that Rust makes for a column of a type.

    * ``has_texts``: Whether bytes are texts in base64, as queries return them.
    """
    import pyarrow as pa

    if kind == DATE:
        return arrow_field(name, TIMESTAMP)
    if kind == BINARY and has_texts:
        return arrow_field(name, STRING)
    if isinstance(kind, DecimalType):
        return pa.field(name, pa.utf8(), metadata={"sdb.encoding": "json"})
    if isinstance(kind, ListType):
        return pa.field(name, pa.list_(draft_field("item", kind.item, has_texts=has_texts)))
    if isinstance(kind, StructType):
        inner = [
            draft_field(column.name, column.type, has_texts=has_texts) for column in kind.columns
        ]
        return pa.field(name, pa.struct(inner))
    return arrow_field(name, kind)


def as_texts(kind: ColumnType) -> ColumnType:
    """Return a type whose bytes are texts, as queries return them."""
    if kind == BINARY:
        return STRING
    if isinstance(kind, ListType):
        return ListType(as_texts(kind.item))
    if isinstance(kind, StructType):
        columns = [
            replace(column, path=(column.name,), type=as_texts(column.type), default=None, since=0)
            for column in kind.columns
        ]
        return StructType(tuple(columns))
    return kind


def finished(array: pa.Array, kind: ColumnType) -> pa.Array:
    """Return a column of a draft in its type; what does not fit is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = arrow_field("", kind)
    if array.type == wanted.type:
        return array
    if kind == DATE:
        us = array.cast(pa.int64())
        days = pc.floor(pc.divide(us.cast(pa.float64()), float(DAY_US))).cast(pa.int32())
        is_day = pc.equal(pc.multiply(days.cast(pa.int64()), DAY_US), us)
        return pc.if_else(is_day, days, None).cast(pa.int32()).cast(pa.date32())
    if isinstance(kind, DecimalType):
        return pa.array([_decimal(text, kind) for text in array.to_pylist()], wanted.type)
    if kind == BINARY:
        return pa.array([bytes_of(text) for text in array.to_pylist()], pa.binary())
    if isinstance(kind, StructType):
        arrays = [finished(array.field(at), column.type) for at, column in enumerate(kind.columns)]
        return pa.StructArray.from_arrays(
            arrays, fields=list(wanted.type), mask=array.is_null() if array.null_count else None
        )
    assert isinstance(kind, ListType)  # noqa: S101 - no other type has a draft
    flat = finished(array.values, kind.item)
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(array.offsets, flat, type=wanted.type, mask=mask)


def _decimal(text: str | None, kind: DecimalType) -> Any:  # noqa: ANN401 - a decimal
    import json
    from decimal import Decimal

    value = None if text is None else json.loads(text)
    is_number = type(value) in {int, float}
    return Decimal(repr(value)) if is_number and fits_decimal(kind, value) else None


def bytes_of(text: str | None) -> bytes | None:
    """Return the bytes of a text in base64; None for other texts."""
    import binascii

    try:
        return None if text is None else binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return None
