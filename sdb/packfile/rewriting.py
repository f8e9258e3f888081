"""Rewrites a packfile in which some rows change: blocks without such rows are copied as they are.

Blocks with rows that change are read as a whole and packed again; where nothing is left of a block
it goes. Whole rows are kept or dropped by their numbers, and every number has to be met: a block
with fewer rows than it should have is an error, and nothing is written.
"""

from __future__ import annotations

from itertools import accumulate, groupby, pairwise

from sdb import _core, effort, ion
from sdb.errors import CorruptError, UsageError
from sdb.packfile import presence
from sdb.packfile.inputs import Input
from sdb.packfile.merge import Span, merge
from sdb.packfile.presence import FieldCount, Presence
from sdb.packfile.provenance import Provenance
from sdb.packfile.sparseindex import SparseIndex, Summary, build_indices, join_types
from sdb.packfile.trailer import Block, Trailer
from sdb.packfile.writer import BLOCK_BYTES, Feeder
from sdb.progress import silent
from sdb.records import field, record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from contextlib import ExitStack
    from typing import Any, BinaryIO

    import numpy as np
    from numpy.typing import NDArray

    from sdb.packfile.reader import Packfile
    from sdb.packfile.sparseindex import Path
    from sdb.store.base import Draft

_SMALL_BYTES = 8 << 20
_PIECE_BYTES = 1 << 20


@record
class RowChanges:
    """Rows of a packfile that change, by their numbers from 0 on.

    Attributes
    ----------
    dropped : array of int64
        The rows that go, ascending.
    changed : array of int64
        The rows that get values, ascending.
    values : bytes
        An Ion stream with a struct for each of these: `row` is its number, and ``0``, ``1`` ... are
        the values of the paths. Where one is missing, the field goes.
    paths : tuple of path
        Where the values go.
    """

    dropped: NDArray[np.int64]
    changed: NDArray[np.int64]
    values: bytes = field(default=b"", repr=False)
    paths: tuple[Path, ...] = ()


@record
class _Copied:
    """A block that stays as it is."""

    number: int


@record
class _Packed:
    """Blocks that were written again, and where their bytes wait."""

    trailer: Trailer
    file: BinaryIO


