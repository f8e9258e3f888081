"""Rows under a schema: what a reader gets of a row, and how a row departs from it.

Rows are Python values as :mod:`sdb.ion` has them: instants are datetimes, bytes are bytes, and a
field that is not there is MISSING.
"""

from __future__ import annotations

import re

from sdb import instants, ion
from sdb.records import record
from sdb.table.schema import eras
from sdb.table.schema.columns import DAY_US, ITEMS, VALUES, fits_decimal, instant_us, shown
from sdb.table.schema.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    VARIANT,
    DecimalType,
    ListType,
    MapType,
    ScalarType,
    StructType,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from sdb.table.schema.columns import Path, TableSchema
    from sdb.table.schema.types import ColumnType, TableColumn

_MOST_EXACT = 1 << 53
_INTEGERS = range(-(1 << 63), 1 << 63)
_MISSING: Any = object()
UNKNOWN_FIELD = "no column has the field"
REQUIRED = "it is required, and has no value"


@record
class Departure:
    """One way in which a row departs from a schema."""

    column: str  # the names that lead to the column, or to the field that no column has
    reason: str
    value: object = None
    is_mendable: bool = False  # whether it means a value of the type of the column


def shown_row(schema: TableSchema, row: Mapping[str, Any], era: int) -> dict[str, Any]:
    """Return the columns of a row by their names; those without a value are left out.

    * ``era``: That of the packfile of the row.
    """
    return _shown(schema, schema.columns, row, era)


def _shown(
    schema: TableSchema, columns: tuple[TableColumn, ...], row: Mapping[str, Any], era: int
) -> dict[str, Any]:
    result = {}
    for column in columns:
        value = _value_at(schema, column, row, era)
        if value is not _MISSING:
            result[column.name] = _inner(schema, column.type, value, era)
        elif column.default is not None:
            result[column.name] = shown_default(column)
    return result


def shown_default(column: TableColumn) -> object:
    """Return what rows without the field of a column show: an instant for the text of one."""
    default = column.default
    is_instant = column.type in {TIMESTAMP, DATE} and isinstance(default, str)
    us = instant_us(str(default)) if is_instant else None
    return default if us is None else ion.instant_from_us(us)


def _inner(schema: TableSchema, kind: ColumnType, value: Any, era: int) -> Any:  # noqa: ANN401
    if isinstance(kind, StructType) and isinstance(value, dict):
        return _shown(schema, kind.columns, value, era)
    if isinstance(kind, ListType) and isinstance(value, list):
        return [_inner(schema, kind.item, item, era) for item in value]
    if isinstance(kind, MapType) and isinstance(value, dict):
        return {name: _inner(schema, kind.value, item, era) for name, item in value.items()}
    return value


def _value_at(schema: TableSchema, column: TableColumn, row: Mapping[str, Any], era: int) -> Any:  # noqa: ANN401 - of any type
    if column.since and not eras.has_rows(schema, column, era):
        return _MISSING
    value: Any = row
    for name in column.path:
        if not isinstance(value, dict) or name not in value:
            return _MISSING
        value = value[name]
    return value


def departures(
    schema: TableSchema, row: Mapping[str, Any], era: int, *, is_new: bool = True
) -> list[Departure]:
    """Return all ways in which a row departs from a schema, in the order of its columns.

    * ``era``: That of the packfile of the row.
    * ``is_new``: Whether the row comes in now; stored ones may have values of dropped columns.
    """
    dropped = frozenset() if is_new else schema.dropped
    return list(_Judge(schema, era, dropped).of_struct(schema.columns, row, (), ()))


