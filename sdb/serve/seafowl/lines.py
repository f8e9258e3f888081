"""Rows as clients of Seafowl read them: a line of JSON each, and their types in a header."""

from __future__ import annotations

import json
from datetime import date, datetime
from time import perf_counter
from typing import cast
from urllib.parse import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import pyarrow as pa

    from sdb.query.result.result import Result

_UNITS = {"s": "Second", "ms": "Millisecond", "us": "Microsecond", "ns": "Nanosecond"}
_NAMES = {
    "null": "Null",
    "bool": "Boolean",
    "int8": "Int8",
    "int16": "Int16",
    "int32": "Int32",
    "int64": "Int64",
    "uint8": "UInt8",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "float": "Float32",
    "double": "Float64",
    "string": "Utf8",
    "large_string": "LargeUtf8",
    "binary": "Binary",
}


def write_lines(result: Result, output: Any) -> int:  # noqa: ANN401 - a file with headers
    """Write the rows, and return how many there are."""
    began = perf_counter()
    schema, batches = result.arrow_batches()
    members = {"fields": [_field(each) for each in schema], "metadata": {}}
    text = quote(json.dumps(members, separators=(",", ":"), ensure_ascii=False), safe="")
    output.headers["content-type"] = f"application/json; arrow-schema={text}"
    output.headers["x-seafowl-query-time"] = str(round((perf_counter() - began) * 1000))
    count = 0
    for batch in batches:
        rows = batch.to_pylist()
        lines = [
            json.dumps(row, default=_plain, ensure_ascii=False, separators=(",", ":"))
            for row in rows
        ]
        output.write("".join(f"{line}\n" for line in lines).encode())
        count += len(rows)
    return count


def _plain(value: object) -> object:
    match value:
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case bytes():
            return value.hex()
        case _:
            return str(value)


def _field(field: pa.Field) -> dict[str, object]:
    return {
        "name": field.name,
        "data_type": _type(field.type),
        "nullable": True,
        "dict_id": 0,
        "dict_is_ordered": False,
        "metadata": {},
    }


def _type(kind: pa.DataType) -> object:
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        stamp = cast("pa.TimestampType", kind)
        return {"Timestamp": [_UNITS[stamp.unit], stamp.tz]}
    if pa.types.is_list(kind):
        return {"List": _field(cast("pa.ListType", kind).value_field)}
    if pa.types.is_struct(kind):
        struct = cast("pa.StructType", kind)
        return {"Struct": [_field(struct.field(at)) for at in range(struct.num_fields)]}
    return _NAMES.get(str(kind), "Utf8")
