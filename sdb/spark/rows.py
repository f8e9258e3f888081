"""Rows of Spark as Ion, batch by batch.

Values stay what they are, with the exceptions of :mod:`sdb.packfile.parquet`. A VARIANT becomes the
value that it holds.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StructType,
    VariantType,
    VariantVal,
)

from sdb import ion
from sdb.packfile.parquet import column_values, parts

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    import pyarrow as pa

_INTEGERS = range(-(1 << 63), 1 << 64)


def encoded(
    batches: Iterable[pa.RecordBatch], schema: StructType, *, keep_nulls: bool
) -> Generator[bytes]:
    """Encode rows for a packer.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        The rows, as Spark hands them over.
    schema : StructType
        Their schema.
    keep_nulls : bool
        Whether fields that are null are written as such, or left out.

    Yields
    ------
    bytes
        An Ion stream of some rows, about a mebibyte.
    """
    kinds = [field.dataType for field in schema.fields]
    names = schema.names
    has_structs = not keep_nulls and any(map(_is_nested, kinds))
    for batch in batches:
        for part in parts(batch):
            columns = [
                [_opened(value, kind) for value in column.to_pylist()]
                if _has_variant(kind)
                else column_values(column)
                for column, kind in zip(part.columns, kinds, strict=True)
            ]
            rows: list[dict[str, Any]] = [
                dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)
            ]
            if has_structs:
                rows = [_without_nulls(row) for row in rows]
            elif not keep_nulls:
                rows = [{k: v for k, v in row.items() if v is not None} for row in rows]
            yield ion.dumps(rows or [{}] * part.num_rows)


def _is_nested(kind: DataType) -> bool:
    return isinstance(kind, StructType | ArrayType | MapType | VariantType)


def _has_variant(kind: DataType) -> bool:
    match kind:
        case StructType():
            return any(_has_variant(field.dataType) for field in kind.fields)
        case ArrayType():
            return _has_variant(kind.elementType)
        case MapType():
            return _has_variant(kind.valueType)
        case _:
            return isinstance(kind, VariantType)


def _opened(value: Any, kind: DataType) -> Any:  # noqa: ANN401 - any value of Arrow
    """Give a value with what its variants hold in their place."""
    match kind:
        case _ if value is None:
            return None
        case VariantType():
            return _plain(VariantVal(value["value"], value["metadata"]).toPython())
        case StructType():
            return {field.name: _opened(value[field.name], field.dataType) for field in kind.fields}
        case ArrayType():
            return [_opened(item, kind.elementType) for item in value]
        case MapType():
            return {str(name): _opened(item, kind.valueType) for name, item in value}
        case _:
            return _plain(value)


def _plain(value: Any) -> Any:  # noqa: ANN401, PLR0911 - any value of Python
    """Give a value that has an Ion form."""
    match value:
        case dict():
            return {str(name): _plain(content) for name, content in value.items()}
        case list():
            return [_plain(content) for content in value]
        case Decimal():
            whole = value == value.to_integral_value() and int(value) in _INTEGERS
            return int(value) if whole else float(value)
        case dt.datetime():
            return value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        case dt.date():
            return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
        case dt.timedelta():
            return value.total_seconds()
        case dt.time():
            return value.isoformat()
        case _:
            return value


def _without_nulls(value: Any) -> Any:  # noqa: ANN401 - any value of a row
    match value:
        case dict():
            return {
                name: _without_nulls(content)
                for name, content in value.items()
                if content is not None
            }
        case list():
            return [_without_nulls(item) for item in value]
        case _:
            return value
