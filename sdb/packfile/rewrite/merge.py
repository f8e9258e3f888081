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
from sdb.packfile.read.digest import check
from sdb.packfile.rewrite.concat import join
from sdb.packfile.trailer.sparseindex import SparseIndex, Summary, build_indices
from sdb.packfile.trailer.trailer import Block, Trailer
from sdb.packfile.write.countstats import counted, has_untold, ion_text
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

    Attributes
    ----------
    trailer : Trailer
        The trailer.
    copied_bytes : int
        Size of the blocks that are copied without being read.
    moved_bytes : int
        Size of those that are read, and copied as they are.
    packed_bytes : int
        Size of those whose rows were packed again, as they are now.
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
        kept = 0
        for at, piece in enumerate(self._pieces):
            if piece.sources or piece.places != (_Place(0, at),):
                break
            kept = self._range(piece.places[0])[1]
        return kept

    def write(self, draft: Draft, watch: Callable[[int], None] = lambda _: None) -> None:
        """Write what follows the first `kept_bytes`, which the draft begins with.

        Parameters
        ----------
        draft : Draft
            Where to; the store copies what it can by itself.
        watch : callable
            Told how many bytes were written.
        """
        kept = self.kept_bytes
        done = 0
        for is_copied, group in groupby(self._pieces, lambda piece: not piece.sources):
            if not is_copied:
                self._write(group, draft, watch)
                continue
            for places in _runs(group):
                start, stop = self._range(places[0])[0], self._range(places[-1])[1]
                if done < kept:
                    done = stop
                    start = max(start, kept)
                if start < stop:
                    draft.copy_range(self._packs[places[0].pack].reader, start, stop)
                watch(stop - start)
        draft.write(self.trailer.encode())

    def _write(self, pieces: Iterable[_Piece], draft: Draft, watch: Callable[[int], None]) -> None:
        """Write blocks that are made of several."""
        for one in (source for piece in pieces for source in piece.sources):
            if one.pack is None:
                self._spool.seek(one.start)
                draft.write(self._spool.read(one.stop - one.start))
            else:
                draft.copy_range(self._packs[one.pack].reader, one.start, one.stop)
            watch(one.stop - one.start)

    def _range(self, place: _Place) -> tuple[int, int]:
        return self._packs[place.pack].trailer.block_range(place.number)


def _runs(pieces: Iterable[_Piece]) -> Iterator[list[_Place]]:
    """Give the blocks that follow each other in one packfile."""
    places = [piece.places[0] for piece in pieces]
    for _, group in groupby(enumerate(places), lambda one: (one[1].pack, one[1].number - one[0])):
        yield [place for _, place in group]


def joined(
    packs: Sequence[Packfile], stack: ExitStack, *, threads: int | None = None
) -> JoinedPackfile:
    """Join packfiles.

    Parameters
    ----------
    packs : sequence of Packfile
        The packfiles, open; all of the same compression, chunk size and constants, and all tell
        how many rows their blocks have.
    stack : ExitStack
        Closes the temporary file when the packfile is written.
    threads : int, optional
        Threads that compress; one for each processor if not given.

    Returns
    -------
    JoinedPackfile
        What is to be written.

    Raises
    ------
    CorruptError
        A block that was read is damaged, or what was packed again has not the same rows.
    UsageError
        One does not tell how many rows it has.
    """
    for pack in packs:
        check_version(pack.trailer, pack.path)
        if pack.trailer.sparse.summary is None:
            raise UsageError(f"{pack.path} does not tell how many rows it has", path=pack.path)
    from tempfile import SpooledTemporaryFile

    spool: Any = stack.enter_context(SpooledTemporaryFile(_SMALL_BYTES))  # noqa: SIM115
    return _Joining(packs, spool, threads).run()


