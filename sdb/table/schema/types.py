"""Types of columns, and their texts: ``integer``, ``decimal(10,2)``, ``list<struct<a string>>``.

Rows hold booleans, integers, doubles, texts, bytes, instants, lists and structs. A type says which
of these a column has, and what readers get of them: a ``date`` is an instant at midnight, a
``decimal`` a number with few enough digits, a ``map`` a struct whose names are data.
"""

from __future__ import annotations

import re

from sdb.errors import InputError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias


MOST_DIGITS = 38
MOST_DEPTH = 32
_DEFAULT_DIGITS = 18


@record
class ScalarType:
    """A type without parts, known by its name."""

    name: str

    def __str__(self) -> str:
        """Return its name."""
        return self.name


@record
class DecimalType:
    """Numbers of at most `precision` digits, `scale` of them behind the point."""

    precision: int
    scale: int = 0

    def __str__(self) -> str:
        """Return it as it is written."""
        return f"decimal({self.precision},{self.scale})"


@record
class TableColumn:
    """A column of a table, or of a struct in one.

    Attributes
    ----------
    id : int
        What tells it from all other columns that the table has had; 0: it has none yet.
    name : str
        Its name in queries.
    type : ColumnType
        Its type.
    path : tuple of str
        The fields that lead to its values, from the struct that has the column.
    required : bool
        Whether each row has a value.
    default : bool, int, float, str or None
        The value of rows without the field; None: they have none.
    description : str
        What it is, for people.
    aliases : tuple of str
        Other names of it in queries.
    since : int
        The era whose rows have it; 0: rows of all eras.
    """

    id: int
    name: str
    type: ColumnType
    path: tuple[str, ...]
    required: bool = False
    default: bool | int | float | str | None = None
    description: str = ""
    aliases: tuple[str, ...] = ()
    since: int = 0

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """The columns inside it: those of its struct, also where that is an item or a value."""
        return columns_of(self.type)

    def as_dict(self) -> dict[str, object]:
        """Return the column as JSON has it; what is usual is left out."""
        members: dict[str, object] = {"id": self.id} if self.id else {}
        members["name"] = self.name
        if self.path != (self.name,):
            members["path"] = list(self.path)
        members["type"] = _type_json(self.type)
        if self.required:
            members["required"] = True
        if self.default is not None:
            members["default"] = self.default
        if self.description:
            members["description"] = self.description
        if self.aliases:
            members["aliases"] = list(self.aliases)
        if self.since:
            members["since"] = self.since
        return members


@record
class StructType:
    """Structs with their own columns."""

    columns: tuple[TableColumn, ...]

    def __str__(self) -> str:
        """Return it as it is written."""
        inner = ", ".join(f"{shown_name(column.name)} {column.type}" for column in self.columns)
        return f"struct<{inner}>"


@record
class ListType:
    """Lists whose items are of one type."""

    item: ColumnType

    def __str__(self) -> str:
        """Return it as it is written."""
        return f"list<{self.item}>"


@record
class MapType:
    """Structs whose names are data, with values of one type."""

    value: ColumnType

    def __str__(self) -> str:
        """Return it as it is written."""
        return f"map<string, {self.value}>"


if TYPE_CHECKING:
    ColumnType: TypeAlias = ScalarType | DecimalType | StructType | ListType | MapType

BOOLEAN = ScalarType("boolean")
INTEGER = ScalarType("integer")
DOUBLE = ScalarType("double")
STRING = ScalarType("string")
BINARY = ScalarType("binary")
TIMESTAMP = ScalarType("timestamp")
DATE = ScalarType("date")
VARIANT = ScalarType("variant")

SCALARS = {
    scalar.name: scalar
    for scalar in (BOOLEAN, INTEGER, DOUBLE, STRING, BINARY, TIMESTAMP, DATE, VARIANT)
}
OTHER_NAMES = {
    "bool": BOOLEAN,
    "int": INTEGER,
    "bigint": INTEGER,
    "long": INTEGER,
    "smallint": INTEGER,
    "tinyint": INTEGER,
    "int64": INTEGER,
    "float": DOUBLE,
    "float64": DOUBLE,
    "real": DOUBLE,
    "text": STRING,
    "varchar": STRING,
    "char": STRING,
    "bytes": BINARY,
    "blob": BINARY,
    "varbinary": BINARY,
    "datetime": TIMESTAMP,
    "timestamptz": TIMESTAMP,
    "json": VARIANT,
}
_DECIMALS = {"decimal", "numeric"}
_LISTS = {"list", "array"}
_NESTED = ("decimal(p,s)", "struct<name type, ...>", "list<type>", "map<string, type>")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TOKEN = re.compile(r'\s*(?:([A-Za-z_][A-Za-z0-9_]*)|"((?:[^"]|"")*)"|(\d+)|(\S))')


def shown_name(name: str) -> str:
    """Return the name of a column as types and paths show it: in quotes where it needs them."""
    return name if _PLAIN_NAME.match(name) else '"{}"'.format(name.replace('"', '""'))


def type_of(text: str) -> ColumnType:
    """Read the text of a type; columns of a struct have no ids yet.

    Raises `InputError` if it is no type.
    """
    return _TypeText(text).whole()


def type_before(text: str) -> tuple[ColumnType, int]:
    """Read the type that a text begins with.

    Returns: The type, and the number of letters that it takes.
    Raises `InputError` if it begins with no type.
    """
    read = _TypeText(text)
    return read.leading(), read.at


