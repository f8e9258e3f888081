"""The trailer: the end of a packfile, which says where everything is.

::

    offset 0                                            trailer.offset
    | frame 0 | frame 1 | ... | frame n-1              | T | length(T), 4 bytes |
    |<-- block 0 -->|<-- block 1 -->| ... |<- last  -->|

T is an Ion stream of one struct. See the section on the trailer in docs/format.md.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

from sdb import bounds, ion, levels
from sdb.errors import CorruptError, UnsupportedError
from sdb.packfile.trailer.sparseindex import SparseIndex, build_indices
from sdb.packfile.trailer.timeindex import decode_steps, encode_steps, in_int64, integers
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

ALGORITHMS = (
    "zion+zstd",
    "zion+iguana_v0",
    "zion+iguana_v0/specialized",
    "zstd",
    "zion",
    "s2",
)
BLOCK_SHIFTS = range(9, 27)
FILLED_BYTES = 1 << 20  # of a chunk, unless a packfile has smaller ones
MAX_TRAILER_BYTES = 64 << 20
LENGTH_BYTES = 4
MAX_BLOCKS = 1 << 24
READABLE_VERSION = 2
_LEAST_FRAME_BYTES = 6
_FIELDS = {"version", "offset", "algo", "blockshift", "sparse", "blocks-delta", "blocks"}


@record
class Block:
    """A run of chunks that can be decoded on its own."""

    offset: int  # where it starts in the file, in bytes
    chunks: int


@record
class Trailer:
    """The trailer of a packfile: where its blocks are, and what is known of them."""

    version: int  # version of the format: 1, and 2 in files that can only be read
    offset: int  # where the trailer starts and the last block ends, in bytes
    algorithm: str  # name of the compression, see `ALGORITHMS`
    block_shift: int  # each chunk decompresses to ``1 << block_shift`` bytes
    blocks: tuple[Block, ...]  # the blocks, in the order of the file
    sparse: SparseIndex  # constants, time indexes and summary

    def __repr__(self) -> str:
        """Show how much it is about."""
        rows = "rows not counted" if self.rows is None else f"{self.rows:,} rows"
        return f"<Trailer: {rows} in {len(self.blocks):,} blocks, {self.algorithm}>"

    @property
    def align_bytes(self) -> int:
        """Most bytes of a decompressed chunk; those of plain zstd all have as many."""
        return 1 << self.block_shift

    @property
    def filled_bytes(self) -> int:
        """Bytes up to which chunks are filled: what is larger holds a single row."""
        is_fixed = self.algorithm == "zstd"
        return self.align_bytes if is_fixed else min(self.align_bytes, FILLED_BYTES)

    @property
    def chunks(self) -> int:
        """Number of chunks of all blocks."""
        return sum(block.chunks for block in self.blocks)

    @property
    def decompressed_bytes(self) -> int:
        """Size of all chunks when decompressed, padding included."""
        return self.chunks << self.block_shift

    @property
    def rows(self) -> int | None:
        """Number of rows, when the writer counted them."""
        return sum(self.sparse.summary.rows) if self.sparse.summary else None

    def block_range(self, number: int) -> tuple[int, int]:
        """Return the place of a block.

        * ``number``: The block, counted from 0.
        """
        last = number + 1 == len(self.blocks)
        stop = self.offset if last else self.blocks[number + 1].offset
        return self.blocks[number].offset, stop

    @property
    def packed_as(self) -> str:
        """The compression, and its level where that is not the default."""
        level = self.sparse.level
        return self.algorithm if level is None else f"{self.algorithm}, level {levels.name(level)}"

    def encode(self) -> bytes:
        """Return the bytes at the end of the file: the trailer and its length.

        Equal trailers are equal bytes, and without a summary they are those of the original.
        """
        data = ion.dumps(self.struct())
        return data + len(data).to_bytes(LENGTH_BYTES, "little")

    def struct(self) -> dict[str, object]:
        """Return the struct that is stored, here and in the descriptors of tables."""
        offsets = encode_steps(block.offset for block in self.blocks)
        chunks = [b - a for a, b in pairwise((0, *(block.chunks for block in self.blocks)))]
        return {
            "version": self.version,
            "offset": self.offset,
            "algo": self.algorithm,
            "blockshift": self.block_shift,
            "sparse": self.sparse.encode(),
            "blocks-delta": [n for pair in zip(offsets, chunks, strict=True) for n in pair],
        }

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Read the Ion stream of a trailer, without its length.

        Only its own form is checked; see :meth:`check` for what it says about the file.
        Raises `CorruptError` for a value of a wrong type, or an unknown field in version 1;
        `UnsupportedError` if it is of a later version.
        """
        return cls.from_struct(ion.loads(data))

    @classmethod
    def from_struct(cls, value: object) -> Self:
        """Read the struct of a trailer; see :meth:`decode`."""
        if not isinstance(value, dict):
            raise CorruptError("it is not a struct")
        version = _integer(value, "version", 0)
        if version < 0:
            raise CorruptError(f"its version is {version}")
        if version > READABLE_VERSION:
            raise UnsupportedError(
                f"a packfile of version {version}, this build reads 1 to {READABLE_VERSION}"
            )
        if version == 1 and (unknown := value.keys() - _FIELDS):
            raise CorruptError(f'unexpected field "{min(unknown)}"')
        if "offset" not in value:
            raise CorruptError("it has no offset")
        algorithm = value.get("algo", "")
        if type(algorithm) is not str:
            raise CorruptError("the algorithm is not a string")
        blocks, sparse = _blocks_and_sparse(value)
        return cls(
            version,
            _integer(value, "offset", 0),
            algorithm,
            _integer(value, "blockshift", 0),
            blocks,
            sparse,
        )

    def check(self, start: int) -> Trailer:
        """Check what the trailer says about the file that it was found in.

        * ``start``: Where the trailer starts in the file, in bytes.

        Returns: The same, with indexes that must not be trusted set aside.
        Raises `CorruptError` for the first contradiction.
        """
        if self.offset != start:
            raise CorruptError(f"it says that it starts at {self.offset:,}, not {start:,}")
        if self.algorithm not in ALGORITHMS:
            raise CorruptError(f"unknown compression algorithm {self.algorithm!r}")
        if self.block_shift not in BLOCK_SHIFTS:
            raise CorruptError(f"blockshift is {self.block_shift}, not 9 to 26")
        if self.align_bytes > bounds.ALIGN.most and not bounds.trusts():
            raise CorruptError(
                f"its chunks have {self.align_bytes:,} bytes, the limit is {bounds.ALIGN.most:,} "
                "unless you trust it (sdb --trust, or SDB_TRUST=1)"
            )
        self._check_blocks()
        sparse = self.sparse.check(len(self.blocks))
        for number, rows in enumerate(sparse.summary.rows if sparse.summary else ()):
            if rows > self.blocks[number].chunks << self.block_shift:
                flaw = f"the summary has {rows:,} rows in block {number}"
                sparse = replace(sparse, summary=None, digests=(), flaw=flaw)
                break
        # Old writers left the version out, which is read as 0.
        return replace(self, version=self.version or 1, sparse=sparse)

    def _check_blocks(self) -> None:
        if len(self.blocks) > MAX_BLOCKS:
            raise CorruptError(f"it has {len(self.blocks)} blocks, more than {MAX_BLOCKS}")
        if bool(self.blocks) != bool(self.offset):
            raise CorruptError(f"{len(self.blocks)} blocks in {self.offset:,} bytes of data")
        if self.blocks and self.blocks[0].offset != 0:
            raise CorruptError(f"the first block starts at {self.blocks[0].offset:,}, not 0")
        ends = [block.offset for block in self.blocks[1:]] + [self.offset]
        for number, (block, end) in enumerate(zip(self.blocks, ends, strict=False)):
            if block.offset >= end:
                raise CorruptError(f"block {number} starts at {block.offset:,}, ends at {end:,}")
            if block.chunks < 1:
                raise CorruptError(f"block {number} has {block.chunks} chunks")
            if block.chunks > (end - block.offset) // _LEAST_FRAME_BYTES:
                raise CorruptError(
                    f"block {number} has {block.chunks:,} chunks in {end - block.offset:,} bytes"
                )


