"""Reads the trailer of an open packfile, of large ones only what is needed of it.

The first read is of the end of the file, where the length is and, as a rule, all of the trailer.
A truncated packfile ends in no trailer that fits its size. See
:mod:`sdb.packfile.trailer.trailer` for what is in one.
"""

from __future__ import annotations

from sdb import ion, notes
from sdb.errors import CorruptError, UnsupportedError
from sdb.lru import LruCache
from sdb.packfile.trailer.lazybytes import LazyBytes
from sdb.packfile.trailer.trailer import LENGTH_BYTES, MAX_TRAILER_BYTES, Trailer
from sdb.records import record, replace
from sdb.store.base import TAIL_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.store.base import Reader

# Decoding takes far more memory than what is decoded.
_DECODED: LruCache[bytes, tuple[int, Trailer]] = LruCache(
    most_bytes=2 << 20, size_of=lambda known: known[0]
)
_NOT_ONE = "not a packfile, or its end is missing"


def read_trailer(reader: Reader, path: str) -> Trailer:
    """Find, read and check the trailer of an open file.

    Raises `CorruptError` if the file does not end in a trailer that fits it and `UnsupportedError`
    if it is of a later version.
    """
    size = reader.size_bytes
    try:
        if size <= LENGTH_BYTES:
            raise CorruptError(f"{_NOT_ONE}: it has {size:,} bytes")  # noqa: TRY301
        tail = reader.read(max(0, size - TAIL_BYTES), size)
        length = int.from_bytes(tail[-LENGTH_BYTES:], "little")
        whole = length + LENGTH_BYTES
        if whole > size:
            raise CorruptError(  # noqa: TRY301
                f"{_NOT_ONE}: the trailer would be longer than the file"
            )
        if length > MAX_TRAILER_BYTES:
            raise CorruptError(f"{_NOT_ONE}: the trailer would be too long")  # noqa: TRY301
        trailer = _decoded(reader, length, tail[:-LENGTH_BYTES]).check(size - whole)
    except UnsupportedError as error:
        raise error.within(path, path=path) from None
    except CorruptError as error:
        raise error.within(
            f"reading trailer from {path}", path=path, hint="is it a packfile, and complete?"
        ) from None
    if trailer.sparse.flaw:
        notes.tell(f"{path}: the sdb extension is ignored: {trailer.sparse.flaw}")
    return trailer


def _decoded(reader: Reader, length: int, tail: bytes) -> Trailer:
    """Decode the trailer of a file of which the last bytes are known.

    The body of the statistics of a large one is read when it is asked for.
    """
    stop = reader.size_bytes - LENGTH_BYTES
    if length <= len(tail):
        return _trailer_of(tail[len(tail) - length :])

    encoded, body = read_apart(reader, stop - length, stop, tail)
    if body is None:
        return _trailer_of(encoded)
    try:
        return _with_body(_trailer_of(encoded), body)
    except CorruptError:  # read whole below, where the error says what is wrong
        return Trailer.decode(reader.read(stop - length, stop))


def _trailer_of(encoded: bytes) -> Trailer:
    """Decode a trailer; of one that was decoded not long ago, the same bytes are the same trailer.

    Raises `CorruptError` or `UnsupportedError` as :meth:`Trailer.decode` does.
    """
    known = _DECODED.get(encoded)
    if known is None:
        trailer = Trailer.decode(encoded)
        known = len(encoded), trailer
        _DECODED.put(encoded, known)
    return known[1]


def _with_body(trailer: Trailer, body: LazyBytes) -> Trailer:
    stored = trailer.sparse.stored_statistics
    if stored is None:
        return trailer
    late = replace(trailer.sparse, stored_statistics=replace(stored, body=body))
    return replace(trailer, sparse=late)


def read_beginning(reader: Reader, newest: Trailer) -> Trailer | None:
    """Read the statistics of a trailer whose other members are known.

    * ``newest``: Its trailer without statistics: the copy that the index of a table has.

    Returns: The blocks of `newest`, and the sparse index of the file; None: the trailer has to
    be read as if nothing was known.
    """
    stop = reader.size_bytes - LENGTH_BYTES
    if not newest.offset < stop <= newest.offset + MAX_TRAILER_BYTES:
        return None

    encoded, body = read_before(reader, newest.offset, stop)
    try:
        beginning = Trailer.decode(encoded)
        beginning = beginning if body is None else _with_body(beginning, body)
        return replace(newest, sparse=beginning.sparse).check(newest.offset)
    except (CorruptError, UnsupportedError):
        return None


# Large trailers, read without the body of their statistics.

AHEAD_BYTES = TAIL_BYTES
"""So much is read at once of the beginning of a trailer."""

_PATH = ("sparse", "sdb", "statistics", "body")
_MARKER_BYTES = 4
_FIRST_SYMBOL = 10
_BOOL, _BLOB, _STRUCT, _ANNOTATED = 1, 10, 13, 14
_LONG, _NULL = 14, 15
_MOST_DIGITS = 5
_NULL_NULL = b"\x0f"
_ATTEMPTS = 2


