"""Bytes of inputs, piece by piece: from files, pipes, standard input and packfiles."""

from __future__ import annotations

import os
import stat
import sys

from sdb.errors import CorruptError, InputError, UsageError, from_os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import BinaryIO, TypeAlias

    from sdb.packfile.trailer.trailer import Trailer

    Readable: TypeAlias = "BinaryIO | Unclosed"
    from sdb.store.base import Reader

_PIECE_BYTES = 1 << 20


def is_stream(path: str) -> bool:
    """Return whether a path can be read only once: a pipe, a device, or a file without a size.

    Files such as those of ``/proc`` say that they are empty, whatever comes when they are read.
    """
    try:
        status = os.stat(path)  # noqa: PTH116 - a plain string
    except (OSError, ValueError):
        return False
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return status.st_size == 0 and _has_bytes(path)
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def _has_bytes(path: str) -> bool:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a plain string
            return bool(file.read(1))
    except OSError:
        return False  # opening it later reports why


def standard_input() -> BinaryIO:
    """Return standard input as bytes. Raises `InputError` if it is closed."""
    if sys.stdin is None:
        raise InputError("standard input is closed")
    return sys.stdin.buffer


def open_stream(path: str) -> BinaryIO:
    """Open a pipe or device.

    Raises `NotFoundError` or `AccessError` if it is not there, or may not be read.
    """
    try:
        return open(path, "rb", buffering=0)  # noqa: PTH123 - closed by its pieces
    except OSError as error:
        raise from_os(error, "opening", path) from error


def read_some(file: Readable, name: str) -> bytes:
    """Read what there is, at most a mebibyte; nothing only at the end."""
    try:
        piece = file.read1(_PIECE_BYTES) if hasattr(file, "read1") else file.read(_PIECE_BYTES)
    except OSError as error:
        raise from_os(error, "reading", name) from error
    return piece or b""


class Unclosed:
    """A file of the caller, which is read and left open."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, most_bytes: int) -> bytes:
        """Read what there is, up to a maximum of bytes; nothing only at the end."""
        read_some_bytes = getattr(self._file, "read1", self._file.read)
        piece = read_some_bytes(most_bytes)
        if not isinstance(piece, bytes | None):
            name = getattr(self._file, "name", "the open file")
            raise UsageError(f"{name} is open as text", hint='open it with mode "rb"')
        return piece or b""

    def close(self) -> None:
        """Leave it open."""


def rest(head: bytes, file: Readable, name: str) -> Generator[bytes]:
    """Yield what was read of a stream, and then what is left of it."""
    try:
        if head:
            yield head
        while piece := read_some(file, name):
            yield piece
    finally:
        if file is not getattr(sys.stdin, "buffer", None):
            file.close()


def whole(reader: Reader) -> Generator[bytes]:
    """Yield all of an object, and close it."""
    try:
        yield from reader.pieces(0, reader.size_bytes)
    finally:
        reader.close()


def content_digest(pieces: Generator[bytes]) -> tuple[int, bytes]:
    """Return size and digest of all pieces of an input together, by which it is known again."""
    from sdb._core import ContentDigester

    digester = ContentDigester()
    size = 0
    for piece in pieces:
        digester.update(piece)
        size += len(piece)
    return size, digester.finish()


def unpacked(
    reader: Reader, trailer: Trailer, name: str, *, verify: bool = True
) -> Generator[bytes]:
    """Yield the rows of a packfile as an Ion stream, and close it.

    Raises `CorruptError` if a block is damaged.
    """
    from sdb._core import Unpacker
    from sdb.packfile.read.ahead import ReadAhead
    from sdb.packfile.read.blocks import check

    def read(number: int) -> bytes:
        return reader.read(*trailer.block_range(number))

    def size(number: int) -> int:
        start, stop = trailer.block_range(number)
        return stop - start

    try:
        unpacker = Unpacker(
            trailer.algorithm, trailer.align_bytes, threads=1, format="ion", verify=verify
        )
        numbers = range(len(trailer.blocks))
        ahead = ReadAhead(read, numbers, size) if reader.descriptor is None else read
        for number, block in enumerate(trailer.blocks):
            data = ahead(number)
            if verify:
                check(data, trailer.sparse.digest(number))
            unpacker.feed(data, block.chunks)
            yield from unpacker.take()
        while decoded := unpacker.take(wait=True):
            yield from decoded
    except CorruptError as error:
        raise error.within(name, path=name) from error
    finally:
        reader.close()
