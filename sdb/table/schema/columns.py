"""Columns, and the schema of a table: records, JSON, and all that is wrong with a schema at once.

A column lies at a *path*: names of fields, from the row on, or from the struct that has the column.
Where a struct with columns is the item of a list or the value of a map, that is from the item on.
"""

from __future__ import annotations

import json

from sdb.errors import InputError
from sdb.records import field, record
from sdb.table.schema.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    MOST_DEPTH,
    STRING,
    TIMESTAMP,
    VARIANT,
    DecimalType,
    ListType,
    MapType,
    StructType,
    TableColumn,
    decimal_of,
    shown_name,
    type_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, TypeAlias

    from sdb.table.schema.types import ColumnType

    Path: TypeAlias = tuple[str, ...]

OBSERVE, QUARANTINE, REJECT = "observe", "quarantine", "reject"
MODES = (OBSERVE, QUARANTINE, REJECT)
ITEMS, VALUES = "[]", "{}"
"""Steps of a path from the row on: into the items of a list, and into the values of a map."""
MOST_COLUMNS = 10_000
MOST_JSON_BYTES = 1 << 22
_MOST_NAME_LETTERS = 1_000
_INTEGERS = range(-(1 << 63), 1 << 63)
_COLUMN_MEMBERS = (
    "id",
    "name",
    "path",
    "type",
    "required",
    "default",
    "description",
    "aliases",
    "since",
)
_SCHEMA_MEMBERS = ("mode", "columns", "next_id", "era", "eras", "dropped")


@record
class TableSchema:
    """The schema of a version of a table."""

    columns: tuple[TableColumn, ...] = ()  # the columns, in the order of ``SELECT *``
    # What becomes of rows that depart from it: ``observe``, ``quarantine`` or ``reject``.
    mode: str = OBSERVE
    next_id: int = 1  # the id of the next column: greater than any that a column has had
    era: int = 0  # the era of rows that are written now, see :mod:`sdb.table.schema.eras`
    # For each era but 0 those that it followed.
    eras: dict[int, tuple[int, ...]] = field(default_factory=dict)
    # Paths from the row on that columns have had, and where rows still may have their values.
    dropped: frozenset[Path] = frozenset()

    def as_dict(self) -> dict[str, object]:
        """Return the schema as JSON has it."""
        members: dict[str, object] = {
            "mode": self.mode,
            "columns": [column.as_dict() for column in self.columns],
            "next_id": self.next_id,
        }
        if self.era:
            members["era"] = self.era
        if self.eras:
            members["eras"] = {str(era): list(parents) for era, parents in self.eras.items()}
        if self.dropped:
            members["dropped"] = [list(path) for path in sorted(self.dropped)]
        return members

    def dumps(self) -> bytes:
        """Return the JSON that versions keep: the same bytes for equal schemas."""
        return json.dumps(self.as_dict(), separators=(",", ":"), ensure_ascii=False).encode()

    @classmethod
    def loads(cls, text: str | bytes) -> TableSchema:
        """Read a schema, one that was stored or one that a user has written.

        Raises `InputError` if it is no JSON of a schema; the message has all that is wrong.
        """
        if len(text) > MOST_JSON_BYTES:
            raise InputError(f"the schema has more than {MOST_JSON_BYTES:,} bytes")
        try:
            value = json.loads(text)
        except ValueError as error:
            raise InputError(f"the schema is no JSON: {error}") from None
        except RecursionError:
            raise InputError("the schema is too deep") from None
        return cls.of_json(value)

    @classmethod
    def of_json(cls, value: object) -> TableSchema:
        """Read a schema from the value of its JSON: an object, or the list of its columns.

        Raises `InputError` if it is malformed; the message has all that is wrong.
        """
        schema, flaws = _SchemaReader().read(value)
        flaws += problems(schema)
        if flaws:
            raise InputError(_joined(flaws))
        return schema


