"""Rows as Ion text, for people: what is a time, a number or a text stays apart.

Every text is a string, whether it is stored as a symbol or not. Amazon's own writers are only used
by the tests: one does not quote names such as ``$7``, which then mean something else, the other
prints 0.1 with twenty digits, and neither knows times beyond the years 1 to 9999.
"""

from __future__ import annotations

import math
import re

from sdb import instants, ion
from sdb.errors import UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

_PLAIN = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_KEYWORDS = {"null", "true", "false", "nan"}
_STEERING = re.compile("[\x7f-\x9f\u2028\u2029]")  # what terminals and editors obey
_INDENT = "  "
_MARKER = b"\xe0\x01\x00\xea"
_ANNOTATION = 0xE
_LIST = 0xB
_LENGTH_FOLLOWS = 14


def text(row: object, *, indent: bool = False) -> str:
    r"""Print a row as a line of Ion text, or as several.

    * ``row``: The row, of values as :meth:`sdb.packfile.read.reader.Packfile.rows` returns them.
    * ``indent``: Whether each member has a separate line.

    Returns: The text, without a line end. Times in the year 0 and beyond 9999, which Ion text does
    not have, are strings.
    Raises `UnsupportedError` for a row of too many levels.

    >>> text({"a b": [1, 0.5], "c": "x"})
    '{\'a b\': [1, 0.5e0], c: "x"}'
    """
    out: list[str] = []
    try:
        _put(row, out, "\n" if indent else "")
    except RecursionError:
        raise UnsupportedError("a row has too many levels for Ion text") from None
    return "".join(out)


def write(rows: Iterable[object], output: BinaryIO, *, indent: bool = False) -> None:
    """Write rows as Ion text.

    * ``indent``: Whether each member has a separate line.
    """
    output.writelines(f"{text(row, indent=indent)}\n".encode() for row in rows)


def values(pieces: Iterable[bytes]) -> Iterator[object]:
    """Decode rows that come as streams of Ion, each with a full symbol table.

    * ``pieces``: The streams: a version marker alone, or a table and the rows that need it.
    """
    for piece in pieces:
        if piece != _MARKER:
            start = _table_end(piece)
            rows = ion.loads(piece[:start] + _header(_LIST, len(piece) - start) + piece[start:])
            assert isinstance(rows, list)  # noqa: S101 - by its header
            yield from rows


def _table_end(piece: bytes) -> int:
    """Find the end of the symbol table at the start of a stream."""
    at = len(_MARKER)
    length = piece[at] & 15
    assert piece[at] >> 4 == _ANNOTATION  # noqa: S101 - our own core wrote it
    at += 1
    if length == _LENGTH_FOLLOWS:
        length = 0
        while True:
            at += 1
            length = length << 7 | piece[at - 1] & 0x7F
            if piece[at - 1] & 0x80:
                break
    return at + length


def _header(kind: int, length: int) -> bytes:
    """Encode the type and length of a value."""
    groups = [length & 0x7F | 0x80]
    while length := length >> 7:
        groups.append(length & 0x7F)
    return bytes([kind << 4 | _LENGTH_FOLLOWS, *reversed(groups)])


def _put(value: object, out: list[str], line: str) -> None:
    """Print a value. One call a level: rows may have hundreds."""
    if isinstance(value, dict | list):
        start, stop = "{}" if isinstance(value, dict) else "[]"
        inner = line + _INDENT if line else ""
        between = inner
        out.append(start)
        for item in value:
            out.append(between)
            if isinstance(value, dict):
                out.append(f"{_name(item)}: ")
                _put(value[item], out, inner)
            else:
                _put(item, out, inner)
            between = f",{inner}" if line else ", "
        out.append(line + stop if value else stop)
    else:
        out.append(_scalar(value))


def _scalar(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _float(value)
        case str():
            return _quoted(value)
    us = ion.instant_to_us(value)
    if us is None:
        raise UnsupportedError(f"Ion text of a value of type {type(value).__name__}")
    printed = instants.text(us)
    return printed if instants.FIRST_US <= us <= instants.LAST_US else f'"{printed}"'


def _float(value: float) -> str:
    if math.isfinite(value):
        printed = repr(value)
        return printed if "e" in printed else f"{printed}e0"  # without exponent it is a decimal
    return "nan" if math.isnan(value) else "+inf" if value > 0 else "-inf"


def _name(name: str) -> str:
    """Print a field name: as it is only where it can be nothing else."""
    if _PLAIN.fullmatch(name) and name not in _KEYWORDS:
        return name
    inner = _quoted(name)[1:-1].replace("'", "\\'")
    return f"'{inner}'"


def _quoted(string: str) -> str:
    """Print a string. The escapes of JSON are escapes of Ion."""
    from json.encoder import encode_basestring

    quoted: str = encode_basestring(string)
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)
