"""Rows of packfiles that grow: which have been read, and where the others are.

Rows are counted, not blocks: `sdb append` fills up the last block, so blocks at the end of a file
come and go, but its first n rows stay its first n rows for ever. What also stays is every block
before the last one. A mark is made from these, or from the first row before there is such a block:
it distinguishes a file that has grown from another one that took its place.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate

from sdb.errors import ConflictError, UnsupportedError
from sdb.packfile.read.reader import open_packfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Self

    from sdb.packfile.read.reader import Packfile

_MARK_BYTES = 12


@dataclass(frozen=True, slots=True)
class RowsRead:
    """The rows of a packfile that have been read."""

    rows: int  # number of rows that have been read, from the first one on
    blocks: int  # number of blocks that the mark is made of
    mark: str  # what identifies the file

    @classmethod
    def of(cls, pack: Packfile, rows: int) -> Self:
        """Return the progress of a reader that has read `rows` rows of a packfile."""
        blocks = max(0, len(pack.blocks) - 1)
        return cls(rows, blocks, _mark(pack, blocks))

    @classmethod
    def decode(cls, value: list[Any]) -> Self:
        """Read what :meth:`encode` returned."""
        rows, blocks, mark = value
        return cls(int(rows), int(blocks), str(mark))

    def encode(self) -> list[Any]:
        """Return the progress as JSON has it."""
        return [self.rows, self.blocks, self.mark]

    def check(self, pack: Packfile) -> None:
        """Make sure that a packfile is the one that was read, or has grown from it.

        Raises `ConflictError` if it is another one.
        """
        total = row_count(pack)
        if (
            len(pack.blocks) >= self.blocks
            and total >= self.rows
            and _mark(pack, self.blocks) == self.mark
        ):
            return
        raise ConflictError(
            f"{pack.path} was replaced: its first rows are not those that were read before",
            path=pack.path,
            hint="streams follow packfiles that only grow; start anew with a new checkpoint",
        )


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows of a packfile that has at least these rows."""

    path: str  # path or URL of the file
    # Half-open range of row numbers, counted from 0
    start: int
    stop: int
    progress: RowsRead  # what the file must have grown from

    def open(self) -> Packfile:
        """Open the file. Raises `ConflictError` if it is another one by now."""
        pack = open_packfile(self.path)
        try:
            self.progress.check(pack)
        except BaseException:
            pack.close()
            raise
        return pack

    def blocks(self, pack: Packfile) -> tuple[range, int]:
        """Find the rows in the file as it is now.

        Returns: Numbers of the blocks that hold them, and how many rows of the first one come
        before.
        """
        ends = list(accumulate(_rows(pack)))
        first = bisect_right(ends, self.start)
        last = bisect_right(ends, self.stop - 1)
        return range(first, last + 1), self.start - (ends[first - 1] if first else 0)

    def split(self, pack: Packfile, partition_bytes: int) -> Iterator[RowRange]:
        """Cut the range at ends of blocks."""
        trailer = pack.trailer
        ends = list(accumulate(_rows(pack)))
        at, size_bytes = self.start, 0
        for number in self.blocks(pack)[0]:
            block_bytes = trailer.blocks[number].chunks * trailer.align_bytes
            before = ends[number - 1] if number else 0
            if size_bytes and size_bytes + block_bytes > partition_bytes:
                yield RowRange(self.path, at, before, self.progress)
                at, size_bytes = before, 0
            size_bytes += block_bytes
        yield RowRange(self.path, at, self.stop, self.progress)


def row_count(pack: Packfile) -> int:
    """Return the number of rows of a packfile.

    Raises `UnsupportedError` if the file has no row counts.
    """
    return sum(_rows(pack))


def _rows(pack: Packfile) -> tuple[int, ...]:
    summary = pack.trailer.sparse.summary
    if summary is None:
        raise UnsupportedError(
            f"{pack.path} has no row counts of blocks, so it cannot be streamed",
            path=pack.path,
            hint="pack its rows again with sdb, or read it without a stream",
        )
    return summary.rows


def _mark(pack: Packfile, blocks: int) -> str:
    trailer = pack.trailer
    if blocks:
        places = [(*trailer.block_range(number), _rows(pack)[number]) for number in range(blocks)]
        content = json.dumps(places)
    else:
        row = next(pack.rows(limit=1), None)
        content = json.dumps(row, sort_keys=True, default=repr)
    return blake2b(content.encode("utf-8", "surrogatepass"), digest_size=_MARK_BYTES).hexdigest()
