"""Blocks of an open packfile: which there are, which are chosen, and their bytes."""

from __future__ import annotations

from sdb import errors, notes
from sdb.errors import CorruptError
from sdb.log import Logger
from sdb.packfile.prune.selection import Selection, select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from datetime import datetime
    from types import TracebackType
    from typing import Self

    from sdb.packfile.prune.predicate import Predicate
    from sdb.packfile.prune.prune import Intervals, Reason
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.blockstats import BlockStatistics
    from sdb.packfile.trailer.sparseindex import SparseIndex
    from sdb.packfile.trailer.trailer import Block, Trailer
    from sdb.store.base import Reader

_log = Logger("sdb.packfile.prune")


class BlockReader:
    """An open object, and the trailer with the positions of its blocks."""

    only: Intervals | None = None
    """The blocks that queries may read of it; None: all."""

    def __init__(self, path: str, reader: Reader, trailer: Trailer, *, verify: bool = True) -> None:
        self._reader = reader
        self._path = path
        self._trailer = trailer
        self._verify = verify
        self._known: tuple[SparseIndex, BlockStatistics | None] | None = None

    @property
    def path(self) -> str:
        """Path or URL as it was given."""
        return self._path

    @property
    def size_bytes(self) -> int:
        """Size of the file in bytes."""
        return self.reader.size_bytes

    @property
    def etag(self) -> str:
        """ETag, which identifies the version of the file; empty for local files."""
        return self.reader.etag

    @property
    def reader(self) -> Reader:
        """The open object that the packfile is."""
        return self._reader

    @property
    def is_remote(self) -> bool:
        """True if blocks come over a network, as a whole."""
        return self.reader.descriptor is None

    @property
    def verify(self) -> bool:
        """True if checksums and digests are compared with what is read."""
        return self._verify

    @property
    def trailer(self) -> Trailer:
        """The trailer: block list, sparse index and compression."""
        return self._trailer

    def whole_trailer(self) -> Trailer:
        """Return the trailer with all that it says; that of a table's packfile is read for it."""
        return self.trailer

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks, in the order of the file."""
        return self.trailer.blocks

    @property
    def block_count(self) -> int:
        """Number of blocks."""
        return len(self.trailer.blocks)

    @property
    def row_count(self) -> int | None:
        """Number of rows, when the writer counted them."""
        return self.trailer.rows

    @property
    def stored_bytes(self) -> int:
        """Size of all blocks, as they are stored."""
        return self.trailer.offset

    @property
    def decompressed_bytes(self) -> int:
        """Size of all blocks, decompressed."""
        return self.trailer.decompressed_bytes

    def read_block(self, number: int) -> bytes:
        """Read the compressed bytes of a block.

        Parameters
        ----------
        number : int
            The block, counted from 0.

        Returns
        -------
        bytes
            All its frames.

        Raises
        ------
        NotFoundError
            There is no such block.
        CorruptError
            The file became shorter since it was opened, or the block is not what was written.
        """
        if not 0 <= number < len(self.blocks):
            raise errors.NotFoundError(f"{self.path} has no block {number}", path=self.path)
        block = self.reader.read(*self.trailer.block_range(number))
        if self._verify:
            try:
                check(block, self.trailer.sparse.digest(number))
            except errors.CorruptError as error:
                raise self.blame(error, number) from None
        return block

    def place_block(self, number: int) -> bytes | tuple[int, int, int]:
        """Report the decoder where a block is, so that it reads only what it needs of it.

        Parameters
        ----------
        number : int
            The block, counted from 0.

        Returns
        -------
        tuple of int, or bytes
            An open descriptor and the range of the block in that file. Where there is no such
            thing, all its frames.

        Raises
        ------
        NotFoundError, CorruptError
            See :meth:`read_block`.
        """
        descriptor = self.reader.descriptor
        if descriptor is None or not 0 <= number < len(self.blocks):
            return self.read_block(number)
        return (descriptor, *self.trailer.block_range(number))

    def identity(self, number: int) -> bytes:
        """Return what no other block has, under which columns that were decoded from it may stay.

        * ``number``: The block, counted from 0.

        Returns: The file, its version, and place and digest of the block; empty if it cannot be
        told from other blocks, or nobody compares it with its checksums.
        """
        version, digest = self.reader.version, self.trailer.sparse.digest(number)
        # Sizes and times of files alone can stay as they are when their bytes do not.
        if not self._verify or not version or not (digest or self.reader.etag):
            return b""
        start, stop = self.trailer.block_range(number)
        form = f"{self.trailer.algorithm}-{self.trailer.align_bytes}"
        text = "\0".join((self.path, version, f"{start}-{stop}", form))
        return text.encode(errors="surrogateescape") + b"\0" + digest

    def pruned(self, test: Predicate) -> Intervals:
        """Return the blocks that can hold a row for which a condition is TRUE.

        Statistics of blocks are read only if they can leave out more.
        """
        from sdb.packfile.prune import prune

        sparse = self.trailer.sparse
        ranges, source = prune.blocks(test, sparse), "sparse index"
        # Statistics stand beside a summary alone, which tells which types there are.
        if ranges and sparse.summary is not None and prune.asks_statistics(test, sparse):
            ranges, source = prune.blocks(test, *self.known), "statistics"
        if _log.wants_debug:
            wanted, count = sum(stop - start for start, stop in ranges), sparse.blocks
            _log.debug("%s: %d of %d blocks to read, by its %s", self._path, wanted, count, source)
        return ranges

    def reasons(self, test: Predicate) -> list[Reason]:
        """Report how the answer of :meth:`pruned` comes about."""
        from sdb.packfile.prune import prune

        sparse = self.trailer.sparse
        is_known = sparse.summary is not None and prune.asks_statistics(test, sparse)
        if not is_known or not prune.blocks(test, sparse):
            return prune.reasons(test, sparse)
        return prune.reasons(test, *self.known)

    @property
    def known(self) -> tuple[SparseIndex, BlockStatistics | None]:
        """All that is known of the values of the file and of each of its blocks, read once."""
        if self._known is None:
            self._known = self._read_known()
        return self._known

    def _read_known(self) -> tuple[SparseIndex, BlockStatistics | None]:
        sparse = self.trailer.sparse
        try:
            return sparse, sparse.statistics()
        except errors.CorruptError as error:
            notes.tell(f"{self.path}: statistics of blocks are ignored: {error.message}")
            return sparse, None

    def select(
        self,
        *,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        time_field: str | Sequence[str] | None = None,
        blocks: str | Sequence[int] | None = None,
        predicate: Predicate | None = None,
    ) -> Selection:
        """Choose blocks; see :func:`sdb.packfile.prune.selection.select`."""
        try:
            return select(
                self.trailer,
                since=since,
                until=until,
                time_field=time_field,
                blocks=blocks,
                predicate=predicate,
                pruned=self.pruned,
            )
        except errors.SdbError as error:
            raise error.within(self.path, path=self.path) from None

    def blame(self, error: errors.CorruptError, number: int) -> errors.CorruptError:
        """Say in which block of which file an error of the decoder happened.

        Parameters
        ----------
        error : CorruptError
            What the decoder says; its offset counts from the start of the block.
        number : int
            The block.

        Returns
        -------
        CorruptError
            The same, with an offset in the file.
        """
        offset = self.blocks[number].offset + (error.offset or 0)
        return errors.CorruptError(
            f"{self.path}: block {number} at byte {offset:,}: {error.message}",
            path=self.path,
            offset=offset,
            hint=f"sdb validate {self.path}",
        )

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        self.reader.close()

    def __enter__(self) -> Self:
        """Return the packfile itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()