def _is_same(one: object, other: object) -> bool:
    """Compare values of which numbers may be none, which are not equal to themselves."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            _is_same(value, other[name]) for name, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    is_none = one != one and other != other  # noqa: PLR0124 - NaN
    return type(one) is type(other) and (one == other or is_none)


class _Joining:
    """Joins packfiles, from their first block to their last."""

    def __init__(self, packs: Sequence[Packfile], spool: BinaryIO, threads: int | None) -> None:
        self._packs = packs
        self._spool = spool
        self._threads = threads
        self._found = JoinedPackfile(packs, spool)
        align = packs[0].trailer.align_bytes
        self._full = max(1, BLOCK_BYTES // align)
        self._least = max(2, BLOCK_BYTES // (2 * align))
        self._facts = [facts_of(pack.trailer.sparse) for pack in packs]

    def run(self) -> JoinedPackfile:
        waiting: list[_Place] = []
        chunks = 0
        for number, pack in enumerate(self._packs):
            for block, found in enumerate(pack.trailer.blocks):
                is_full = found.chunks >= self._least
                if is_full or chunks + found.chunks > self._full:
                    self._flush(waiting)
                    waiting, chunks = [], 0
                waiting.append(_Place(number, block))
                chunks += found.chunks
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
        for is_few, group in groupby(places, lambda one: self._chunks(one) < FEW_CHUNKS):
            some = list(group)
            if is_few and len(some) > 1:
                packed, number, fact = self._packed(some)
                facts.append(fact)
                self._found.packed_bytes += len(packed)
                sources.append(self._spooled(packed))
                data += packed
                chunks += number
                continue
            facts.append(self._known(some))
            for place in some:
                block = self._read(place)
                self._found.moved_bytes += len(block)
                is_near = self._packs[place.pack].reader.descriptor is not None
                start, stop = self._range(place)
                near = _Source(place.pack, start, stop)
                # Where reading is a request nothing is read twice.
                sources.append(near if is_near else self._spooled(block))
                data += block
                chunks += self._chunks(place)
        digest = _core.digest_block(data)
        self._add(tuple(places), chunks, digest, join_facts(facts), tuple(sources))

    def _known(self, places: Sequence[_Place]) -> BlockFacts:
        return join_facts([self._fact(place) for place in places])

    def _fact(self, place: _Place) -> BlockFacts:
        """Return the facts of a block; those of small packfiles are counted."""
        pack = self._packs[place.pack]
        if has_untold(pack.trailer):
            return counted(pack, place.number)
        return self._facts[place.pack][place.number]

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
        """Pack the rows of blocks again: gives frames, number of chunks, and statistics."""
        first = self._packs[0].trailer
        blocks = [(self._read(place), self._chunks(place)) for place in places]
        path = self._packs[places[0].pack].path
        packer = packer_like(first, threads=self._threads)
        frames = bytearray()
        source = Input(path, "ion", source=lambda: ion_text(first, blocks))
        with packer:
            Feeder(packer, frames.extend, None).feed_all([source], silent)
            chunks = sum(run[1] for run in packer.runs)
            facts = join_facts([one.facts for one in packed_facts(packer)])
        data = bytes(frames)
        if not self._are_same(blocks, (data, chunks)):
            raise CorruptError(f"{path}: packed again it has other rows", path=path)
        return data, chunks, facts

    def _are_same(self, old: list[tuple[bytes, int]], new: tuple[bytes, int]) -> bool:
        """Tell whether blocks have the same rows: each field, and the types of all."""
        rows = (row for block, _ in old for row in self._rows_of(block))
        pairs = zip_longest(rows, self._rows_of(new[0]))
        if not all(one == other or _is_same(one, other) for one, other in pairs):
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
        counts = [sum(self._rows(place) for place in piece.places) for piece in pieces]
        old = whole.sparse.summary
        if old is None or sum(counts) != sum(old.rows):
            raise CorruptError(f"{self._packs[0].path}: joining came to other rows")
        sparse = SparseIndex(
            len(blocks),
            whole.sparse.constants,
            build_indices(self._ranges(whole.sparse)),
            Summary(tuple(counts), old.types, old.complete),
            digests=tuple(piece.digest for piece in pieces),
            stored_presence=whole.sparse.stored_presence,
            stored_provenance=whole.sparse.stored_provenance,
            level=whole.sparse.level,
            stored_statistics=choose_statistics(
                [piece.facts for piece in pieces],
                sum(sizes),
                sources=[trailer.sparse for trailer in trailers],
            ),
        )
        return replace(whole, offset=sum(sizes), blocks=tuple(blocks), sparse=sparse)

    def _ranges(self, whole: SparseIndex) -> Iterator[dict[Path, tuple[int, int]]]:
        """Give the times of each block at the paths that all packfiles tell of."""
        for piece in self._found._pieces:  # noqa: SLF001
            found: dict[Path, tuple[int, int]] = {}
            for place in piece.places:
                sparse = self._packs[place.pack].trailer.sparse
                for path in whole.indices:
                    index = sparse.indices.get(path)
                    known = None if index is None else index.known_range(place.number)
                    if known is not None:
                        least, most = found.get(path, known)
                        found[path] = (min(least, known[0]), max(most, known[1]))
            yield found

    def _size(self, piece: _Piece) -> int:
        if piece.sources:
            return sum(one.stop - one.start for one in piece.sources)
        start, stop = self._range(piece.places[0])
        return stop - start

    def _range(self, place: _Place) -> tuple[int, int]:
        return self._packs[place.pack].trailer.block_range(place.number)

    def _chunks(self, place: _Place) -> int:
        return self._packs[place.pack].trailer.blocks[place.number].chunks

    def _rows(self, place: _Place) -> int:
        summary = self._packs[place.pack].trailer.sparse.summary
        return summary.rows[place.number] if summary is not None else 0

    def _digest(self, place: _Place) -> bytes:
        known = self._packs[place.pack].trailer.sparse.digest(place.number)
        return known or _core.digest_block(self._read(place))

    def _read(self, place: _Place) -> bytes:
        pack = self._packs[place.pack]
        start, stop = pack.trailer.block_range(place.number)
        block = pack.reader.read(start, stop)
        try:
            check(block, pack.trailer.sparse.digest(place.number))
        except CorruptError as error:
            raise pack.blame(error, place.number) from None
        return block