def _integer(value: dict[str, Any], name: str, default: int) -> int:
    number = value.get(name, default)
    if type(number) is not int:
        raise CorruptError(f"{name} is not an integer")
    in_int64([number], name)
    return number


def _blocks_and_sparse(value: dict[str, Any]) -> tuple[tuple[Block, ...], SparseIndex]:
    if "blocks" in value and "blocks-delta" in value:
        raise CorruptError("it has two block lists")
    if "blocks" in value:
        blocks, old = _old_blocks(value["blocks"])
        if "sparse" in value and old.indices:
            raise CorruptError("it has ranges of blocks beside a sparse index")
    else:
        blocks = _delta_blocks(value.get("blocks-delta", []))
        old = SparseIndex(len(blocks))
    return blocks, SparseIndex.decode(value["sparse"]) if "sparse" in value else old


def _delta_blocks(value: object) -> tuple[Block, ...]:
    steps = integers(value, "the block list")
    if len(steps) % 2:
        raise CorruptError("the block list has an odd number of integers")
    offsets = in_int64(decode_steps(steps[0::2]), "the block list")
    chunks = in_int64(list(accumulate(steps[1::2])), "the block list")
    return tuple(map(Block, offsets, chunks))


def _old_blocks(value: object) -> tuple[tuple[Block, ...], SparseIndex]:
    """Read the block list of old files, which has the time ranges of each block with it."""
    if not isinstance(value, list):
        raise CorruptError("the block list is not a list")
    blocks = []
    ranges = []
    for number, entry in enumerate(value):
        if not isinstance(entry, dict):
            raise CorruptError(f"block {number} is not a struct")
        blocks.append(Block(_integer(entry, "offset", 0), _integer(entry, "chunks", 1)))
        ranges.append(old_ranges(entry.get("ranges", [])))
    return tuple(blocks), SparseIndex(len(blocks), indices=build_indices(ranges))


def old_ranges(value: object) -> dict[tuple[str, ...], tuple[int, int]]:
    """Read the time ranges of one block, or of one reference of a table, in old files."""
    if not isinstance(value, list):
        raise CorruptError("the ranges of a block are not a list")
    ranges = {}
    for entry in value:
        path: Sequence[object] = entry.get("path", ()) if isinstance(entry, dict) else ()
        if not path or not all(isinstance(name, str) for name in path):
            raise CorruptError("invalid block range: it has no path")
        lo_us, hi_us = (ion.instant_to_us(entry.get(name)) for name in ("min", "max"))
        if lo_us is not None and hi_us is not None:
            if lo_us > hi_us:
                raise CorruptError("invalid block range: it ends before it begins")
            ranges[tuple(map(str, path))] = (lo_us, hi_us)
    return ranges
