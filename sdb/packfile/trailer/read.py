"""Reads the trailer of an open packfile, of large ones only what is needed of it.

The first read is of the end of the file, where the length is and, as a rule, all of the trailer.
See :mod:`sdb.packfile.trailer.trailer` for what is in it.
"""

from __future__ import annotations

from sdb import notes
from sdb.errors import CorruptError, UnsupportedError
from sdb.packfile.trailer.trailer import LENGTH_BYTES, MAX_TRAILER_BYTES, Trailer
from sdb.records import replace
from sdb.store.base import TAIL_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.trailer.lazybytes import LazyBytes
    from sdb.store.base import Reader

_NOT_ONE = "not a packfile, or its end is missing"


def read_trailer(reader: Reader, path: str) -> Trailer:
    """Find, read and check the trailer of an open file.

    Raises
    ------
    CorruptError
        The file does not end in a trailer that fits it.
    UnsupportedError
        It is of a later version.
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
        return Trailer.decode(tail[len(tail) - length :])
    from sdb.packfile.trailer.partialread import read_apart

    encoded, body = read_apart(reader, stop - length, stop, tail)
    if body is None:
        return Trailer.decode(encoded)
    try:
        return _with_body(Trailer.decode(encoded), body)
    except CorruptError:  # read whole below, where the error says what is wrong
        return Trailer.decode(reader.read(stop - length, stop))


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
    from sdb.packfile.trailer.partialread import read_before

    encoded, body = read_before(reader, newest.offset, stop)
    try:
        beginning = Trailer.decode(encoded)
        beginning = beginning if body is None else _with_body(beginning, body)
        return replace(newest, sparse=beginning.sparse).check(newest.offset)
    except (CorruptError, UnsupportedError):
        return None