class _Judge:
    """Finds departures of one row."""

    def __init__(self, schema: TableSchema, era: int, dropped: frozenset[Path]) -> None:
        self._schema, self._era, self._dropped = schema, era, dropped

    def of_struct(
        self, columns: tuple[TableColumn, ...], row: Mapping[str, Any], names: Path, path: Path
    ) -> Iterator[Departure]:
        """Find those of the row itself, or of a struct with columns."""
        for column in columns:
            own = (*names, column.name)
            value = _value_at(self._schema, column, row, self._era)
            if value is _MISSING or value is None:
                if column.required and not (value is _MISSING and column.default is not None):
                    yield Departure(shown(own), REQUIRED)
            else:
                yield from self._of_value(column.type, value, own, (*path, *column.path))
        yield from self._unknown(tuple([column.path for column in columns]), row, names, path)

    def _unknown(
        self, paths: tuple[Path, ...], row: Mapping[str, Any], names: Path, path: Path
    ) -> Iterator[Departure]:
        """Find fields that are no column, and lead to none."""
        plain = {rest[0] for rest in paths if len(rest) == 1}
        for name, value in row.items():
            if name in plain:
                continue
            inner = tuple([rest[1:] for rest in paths if rest[0] == name])
            own, own_path = (*names, name), (*path, name)
            if all(inner) and own_path in self._dropped:
                continue
            if inner and all(inner) and isinstance(value, dict):
                yield from self._unknown(inner, value, own, own_path)
            elif all(inner) and not (inner and value is None):
                yield Departure(shown(own), UNKNOWN_FIELD, value)

    def _of_value(
        self,
        kind: ColumnType,
        value: Any,  # noqa: ANN401 - of any type
        names: Path,
        path: Path,
    ) -> Iterator[Departure]:
        if isinstance(kind, StructType) and isinstance(value, dict):
            yield from self.of_struct(kind.columns, value, names, path)
        elif isinstance(kind, ListType) and isinstance(value, list):
            yield from self._of_parts(kind.item, value, (*names, ITEMS), (*path, ITEMS))
        elif isinstance(kind, MapType) and isinstance(value, dict):
            parts = value.values()
            yield from self._of_parts(kind.value, parts, (*names, VALUES), (*path, VALUES))
        elif not has_type(kind, value):
            reason = f"expected {_plain(kind)}, got {type_name(value)}"
            yield Departure(shown(names), reason, value, meant(kind, value) is not None)

    def _of_parts(
        self, kind: ColumnType, parts: Iterable[Any], names: Path, path: Path
    ) -> Iterator[Departure]:
        for part in parts:
            if part is not None:
                yield from self._of_value(kind, part, names, path)


def mended(kind: ColumnType, value: Any) -> Any:  # noqa: ANN401 - of any type
    """Return a value with all that it means in the place of what it has instead."""
    if isinstance(kind, ListType) and isinstance(value, list):
        return [mended(kind.item, item) for item in value]
    if isinstance(kind, MapType) and isinstance(value, dict):
        return {name: mended(kind.value, item) for name, item in value.items()}
    if isinstance(kind, StructType) and isinstance(value, dict):
        for column in kind.columns:
            value = _mended_at(column.path, column.type, value)
        return value
    if value is None or has_type(kind, value):
        return value
    instead = meant(kind, value)
    return value if instead is None else instead


def _mended_at(path: Path, kind: ColumnType, value: Any) -> Any:  # noqa: ANN401 - of any type
    if not path:
        return mended(kind, value)
    if not isinstance(value, dict) or path[0] not in value:
        return value
    return value | {path[0]: _mended_at(path[1:], kind, value[path[0]])}


def has_type(kind: ColumnType, value: Any) -> bool:  # noqa: ANN401 - of any type
    """Return whether a value without parts is of a type."""
    if isinstance(kind, ScalarType):
        return _TESTS[kind.name](value)
    return (
        isinstance(kind, DecimalType) and type(value) in {int, float} and fits_decimal(kind, value)
    )


def _is_double(value: Any) -> bool:  # noqa: ANN401 - of any type
    return type(value) is float or (type(value) is int and abs(value) <= _MOST_EXACT)


