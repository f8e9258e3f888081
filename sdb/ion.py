"""Ion values of metadata as Python values.

============================  ==================================================
Ion                           Python
============================  ==================================================
null, bool, int, float        `None`, `bool`, `int`, `float`
string                        `str`
symbol                        :class:`IonSymbol`
timestamp                     aware `datetime`, or :class:`Timestamp`
blob                          `bytes`
list                          `list` (a `tuple` is written like one)
struct                        `dict` with names as `str`
============================  ==================================================

Rows are not decoded here; for them see :meth:`sdb.packfile.read.reader.Packfile.rows`.
"""

from __future__ import annotations

from sdb import instants
from sdb.errors import UsageError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

_FIRST_SYMBOL = 10
_SYSTEM = {"name": 4, "version": 5, "imports": 6, "symbols": 7, "max_id": 8}
_LIST, _STRUCT = 11, 13
_LONG = 14


class IonSymbol(str):
    """Text that is stored as a symbol. It is equal to the same text as a string."""

    __slots__ = ()


@record
class Timestamp:
    """An instant in a year that `datetime` cannot hold."""

    us: int  # microseconds since 1970-01-01T00:00:00Z

    def __lt__(self, other: Timestamp) -> bool:
        """Report which comes first."""
        return self.us < other.us

    def __le__(self, other: Timestamp) -> bool:
        """Return whether this comes first, or is the same."""
        return self.us <= other.us

    def __str__(self) -> str:
        """Return the instant in RFC 3339 form."""
        return instants.text(self.us)


def instant_from_us(us: int) -> datetime | Timestamp:
    """Return the Python value of an Ion timestamp.

    * ``us``: Microseconds since 1970.
    """
    if instants.FIRST_US <= us <= instants.LAST_US:
        return instants.from_us(us)
    return Timestamp(us)


def instant_to_us(value: object) -> int | None:
    """Return the microseconds of the Python value of an Ion timestamp.

    Returns: Microseconds since 1970, or None when the value is no timestamp.
    Raises `UsageError` for a datetime without a time zone.
    """
    if isinstance(value, Timestamp):
        return value.us
    from datetime import datetime

    return instants.to_us(value) if isinstance(value, datetime) else None


def dumps(value: object) -> bytes:
    """Encode a value as a separate Ion stream: version marker, symbol table, value.

    Symbols are numbered in the order in which the value names them, which is what makes equal
    values equal bytes. See the sections on Ion and the trailer in docs/format.md.

    * ``value``: A value of the types in the table above.

    Raises `TypeError` for a value of another type; `ValueError` for an integer outside -2^63 to
    2^64-1, a datetime without a time zone, or values nested deeper than 100 levels.

    >>> dumps({"a": 1}).hex()
    'e00100eae78183d487b28161d38a2101'
    """
    from sdb import _core

    try:
        return _core.ion_dumps(value)
    except OverflowError:
        raise UsageError("an integer is outside -2^63 to 2^64-1") from None


def loads(data: bytes) -> object:
    """Decode symbol tables and exactly one value after them.

    Raises `CorruptError` for anything that is not canonical enough to have one meaning, with its
    offset.

    >>> loads(dumps({"a": [1, IonSymbol("b")]}))
    {'a': [1, 'b']}
    """
    from sdb import _core

    return _core.ion_loads(data)


def encode(value: object, symbols: list[str]) -> bytes:
    """Encode a value that shares a symbol table with others: no marker, no table.

    * ``value``: A value of the types in the table above.
    * ``symbols``: The symbols from number 10 on. Names that are new are added, in the order in
      which the value names them.

    Returns: The value alone, its fields in the order of their symbols.
    Raises `TypeError` or `ValueError` as :func:`dumps` does.

    >>> symbols = ["b"]
    >>> encode({"a": 1, "b": 2}, symbols).hex(), symbols
    ('d68a21028b2101', ['b', 'a'])
    """
    from sdb import _core

    try:
        data, added = _core.ion_encode(value, symbols)
    except OverflowError:
        raise UsageError("an integer is outside -2^63 to 2^64-1") from None
    symbols += added
    return data


def joined_struct(members: dict[str, bytes], symbols: list[str]) -> bytes:
    """Make a struct of values that :func:`encode` has encoded: the same bytes as it would return.

    * ``symbols``: The symbols from number 10 on.

    >>> symbols = ["b"]
    >>> joined_struct({"b": encode([1], symbols)}, symbols) == encode({"b": [1]}, symbols)
    True
    """
    number_of = {name: number for number, name in enumerate(symbols, _FIRST_SYMBOL)} | _SYSTEM
    numbered = sorted((number_of[name], data) for name, data in members.items())
    return _wrapped(_STRUCT, b"".join([_var_uint(number) + data for number, data in numbered]))


def joined_list(items: Iterable[bytes]) -> bytes:
    """Make a list of values that :func:`encode` has encoded: the same bytes as it would return."""
    return _wrapped(_LIST, b"".join(items))


def _wrapped(kind: int, content: bytes) -> bytes:
    return header(kind, len(content)) + content


def header(kind: int, size_bytes: int) -> bytes:
    """Return the first byte of a value of that size, by its kind: 11 for lists, 13 for structs.

    >>> header(13, 5).hex(), header(10, 300).hex()
    ('d5', 'ae02ac')
    """
    if size_bytes < _LONG:
        return bytes((kind << 4 | size_bytes,))
    return bytes((kind << 4 | _LONG,)) + _var_uint(size_bytes)


def _var_uint(number: int) -> bytes:
    digits = [number & 0x7F | 0x80]
    while number := number >> 7:
        digits.append(number & 0x7F)
    return bytes(reversed(digits))


def stream(symbols: list[str], value: bytes) -> bytes:
    """Return the stream of a value that :func:`encode` has encoded: marker, table, value."""
    from sdb import _core

    return _core.ion_symbols(symbols) + value


def decode(data: bytes, symbols: list[str] | None = None) -> tuple[object, list[str], int]:
    """Decode the first value of a stream, or a value that shares a symbol table with others.

    Fields may be in any order, and what follows the value is not looked at.

    * ``symbols``: The symbols from number 10 on, where `data` has no table of its own.

    Raises `CorruptError` if it is malformed; the error has the offset.
    """
    from sdb import _core

    return _core.ion_decode(data, symbols)
