"""The columns that a writer with a schema had, which is more than rows tell of them.

A column is its name and its type. A type is a word (``integer``, ``decimal(10,2)``, ``date``), or
a tuple: ``("array", T)``, ``("map", K, V)``, and ``("struct", (name, T), ...)``. See the section on
the extension in docs/format.md.
"""

from __future__ import annotations

from sdb.ion import IonSymbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    ColumnType: TypeAlias = str | tuple[Any, ...]
    Columns: TypeAlias = tuple[tuple[str, ColumnType], ...]

MOST_COLUMNS = 4096
"""The most columns, and columns in columns."""
_MOST_DEPTH = 32
_MOST_WORD = 64
_TEXTS = (str, IonSymbol)


def encode(columns: Columns) -> list[object]:
    """Return the list that is stored."""
    return [[IonSymbol(name), _stored(kind)] for name, kind in columns]


def _stored(kind: ColumnType) -> object:
    if isinstance(kind, str):
        return kind
    word, *parts = kind
    if word == "struct":
        return [word, *encode(tuple(parts))]
    return [word, *map(_stored, parts)]


def read(value: object) -> Columns:
    """Read the list that is stored; nothing where it is malformed: no row depends on it."""
    try:
        return _Reader().columns(value, 0)
    except ValueError:
        return ()


class _Reader:
    """Reads columns, and counts them."""

    def __init__(self) -> None:
        self._count = 0

    def columns(self, value: object, depth: int) -> Columns:
        if not isinstance(value, list):
            raise ValueError  # noqa: TRY004 - data, and no argument
        columns = []
        for entry in value:
            self._count += 1
            if self._count > MOST_COLUMNS or not isinstance(entry, list) or len(entry) != 2:  # noqa: PLR2004
                raise ValueError
            if type(entry[0]) not in _TEXTS:
                raise ValueError
            columns.append((str(entry[0]), self._type(entry[1], depth + 1)))
        if len({name for name, _ in columns}) < len(columns):
            raise ValueError
        return tuple(columns)

    def _type(self, value: object, depth: int) -> ColumnType:
        if type(value) in _TEXTS and len(str(value)) <= _MOST_WORD:
            return str(value)
        if depth > _MOST_DEPTH or not isinstance(value, list) or not value:
            raise ValueError
        word, *parts = value
        if word == "struct":
            return ("struct", *self.columns(parts, depth))
        if (word, len(parts)) not in {("array", 1), ("map", 2)}:
            raise ValueError
        return (str(word), *(self._type(part, depth + 1) for part in parts))


def text(kind: ColumnType) -> str:
    """Return a type as one word, as ``map<string,array<integer>>``."""
    if isinstance(kind, str):
        return kind
    word, *parts = kind
    inner = [f"{name}:{text(of)}" for name, of in parts] if word == "struct" else map(text, parts)
    return f"{word}<{','.join(inner)}>"


def common(declared: set[Columns]) -> Columns:
    """Return the columns of rows that come together: none where they differ."""
    return next(iter(declared)) if len(declared) == 1 else ()
