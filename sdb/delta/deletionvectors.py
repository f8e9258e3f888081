"""Deletion vectors: positions of the rows of a data file that are deleted.

Delta keeps them as Roaring bitmaps, in a file or in the log itself, in the text form Z85.
"""

from __future__ import annotations

import struct
import zlib

from sdb.errors import CorruptError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from sdb.lake.access import LakeFolder

_MAGIC = 1681511377
# What the protocol calls by no name, and has in an example: a size in front of each bitmap, and
# numbers in big-endian order
_SIZED_MAGIC = 1681511376
_FILE_VERSION = 1
_UUID_LETTERS = 20
_NO_RUNS = 12346
_WITH_RUNS = 12347
_FEW_CONTAINERS = 4
_MOST_IN_ARRAY = 4096
_BITMAP_BYTES = 8192
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_VALUES = {letter: value for value, letter in enumerate(_Z85)}
_GROUP = 5


@record
class DeletionVector:
    """The descriptor of a deletion vector, as an action of a log has it."""

    storage: str  # ``u``: a file of the table, ``p``: a file anywhere, ``i``: in the log
    text: str  # the name of the file, or the vector itself
    offset: int | None  # where it begins in the file
    size_bytes: int
    cardinality: int  # number of deleted rows

    @property
    def unique_id(self) -> str:
        """Name that no other vector of the same data file has."""
        at = "" if self.offset is None else f"@{self.offset}"
        return f"{self.storage}{self.text}{at}"

    def location(self, folder: LakeFolder) -> str:
        """Return where its file is.

        Raises `ValueError` or `CorruptError` if the descriptor is malformed.
        """
        if self.storage not in {"u", "p"}:
            raise ValueError(f"unknown storage {self.storage!r}")
        if self.storage == "p":
            return folder.resolve(self.text)[1]
        prefix, encoded = self.text[:-_UUID_LETTERS], self.text[-_UUID_LETTERS:]
        import uuid

        name = uuid.UUID(bytes=z85_decoded(encoded)[:16])
        above = f"{prefix}/" if prefix else ""
        return folder.below(f"{above}deletion_vector_{name}.bin")

    def rows(self, folder: LakeFolder) -> np.ndarray:
        """Return the positions of the deleted rows, ascending.

        Raises `CorruptError` if the vector is damaged and `NotFoundError` if its file is missing.
        """
        where, data = f"the deletion vector {self.unique_id}", b""
        try:
            if self.storage == "i":
                data = z85_decoded(self.text)[: self.size_bytes]
            else:
                where = self.location(folder)
                data = self._stored(folder, where)
            positions = decoded(data)
        except (ValueError, struct.error) as error:
            message = f"{where}: the deletion vector is damaged: {error}"
            raise CorruptError(message, path=where) from None
        if len(positions) != self.cardinality:
            message = f"it has {len(positions):,} rows, and the log says {self.cardinality:,}"
            raise CorruptError(f"{where}: the deletion vector is damaged: {message}", path=where)
        return positions

    def _stored(self, folder: LakeFolder, location: str) -> bytes:
        """Read it from its file, and compare the checksum."""
        from contextlib import closing

        start = self.offset or 0
        with closing(folder.open(location)) as reader:
            stop = start + 4 + self.size_bytes + 4
            if stop > reader.size_bytes:
                raise ValueError("the file is cut off")
            if reader.read(0, 1)[0] != _FILE_VERSION:
                raise ValueError("unknown version of the file")
            stored = reader.read(start, stop)
        data = stored[4:-4]
        if struct.unpack(">i", stored[:4])[0] != self.size_bytes:
            raise ValueError("its size is not that of the log")
        if struct.unpack(">I", stored[-4:])[0] != zlib.crc32(data):
            raise ValueError("wrong checksum")
        return data


def decoded(data: bytes) -> np.ndarray:
    """Return the numbers in a serialized bitmap of 64 bits, ascending.

    Raises `ValueError` or `struct.error` if the bytes are malformed.
    """
    import numpy as np

    parts = [np.empty(0, np.int64)]
    is_sized = struct.unpack_from(">i", data, 0)[0] == _SIZED_MAGIC
    if not is_sized and struct.unpack_from("<i", data, 0)[0] != _MAGIC:
        raise ValueError("unknown kind of bitmap")
    (buckets,) = struct.unpack_from(">i" if is_sized else "<q", data, 4)
    at = 8 if is_sized else 12
    for number in range(buckets):
        key = number if is_sized else struct.unpack_from("<I", data, at)[0]
        bucket = _Bucket(data, at + 4)
        parts += [(key << 32) + values for values in bucket.containers()]
        at = bucket.end
    return np.concatenate(parts)


class _Bucket:
    """A serialized bitmap of 32 bits."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data = data
        self.end = start

    def _take(self, size: int) -> bytes:
        piece = self._data[self.end : self.end + size]
        if len(piece) < size:
            raise ValueError("the bitmap is cut off")
        self.end += size
        return piece

    def containers(self) -> Iterator[np.ndarray]:
        """Yield the numbers of each container; afterwards `end` is behind the last."""
        import numpy as np

        (cookie,) = struct.unpack("<I", self._take(4))
        runs = b""
        if cookie & 0xFFFF == _WITH_RUNS:
            count = (cookie >> 16) + 1
            runs = self._take((count + 7) // 8)
        elif cookie == _NO_RUNS:
            (count,) = struct.unpack("<I", self._take(4))
        else:
            raise ValueError("unknown kind of bitmap")
        if count > 1 << 16:
            raise ValueError("too many containers")
        keys = np.frombuffer(self._take(4 * count), "<u2").reshape(-1, 2).astype(np.int64)
        if not runs or count >= _FEW_CONTAINERS:
            self._take(4 * count)  # where containers begin
        for number, (key, less) in enumerate(keys.tolist()):
            above, size = key << 16, less + 1
            if runs and runs[number // 8] >> (number % 8) & 1:
                (pairs,) = struct.unpack("<H", self._take(2))
                spans = np.frombuffer(self._take(4 * pairs), "<u2").reshape(-1, 2).astype(np.int64)
                ranges = [np.arange(first, first + more + 1) for first, more in spans.tolist()]
                yield above + np.concatenate([np.empty(0, np.int64), *ranges])
            elif size <= _MOST_IN_ARRAY:
                yield above + np.frombuffer(self._take(2 * size), "<u2").astype(np.int64)
            else:
                bits = np.frombuffer(self._take(_BITMAP_BYTES), np.uint8)
                yield above + np.flatnonzero(np.unpackbits(bits, bitorder="little"))


def z85_decoded(text: str) -> bytes:
    """Return the bytes of a text in Z85. Raises `ValueError` if the text is malformed."""
    if len(text) % _GROUP or not set(text) <= _VALUES.keys():
        raise ValueError("malformed text")
    decoded_bytes = bytearray()
    for start in range(0, len(text), _GROUP):
        value = 0
        for letter in text[start : start + _GROUP]:
            value = value * 85 + _VALUES[letter]
        if value >= 1 << 32:
            raise ValueError("malformed text")
        decoded_bytes += value.to_bytes(4, "big")
    return bytes(decoded_bytes)
