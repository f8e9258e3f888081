"""Columns of a Delta table, as its log has them."""

from __future__ import annotations

import json

from sdb.errors import CorruptError, UnsupportedError
from sdb.lake.columns import LIST, MAP, STRUCT, VARIANT, LakeColumn, LakeColumns, LakeType
from sdb.lake.partitions import PRIMITIVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.delta.actions import DeltaMetadata

_MODE = "delta.columnMapping.mode"
_STORED = "delta.columnMapping.physicalName"
_ID = "delta.columnMapping.id"


def columns_of(metadata: DeltaMetadata, where: str) -> LakeColumns:
    """Read the columns of a table.

    * ``where``: The table, for messages.

    Raises `CorruptError` if the schema is malformed; `UnsupportedError` if columns are found in
    files in an unknown way, or have an unknown type.
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
    if kind not in PRIMITIVE and not kind.startswith("decimal("):
        raise UnsupportedError(f"column {name}: unknown type {kind!r}")
    return LakeType(kind)


def _part(part: str, kind: str | dict[str, Any], mode: str, name: str) -> LakeColumn:
    """Return a part of a list or a map, which has no name of its own in files."""
    return LakeColumn(part, part, _type(kind, mode, name))