def _is_date(value: Any) -> bool:  # noqa: ANN401 - of any type
    us = ion.instant_to_us(value)
    return us is not None and us % DAY_US == 0


_TESTS: dict[str, Callable[[Any], bool]] = {
    VARIANT.name: lambda _: True,
    BOOLEAN.name: lambda value: type(value) is bool,
    INTEGER.name: lambda value: type(value) is int and value in _INTEGERS,
    DOUBLE.name: _is_double,
    STRING.name: lambda value: isinstance(value, str),
    BINARY.name: lambda value: isinstance(value, bytes),
    TIMESTAMP.name: lambda value: ion.instant_to_us(value) is not None,
    DATE.name: _is_date,
}


def type_name(value: Any) -> str:  # noqa: ANN401 - of any type
    """Return the name of the type of a value, as departures have it."""
    if isinstance(value, bool):
        return BOOLEAN.name
    if isinstance(value, int):
        return INTEGER.name if value in _INTEGERS else "an integer beyond 64 bits"
    if ion.instant_to_us(value) is not None:
        return TIMESTAMP.name
    names = (
        (float, DOUBLE.name),
        (str, STRING.name),
        (bytes, BINARY.name),
        (list, "list"),
        (dict, "struct"),
    )
    return next((name for kind, name in names if isinstance(value, kind)), type(value).__name__)


def _plain(kind: ColumnType) -> str:
    """Return the name of a type without those of its parts."""
    if isinstance(kind, StructType):
        return "struct"
    if isinstance(kind, ListType):
        return "list"
    return "struct (map)" if isinstance(kind, MapType) else str(kind)


# Texts and numbers by which JSON and CSV mean values of a column that they have no type for.

_DECIMAL = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:.*)?", re.DOTALL)


_TEXTS = 1 << 7 | 1 << 8
_NO_TEXTS = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 6


def sources_of(kind: ColumnType) -> int:
    """Return the types of values that may mean one of a type without parts, as bits of masks."""
    if kind == STRING:
        return _NO_TEXTS
    return _TEXTS if kind in {DATE, TIMESTAMP} or isinstance(kind, DecimalType) else 0


def takes_ordinary(kind: ColumnType) -> bool:
    """Return whether values of a type, or of its parts, may come as others."""
    if isinstance(kind, StructType):
        return any(takes_ordinary(column.type) for column in kind.columns)
    if isinstance(kind, ListType):
        return takes_ordinary(kind.item)
    return takes_ordinary(kind.value) if isinstance(kind, MapType) else bool(sources_of(kind))


def meant(kind: ColumnType, value: Any) -> object | None:  # noqa: ANN401 - of any type
    """Return the value of a type that one of another type means; None: it means none.

    >>> from sdb.table.schema.types import DATE, STRING, DecimalType
    >>> meant(STRING, 12345), meant(DecimalType(5, 2), "12.50"), meant(DATE, "2026-13-01")
    ('12345', 12.5, None)
    """
    if kind == STRING:
        return _text(value)
    if not isinstance(value, str):
        return None
    if isinstance(kind, DecimalType):
        return _number(kind, value)
    us = instant_us(value) if _INSTANT.fullmatch(value) else None
    if kind not in {DATE, TIMESTAMP} or us is None or (kind == DATE and us % DAY_US):
        return None
    return ion.instant_from_us(us)


def _text(value: Any) -> str | None:  # noqa: ANN401 - of any type
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    us = ion.instant_to_us(value)
    return None if us is None else instants.text(us)


def _number(kind: DecimalType, text: str) -> int | float | None:
    """Return the number that shows the digits of a text; None: none does, or they are too many."""
    from decimal import Decimal

    if _DECIMAL.fullmatch(text) is None:
        return None
    exact = Decimal(text)
    is_whole = exact == exact.to_integral_value() and -(1 << 63) <= exact < 1 << 64
    number = int(exact) if is_whole else float(exact)
    return number if Decimal(repr(number)) == exact and fits_decimal(kind, number) else None
