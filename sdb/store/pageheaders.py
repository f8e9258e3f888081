"""Headers of the pages of Parquet, in Thrift's compact form: what a page becomes."""

from __future__ import annotations

from sdb.records import record

DICTIONARY_PAGE = 2
DELTA_BYTE_ARRAY = 7
_BOOLEANS = (1, 2)
_BYTE, _I64, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 3, 6, 7, 8, 9, 10, 12
_MOST_DEPTH = 16
_VARINT_BITS = 70
_DATA, _DICTIONARY, _DATA_V2 = 5, 7, 8


class CutOffError(Exception):
    """The bytes end before the header does."""


@record
class PageHeader:
    """The members of the header of a page."""

    length: int  # of the header
    kind: int  # of the page
    page_bytes: int  # length of the page, decompressed
    stored_bytes: int  # length of the page in the file
    values: int
    encoding: int


def page_header(data: bytes, at: int) -> PageHeader:
    """Read the header at a position.

    Raises `CutOffError` if it goes on behind the bytes and `ValueError` if it is malformed.
    """
    cursor = _Cursor(data, at)
    fields = cursor.struct(0)
    detail = fields.get(_DATA) or fields.get(_DICTIONARY) or fields.get(_DATA_V2) or {}
    if not isinstance(detail, dict):
        raise ValueError("a page without a description")  # noqa: TRY004
    encoding = detail.get(4 if _DATA_V2 in fields else 2, 0)
    numbers = (fields.get(1), fields.get(2), fields.get(3), detail.get(1, 0), encoding)
    if any(not isinstance(number, int) or number < 0 for number in numbers):
        raise ValueError("a page without sizes")
    return PageHeader(cursor.at - at, *numbers)  # type: ignore[arg-type]


class _Cursor:
    """Where values are read."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self.at = at

    def struct(self, depth: int) -> dict[int, object]:
        """Read the fields of a struct, by their numbers."""
        if depth > _MOST_DEPTH:
            raise ValueError("values nested too deeply")
        fields: dict[int, object] = {}
        number = 0
        while head := self._byte():
            kind = head & 15
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = kind == 1 if kind in _BOOLEANS else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> object:
        if _BYTE < kind <= _I64:
            return self._signed()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind == _BINARY:
            self._skip(self._varint())
        elif kind in {_LIST, _SET}:
            self._list(depth)
        elif kind in {*_BOOLEANS, _BYTE, _DOUBLE}:
            self._skip(8 if kind == _DOUBLE else 1)
        else:
            raise ValueError(f"a value of the type {kind}")
        return None

    def _list(self, depth: int) -> None:
        head = self._byte()
        count = self._varint() if head >> 4 == 15 else head >> 4  # noqa: PLR2004
        for _ in range(count):
            self._value(head & 15, depth + 1)

    def _skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self._data):
            raise CutOffError

    def _byte(self) -> int:
        self._skip(1)
        return self._data[self.at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while shift < _VARINT_BITS:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:  # noqa: PLR2004
                return value
            shift += 7
        raise ValueError("a number of too many bytes")

    def _signed(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)
