"""Values under a schema: rows, structs, lists and maps whose columns have their own names."""

from __future__ import annotations

import json

from sdb.query.analyze.types import MISSING, STRUCT
from sdb.query.catalog.schemarows import default_of, inside, is_nested
from sdb.query.duckdb_sql.values import quoting
from sdb.query.duckdb_sql.values.case_values import Chosen, Narrowed
from sdb.query.duckdb_sql.values.lanes import Constant, Keyed, Nothing, Value
from sdb.query.syntax import ast
from sdb.table.schema.types import ListType, MapType, StructType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.query.catalog.dataset import ValuePath
    from sdb.query.catalog.schemarows import SchemaRows
    from sdb.table.schema.types import ColumnType, TableColumn

_SHAPED = "kvjze"
"""The lanes that have names of columns in them, or their number."""


class SchemaValue(Value):
    """A value with columns inside: they are found by their names, wherever they are stored.

    * ``base``: The value as it is stored.
    * ``rows``: The rows that it is of.
    * ``path``: Where it is stored, from the row on; None: somewhere in a list, or computed.
    """

    def __init__(
        self, base: Value, kind: ColumnType, rows: SchemaRows, path: ValuePath | None
    ) -> None:
        self.base = base
        self.kind = kind
        self.rows = rows
        self.path = path
        self.mask = base.mask
        self.declared = kind

    @property
    def stored(self) -> Value:
        """The value as rows have it."""
        return self.base

    def _lane(self, letter: str) -> str:
        if letter in _SHAPED and not self.rows.shows_all(self.kind, self.path):
            return self._shaped().lane(letter)
        return self.base.lane(letter)

    def _shaped(self) -> Value:
        """Return it with its columns by their names, and nothing else inside."""
        key, text = (
            f"sdb_under_schema({self.base.lane(letter)}, "
            f"{quoting.string(letter + json.dumps(request_of(self.kind, self.rows)))})"
            for letter in "kv"
        )
        return Keyed(key, self.mask, text)

    def missing(self) -> str:
        """Return SQL that is true when it is MISSING."""
        return self.base.missing()

    def step(self, step: str | int) -> Value:
        """Return the value of a column, or of an element.

        Raises `QueryError` if there is no column of the name.
        """
        if isinstance(self.kind, StructType):
            if not isinstance(step, str):
                return Nothing()
            return self._column(self.rows.column(self.kind, step))
        path = None if self.path is None or not isinstance(step, str) else (*self.path, step)
        return under(self.base.step(step), inside(self.kind, step), self.rows, path)

    def outputs(self) -> list[tuple[str, Value]]:
        """Return the columns of a row, in their order."""
        return [(column.name, self._column(column)) for column in self.rows.schema.columns]

    def _column(self, column: TableColumn) -> Value:
        is_row = self.kind is self.rows.row
        value: Value = Nothing()
        path = None if self.path is None else (*self.path, *column.path)
        if self.rows.presence(column):
            value = self.base
            for name in column.path:
                value = value.step(name)
            value = under(value, column.type, self.rows, path)
        default = default_of(column)
        if default is not None:
            lacks = value.missing()
            if not is_row:
                lacks = f"({lacks} AND {self.base.lane('t')} = {STRUCT})"
            if value.mask & MISSING:
                there = Narrowed(value, value.mask & ~MISSING) if is_row else value
                value = Chosen([(lacks, Constant(default.value))], there)
        value.declared = column.type
        value.is_column = True
        return value

    @property
    def item(self) -> ColumnType:
        """The type of the elements of a list."""
        return self.kind.item if isinstance(self.kind, ListType) else inside(self.kind, "")


def under(value: Value, kind: ColumnType, rows: SchemaRows, path: ValuePath | None) -> Value:
    """Return a stored value as one of a type."""
    if is_nested(kind):
        return SchemaValue(value, kind, rows, path)
    value.declared = kind
    return value


def request_of(kind: ColumnType, rows: SchemaRows) -> Any:  # noqa: ANN401 - JSON
    """Return which parts of values of a type have to change, as JSON: None where no part has to.

    A struct is a list of columns, each its name, its path, its default in a list, and what has to
    change inside; a list is an object with `item`, a map one with `value`.
    """
    if not is_nested(kind):
        return None
    if isinstance(kind, ListType):
        return {"item": request_of(kind.item, rows)}
    if isinstance(kind, MapType):
        return {"value": request_of(kind.value, rows)}
    assert isinstance(kind, StructType)  # noqa: S101 - no other type is nested
    columns = []
    for column in kind.columns:
        default = default_of(column)
        value: Any = None if default is None else default.value
        value = {"us": value.us} if isinstance(value, ast.Instant) else value
        path = list(column.path) if rows.presence(column) else None
        listed = None if default is None else [value]
        columns.append([column.name, path, listed, request_of(column.type, rows)])
    return columns