def with_columns(kind: ColumnType, columns: tuple[TableColumn, ...]) -> ColumnType:
    """Return a type whose struct has other columns."""
    if isinstance(kind, ListType):
        return ListType(with_columns(kind.item, columns))
    if isinstance(kind, MapType):
        return MapType(with_columns(kind.value, columns))
    return StructType(columns) if isinstance(kind, StructType) else kind


def steps_of(kind: ColumnType) -> Path:
    """Return the steps from a value of a type to the struct that has its columns."""
    if isinstance(kind, ListType):
        return (ITEMS, *steps_of(kind.item))
    return (VALUES, *steps_of(kind.value)) if isinstance(kind, MapType) else ()


def walk(
    columns: tuple[TableColumn, ...], names: Path = (), path: Path = ()
) -> Iterator[tuple[Path, Path, TableColumn]]:
    """Iterate over columns and those inside them, the outer ones first.

    Yields: The names that lead to a column, its path from the row on, and the column.
    """
    for column in columns:
        own_names, own_path = (*names, column.name), (*path, *column.path)
        yield own_names, own_path, column
        yield from walk(column.columns, own_names, (*own_path, *steps_of(column.type)))


def shown(names: Path) -> str:
    """Return the names that lead to a column as people write them."""
    return ".".join(map(shown_name, names))


def problems(schema: TableSchema) -> list[str]:
    """Return all that is wrong with a schema."""
    flaws = []
    if schema.mode not in MODES:
        flaws.append(f"invalid mode {schema.mode!r}: expected {', '.join(MODES)}")
    everything = list(walk(schema.columns))
    if len(everything) > MOST_COLUMNS:
        flaws.append(f"{len(everything):,} columns, the limit is {MOST_COLUMNS:,}")
    known_ids: dict[int, Path] = {}
    for names, _, column in everything:
        name = shown(names)
        flaws += [f"the column {name}: {flaw}" for flaw in _flaws(column)]
        if not column.id:
            continue
        if column.id in known_ids:
            flaws.append(f"the columns {shown(known_ids[column.id])} and {name} have one id")
        known_ids[column.id] = names
        if column.id >= schema.next_id:
            flaws.append(f"the column {name}: its id {column.id} is not below next_id")
        if column.since and column.since not in schema.eras:
            flaws.append(f"the column {name}: unknown era {column.since}")
    flaws += _collisions(schema.columns, ())
    if schema.era and schema.era not in schema.eras:
        flaws.append(f"unknown era {schema.era}")
    return flaws


def flaw_of_default(kind: ColumnType, default: object) -> str:
    """Return the reason why a value cannot be the default of a column; empty: it can."""
    expected = ""
    if default is None:
        return ""
    if kind == BOOLEAN:
        expected = "" if type(default) is bool else "true or false"
    elif kind == INTEGER:
        is_fitting = type(default) is int and default in _INTEGERS
        expected = "" if is_fitting else "an integer of 64 bits"
    elif kind == DOUBLE:
        expected = "" if type(default) in {int, float} else "a number"
    elif isinstance(kind, DecimalType):
        is_fitting = type(default) in {int, float} and fits_decimal(kind, default)
        expected = "" if is_fitting else f"a number that is a {kind}"
    elif kind == STRING:
        expected = "" if type(default) is str else "a string"
    elif kind in {TIMESTAMP, DATE}:
        expected = _flaw_of_instant(kind, default)
    elif kind != VARIANT:
        expected = "none, since only columns of single values have one"
    elif type(default) not in {bool, int, float, str}:
        expected = "true, false, a number or a string"
    return f"invalid default {default!r}: expected {expected}" if expected else ""


def fits_decimal(kind: DecimalType, value: Any) -> bool:  # noqa: ANN401 - an int or a float
    """Return whether a number is a decimal: its shortest digits are few enough."""
    from decimal import Decimal, InvalidOperation

    try:
        number = Decimal(repr(value))
    except InvalidOperation:
        return False
    if not number.is_finite():
        return False
    scaled = number.scaleb(kind.scale)
    return scaled == scaled.to_integral_value() and abs(scaled) < 10**kind.precision


