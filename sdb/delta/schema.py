"""Columns and statistics as the Delta protocol writes them."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal

from sdb.lake.columntypes import BINARY, JSON, published
from sdb.lake.footer import MOST_TEXT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.lake.columntypes import Columns, ColumnType
    from sdb.lake.footer import ParquetFile

MOST_RANGES = 256
"""Number of columns, the first ones, of which an entry of the log has bounds."""

_LAST_CODE = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def schema_text(columns: Columns) -> str:
    """Return the text of a schema; columns with another name than their field say so."""
    return json.dumps(schema_of(columns), ensure_ascii=False, separators=(",", ":"))


def schema_of(columns: Columns) -> dict[str, Any]:
    """Return a schema as plain values; columns with another name than their field say so."""
    schema = _struct(columns)
    for entry, (field, name) in zip(schema["fields"], published(columns).items(), strict=True):
        if field != name:
            entry["name"] = name
            entry["metadata"] |= {"sdb.field": field}
    return schema


def _struct(columns: Columns) -> dict[str, Any]:
    fields = [
        {
            "name": name,
            "type": _type(kind),
            "nullable": True,
            "metadata": _encoding(kind),
        }
        for name, kind in columns.items()
    ]
    return {"type": "struct", "fields": fields}


def _encoding(kind: ColumnType) -> dict[str, Any]:
    """Return what the metadata of a field say of JSON texts, which items of lists have none for."""
    lists = 0
    while isinstance(kind, list):
        kind, lists = kind[0], lists + 1
    return {"sdb.encoding": "list<" * lists + "json" + ">" * lists} if kind == JSON else {}


def _type(kind: ColumnType) -> Any:  # noqa: ANN401 - JSON
    if isinstance(kind, dict):
        return _struct(kind)
    if isinstance(kind, list):
        return {"type": "array", "elementType": _type(kind[0]), "containsNull": True}
    return "string" if kind == JSON else kind


def statistics_text(file: ParquetFile, columns: Columns) -> str:
    """Return the statistics of a file as an entry of the log has them.

    * ``columns``: The columns of the table, with their types, by the fields of rows.
    """
    names = published(columns)
    columns = {names[name]: kind for name, kind in columns.items()}
    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for column in file.ranges[:MOST_RANGES]:
        kind = _kind_at(columns, column.path)
        if column.nulls is not None:
            _put(nulls, column.path, column.nulls)
        if kind in {None, JSON, BINARY} or column.least is None:
            continue
        low, high = _bound(column.least), _upper(column.most)
        if low is not None:
            _put(least, column.path, low)
        if high is not None:
            _put(most, column.path, high)
    facts = {"numRecords": file.rows, "minValues": least, "maxValues": most, "nullCount": nulls}
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _kind_at(columns: Columns, path: tuple[str, ...]) -> ColumnType:
    kind: ColumnType = columns
    for name in path:
        kind = kind.get(name) if isinstance(kind, dict) else None
    return kind


def _put(tree: dict[str, Any], path: tuple[str, ...], value: object) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value


def _bound(value: Any) -> Any:  # noqa: ANN401 - of any type
    """Return a value as statistics have it, cut at its end: what sorts before it or is it."""
    if isinstance(value, datetime):
        at = value.astimezone(UTC) if value.tzinfo else value
        return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if at.year >= 1000 else None  # noqa: PLR2004
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else None
    if isinstance(value, date):
        return value.isoformat() if value.year >= 1000 else None  # noqa: PLR2004
    if isinstance(value, str):
        return value[:MOST_TEXT]
    if isinstance(value, float) and value in {float("inf"), float("-inf")}:
        return None
    return value if isinstance(value, bool | int | float) else None


def _upper(value: Any) -> Any:  # noqa: ANN401 - of any type
    """Return a value as statistics have it, or one that sorts behind all that begins as it does."""
    if not isinstance(value, str) or len(value) <= MOST_TEXT:
        return _bound(value)
    head = value[:MOST_TEXT]
    while head and ord(head[-1]) >= _LAST_CODE:
        head = head[:-1]
    if not head:
        return None
    code = ord(head[-1]) + 1
    if code in _SURROGATES:
        code = _SURROGATES.stop
    return head[:-1] + chr(code)
