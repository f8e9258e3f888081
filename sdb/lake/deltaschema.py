"""Columns of a Delta table, and the values that its log has for partition columns."""

from __future__ import annotations

import json

from sdb.errors import CorruptError, InputError, UnsupportedError
from sdb.lake.columns import LIST, MAP, STRUCT, VARIANT, LakeColumn, LakeColumns, LakeType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import pyarrow as pa

    from sdb.lake.deltaactions import DeltaMetadata

_MODE = "delta.columnMapping.mode"
_STORED = "delta.columnMapping.physicalName"
_ID = "delta.columnMapping.id"
_INTEGERS = {"byte": "int8", "short": "int16", "integer": "int32", "long": "int64"}
_FLOATS = {"float": "float32", "double": "float64"}
_TIMES = frozenset({"timestamp", "timestamp_ntz"})
_OTHERS = frozenset({"string", "boolean", "binary", "date", "void"})
_PRIMITIVE = frozenset({*_INTEGERS, *_FLOATS, *_TIMES, *_OTHERS})
_TRUTH = {"true": True, "false": False}


def columns_of(metadata: DeltaMetadata, where: str) -> LakeColumns:
    """Read the columns of a table.

    * ``where``: The table, for messages.

    Raises
    ------
    CorruptError
        The schema is malformed.
    UnsupportedError
        Columns are found in files in an unknown way, or have an unknown type.
    """
    mode = metadata.configuration.get(_MODE, "none")
    if mode not in {"none", "name", "id"}:
        raise UnsupportedError(f"{where}: unknown column mapping {mode!r}")
    try:
        schema = json.loads(metadata.schema)
        columns = _fields(schema["fields"], mode)
        by_name = {column.name: column.stored for column in columns}
        partitions = frozenset(by_name[name] for name in metadata.partitions)
    except UnsupportedError as error:
        raise error.within(where) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptError(f"{where}: the schema is malformed: {error!r}", path=where) from None
    return LakeColumns(columns, partitions)


def _fields(members: list[dict[str, Any]], mode: str) -> tuple[LakeColumn, ...]:
    return tuple([_field(member, mode) for member in members])


def _field(member: dict[str, Any], mode: str) -> LakeColumn:
    name, more = str(member["name"]), member.get("metadata") or {}
    stored = name if mode == "none" else str(more[_STORED])
    number = int(more[_ID]) if mode == "id" else None
    return LakeColumn(name, stored, _type(member["type"], mode, name), number)


def _type(kind: str | dict[str, Any], mode: str, name: str) -> LakeType:
    if isinstance(kind, dict):
        match kind["type"]:
            case "struct":
                return LakeType(STRUCT, _fields(kind["fields"], mode))
            case "array":
                return LakeType(LIST, (_part("element", kind["elementType"], mode, name),))
            case "map":
                key = _part("key", kind["keyType"], mode, name)
                return LakeType(MAP, (key, _part("value", kind["valueType"], mode, name)))
        kind = str(kind["type"])
    if kind == VARIANT:
        return LakeType(VARIANT)
    if kind not in _PRIMITIVE and not kind.startswith("decimal("):
        raise UnsupportedError(f"column {name}: unknown type {kind!r}")
    return LakeType(kind)


def _part(part: str, kind: str | dict[str, Any], mode: str, name: str) -> LakeColumn:
    """Return a part of a list or a map, which has no name of its own in files."""
    return LakeColumn(part, part, _type(kind, mode, name))


def partition_value(kind: str, text: str | None) -> pa.Scalar:
    """Return the value that the log has for a partition column, in its type.

    * ``kind``: Name of the type in Delta.

    Raises
    ------
    InputError
        The text is no value of the type.
    """
    import pyarrow as pa

    if not text:  # the empty text is null, too
        return pa.scalar(None, pa.null())
    try:
        return _value(kind, text)
    except (ValueError, ArithmeticError, pa.ArrowException, KeyError):
        raise InputError(f"the partition value {text!r} is no {kind}") from None


def _value(kind: str, text: str) -> pa.Scalar:  # noqa: PLR0911 - one for each kind
    import pyarrow as pa

    if kind in _INTEGERS:
        return pa.scalar(int(text), pa.type_for_alias(_INTEGERS[kind]))
    if kind in _FLOATS:
        return pa.scalar(float(text), pa.type_for_alias(_FLOATS[kind]))
    if kind == "boolean":
        return pa.scalar(_TRUTH[text.lower()])
    if kind == "binary":
        # Characters are bytes; where one cannot be, the writer took the bytes for UTF-8.
        is_bytes = all(ord(letter) < 256 for letter in text)  # noqa: PLR2004
        return pa.scalar(text.encode("latin-1" if is_bytes else "utf-8", "surrogateescape"))
    if kind == "date":
        from datetime import date

        return pa.scalar(date.fromisoformat(text))
    if kind in _TIMES:
        from datetime import UTC, datetime

        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return pa.scalar(moment.astimezone(UTC), pa.timestamp("us", "UTC"))
    if kind.startswith("decimal("):
        from decimal import Decimal

        precision, scale = kind.removeprefix("decimal(").rstrip(")").split(",")
        return pa.scalar(Decimal(text), pa.decimal128(int(precision), int(scale)))
    return pa.scalar(text)
