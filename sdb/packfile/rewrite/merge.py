"""Joins packfiles to one with the same rows in the same order, where short blocks grow together.

Blocks that are at least half full are copied as they are. Short ones that stand side by side become
one block: their chunks follow each other, and of those with few chunks, whose last one is mostly
empty, the rows are packed again. What was packed again is read back, and must be the same rows.
"""

from __future__ import annotations

from itertools import accumulate, groupby, zip_longest

from sdb import _core
from sdb.errors import CorruptError, UsageError
from sdb.packfile.build.choose import choose_statistics
from sdb.packfile.build.newstats import facts_of, join_facts, packed_facts
from sdb.packfile.inputs.inputs import Input
from sdb.packfile.read.ahead import in_order
from sdb.packfile.read.blocks import check
from sdb.packfile.rewrite.concat import join
from sdb.packfile.trailer.sparseindex import SparseIndex, Summary, build_indices
from sdb.packfile.trailer.trailer import Block, Trailer
from sdb.packfile.write.countstats import counted, ion_text, lacks_statistics
from sdb.packfile.write.pack import BLOCK_BYTES, Feeder, packer_like
from sdb.packfile.write.resume import check_version
from sdb.progress import silent
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import ExitStack
    from typing import Any, BinaryIO

    from sdb.packfile.build.newstats import BlockFacts
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.sparseindex import Path
    from sdb.store.base import Draft

_SMALL_BYTES = 8 << 20

FEW_CHUNKS = 8
"""Rows of blocks with fewer chunks are packed again."""


@record
class _Place:
    """A block of one of the packfiles."""

    pack: int
    number: int


@record
class _Source:
    """Bytes of a packfile, or of the spool."""

    pack: int | None
    start: int
    stop: int


@record
class _Piece:
    """Blocks that become one, and where its bytes are; without that it is one that is copied."""

    places: tuple[_Place, ...]
    chunks: int
    digest: bytes
    facts: BlockFacts
    sources: tuple[_Source, ...] = ()


class JoinedPackfile:
    """Packfiles that become one, ready to be written. Use :func:`joined` to get one.

    * ``copied_bytes``: Size of the blocks that are copied without being read.
    * ``moved_bytes``: Size of those that are read, and copied as they are.
    * ``packed_bytes``: Size of those whose rows were packed again, as they are now.
    """

    def __init__(self, packs: Sequence[Packfile], spool: BinaryIO) -> None:
        self._packs = packs
        self._spool = spool
        self._pieces: list[_Piece] = []
        self.copied_bytes = 0
        self.moved_bytes = 0
        self.packed_bytes = 0
        self.trailer = packs[0].trailer

    def _finish(self, trailer: Trailer) -> None:
        self.trailer = trailer

    @property
    def kept_bytes(self) -> int:
        """Size of the blocks of the first packfile at its beginning that are copied."""
        kept_bytes = 0
        for at, piece in enumerate(self._pieces):
            if piece.sources or piece.places != (_Place(0, at),):
                break
            kept_bytes = self._range(piece.places[0])[1]
        return kept_bytes

    def write(self, draft: Draft, watch: Callable[[int], None] = lambda _: None) -> None:
        """Write what follows the first `kept_bytes`, which the draft begins with.

        * ``draft``: Where to; the store copies what it can by itself.
        """
        kept_bytes = self.kept_bytes
        done = 0
        for is_copied, group in groupby(self._pieces, lambda piece: not piece.sources):
            if not is_copied:
                self._write(group, draft, watch)
                continue
            for places in _runs(group):
                start, stop = self._range(places[0])[0], self._range(places[-1])[1]
                if done < kept_bytes:
                    done = stop
                    start = max(start, kept_bytes)
                if start < stop:
                    draft.copy_range(self._packs[places[0].pack].reader, start, stop)
                watch(stop - start)
        draft.write(self.trailer.encode())

    def _write(self, pieces: Iterable[_Piece], draft: Draft, watch: Callable[[int], None]) -> None:
        """Write blocks that are made of several."""
        for part in (source for piece in pieces for source in piece.sources):
            if part.pack is None:
                self._spool.seek(part.start)
                draft.write(self._spool.read(part.stop - part.start))
            else:
                draft.copy_range(self._packs[part.pack].reader, part.start, part.stop)
            watch(part.stop - part.start)

    def _range(self, block: _Place) -> tuple[int, int]:
        return self._packs[block.pack].trailer.block_range(block.number)


def _runs(pieces: Iterable[_Piece]) -> Iterator[list[_Place]]:
    """Yield the blocks that follow each other in one packfile."""
    places = [piece.places[0] for piece in pieces]
    for _, group in groupby(
        enumerate(places), lambda numbered: (numbered[1].pack, numbered[1].number - numbered[0])
    ):
        yield [block for _, block in group]