# Compares the stored bytes of blocks with the digests in the trailer.

DIFFERS = "its bytes are not those that were written: the digest differs"


def check(block: bytes, digest: bytes) -> None:
    """Require the bytes that a digest was made of.

    * ``digest``: Its digest; empty when it is not known, which anything is good for.

    Raises
    ------
    CorruptError
        They are others, or no frames; the offset counts from the start of the block.
    """
    if not digest:
        return
    from sdb import _core

    if _core.digest_block(block) != digest:
        raise CorruptError(DIFFERS, offset=0)


def differs(block: bytes, digest: bytes) -> bool:
    """Return whether it is certain that a block is not what was written."""
    try:
        check(block, digest)
    except CorruptError:
        return True
    return False


def checked(pack: Packfile) -> Generator[bytes]:
    """Iterate over the bytes of all blocks of a packfile, and compare them with the digests.

    Yields: The next bytes. They may be damaged: that is known at the end of their block.

    Raises
    ------
    CorruptError
        A block is damaged.
    """
    pieces = pack.reader.pieces(0, pack.trailer.offset)
    if not (pack.verify and any(pack.trailer.sparse.digests)):
        yield from pieces
        return
    from sdb import _core

    digester = _core.BlockDigester()
    number = at = 0
    for piece in pieces:
        start = 0
        while start < len(piece):
            end = pack.trailer.block_range(number)[1]
            stop = min(len(piece), start + end - at)
            try:
                digester.update(piece[start:stop])
                at += stop - start
                if at == end:
                    digest = pack.trailer.sparse.digest(number)
                    if digest not in {b"", digester.finish()}:
                        raise CorruptError(DIFFERS, offset=0)  # noqa: TRY301
                    number += 1
            except CorruptError as error:
                raise pack.blame(error, number) from None
            start = stop
        yield piece