def read_apart(
    reader: Reader, start: int, stop: int, tail: bytes
) -> tuple[bytes, LazyBytes | None]:
    """Read a trailer that does not fit the first read of a file.

    * ``start, stop``: Where the Ion stream of the trailer is in the file, in bytes.

    Returns: The stream, without the body of the statistics if that is not None.
    Returns: The body of the statistics; None: it is in the stream, or missing.
    """
    tail_start = stop - len(tail)
    front, path = _found(reader, start, stop, tail_start)
    if not path:
        return front + reader.read(start + len(front), tail_start) + tail, None
    after = start + path[-1].stop
    rest = (
        tail[after - tail_start :] if after >= tail_start else reader.read(after, tail_start) + tail
    )
    return _without(front, path, rest), _late(reader, start, front, path)


def read_before(reader: Reader, start: int, stop: int) -> tuple[bytes, LazyBytes | None]:
    """Read what a trailer has up to the body of its statistics.

    * ``start, stop``: Where the Ion stream of the trailer is in the file, in bytes.

    Returns: A stream: the whole one, if the other is None, else without the body and what follows
    it.
    Returns: The body of the statistics; None: it is in the stream, or missing.
    """
    front, path = _found(reader, start, stop, stop)
    if not path:
        return front + reader.read(start + len(front), stop), None
    return _without(front, path, b""), _late(reader, start, front, path)


def _found(reader: Reader, start: int, stop: int, tail_start: int) -> tuple[bytes, list[_Value]]:
    """Read a trailer up to the position of the body; an empty path: it has no body.

    What is from `tail_start` on need not be read.
    """
    front = reader.read(start, min(start + AHEAD_BYTES, tail_start))
    for _ in range(_ATTEMPTS):
        if start + len(front) == tail_start:
            break
        walk = _Walk(front)
        try:
            path = walk.path(stop - start)
        except IndexError:
            more = min(start + max(walk.at, len(front)) + AHEAD_BYTES, tail_start)
            front += reader.read(start + len(front), more)
            continue
        except CorruptError:
            break
        return front, path if path and path[-1].stop > len(front) else []
    return front, []


def _late(reader: Reader, start: int, front: bytes, path: list[_Value]) -> LazyBytes:
    body = path[-1]
    return LazyBytes(reader, start + body.content, start + body.stop, front[body.content :])


@record
class _Value:
    """The place of a value in a stream: its first byte, its content, and where it ends."""

    kind: int
    start: int
    content: int
    stop: int


class _Walk:
    """A walk from value to value, by their sizes; IndexError: the data ends at `at`."""

    def __init__(self, data: bytes) -> None:
        self.at = _MARKER_BYTES
        self._data = data

    def path(self, size_bytes: int) -> list[_Value]:
        """Find the values from the whole struct down to the blob; none where it is not there.

        Raises `CorruptError` if this is not how writers make it.
        """
        value = self._value()
        while value.kind == _ANNOTATED:
            self.at = value.stop
            value = self._value()
        symbols = ion.decode(self._data[: value.start] + _NULL_NULL)[1]
        if value.stop > size_bytes:
            raise CorruptError("the struct overruns the trailer")
        values = [value]
        for name in _PATH:
            inner = self._field(values[-1], name, symbols)
            if inner is None:
                return []
            if inner.stop > values[-1].stop:
                raise CorruptError("a value overruns its container")
            values.append(inner)
        if [outer_value.kind for outer_value in values] != [_STRUCT] * len(_PATH) + [_BLOB]:
            raise CorruptError("invalid statistics: expected the blobs head and body")
        return values

    def _field(self, inside: _Value, name: str, symbols: list[str]) -> _Value | None:
        self.at = inside.content
        while self.at < inside.stop:
            number = self._number() - _FIRST_SYMBOL
            value = self._value()
            if 0 <= number < len(symbols) and symbols[number] == name:
                return value
            self.at = value.stop
        return None

    def _value(self) -> _Value:
        start = self.at
        first = self._data[start]
        self.at += 1
        kind, size = first >> 4, first & 15
        if size == _LONG:
            size = self._number()
        elif size == _NULL or kind == _BOOL:
            size = 0
        return _Value(kind, start, self.at, self.at + size)

    def _number(self) -> int:
        number = 0
        for _ in range(_MOST_DIGITS):
            byte = self._data[self.at]
            self.at += 1
            number = number << 7 | byte & 0x7F
            if byte & 0x80:
                return number
        raise CorruptError("a number is too large")


def _without(front: bytes, path: list[_Value], rest: bytes) -> bytes:
    """Put an empty blob in the place of the last value of a path, behind which the rest follows."""
    inner = path[-1]
    after = inner.stop
    header = ion.header(_BLOB, 0)
    for outer in reversed(path[:-1]):
        before = front[outer.content : inner.start]
        content = before + header + rest[inner.stop - after : outer.stop - after]
        header = ion.header(_STRUCT, len(content)) + content
        inner = outer
    return front[: inner.start] + header + rest[inner.stop - after :]