def joined(
    packs: Sequence[Packfile], stack: ExitStack, *, threads: int | None = None
) -> JoinedPackfile:
    """Join packfiles.

    * ``packs``: The packfiles, open; all of the same compression, chunk size and constants, and all
      tell how many rows their blocks have.
    * ``stack``: Closes the temporary file when the packfile is written.
    * ``threads``: Threads that compress; one for each processor if not given.

    Raises `CorruptError` if a block that was read is damaged, or what was packed again has not the
    same rows; `UsageError` if one has no row counts.
    """
    for pack in packs:
        check_version(pack.trailer, pack.path)
        if pack.trailer.sparse.summary is None:
            raise UsageError(f"{pack.path} has no row counts", path=pack.path)
    from tempfile import SpooledTemporaryFile

    spool: Any = stack.enter_context(SpooledTemporaryFile(_SMALL_BYTES))  # noqa: SIM115
    return _Joining(packs, spool, threads).run()


def _is_same(own: object, other: object) -> bool:
    """Compare values of which numbers may be none, which are not equal to themselves."""
    if isinstance(own, dict) and isinstance(other, dict):
        return own.keys() == other.keys() and all(
            _is_same(value, other[name]) for name, value in own.items()
        )
    if isinstance(own, list) and isinstance(other, list):
        return len(own) == len(other) and all(map(_is_same, own, other))
    is_none = own != own and other != other  # noqa: PLR0124 - NaN
    return type(own) is type(other) and (own == other or is_none)


