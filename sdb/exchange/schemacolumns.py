"""Columns of a mirror by the schema of a version, and the files that have them.

A file keeps its *layout*: its columns, each with where its values came from and its type. So it is
known whether a file that was written for another schema reads the same under a new one.
"""

from __future__ import annotations

import json
from functools import cached_property

from sdb.delta.schema import schema_of
from sdb.lake.columntypes import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    JSON,
    LONG,
    STRING,
    TIMESTAMP,
    arrow_schema,
    bounded,
    published,
    texts,
)
from sdb.table.schema import types
from sdb.table.schema.eras import has_rows
from sdb.table.schema.types import DecimalType, ListType, MapType, StructType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    import pyarrow as pa

    from sdb.lake.columntypes import Columns, ColumnType, NestedPath
    from sdb.table.schema.columns import TableSchema
    from sdb.table.schema.types import ColumnType as SchemaType
    from sdb.table.schema.types import TableColumn

    Layout: TypeAlias = dict[str, Any]

_SCALARS: dict[SchemaType, str] = {
    types.BOOLEAN: BOOLEAN,
    types.INTEGER: LONG,
    types.DOUBLE: DOUBLE,
    types.STRING: STRING,
    types.BINARY: BINARY,
    types.TIMESTAMP: TIMESTAMP,
    types.DATE: DATE,
}


