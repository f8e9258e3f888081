"""Columns of an Iceberg table, and values of the columns that it is partitioned by."""

from __future__ import annotations

from sdb.errors import UnsupportedError
from sdb.lake.columns import LIST, MAP, STRUCT, LakeColumn, LakeType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pyiceberg.types import IcebergType

_KINDS = {
    "int": "integer",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
    "timestamp_ns": "timestamp_ntz",
    "timestamptz_ns": "timestamp",
}


def column_of(field: Any, aliases: dict[int, Any]) -> LakeColumn:  # noqa: ANN401 - of pyiceberg
    """Return a column of a table, also below another one.

    * ``aliases``: Names in data files without ids, by the ids of columns.
    """
    if getattr(field, "initial_default", None) is not None:
        message = f"column {field.name}: defaults of Iceberg columns cannot be read yet"
        raise UnsupportedError(message)
    mapped = aliases.get(field.field_id)
    names = () if mapped is None else tuple(mapped.names)
    nested = {} if mapped is None else {part.field_id: part for part in mapped.fields}
    return LakeColumn(
        field.name, field.name, _type(field.field_type, nested), field.field_id, names
    )


def _type(kind: IcebergType, aliases: dict[int, Any]) -> LakeType:
    from pyiceberg.types import ListType, MapType, StructType

    if isinstance(kind, StructType):
        return LakeType(STRUCT, tuple([column_of(field, aliases) for field in kind.fields]))
    if isinstance(kind, ListType):
        element = _type(kind.element_type, _below(aliases, kind.element_id))
        return LakeType(LIST, (LakeColumn("element", "element", element),))
    if isinstance(kind, MapType):
        key = LakeColumn("key", "key", _type(kind.key_type, _below(aliases, kind.key_id)))
        value = LakeColumn("value", "value", _type(kind.value_type, _below(aliases, kind.value_id)))
        return LakeType(MAP, (key, value))
    name = str(kind)
    return LakeType(_KINDS.get(name, name.replace(" ", "")))


def _below(aliases: dict[int, Any], number: int) -> dict[int, Any]:
    mapped = aliases.get(number)
    return {} if mapped is None else {part.field_id: part for part in mapped.fields}


def partition_text(kind: str, value: object) -> str | None:
    """Return the value of a partition as a text in the form that Delta has for its type."""
    if value is None:
        return None
    from datetime import UTC, date, datetime, timedelta

    if isinstance(value, bool):
        return str(value).lower()
    if kind == "date" and isinstance(value, int):
        return (date(1970, 1, 1) + timedelta(days=value)).isoformat()
    if kind.startswith("timestamp") and isinstance(value, int):
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)).isoformat()
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return str(value)
