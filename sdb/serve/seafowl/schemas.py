"""Schemas of Arrow as JSON, as clients send them with a CSV file: the columns and their types.

Types are written as Arrow's integration tests have them (``{"name": "int", "bitWidth": 32}``), or
by their names in Rust (``"Int64"``, ``{"Timestamp": ["Microsecond", null]}``).
"""

from __future__ import annotations

import json

import msgspec

from sdb.serve.problems import HttpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# By the first letters of a type's name
_TYPES = {
    "int": "int",
    "uint": "int",
    "float": "number",
    "decimal": "number",
    "utf8": "string",
    "largeutf8": "string",
    "bool": "bool",
    "date": "datetime",
    "timestamp": "datetime",
}


def hints_of(text: str, *, has_header: bool) -> bytes:
    """Return the hints for a CSV file with the columns of a schema.

    Raises `HttpError` if it is no schema, or has types that no column of a CSV file can have.

    >>> hints_of('{"fields": [{"name": "n", "data_type": "Int64"}]}', has_header=False)
    b'{"skip_records": 0, "fields": [{"name": "n", "type": "int"}]}'
    """
    try:
        schema = msgspec.json.decode(text.encode())
        fields = [_field(each) for each in schema["fields"]]
    except (msgspec.DecodeError, RecursionError, TypeError, KeyError) as error:
        raise HttpError(400, f"the schema cannot be read as one of Arrow: {error}") from None
    return json.dumps({"skip_records": int(has_header), "fields": fields}).encode()


def _field(members: dict[str, Any]) -> dict[str, str]:
    written = members["type"] if "type" in members else members["data_type"]
    if isinstance(written, dict):
        name = written["name"] if "name" in written else next(iter(written))
    else:
        name = str(written)
    plain = name.lower()
    for start, kind in _TYPES.items():
        if plain.startswith(start):
            return {"name": str(members["name"]), "type": kind}
    raise HttpError(400, f"the schema: a column of a CSV file has no type {name[:40]!r}")