def decimal_of(precision: int, scale: int) -> DecimalType:
    """Return a type of decimals. Raises `InputError` if it has too many digits."""
    if not 1 <= precision <= MOST_DIGITS or not 0 <= scale <= precision:
        raise InputError(
            f"invalid decimal({precision},{scale}): expected 1 to {MOST_DIGITS} digits, "
            f"and not more behind the point"
        )
    return DecimalType(precision, scale)


class _TypeText:
    """The text of a type, token by token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.end = 0
        self.depth = 0

    def leading(self) -> ColumnType:
        """Read a type; anything may follow it."""
        return self._type()

    def whole(self) -> ColumnType:
        """Read a type, and require that nothing follows it."""
        kind = self._type()
        if self.text[self.at :].strip():
            raise self._invalid()
        return kind

    def _type(self) -> ColumnType:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise InputError(f"the type is more than {MOST_DEPTH} levels deep")
        kind = self._simple()
        while self._takes("["):
            self._expect("]")
            kind = ListType(kind)
        self.depth -= 1
        return kind

    def _simple(self) -> ColumnType:
        name = self._word().lower()
        if name in _DECIMALS:
            return self._decimal()
        if name == "double":
            self._takes_word("precision")
            return DOUBLE
        if name == "struct":
            return self._struct()
        if name in _LISTS:
            self._expect("<")
            item = self._type()
            self._expect(">")
            return ListType(item)
        if name == "map":
            return self._map()
        scalar = SCALARS.get(name) or OTHER_NAMES.get(name)
        if scalar is None:
            raise self._unknown(name)
        if name == "varchar" and self._takes("("):
            self._number()
            self._expect(")")
        return scalar

    def _decimal(self) -> DecimalType:
        if not self._takes("("):
            return DecimalType(_DEFAULT_DIGITS, 3)
        precision, scale = self._number(), 0
        if self._takes(","):
            scale = self._number()
        self._expect(")")
        return decimal_of(precision, scale)

    def _struct(self) -> StructType:

        self._expect("<")
        columns: list[TableColumn] = []
        while not columns or self._takes(","):
            name = self._name()
            self._takes(":")
            kind = self._type()
            required = self._takes_word("not")
            if required and not self._takes_word("null"):
                raise self._invalid()
            columns.append(TableColumn(0, name, kind, (name,), required=required))
        self._expect(">")
        return StructType(tuple(columns))

    def _map(self) -> MapType:
        self._expect("<")
        if self._type() != STRING:
            raise InputError("invalid map: names of its values are strings, as in map<string, T>")
        self._expect(",")
        value = self._type()
        self._expect(">")
        return MapType(value)

    def _next(self) -> tuple[str, str, str, str]:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            return ("", "", "", "")
        self.end = match.end()
        word, quoted, number, other = (group or "" for group in match.groups())
        return word, quoted.replace('""', '"'), number, other

    def _word(self) -> str:
        word = self._next()[0]
        if not word:
            raise self._invalid()
        self.at = self.end
        return word

    def _name(self) -> str:
        word, quoted, _, _ = self._next()
        if not (word or quoted):
            raise self._invalid()
        self.at = self.end
        return word or quoted

    def _number(self) -> int:
        number = self._next()[2]
        if not number:
            raise self._invalid()
        self.at = self.end
        return int(number)

    def _takes(self, char: str) -> bool:
        if self._next()[3] != char:
            return False
        self.at = self.end
        return True

    def _takes_word(self, word: str) -> bool:
        if self._next()[0].lower() != word:
            return False
        self.at = self.end
        return True

    def _expect(self, char: str) -> None:
        if not self._takes(char):
            raise self._invalid(char)

    def _invalid(self, expected: str = "") -> InputError:
        rest = self.text[self.at :].strip()
        at = f"before {rest[:20]!r}" if rest else "at its end"
        what = f"expected {expected!r} {at}" if expected else f"invalid {at}"
        return InputError(f"invalid type {self.text.strip()[:60]!r}: {what}", hint=_hint())

    def _unknown(self, name: str) -> InputError:
        from difflib import get_close_matches

        near = get_close_matches(name, [*SCALARS, *OTHER_NAMES, *_DECIMALS, *_LISTS], 1)
        hint = f"did you mean {near[0]}?" if near else _hint()
        return InputError(f"unknown type {name!r}", hint=hint)


def _hint() -> str:
    return f"types are {', '.join([*SCALARS, *_NESTED])}"


def columns_of(kind: ColumnType) -> tuple[TableColumn, ...]:
    """Return the columns of the struct that a type is, or has in lists and maps."""
    if isinstance(kind, StructType):
        return kind.columns
    if isinstance(kind, ListType):
        return columns_of(kind.item)
    return columns_of(kind.value) if isinstance(kind, MapType) else ()


def _type_json(kind: ColumnType) -> object:
    if isinstance(kind, StructType):
        return {"type": "struct", "columns": [column.as_dict() for column in kind.columns]}
    if not columns_of(kind):
        return str(kind)
    if isinstance(kind, ListType):
        return {"type": "list", "item": _type_json(kind.item)}
    if isinstance(kind, MapType):
        return {"type": "map", "value": _type_json(kind.value)}
    return str(kind)
