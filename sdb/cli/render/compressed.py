"""Files that are compressed while they are written."""

from __future__ import annotations

import io
from contextlib import contextmanager
from typing import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from typing import BinaryIO

    from zstandard import ZstdCompressionWriter

_GZIP_LEVEL = 6


@contextmanager
def compressing(opened: AbstractContextManager[BinaryIO], compression: str) -> Iterator[BinaryIO]:
    """Open a file that compresses what it is given.

    * ``opened``: Gives the file that the compressed bytes go to.
    """
    with opened as file:
        if compression == "gzip":
            import gzip

            # Without a name or time in its head the file depends on its content alone.
            with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as outer:
                yield cast("BinaryIO", outer)
        else:
            import zstandard

            compressor = zstandard.ZstdCompressor(write_checksum=True)
            with compressor.stream_writer(file, closefd=False) as writer:
                yield cast("BinaryIO", _Outer(writer))


class _Outer(io.RawIOBase):
    """Returns a compressor of zstd what else a file can do."""

    def __init__(self, writer: ZstdCompressionWriter) -> None:
        super().__init__()
        self._writer = writer
        self._size_bytes = 0

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int:
        taken = len(memoryview(cast("bytes", data)).cast("B"))
        self._writer.write(cast("bytes", data))
        self._size_bytes += taken
        return taken

    def tell(self) -> int:
        return self._size_bytes