def instant_us(value: str) -> int | None:
    """Return the microseconds since 1970 of the text of an instant; None: no instant."""
    from sdb import _core

    return _core.time_of_date_or_time(value)


DAY_US = 86_400_000_000


def _flaw_of_instant(kind: ColumnType, default: object) -> str:
    us = instant_us(default) if type(default) is str else None
    if kind == DATE:
        return "" if us is not None and us % DAY_US == 0 else "a day, as in 2026-11-01"
    return "" if us is not None else "an instant, as in 2026-11-01T10:00:00Z"


def _flaws(column: TableColumn) -> Iterator[str]:
    for name in (column.name, *column.aliases, *column.path):
        if not name:
            yield "an empty name"
        elif len(name) > _MOST_NAME_LETTERS:
            yield f"a name of more than {_MOST_NAME_LETTERS:,} letters"
        elif any("\ud800" <= char <= "\udfff" for char in name):
            yield "a name that is no Unicode"
    if not column.path:
        yield "no path"
    if flaw := flaw_of_default(column.type, column.default):
        yield flaw
    if isinstance(column.type, StructType) and not column.type.columns:
        yield "a struct without columns (its type may be variant)"


def _collisions(columns: tuple[TableColumn, ...], names: Path) -> Iterator[str]:
    """Find names and paths that several columns of one struct have."""
    named: dict[str, str] = {}
    paths: dict[Path, str] = {}
    for column in columns:
        own = shown((*names, column.name))
        for name in (column.name, *column.aliases):
            if name in named:
                yield f"the columns {named[name]} and {own} are both called {shown((*names, name))}"
            named[name] = own
        for path, other in paths.items():
            if overlaps(path, column.path):
                yield f"the columns {other} and {own} are at one path, {shown(path)}"
        paths[column.path] = own
        yield from _collisions(column.columns, (*names, column.name))


def overlaps(first: Path, second: Path) -> bool:
    """Return whether one path is the other, or leads to it."""
    least = min(len(first), len(second))
    return first[:least] == second[:least]


def _joined(flaws: list[str]) -> str:
    most = 20
    rest = [f"and {len(flaws) - most:,} more"] if len(flaws) > most else []
    return "; ".join([*flaws[:most], *rest])


