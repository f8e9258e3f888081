"""Blocks on the disk of an executor, so that a repeated scan does not ask S3 for them again.

Each block is a file named after its ETag: a checksum of 16 bytes, then the block. A file appears
with a rename when it is complete, so any number of processes may share a folder, and what is
damaged is noticed, dropped and read again. The time of last use is the time of the file; when the
folder grows beyond its limit, the files that were used longest ago are removed.
"""

from __future__ import annotations

import contextlib
import os
from hashlib import blake2b
from pathlib import Path
from uuid import uuid4

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_SUM_BYTES = 16
_SUFFIX = ".block"
_PARTIAL = ".part"
# Below the limit after a sweep, so that not every block that comes sweeps.
_KEPT = 0.9
_ABANDONED_SECONDS = 3600


class BlockCache:
    """A bounded folder of blocks.

    * ``folder``: Where the blocks are; it is made when it is not there.
    * ``limit_bytes``: How much they may take. Several processes that write at once may exceed it
      for a moment by a block each.
    """

    __slots__ = ("_folder", "_limit_bytes", "hits", "misses")

    def __init__(self, folder: str | os.PathLike[str], limit_bytes: int) -> None:
        self._folder = Path(folder)
        self._limit_bytes = limit_bytes
        self.hits = 0
        self.misses = 0

    def get(self, etag: str, size_bytes: int, read: Callable[[], bytes]) -> bytes:
        """Return a block from the folder, or read it and keep it.

        A folder that cannot be written to costs speed, never an answer.

        * ``etag``: Name of the block, see :func:`sdb.spark.read.placement.block_etag`.
        """
        path = self._path(etag)
        block = _load(path, size_bytes)
        if block is not None:
            self.hits += 1
            return block
        self.misses += 1
        block = read()
        if _SUM_BYTES + len(block) <= self._limit_bytes:
            with contextlib.suppress(OSError):
                self._store(path, block)
        return block

    def _path(self, etag: str) -> Path:
        return self._folder / etag[:2] / (etag + _SUFFIX)

    def _store(self, path: Path, block: bytes) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = path.with_name(f"{path.stem}.{uuid4().hex}{_PARTIAL}")
        try:
            with partial.open("xb") as file:
                file.write(_checksum(block))
                file.write(block)
            partial.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                partial.unlink()
            raise
        self.sweep()

    def sweep(self) -> None:
        """Remove blocks, those first that were used longest ago, until the limit is kept."""
        files = []
        newest = 0.0
        for path in self._folder.glob("*/*"):
            with contextlib.suppress(OSError):
                status = path.stat()
                files.append((status.st_mtime, status.st_size, path))
                newest = max(newest, status.st_mtime)
        total = sum(size for _, size, path in files if path.suffix == _SUFFIX)
        room = total if total <= self._limit_bytes else int(self._limit_bytes * _KEPT)
        for used_at, size, path in sorted(files, key=lambda file: file[0]):
            is_block = path.suffix == _SUFFIX
            if is_block and total <= room:
                continue
            if is_block or used_at < newest - _ABANDONED_SECONDS:
                with contextlib.suppress(OSError):
                    path.unlink()
                    total -= size if is_block else 0


def _load(path: Path, size_bytes: int) -> bytes | None:
    """Read a block; one that is not whole is removed."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    block = data[_SUM_BYTES:]
    is_whole = len(block) == size_bytes and data[:_SUM_BYTES] == _checksum(block)
    with contextlib.suppress(OSError):
        if is_whole:
            os.utime(path)
        else:
            path.unlink()
    return block if is_whole else None


def _checksum(block: bytes) -> bytes:
    return blake2b(block, digest_size=_SUM_BYTES, person=b"sdb cache").digest()
