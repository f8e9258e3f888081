"""Rewrites a packfile in which some rows change: blocks without such rows are copied as they are.

Blocks with rows that change are read as a whole and packed again; where nothing is left of a block
it goes. Whole rows are kept or dropped by their numbers, and every number has to be met: a block
with fewer rows than it should have is an error, and nothing is written.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate, groupby, pairwise

from sdb import _core
from sdb.errors import CorruptError, UsageError
from sdb.packfile.build.indexbuilder import PackedParts, build_index
from sdb.packfile.build.newstats import facts_of_blocks
from sdb.packfile.inputs.inputs import Input
from sdb.packfile.read.ahead import block_readers
from sdb.packfile.rewrite.trailer import (
    CopiedBlock,
    FieldChange,
    PackedBlocks,
    report,
    rewritten_trailer,
)
from sdb.packfile.trailer.trailer import Trailer
from sdb.packfile.write.pack import (
    BLOCK_BYTES,
    LARGEST_ROW_BYTES,
    Feeder,
    packer_like,
    shift_of,
)
from sdb.progress import silent
from sdb.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from contextlib import ExitStack
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from sdb._core import Packer
    from sdb.packfile.build.newstats import BlockFacts
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.sparseindex import Path
    from sdb.store.base import Draft

_SMALL_BYTES = 8 << 20
_PIECE_BYTES = 1 << 20


@record
class RowChanges:
    """Rows of a packfile that change, by their numbers from 0 on."""

    dropped: NDArray[np.int64]  # the rows that go, ascending
    changed: NDArray[np.int64]  # the rows that get values, ascending
    # An Ion stream with a struct for each of these: `row` is its number, and ``0``, ``1`` ... are
    # the values of the paths. Where one is missing, the field goes.
    values: bytes = field(default=b"", repr=False)
    paths: tuple[Path, ...] = ()  # where the values go


class RewrittenPackfile:
    """A packfile in which rows change, ready to be written. Use :func:`rewritten` to get one.

    * ``trailer``: Its trailer; None: no row is left.
    * ``copied_bytes, packed_bytes``: Size of the blocks that are copied, and of those that were
      written again.
    """

    def __init__(
        self, pack: Packfile, parts: Sequence[CopiedBlock | PackedBlocks], trailer: Trailer
    ) -> None:
        self._pack = pack
        self._parts = parts
        self.trailer = trailer if trailer.blocks else None
        self.rows_before = 0
        self.rows_after = 0
        places = [pack.trailer.block_range(copied.number) for copied in self._copied]
        self.blocks_kept = len(places)
        self.copied_bytes = sum(stop - start for start, stop in places)
        self.packed_bytes = trailer.offset - self.copied_bytes

    @property
    def _copied(self) -> list[CopiedBlock]:
        return [part for part in self._parts if isinstance(part, CopiedBlock)]

    @property
    def kept_bytes(self) -> int:
        """Size of the blocks at the beginning that stay where they are."""
        return self._pack.trailer.block_range(self._kept - 1)[1] if self._kept else 0

    @property
    def _kept(self) -> int:
        """Number of blocks at the beginning that stay where they are."""
        return next(
            (at for at, part in enumerate(self._parts) if part != CopiedBlock(at)), len(self._parts)
        )

    def write(self, draft: Draft) -> None:
        """Write what follows the first `kept_bytes`, which the draft begins with.

        What is copied the store takes over by itself, where it can.
        """
        if self.trailer is None:
            return
        others = self._parts[self._kept :]
        for is_copied, group in groupby(others, lambda part: isinstance(part, CopiedBlock)):
            parts = list(group)
            if is_copied:
                self._copy([part.number for part in parts if isinstance(part, CopiedBlock)], draft)
            for part in parts:
                if isinstance(part, PackedBlocks):
                    part.file.seek(0)
                    left = part.trailer.offset
                    while left and (piece := part.file.read(min(left, _PIECE_BYTES))):
                        draft.write(piece)
                        left -= len(piece)
        draft.write(self.trailer.encode())

    def _copy(self, numbers: list[int], draft: Draft) -> None:
        """Copy blocks, those that follow each other at once."""
        range_of = self._pack.trailer.block_range
        for first, last in _runs(numbers):
            draft.copy_range(self._pack.reader, range_of(first)[0], range_of(last)[1])


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last of the numbers that follow each other."""
    for _, group in groupby(enumerate(numbers), lambda numbered: numbered[1] - numbered[0]):
        run = [number for _, number in group]
        yield run[0], run[-1]


