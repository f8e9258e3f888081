"""Clusters packfiles: one with the same rows, sorted by their values at some paths.

Each block gets a range of these values, so that zone maps and filters leave out nearly all blocks.
Inside of a block rows keep the order that they had: nothing would be gained by another one, and
rows of one input stay together. This is an external sort in two passes: rows are scattered to
parts of about one block, which wait compressed in a temporary file, and each part is packed.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from sdb import _core, notes
from sdb.errors import CorruptError, UsageError, from_os
from sdb.packfile.build.choose import choose_statistics
from sdb.packfile.build.options import StatisticsChoice
from sdb.packfile.inputs.inputs import Input
from sdb.packfile.read.ahead import block_readers
from sdb.packfile.rewrite.concat import join
from sdb.packfile.rewrite.cuts import sampled_cuts
from sdb.packfile.rewrite.rewrite import packed_like
from sdb.packfile.trailer import declared
from sdb.packfile.trailer.provenance import MAX_INPUTS, MAX_NAMES_BYTES, Origin, Provenance
from sdb.packfile.trailer.sparseindex import build_indices
from sdb.packfile.write.pack import BLOCK_BYTES, packer_like
from sdb.packfile.write.resume import check_version
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from contextlib import ExitStack
    from typing import BinaryIO

    from sdb.packfile.build.newstats import BlockFacts
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.rewrite.cuts import Cuts
    from sdb.packfile.trailer.sparseindex import Path, SparseIndex
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.store.base import Draft

_PIECE_BYTES = 1 << 20


@record
class ClusteredPackfile:
    """Packfiles that became one that is sorted, ready to be written."""

    trailer: Trailer  # its trailer
    # False if the provenance that the packfiles had was lost
    are_inputs_known: bool
    spool: BinaryIO  # its blocks

    def write(self, draft: Draft, watch: Callable[[int], None] = lambda _: None) -> None:
        """Write all of it; `watch` is called with the number of bytes written."""
        self.spool.seek(0)
        left = self.trailer.offset
        while left and (piece := self.spool.read(min(left, _PIECE_BYTES))):
            draft.write(piece)
            watch(len(piece))
            left -= len(piece)
        draft.write(self.trailer.encode())


def clustered(
    packs: Sequence[Packfile],
    paths: tuple[Path, ...],
    stack: ExitStack,
    *,
    threads: int | None = None,
    watch: Callable[[int], None] = lambda _: None,
) -> ClusteredPackfile | None:
    """Make one packfile of several, sorted by the values at some paths.

    * ``packs``: The packfiles, open; all of the same compression, chunk size and constants, and all
      tell how many rows their blocks have.
    * ``paths``: The paths, see :func:`sdb.packfile.rewrite.cuts.cluster_paths`.
    * ``stack``: Closes the temporary files when the packfile is written. They have no names, and
      take about twice the size of the packfiles.
    * ``threads``: Threads that compress; one for each processor if not given.
    * ``watch``: Told how many bytes of blocks were done: half when they are read, half when they
      are packed.

    Returns: What is to be written; None where there is nothing to sort, as in a single block, or if
    all rows have the same values.
    Raises `CorruptError` if a block is damaged, or has other rows than counted, or the new ones are
    not the same; `UsageError` if one has no row counts.
    """
    for pack in packs:
        check_version(pack.trailer, pack.path)
        if pack.trailer.sparse.summary is None:
            raise UsageError(f"{pack.path} has no row counts", path=pack.path)
    size = block_bytes_of(packs)
    cuts = sampled_cuts(packs, paths, size)
    return _Clustering(packs, cuts, size, stack, threads, watch).run() if cuts.parts > 1 else None


def block_bytes_of(packs: Sequence[Packfile]) -> int:
    """Return size of blocks: the usual one, or that of packfiles that were packed in smaller."""
    full = sorted(
        block.chunks * pack.trailer.filled_bytes for pack in packs for block in pack.blocks[:-1]
    )
    return min(BLOCK_BYTES, full[len(full) // 2]) if full else BLOCK_BYTES


class _Clustering:
    def __init__(
        self,
        packs: Sequence[Packfile],
        cuts: Cuts,
        block_bytes: int,
        stack: ExitStack,
        threads: int | None,
        watch: Callable[[int], None],
    ) -> None:
        self._packs = packs
        self._cuts = cuts
        self._block_bytes = block_bytes
        self._threads = threads
        self._watch = watch
        self._waiting = _Spool(stack)
        self._spool = _Spool(stack)
        self._pieces: list[list[tuple[int, int, int]]] = [[] for _ in range(cuts.parts)]
        self._inputs = ClusteredInputs([pack.trailer.sparse for pack in packs], cuts.parts)
        self._rows = self._hash = 0
        indexed = (pack.trailer.sparse.indices for pack in packs)
        self._time_fields = sorted({path for indices in indexed for path in indices})
        # What has no statistics gets none but those of the paths that it is sorted by.
        has_any = any(pack.trailer.sparse.stored_statistics is not None for pack in packs)
        self._stats = StatisticsChoice(is_auto=has_any, paths=cuts.paths)

    def run(self) -> ClusteredPackfile:
        readers = block_readers((pack, range(len(pack.blocks))) for pack in self._packs)
        for number, (pack, read) in enumerate(zip(self._packs, readers, strict=True)):
            self._scatter(number, pack, read)
        whole_bytes = sum(pack.trailer.offset for pack in self._packs)
        trailers, facts = [], []
        done = rows = 0
        for part in range(self._cuts.parts):
            trailer, new_facts = self._packed(part)
            trailers.append(trailer)
            facts += new_facts
            rows += trailer.rows or 0
            before, done = done, whole_bytes * rows // max(1, self._rows)
            self._watch((done - before) // 2)
        trailer = self._trailer([packed for packed in trailers if packed.blocks], facts)
        self._check(trailer)
        return ClusteredPackfile(trailer, self._inputs.are_known, self._spool.file)

    def _scatter(self, number: int, pack: Packfile, read: Callable[[int], bytes]) -> None:
        """Read all blocks of a packfile, and let their rows wait where they belong."""
        trailer = pack.trailer
        scatter = self._cuts.scatter()
        first = 0
        for block in range(len(trailer.blocks)):
            data = read(block)
            try:
                pieces, parts, hash_of_rows = scatter.partition(
                    data, trailer.algorithm, trailer.align_bytes
                )
            except CorruptError as error:
                raise pack.blame(error, block) from None
            rows = self._inputs.take(number, first, parts)
            summary = trailer.sparse.summary
            if summary is None or rows != summary.rows[block]:
                message = f"{pack.path}: block {block} has {rows:,} rows, not what the trailer says"
                raise CorruptError(message, path=pack.path)
            for part, stream, size in pieces:
                self._pieces[part].append((*self._waiting.put(stream), size))
            first += rows
            self._rows += rows
            self._hash += hash_of_rows
            self._watch(len(data) // 2)

    def _packed(self, part: int) -> tuple[Trailer, list[BlockFacts]]:
        """Pack the rows of a part."""
        first = self._packs[0].trailer
        packer = packer_like(
            first,
            time_fields=self._time_fields,
            block_bytes=self._block_bytes,
            threads=self._threads,
            stats=self._stats,
        )
        source = Input(self._packs[0].path, "ion", source=lambda: self._text(part))
        return packed_like(
            first, packer, source, self._spool.put, self._time_fields, self._block_bytes
        )

    def _text(self, part: int) -> Generator[bytes]:
        for start, stop, size in self._pieces[part]:
            yield _core.zstd_decompress(self._waiting.get(start, stop), size)

    def _check(self, trailer: Trailer) -> None:
        """Require the same rows: as many, and with the same sum of hashes."""
        rows = total = 0
        for number in range(len(trailer.blocks)):
            block = self._spool.get(*trailer.block_range(number))
            count, value = _core.hash_rows(block, trailer.algorithm, trailer.align_bytes)
            rows += count
            total += value
        if rows != self._rows or trailer.rows != rows or (total - self._hash) % (1 << 128):
            path = self._packs[0].path
            raise CorruptError(
                f"{path}: clustering came to other rows; nothing was written", path=path
            )

    def _trailer(self, parts: list[Trailer], facts: list[BlockFacts]) -> Trailer:
        """Make the trailer of parts that follow each other."""
        whole = join(parts)
        levels = {pack.trailer.sparse.level for pack in self._packs}
        sources = [pack.trailer.sparse for pack in self._packs]
        sparse = replace(
            whole.sparse,
            indices=build_indices(_ranges(parts, list(whole.sparse.indices))),
            stored_provenance=self._inputs.encode(),
            level=levels.pop() if len(levels) == 1 else None,
            columns=declared.common({source.columns for source in sources}),
            stored_statistics=choose_statistics(
                facts, whole.offset, zoned=self._cuts.paths, sources=sources
            ),
            clustered=self._cuts.paths,
        )
        return replace(whole, sparse=sparse)


def _ranges(parts: list[Trailer], paths: list[Path]) -> Iterator[dict[Path, tuple[int, int]]]:
    """Yield the times of each block at paths for which all parts have times."""
    for part in parts:
        indices = part.sparse.indices
        for number in range(part.sparse.blocks):
            times = {path: indices[path].known_range(number) for path in paths if path in indices}
            yield {path: range_ for path, range_ in times.items() if range_ is not None}


class _Spool:
    """Keeps bytes in a temporary file without a name, which goes when the program does."""

    def __init__(self, stack: ExitStack) -> None:
        import tempfile

        self._folder = tempfile.gettempdir()
        self.file = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        self._end = 0

    def put(self, data: bytes) -> tuple[int, int]:
        """Write bytes to the spool, and return their range there."""
        try:
            self.file.seek(self._end)
            self.file.write(data)
        except OSError as error:
            raise from_os(error, "keeping rows in", self._folder) from error
        start, self._end = self._end, self._end + len(data)
        return start, self._end

    def get(self, start: int, stop: int) -> bytes:
        """Return bytes that are kept."""
        self.file.seek(start)
        return self.file.read(stop - start)


# The inputs of a clustered packfile: rows of one input are in many places then.


class ClusteredInputs:
    """Follows the rows of inputs to the parts of a packfile."""

    def __init__(self, sources: Sequence[SparseIndex], parts: int) -> None:
        self._parts: list[list[list[int]]] = [[] for _ in range(parts)]
        self._origins: list[Origin] = []
        self._places: list[list[tuple[int, int, int]]] = []
        self._complete = True
        self._runs = self._names_bytes = 0
        for sparse in sources:
            provenance = _provenance(sparse)
            self._complete = self._complete and provenance.complete
            places = []
            for origin in provenance.origins:
                places.append((origin.first, origin.first + origin.rows, len(self._origins)))
                self._origins.append(origin)
            self._places.append(places)
        self._was_known = self._complete and bool(self._origins)

    @property
    def are_known(self) -> bool:
        """False if the packfiles have complete provenance, and this one could not."""
        return not self._was_known or self._fit

    @property
    def _fit(self) -> bool:
        return self._runs <= MAX_INPUTS and self._names_bytes <= MAX_NAMES_BYTES

    def take(self, source: int, first: int, parts: bytes) -> int:
        """Follow the rows of a block."""
        import numpy as np

        numbers = np.frombuffer(parts, np.uint32)
        places = self._places[source]
        begin = max(0, bisect_right(places, first, key=lambda origin_at: origin_at[0]) - 1)
        for start, stop, origin in places[begin:]:
            if start >= first + len(numbers) or not self._fit:
                break
            mine = numbers[max(0, start - first) : max(0, stop - first)]
            counts = np.bincount(mine) if len(mine) else mine
            for part in np.flatnonzero(counts):
                self._add(int(part), origin, int(counts[part]))
        return len(numbers)

    def _add(self, part: int, origin: int, rows: int) -> None:
        runs = self._parts[part]
        if runs and runs[-1][0] == origin:
            runs[-1][1] += rows
            return
        runs.append([origin, rows])
        self._runs += 1
        self._names_bytes += len(self._origins[origin].name.encode())

    def encode(self) -> bytes:
        """Return the provenance as it is stored; nothing where it is not known or has no room.

        Rows of no known input would lie between those of others: then nothing is stored.
        """
        if not self._was_known or not self._fit:
            return b""
        empty = [
            replace(empty_origin, first=0)
            for empty_origin in self._origins
            if not empty_origin.rows
        ]
        runs = [run for part in self._parts for run in part]
        starts = accumulate((rows for _, rows in runs), initial=0)
        rows_before = [0] * len(self._origins)
        origins = []
        for (number, rows), first in zip(runs, starts, strict=False):
            origin = self._origins[number]
            before = origin.text_bytes * rows_before[number] // origin.rows
            rows_before[number] += rows
            text = origin.text_bytes * rows_before[number] // origin.rows - before
            origins.append(replace(origin, first=first, rows=rows, text_bytes=text))
        return Provenance((*empty, *origins), complete=True).encode()


def _provenance(sparse: SparseIndex) -> Provenance:
    try:
        provenance = sparse.provenance()
    except CorruptError as error:
        notes.tell(f"the inputs of some rows are left out: {error.message}")
        provenance = None
    return provenance or Provenance((), complete=not sparse.blocks)