class _Joining:
    """Joins packfiles, from their first block to their last."""

    def __init__(self, packs: Sequence[Packfile], spool: BinaryIO, threads: int | None) -> None:
        self._packs = packs
        self._spool = spool
        self._threads = threads
        self._found = JoinedPackfile(packs, spool)
        align = packs[0].trailer.filled_bytes
        self._full = max(1, BLOCK_BYTES // align)
        self._least = max(2, BLOCK_BYTES // (2 * align))
        self._facts = [facts_of(pack.trailer.sparse) for pack in packs]

    def run(self) -> JoinedPackfile:
        waiting: list[_Place] = []
        chunks = 0
        for number, pack in enumerate(self._packs):
            for block, listed in enumerate(pack.trailer.blocks):
                is_full = listed.chunks >= self._least
                if is_full or chunks + listed.chunks > self._full:
                    self._flush(waiting)
                    waiting, chunks = [], 0
                waiting.append(_Place(number, block))
                chunks += listed.chunks
                if is_full:
                    self._flush(waiting)
                    waiting, chunks = [], 0
        self._flush(waiting)
        self._found._finish(self._trailer())  # noqa: SLF001 - it is ours
        return self._found

    def _flush(self, places: list[_Place]) -> None:
        """Make one block of some."""
        if not places:
            return
        if len(places) == 1:
            start, stop = self._range(places[0])
            self._found.copied_bytes += stop - start
            self._add(
                tuple(places), self._chunks(places[0]), self._digest(places[0]), self._known(places)
            )
            return
        data = bytearray()
        sources: list[_Source] = []
        facts: list[BlockFacts] = []
        chunks = 0
        for is_few, group in groupby(places, lambda block: self._chunks(block) < FEW_CHUNKS):
            run = list(group)
            if is_few and len(run) > 1:
                packed, number, fact = self._packed(run)
                facts.append(fact)
                self._found.packed_bytes += len(packed)
                sources.append(self._spooled(packed))
                data += packed
                chunks += number
                continue
            facts.append(self._known(run))
            for block_at, block in zip(run, self._read_all(run), strict=True):
                self._found.moved_bytes += len(block)
                is_near = self._packs[block_at.pack].reader.descriptor is not None
                start, stop = self._range(block_at)
                near = _Source(block_at.pack, start, stop)
                # Where reading is a request nothing is read twice.
                sources.append(near if is_near else self._spooled(block))
                data += block
                chunks += self._chunks(block_at)
        digest = _core.digest_block(data)
        self._add(tuple(places), chunks, digest, join_facts(facts), tuple(sources))

    def _known(self, places: Sequence[_Place]) -> BlockFacts:
        return join_facts([self._fact(block) for block in places])

    def _fact(self, block: _Place) -> BlockFacts:
        """Return the facts of a block; those of small packfiles are counted."""
        pack = self._packs[block.pack]
        if lacks_statistics(pack.trailer):
            return counted(pack, block.number)
        return self._facts[block.pack][block.number]

    def _spooled(self, data: bytes) -> _Source:
        start = self._spool.tell()
        self._spool.write(data)
        return _Source(None, start, start + len(data))

    def _add(
        self,
        places: tuple[_Place, ...],
        chunks: int,
        digest: bytes,
        facts: BlockFacts,
        sources: tuple[_Source, ...] = (),
    ) -> None:
        self._found._pieces.append(_Piece(places, chunks, digest, facts, sources))  # noqa: SLF001

    def _packed(self, places: list[_Place]) -> tuple[bytes, int, BlockFacts]:
        """Pack the rows of blocks again, and return frames, number of chunks, and statistics."""
        first = self._packs[0].trailer
        blocks = list(zip(self._read_all(places), map(self._chunks, places), strict=True))
        path = self._packs[places[0].pack].path
        packer = packer_like(first, threads=self._threads)
        frames = bytearray()
        source = Input(path, "ion", source=lambda: ion_text(first, blocks))
        with packer:
            Feeder(packer, frames.extend, None).feed_all([source], silent)
            chunks = sum(run[1] for run in packer.runs)
            facts = join_facts([packed.facts for packed in packed_facts(packer)])
        data = bytes(frames)
        if not self._are_same(blocks, (data, chunks)):
            raise CorruptError(
                f"{path}: packing it again came to other rows; nothing was written", path=path
            )
        return data, chunks, facts

    def _are_same(self, old: list[tuple[bytes, int]], new: tuple[bytes, int]) -> bool:
        """Return whether blocks have the same rows: each field, and the types of all."""
        rows = (row for block, _ in old for row in self._rows_of(block))
        pairs = zip_longest(rows, self._rows_of(new[0]))
        if not all(constant == other or _is_same(constant, other) for constant, other in pairs):
            return False
        types: dict[Path, int] = {}
        for block, _ in old:
            for path, mask in self._types_of(block).items():
                types[path] = types.get(path, 0) | mask
        return types == self._types_of(new[0])

    def _rows_of(self, block: bytes) -> Iterator[dict[str, Any]]:
        first = self._packs[0].trailer
        return _core.rows(block, first.algorithm, first.align_bytes)

    def _types_of(self, block: bytes) -> dict[Path, int]:
        first = self._packs[0].trailer
        return _core.verify_block(block, first.algorithm, first.align_bytes, [], None, 1).types

    def _trailer(self) -> Trailer:
        """Make the trailer: that of packfiles that follow each other, with other blocks."""
        trailers = [pack.trailer for pack in self._packs]
        whole = join(trailers)
        pieces = self._found._pieces  # noqa: SLF001
        sizes = [self._size(piece) for piece in pieces]
        starts = accumulate(sizes, initial=0)
        blocks = [Block(start, piece.chunks) for start, piece in zip(starts, pieces, strict=False)]
        counts = [sum(self._rows(block) for block in piece.places) for piece in pieces]
        old = whole.sparse.summary
        if old is None or sum(counts) != sum(old.rows):
            raise CorruptError(
                f"{self._packs[0].path}: merging came to other rows; nothing was written"
            )
        sparse = SparseIndex(
            len(blocks),
            whole.sparse.constants,
            build_indices(self._ranges(whole.sparse)),
            Summary(tuple(counts), old.types, old.complete),
            digests=tuple(piece.digest for piece in pieces),
            stored_presence=whole.sparse.stored_presence,
            stored_provenance=whole.sparse.stored_provenance,
            level=whole.sparse.level,
            columns=whole.sparse.columns,
            stored_statistics=choose_statistics(
                [piece.facts for piece in pieces],
                sum(sizes),
                sources=[trailer.sparse for trailer in trailers],
            ),
        )
        return replace(whole, offset=sum(sizes), blocks=tuple(blocks), sparse=sparse)

    def _ranges(self, whole: SparseIndex) -> Iterator[dict[Path, tuple[int, int]]]:
        """Yield the times of each block at paths for which all packfiles have times."""
        for piece in self._found._pieces:  # noqa: SLF001
            times: dict[Path, tuple[int, int]] = {}
            for block in piece.places:
                sparse = self._packs[block.pack].trailer.sparse
                for path in whole.indices:
                    index = sparse.indices.get(path)
                    range_ = None if index is None else index.known_range(block.number)
                    if range_ is not None:
                        least, most = times.get(path, range_)
                        times[path] = (min(least, range_[0]), max(most, range_[1]))
            yield times

    def _size(self, piece: _Piece) -> int:
        if piece.sources:
            return sum(source.stop - source.start for source in piece.sources)
        start, stop = self._range(piece.places[0])
        return stop - start

    def _range(self, block: _Place) -> tuple[int, int]:
        return self._packs[block.pack].trailer.block_range(block.number)

    def _chunks(self, block: _Place) -> int:
        return self._packs[block.pack].trailer.blocks[block.number].chunks

    def _rows(self, block: _Place) -> int:
        summary = self._packs[block.pack].trailer.sparse.summary
        return summary.rows[block.number] if summary is not None else 0

    def _digest(self, block: _Place) -> bytes:
        digest = self._packs[block.pack].trailer.sparse.digest(block.number)
        return digest or _core.digest_block(self._read(block))

    def _read_all(self, places: Sequence[_Place]) -> Iterator[bytes]:
        is_remote = any(self._packs[block.pack].is_remote for block in places)
        return in_order(self._read, places, is_remote=is_remote)

    def _read(self, block_at: _Place) -> bytes:
        pack = self._packs[block_at.pack]
        start, stop = pack.trailer.block_range(block_at.number)
        block = pack.reader.read(start, stop)
        try:
            check(block, pack.trailer.sparse.digest(block_at.number))
        except CorruptError as error:
            raise pack.blame(error, block_at.number) from None
        return block