def rewritten(
    pack: Packfile,
    changes: RowChanges,
    stack: ExitStack,
    *,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> RewrittenPackfile:
    """Rewrite a packfile in which rows change.

    * ``pack``: The packfile, open. Its compression, chunk size, level and constants stay.
    * ``changes``: What changes; at least one row.
    * ``stack``: Closes the temporary files when the packfile is written.
    * ``threads``: Threads that compress; one for each processor if not given.
    * ``progress``: Told the size of each block that is done.

    Raises `CorruptError` if a block with rows that change is damaged, or has other rows than the
    trailer says; `UsageError` if a value cannot be set where a row has no struct.
    """
    rows = rows_of_blocks(pack)
    firsts = [0, *accumulate(rows)]
    if any(len(rows_) and rows_[-1] >= firsts[-1] for rows_ in (changes.dropped, changes.changed)):
        message = f"{pack.path}: a row that should change is not among {firsts[-1]:,}"
        raise CorruptError(message, path=pack.path)
    parts: list[CopiedBlock | PackedBlocks] = []
    fields = FieldChange(pack)
    advance = progress or (lambda _: None)
    for is_touched, group in groupby(
        range(len(rows)), lambda number: _is_touched(changes, firsts[number], firsts[number + 1])
    ):
        numbers = list(group)
        if not is_touched:
            parts += map(CopiedBlock, numbers)
            advance(sum(_size(pack, number) for number in numbers))
            continue
        remaining = [number for number in numbers if not _is_dropped(changes, firsts, number)]
        for number in numbers:
            if number not in remaining:
                fields.without(pack.read_block(number))
                advance(_size(pack, number))
        if remaining:
            blocks = [(number, firsts[number], firsts[number + 1]) for number in remaining]
            rows_of = partial(_edited, pack, changes, blocks, fields, advance)
            source = Input(pack.path, "ion", source=rows_of)
            part = _spooled(pack.trailer, source, stack, threads)
            fields.with_new(part)
            parts.append(part)
    result = RewrittenPackfile(
        pack, parts, rewritten_trailer(pack, changes.dropped, rows, parts, fields)
    )
    result.rows_before = sum(rows)
    result.rows_after = result.rows_before - len(changes.dropped)
    after = result.trailer.rows if result.trailer is not None else 0
    if after is not None and after != result.rows_after:
        message = f"{result.rows_before:,} rows without {len(changes.dropped):,} came to {after:,}"
        raise CorruptError(f"{pack.path}: {message}", path=pack.path)
    return result


def blocks_with(rows: Sequence[int], changed: NDArray[np.int64]) -> int:
    """Count the blocks that have rows that change, by the numbers of rows in each block.

    >>> import numpy as np
    >>> blocks_with([10, 10, 10], np.array([3, 29]))
    2
    """
    firsts = [0, *accumulate(rows)]
    return sum(len(_between(changed, *range_)) > 0 for range_ in pairwise(firsts))


def rows_of_blocks(pack: Packfile) -> list[int]:
    """Return the number of rows of each block; counted where the trailer does not have it."""
    summary = pack.trailer.sparse.summary
    if summary is not None:
        return list(summary.rows)
    return [report(pack, pack.read_block(number)).rows for number in range(len(pack.blocks))]


def _between(numbers: NDArray[np.int64], first: int, stop: int) -> NDArray[np.int64]:
    start, end = numbers.searchsorted([first, stop])
    return numbers[start:end]


def _is_touched(changes: RowChanges, first: int, stop: int) -> bool:
    return any(
        len(_between(numbers, first, stop)) for numbers in (changes.dropped, changes.changed)
    )


def _is_dropped(changes: RowChanges, firsts: list[int], number: int) -> bool:
    """Return whether all rows of a block go."""
    first, stop = firsts[number], firsts[number + 1]
    return len(_between(changes.dropped, first, stop)) == stop - first


def _spooled(
    trailer: Trailer, source: Input, stack: ExitStack, threads: int | None
) -> PackedBlocks:
    from tempfile import SpooledTemporaryFile

    file: Any = stack.enter_context(SpooledTemporaryFile(_SMALL_BYTES))  # noqa: SIM115
    # Rows may outgrow the chunks that there are, unless all chunks have to be of one size.
    largest = None if trailer.algorithm == "zstd" else LARGEST_ROW_BYTES
    packer = packer_like(
        trailer,
        time_fields=list(trailer.sparse.indices),
        threads=threads,
        max_row_bytes=largest,
    )
    new_trailer, facts = packed_like(
        trailer, packer, source, file.write, list(trailer.sparse.indices), BLOCK_BYTES
    )
    return PackedBlocks(new_trailer, file, facts)


def packed_like(
    trailer: Trailer,
    packer: Packer,
    source: Input,
    write: Callable[[bytes], object],
    time_fields: Sequence[Path],
    block_bytes: int,
) -> tuple[Trailer, list[BlockFacts]]:
    """Pack rows as those of a packfile were packed.

    * ``packer``: A packer like that, see :func:`sdb.packfile.write.pack.packer_like`.
    * ``time_fields``: Paths that get a time index as soon as they hold any timestamp.
    * ``block_bytes``: Decompressed size of a block in bytes, that of the packer.

    Returns: What is known of the blocks, as of a separate packfile, and the statistics of each.
    """
    with packer:
        Feeder(packer, write, None).feed_all([source], silent)
        listed, sparse = build_index(
            PackedParts.of(packer),
            align_bytes=trailer.filled_bytes,
            block_bytes=block_bytes,
            time_fields=time_fields,
            constants=trailer.sparse.constants,
        )
        shift = shift_of(packer, trailer.align_bytes)
        new_trailer = Trailer(1, packer.position, packer.algorithm, shift, listed, sparse)
        rows = sparse.summary.rows if sparse.summary is not None else ()
        return new_trailer, facts_of_blocks(packer, listed, rows)


def _edited(
    pack: Packfile,
    changes: RowChanges,
    blocks: list[tuple[int, int, int]],
    fields: FieldChange,
    advance: Callable[[int], None],
) -> Generator[bytes]:
    """Yield the rows of blocks as Ion, with what changes in them; each block is read once."""
    trailer = pack.trailer
    (read,) = block_readers([(pack, [number for number, _, _ in blocks])])
    for number, first, stop in blocks:
        block = read(number)
        fields.without(block)
        dropped = _between(changes.dropped, first, stop) - first
        try:
            yield from _core.RowEditor(
                block,
                trailer.algorithm,
                trailer.align_bytes,
                dropped=dropped.tolist(),
                values=changes.values,
                paths=[list(path) for path in changes.paths],
                rows=(first, stop),
            )
        except CorruptError as error:
            raise pack.blame(error, number) from None
        except UsageError as error:
            raise error.within(pack.path, path=pack.path) from None
        advance(_size(pack, number))


def _size(pack: Packfile, number: int) -> int:
    start, stop = pack.trailer.block_range(number)
    return stop - start