class _SchemaReader:
    """Reads a schema, and collects what is wrong with it."""

    def __init__(self) -> None:
        self.flaws: list[str] = []

    def read(self, value: object) -> tuple[TableSchema, list[str]]:
        """Return the schema, as far as it can be read, and what is wrong."""
        members = {"columns": value} if isinstance(value, list) else value
        if not isinstance(members, dict):
            self.flaws.append("invalid schema: expected an object with columns, or their list")
            return TableSchema(), self.flaws
        self._check_known(members, _SCHEMA_MEMBERS, "")
        mode = members.get("mode", OBSERVE)
        columns = self._columns(members.get("columns", []), (), 0)
        used = [column.id for _, _, column in walk(columns)]
        next_id = self._count(members, "next_id", 1 + max(used, default=0), "")
        eras = self._eras(members.get("eras", {}))
        dropped = frozenset(map(tuple, self._paths(members.get("dropped", []))))
        era = self._count(members, "era", 0, "")
        mode = mode if isinstance(mode, str) else repr(mode)
        return TableSchema(columns, mode, next_id, era, eras, dropped), self.flaws

    def _columns(self, value: object, names: Path, depth: int) -> tuple[TableColumn, ...]:
        if not isinstance(value, list):
            self.flaws.append(f"{_of(names)}columns: expected a list")
            return ()
        read = [self._column(item, names, depth) for item in value]
        return tuple([column for column in read if column is not None])

    def _column(self, value: object, names: Path, depth: int) -> TableColumn | None:
        if not isinstance(value, dict) or not isinstance(value.get("name"), str):
            self.flaws.append(f"{_of(names)}a column without a name")
            return None
        name = value["name"]
        own = (*names, name)
        self._check_known(value, _COLUMN_MEMBERS, _of(own))
        kind = self._type(value.get("type"), own, depth)
        if kind is None:
            return None
        required = value.get("required", False)
        if type(required) is not bool:
            self.flaws.append(f"{_of(own)}required: expected true or false")
        description = value.get("description", "")
        if not isinstance(description, str):
            self.flaws.append(f"{_of(own)}description: expected a string")
            description = ""
        default = value.get("default")
        return TableColumn(
            self._count(value, "id", 0, _of(own)),
            name,
            kind,
            tuple(self._texts(value.get("path", [name]), f"{_of(own)}path")),
            required=required is True,
            default=default,
            description=description,
            aliases=tuple(self._texts(value.get("aliases", []), f"{_of(own)}aliases")),
            since=self._count(value, "since", 0, _of(own)),
        )

    def _type(self, value: object, names: Path, depth: int) -> ColumnType | None:
        if depth > MOST_DEPTH:
            self.flaws.append(f"{_of(names)}more than {MOST_DEPTH} levels deep")
            return None
        if isinstance(value, str):
            try:
                return type_of(value)
            except InputError as error:
                hint = f" ({error.hint})" if error.hint else ""
                self.flaws.append(f"{_of(names)}{error.message}{hint}")
                return None
        if isinstance(value, dict):
            return self._nested(value, names, depth)
        self.flaws.append(f"{_of(names)}type: expected a string or an object")
        return None

    def _nested(self, value: dict[str, Any], names: Path, depth: int) -> ColumnType | None:
        kind = value.get("type")
        if kind == "struct":
            self._check_known(value, ("type", "columns"), _of(names))
            return StructType(self._columns(value.get("columns", []), names, depth + 1))
        if kind in {"list", "map"}:
            part = "item" if kind == "list" else "value"
            self._check_known(value, ("type", part), _of(names))
            inner = self._type(value.get(part), names, depth + 1)
            if inner is None:
                return None
            return ListType(inner) if kind == "list" else MapType(inner)
        if kind == "decimal":
            self._check_known(value, ("type", "precision", "scale"), _of(names))
            precision = self._count(value, "precision", 18, _of(names))
            try:
                return decimal_of(precision, self._count(value, "scale", 0, _of(names)))
            except InputError as error:
                self.flaws.append(f"{_of(names)}{error.message}")
                return None
        return self._type(kind, names, depth + 1)

    def _eras(self, value: object) -> dict[int, tuple[int, ...]]:
        eras = {}
        for era, parents in value.items() if isinstance(value, dict) else ():
            is_valid = str(era).isdecimal() and isinstance(parents, list)
            if not is_valid or not all(type(parent) is int for parent in parents):
                self.flaws.append(f"eras: invalid era {era!r}")
            else:
                eras[int(era)] = tuple(parents)
        return eras

    def _paths(self, value: object) -> list[list[str]]:
        if not isinstance(value, list):
            self.flaws.append("dropped: expected a list of paths")
            return []
        return [self._texts(path, "dropped") for path in value]

    def _texts(self, value: object, what: str) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            self.flaws.append(f"{what}: expected a list of strings")
            return []
        return value

    def _count(self, members: Mapping[str, object], name: str, default: int, where: str) -> int:
        value = members.get(name, default)
        if type(value) is not int or not 0 <= value < 1 << 63:
            self.flaws.append(f"{where}{name}: expected a number from 0 on")
            return default
        return value

    def _check_known(
        self, members: Mapping[str, object], names: tuple[str, ...], where: str
    ) -> None:
        from difflib import get_close_matches

        for name in members:
            if name not in names:
                near = get_close_matches(name, names, 1)
                hint = f", did you mean {near[0]}?" if near else ""
                self.flaws.append(f"{where}unknown member {name!r}{hint}")


def _of(names: Path) -> str:
    return f"the column {shown(names)}: " if names else ""