class RewrittenPackfile:
    """A packfile in which rows change, ready to be written. Use :func:`rewritten` to get one.

    Attributes
    ----------
    trailer : Trailer or None
        Its trailer; None: no row is left.
    rows_before, rows_after : int
        Number of rows.
    blocks_kept : int
        Number of blocks that stay as they are.
    copied_bytes, packed_bytes : int
        Size of the blocks that are copied, and of those that were written again.
    """

    def __init__(
        self, pack: Packfile, parts: Sequence[_Copied | _Packed], trailer: Trailer
    ) -> None:
        self._pack = pack
        self._parts = parts
        self.trailer = trailer if trailer.blocks else None
        self.rows_before = 0
        self.rows_after = 0
        places = [pack.trailer.block_range(one.number) for one in self._copied]
        self.blocks_kept = len(places)
        self.copied_bytes = sum(stop - start for start, stop in places)
        self.packed_bytes = trailer.offset - self.copied_bytes

    @property
    def _copied(self) -> list[_Copied]:
        return [part for part in self._parts if isinstance(part, _Copied)]

    @property
    def kept_bytes(self) -> int:
        """Size of the blocks at the beginning that stay where they are."""
        return self._pack.trailer.block_range(self._kept - 1)[1] if self._kept else 0

    @property
    def _kept(self) -> int:
        """Number of blocks at the beginning that stay where they are."""
        return next(
            (at for at, part in enumerate(self._parts) if part != _Copied(at)), len(self._parts)
        )

    def write(self, draft: Draft) -> None:
        """Write what follows the first `kept_bytes`, which the draft begins with.

        What is copied the store takes over by itself, where it can.
        """
        if self.trailer is None:
            return
        others = self._parts[self._kept :]
        for is_copied, group in groupby(others, lambda part: isinstance(part, _Copied)):
            parts = list(group)
            if is_copied:
                self._copy([part.number for part in parts if isinstance(part, _Copied)], draft)
            for part in parts:
                if isinstance(part, _Packed):
                    part.file.seek(0)
                    left = part.trailer.offset
                    while left and (piece := part.file.read(min(left, _PIECE_BYTES))):
                        draft.write(piece)
                        left -= len(piece)
        draft.write(self.trailer.encode())

    def _copy(self, numbers: list[int], draft: Draft) -> None:
        """Copy blocks, those that follow each other at once."""
        place = self._pack.trailer.block_range
        for first, last in _runs(numbers):
            draft.copy_range(self._pack.reader, place(first)[0], place(last)[1])


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Give first and last of the numbers that follow each other."""
    for _, group in groupby(enumerate(numbers), lambda one: one[1] - one[0]):
        run = [number for _, number in group]
        yield run[0], run[-1]


def rewritten(
    pack: Packfile, changes: RowChanges, stack: ExitStack, *, threads: int | None = None
) -> RewrittenPackfile:
    """Rewrite a packfile in which rows change.

    Parameters
    ----------
    pack : Packfile
        The packfile, open. Its compression, chunk size, level and constants stay.
    changes : RowChanges
        What changes; at least one row.
    stack : ExitStack
        Closes the temporary files when the packfile is written.
    threads : int, optional
        Threads that compress; one for each processor if not given.

    Returns
    -------
    RewrittenPackfile
        What is to be written.

    Raises
    ------
    CorruptError
        A block with rows that change is damaged, or has other rows than the trailer tells.
    UsageError
        A value cannot be set where a row has no struct.
    """
    rows = rows_of_blocks(pack)
    firsts = [0, *accumulate(rows)]
    if any(len(one) and one[-1] >= firsts[-1] for one in (changes.dropped, changes.changed)):
        message = f"{pack.path}: a row that should change is not among {firsts[-1]:,}"
        raise CorruptError(message, path=pack.path)
    parts: list[_Copied | _Packed] = []
    fields = _FieldChange(pack)
    for is_touched, group in groupby(
        range(len(rows)), lambda number: _is_touched(changes, firsts[number], firsts[number + 1])
    ):
        numbers = list(group)
        if not is_touched:
            parts += map(_Copied, numbers)
            continue
        kept = [number for number in numbers if not _is_dropped(changes, firsts, number)]
        for number in numbers:
            fields.without(number)
        if kept:
            blocks = [(number, firsts[number], firsts[number + 1]) for number in kept]
            part = _packed(pack, changes, blocks, stack, threads)
            fields.with_new(part)
            parts.append(part)
    found = RewrittenPackfile(pack, parts, _trailer(pack, changes, rows, parts, fields))
    found.rows_before = sum(rows)
    found.rows_after = found.rows_before - len(changes.dropped)
    after = found.trailer.rows if found.trailer is not None else 0
    if after is not None and after != found.rows_after:
        message = f"{found.rows_before:,} rows without {len(changes.dropped):,} came to {after:,}"
        raise CorruptError(f"{pack.path}: {message}", path=pack.path)
    return found


def blocks_with(rows: Sequence[int], changed: NDArray[np.int64]) -> int:
    """Count the blocks that have rows that change, by the numbers of rows in each block.

    Examples
    --------
    >>> import numpy as np
    >>> blocks_with([10, 10, 10], np.array([3, 29]))
    2
    """
    firsts = [0, *accumulate(rows)]
    return sum(len(_between(changed, *place)) > 0 for place in pairwise(firsts))


def rows_of_blocks(pack: Packfile) -> list[int]:
    """Give the number of rows of each block; they are counted where the trailer does not tell."""
    summary = pack.trailer.sparse.summary
    if summary is not None:
        return list(summary.rows)
    return [_report(pack, number).rows for number in range(len(pack.blocks))]


def _report(pack: Packfile, number: int) -> _core.BlockReport:
    trailer = pack.trailer
    return _core.verify_block(
        pack.read_block(number), trailer.algorithm, trailer.align_bytes, [], None, 1
    )


def _between(numbers: NDArray[np.int64], first: int, stop: int) -> NDArray[np.int64]:
    start, end = numbers.searchsorted([first, stop])
    return numbers[start:end]


def _is_touched(changes: RowChanges, first: int, stop: int) -> bool:
    return any(len(_between(one, first, stop)) for one in (changes.dropped, changes.changed))


def _is_dropped(changes: RowChanges, firsts: list[int], number: int) -> bool:
    """Tell whether all rows of a block go."""
    first, stop = firsts[number], firsts[number + 1]
    return len(_between(changes.dropped, first, stop)) == stop - first


def _packed(
    pack: Packfile,
    changes: RowChanges,
    blocks: list[tuple[int, int, int]],
    stack: ExitStack,
    threads: int | None,
) -> _Packed:
    """Pack the rows of blocks that follow each other again, with what changes in them."""
    from tempfile import SpooledTemporaryFile

    trailer = pack.trailer
    time_fields = list(trailer.sparse.indices)
    constants = trailer.sparse.constants
    source = Input(pack.path, "ion", source=lambda: _edited(pack, changes, blocks))
    file: Any = stack.enter_context(SpooledTemporaryFile(_SMALL_BYTES))  # noqa: SIM115
    packer = _core.Packer(
        algorithm=trailer.algorithm,
        align=trailer.align_bytes,
        block_bytes=BLOCK_BYTES,
        threads=threads or 0,
        level=effort.DEFAULT if trailer.sparse.level is None else trailer.sparse.level,
        constants=ion.dumps(dict(constants)) if constants else None,
        time_paths=[list(path) for path in time_fields],
    )
    with packer:
        Feeder(packer, file.write, None).feed_all([source], silent)
        types, types_complete = packer.types
        listed, sparse = merge(
            [Span(*run) for run in packer.runs],
            align_bytes=trailer.align_bytes,
            block_bytes=BLOCK_BYTES,
            types=types,
            types_complete=types_complete,
            time_fields=time_fields,
            constants=constants,
            hidden=packer.hidden,
            presence=Presence.of(packer.fields[0], complete=packer.fields[1]),
        )
        shift = trailer.block_shift
        return _Packed(Trailer(1, packer.position, packer.algorithm, shift, listed, sparse), file)


def _edited(
    pack: Packfile, changes: RowChanges, blocks: list[tuple[int, int, int]]
) -> Generator[bytes]:
    """Give the rows of blocks as Ion, with what changes in them."""
    trailer = pack.trailer
    for number, first, stop in blocks:
        block = pack.read_block(number)
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


class _FieldChange:
    """The presence of fields, less that of blocks that go, and with that of new ones.

    Parameters
    ----------
    pack : Packfile
        The packfile as it was.
    """

    def __init__(self, pack: Packfile) -> None:
        self._pack = pack
        self._known: Presence | None = None
        try:
            self._known = pack.trailer.sparse.presence()
        except CorruptError:
            self._known = None  # it is left out
        self._counts = dict(self._known.fields) if self._known else {}
        self._is_complete = self._known is not None and self._known.complete

    def without(self, number: int) -> None:
        """Take away what a block has."""
        if self._known is None:
            return
        found, _ = _report(self._pack, number).fields
        constants = self._pack.trailer.sparse.constants
        for path, _, rows in found:
            if path in self._counts and path[0] not in constants:
                count = self._counts[path]
                self._counts[path] = FieldCount(count.types, count.rows - rows)

    def with_new(self, part: _Packed) -> None:
        """Add what new blocks have."""
        if self._known is None:
            return
        new = part.trailer.sparse.presence()
        if new is None:
            self._known = None
            return
        constants = self._pack.trailer.sparse.constants
        counts = {path: one for path, one in new.fields.items() if path[0] not in constants}
        joined = presence.join(
            [Presence(self._counts, self._is_complete), Presence(counts, new.complete)]
        )
        self._counts, self._is_complete = joined.fields, joined.complete

    def encode(self, summary: Summary, rows: int) -> bytes:
        """Give what is stored; nothing where it is not known."""
        if self._known is None or any(one.rows < 0 for one in self._counts.values()):
            return b""
        constants = self._pack.trailer.sparse.constants
        counts = {
            path: FieldCount(one.types, rows) if path[0] in constants else one
            for path, one in self._counts.items()
            if one.rows or path[0] in constants
        }
        ordered = {path: counts[path] for path in presence.nested(counts)}
        return Presence(ordered, self._is_complete).encode(summary)


def _trailer(
    pack: Packfile,
    changes: RowChanges,
    rows: list[int],
    parts: Sequence[_Copied | _Packed],
    fields: _FieldChange,
) -> Trailer:
    """Make the trailer of blocks that are copied and blocks that are new."""
    old = pack.trailer
    blocks: list[Block] = []
    counts: list[int] = []
    digests: list[bytes] = []
    offset = 0
    for part in parts:
        if isinstance(part, _Copied):
            start, stop = old.block_range(part.number)
            blocks.append(Block(offset, old.blocks[part.number].chunks))
            counts.append(rows[part.number])
            digest = old.sparse.digest(part.number)
            digests.append(digest or _core.digest_block(pack.read_block(part.number)))
            offset += stop - start
        else:
            blocks += [Block(offset + one.offset, one.chunks) for one in part.trailer.blocks]
            summary = part.trailer.sparse.summary
            counts += summary.rows if summary is not None else ()
            digests += part.trailer.sparse.digests
            offset += part.trailer.offset
    new = [part.trailer.sparse for part in parts if isinstance(part, _Packed)]
    known = [old.sparse.summary or Summary(tuple(rows), {}, complete=False)]
    known += [one.summary for one in new if one.summary is not None]
    types, complete = join_types((one.types, one.complete) for one in known)
    summary = Summary.bounded(counts, types, complete=complete and len(known) == len(new) + 1)
    sparse = SparseIndex(
        len(blocks),
        old.sparse.constants,
        build_indices(_ranges(old.sparse, new, parts)),
        summary,
        digests=tuple(digests) if any(digests) else (),
        level=old.sparse.level,
    )
    if summary is not None:
        sparse = replace(
            sparse,
            stored_presence=fields.encode(summary, sum(counts)) if blocks else b"",
            stored_provenance=_provenance(old.sparse, changes),
        )
    return Trailer(1, offset, old.algorithm, old.block_shift, tuple(blocks), sparse)


def _ranges(
    old: SparseIndex, new: list[SparseIndex], parts: Sequence[_Copied | _Packed]
) -> Iterator[dict[Path, tuple[int, int]]]:
    """Give for each block the times at each path of which all blocks tell."""
    everyone = [old, *new]
    paths = {path for one in everyone for path in one.indices}
    told = [
        path
        for path in sorted(paths)
        if all(path in one.indices or one.is_without_times(path) for one in everyone)
    ]
    for part in parts:
        sparse = old if isinstance(part, _Copied) else part.trailer.sparse
        numbers = [part.number] if isinstance(part, _Copied) else range(sparse.blocks)
        indexed = [(path, sparse.indices[path]) for path in told if path in sparse.indices]
        for number in numbers:
            found = ((path, index.known_range(number)) for path, index in indexed)
            yield {path: known for path, known in found if known is not None}


def _provenance(old: SparseIndex, changes: RowChanges) -> bytes:
    """Give which inputs the rows that are left came from."""
    try:
        told = old.provenance()
    except CorruptError:
        return b""
    if told is None:
        return b""
    origins = []
    for one in told.origins:
        before = int(changes.dropped.searchsorted(one.first))
        gone = len(_between(changes.dropped, one.first, one.first + one.rows))
        if one.rows > gone:
            origins.append(replace(one, first=one.first - before, rows=one.rows - gone))
    return Provenance(tuple(origins), told.complete).encode() if origins else b""