class SchemaColumns:
    """Columns that a mirror has of a version with a schema."""

    def __init__(self, schema: TableSchema) -> None:
        self._schema = schema
        self._of = {column.name: column for column in schema.columns if "\0" not in column.name}
        kinds = {name: _kind(column.type) for name, column in self._of.items()}
        self.columns: Columns = bounded(kinds)
        self.names = published(self.columns)
        self._shortened = {name for name, kind in kinds.items() if self.columns[name] != kind}
        declared = set(texts(kinds))
        self.texts: list[NestedPath] = [p for p in texts(self.columns) if p not in declared]

    @cached_property
    def schema_text(self) -> str:
        """The schema as a log of Delta has it."""
        entries = schema_of(self.columns)
        for entry in entries["fields"]:
            column = self._of[entry["metadata"].get("sdb.field", entry["name"])]
            _describe(entry, column)
        return json.dumps(entries, ensure_ascii=False, separators=(",", ":"))

    @cached_property
    def shape(self) -> str:
        """All on which it depends what files have, of packfiles of any era."""
        eras = sorted(self._schema.eras.items())
        shape = {
            name: [self.names[name], self._described(column, None), _sinces(column)]
            for name, column in self._of.items()
        }
        return json.dumps([shape, eras], ensure_ascii=False)

    def layout(self, present: Columns, era: int) -> Layout:
        """Return the layout of the file of a packfile: its columns, by their names in the mirror.

        * ``present``: The fields of its rows that have a value.
        * ``era``: That of the packfile.
        """
        wanted = {
            self.names[name]: self._described(column, era)
            for name, column in self._of.items()
            if not self._is_absent(column, present, era)
        }
        if wanted or not self._of:
            return wanted
        # A file of columns needs one to have rows.
        name, column = next(iter(self._of.items()))
        return {self.names[name]: self._described(column, era)}

    def has_rows_of(self, layout: Layout, wanted: Layout, present: Columns, era: int) -> bool:
        """Return whether a file reads under the schema as one that would be written now.

        * ``layout, wanted``: Its layout, and the one that it would have.
        * ``present, era``: As for :meth:`layout`.
        """
        inner = {self.names[name]: column for name, column in self._of.items()}
        for name, entry in wanted.items():
            if name not in layout or not self._reads_as(
                layout[name], entry, inner[name], present, era
            ):
                return False
        used = {name.lower() for name in inner}
        # A column that was dropped is passed over, unless another one has its name.
        return all(name in wanted or name.lower() not in used for name in layout)

    def _reads_as(
        self,
        file: Layout,
        wanted: Layout,
        column: TableColumn,
        present: ColumnType,
        era: int,
    ) -> bool:
        if json.dumps(file) == json.dumps(wanted):  # the order of the columns of a struct, too
            return True
        if not isinstance(column.type, StructType):
            return False
        outer = {name: value for name, value in file.items() if name != "type"}
        if outer != {name: value for name, value in wanted.items() if name != "type"}:
            return False
        had, has = file["type"], wanted["type"]
        if not isinstance(had, dict) or not isinstance(has, dict):
            return False
        had, has = had["columns"], has["columns"]
        inner = {each.name: each for each in column.type.columns}
        present = _at(present, column.path)
        if [name for name in has if name in had] != list(had):
            return False
        return all(
            self._reads_as(had[name], entry, inner[name], present, era)
            if name in had
            # DuckDB 2.0 cannot read files together if some lack a struct in a struct.
            else isinstance(entry["type"], str) and self._is_absent(inner[name], present, era)
            for name, entry in has.items()
        )

    def _is_absent(self, column: TableColumn, present: ColumnType, era: int) -> bool:
        """Return whether no row of a packfile shows a value of a column."""
        if column.default is not None:
            return False
        return not has_rows(self._schema, column, era) or _at(present, column.path) is None

    def _described(self, column: TableColumn, era: int | None) -> Layout:
        """Return on what the values of a column depend; None: in an era that has all of them."""
        entry = self._entry(column, era)
        if column.name in self._shortened:
            entry["as"] = self.columns[column.name]
        return entry

    def _entry(self, column: TableColumn, era: int | None) -> Layout:
        entry: Layout = {"path": list(column.path), "type": self._type(column.type, era)}
        if column.default is not None:
            entry["default"] = column.default
        if era is not None and not has_rows(self._schema, column, era):
            entry["hidden"] = True
        return entry

    def _type(self, kind: SchemaType, era: int | None) -> object:
        if isinstance(kind, StructType):
            return {"columns": {each.name: self._entry(each, era) for each in kind.columns}}
        if isinstance(kind, ListType):
            return [self._type(kind.item, era)]
        if isinstance(kind, MapType):
            return ["map", self._type(kind.value, era)]
        return str(kind)

    def fitted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows of a query as a file has them: with its names, and JSON texts."""
        import pyarrow as pa

        columns = {name: self.columns[name] for name in batch.schema.names}
        fields = arrow_schema(columns)
        arrays = [
            _shortened(array, columns[field.name], field.type)
            if field.name in self._shortened
            else array.cast(field.type)
            for array, field in zip(batch.columns, fields, strict=True)
        ]
        return pa.record_batch(arrays, schema=self.arrow(columns))

    def arrow(self, names: Any) -> pa.Schema:  # noqa: ANN401 - names of columns
        """Return the schema of a file with some columns."""
        import pyarrow as pa

        fields = arrow_schema({name: self.columns[name] for name in names})
        return pa.schema([field.with_name(self.names[field.name]) for field in fields])


def _kind(kind: SchemaType) -> ColumnType:
    if isinstance(kind, StructType):
        return {column.name: _kind(column.type) for column in kind.columns}
    if isinstance(kind, ListType):
        return [_kind(kind.item)]
    if isinstance(kind, DecimalType):
        return str(kind)
    return _SCALARS.get(kind, JSON)


def _at(present: ColumnType, path: NestedPath) -> ColumnType:
    """Return what rows have at a path; None: no value."""
    for name in path:
        if not isinstance(present, dict):
            return present
        present = present.get(name)
    return present


def _sinces(column: TableColumn) -> list[Any]:
    return [column.since, [_sinces(inner) for inner in column.columns]]


def _describe(entry: dict[str, Any], column: TableColumn) -> None:
    """Add the descriptions of a column, and of those in it, to its entry in a schema of Delta."""
    if column.description:
        entry["metadata"]["comment"] = column.description
    if column.required:
        entry["metadata"]["sdb.required"] = True
    kind, inner = entry["type"], {each.name: each for each in column.columns}
    while isinstance(kind, dict) and kind["type"] == "array":
        kind = kind["elementType"]
    for member in kind["fields"] if isinstance(kind, dict) else ():
        _describe(member, inner[member["name"]])


def _shortened(array: pa.Array, kind: ColumnType, wanted: pa.DataType) -> pa.Array:
    """Return an array with JSON texts of what lies too deep."""
    import pyarrow as pa

    is_nested = pa.types.is_struct(array.type) or pa.types.is_list(array.type)
    if pa.types.is_list(array.type):
        array = array.take(pa.array(range(len(array)), pa.int64()))  # no part of a longer one
    mask = array.is_null() if array.null_count else None
    if kind == JSON and is_nested:
        return pa.array([_json_text(value) for value in array.to_pylist()], pa.string())
    if isinstance(kind, dict):
        arrays = [
            _shortened(array.field(at), inner, wanted.field(at).type)
            for at, inner in enumerate(kind.values())
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(wanted), mask=mask)
    if isinstance(kind, list):
        flat = _shortened(array.values, kind[0], wanted.value_type)
        return pa.ListArray.from_arrays(array.offsets, flat, type=wanted, mask=mask)
    return array.cast(wanted)


def _json_text(value: object) -> str | None:
    if value is None:
        return None
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:  # noqa: ANN401 - of any type
    """Return a value of Arrow as JSON has it: without members that are null."""
    import base64
    from datetime import date, datetime
    from decimal import Decimal

    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime):
        from sdb import instants

        return instants.text(round(value.timestamp() * 1_000_000))
    return value.isoformat() if isinstance(value, date) else value
