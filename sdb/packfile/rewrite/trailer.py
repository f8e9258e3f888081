"""Trailers of packfiles in which rows change: blocks that are copied, and blocks that are new."""

from __future__ import annotations

from sdb import _core
from sdb.errors import CorruptError
from sdb.packfile.build.choose import choose_statistics
from sdb.packfile.trailer import fieldcounts
from sdb.packfile.trailer.fieldcounts import FieldCount, FieldCounts
from sdb.packfile.trailer.provenance import Provenance
from sdb.packfile.trailer.sparseindex import SparseIndex, Summary, build_indices, join_types
from sdb.packfile.trailer.trailer import Block, Trailer
from sdb.packfile.write.countstats import all_facts
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

    import numpy as np
    from numpy.typing import NDArray

    from sdb.packfile.build.newstats import BlockFacts
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.sparseindex import Path
    from sdb.packfile.trailer.statsection import StoredStatistics


@record
class CopiedBlock:
    """A block that stays as it is."""

    number: int  # its number in the old packfile


@record
class PackedBlocks:
    """Blocks that were written again, and where their bytes wait."""

    trailer: Trailer  # what is known of them, as of a separate packfile
    file: BinaryIO  # their bytes
    facts: list[BlockFacts]  # the statistics of each


def report(pack: Packfile, block: bytes) -> _core.BlockReport:
    """Look through a block of a packfile: rows and fields are counted."""
    trailer = pack.trailer
    return _core.verify_block(block, trailer.algorithm, trailer.align_bytes, [], None, 1)


class FieldChange:
    """The presence of fields, less that of blocks that go, and with that of new ones."""

    def __init__(self, pack: Packfile) -> None:
        self._pack = pack
        self._known: FieldCounts | None = None
        try:
            self._known = pack.trailer.sparse.presence()
        except CorruptError:
            self._known = None  # it is left out
        self._counts = dict(self._known.fields) if self._known else {}
        self._is_complete = self._known is not None and self._known.complete

    def without(self, block: bytes) -> None:
        """Take away what a block of it has."""
        if self._known is None:
            return
        counts, _ = report(self._pack, block).fields
        constants = self._pack.trailer.sparse.constants
        for field in counts:
            if field.path in self._counts and field.path[0] not in constants:
                count = self._counts[field.path]
                self._counts[field.path] = FieldCount(count.types, count.rows - field.rows)

    def with_new(self, part: PackedBlocks) -> None:
        """Add what new blocks have."""
        if self._known is None:
            return
        new = part.trailer.sparse.presence()
        if new is None:
            self._known = None
            return
        constants = self._pack.trailer.sparse.constants
        counts = {path: count for path, count in new.fields.items() if path[0] not in constants}
        joined = fieldcounts.join(
            [FieldCounts(self._counts, self._is_complete), FieldCounts(counts, new.complete)]
        )
        self._counts, self._is_complete = joined.fields, joined.complete

    @property
    def gone(self) -> set[tuple[str | None, ...]]:
        """Paths that no row has any more; their names may be what was to go."""
        if self._known is None:
            return set()
        constants = self._pack.trailer.sparse.constants
        return {
            path
            for path, count in self._counts.items()
            if not count.rows and path[0] not in constants
        }

    def encode(self, summary: Summary, rows: int) -> bytes:
        """Return what is stored; nothing where it is not known."""
        if self._known is None or any(count.rows < 0 for count in self._counts.values()):
            return b""
        constants = self._pack.trailer.sparse.constants
        counts = {
            path: FieldCount(count.types, rows) if path[0] in constants else count
            for path, count in self._counts.items()
            if count.rows or path[0] in constants
        }
        ordered = {path: counts[path] for path in fieldcounts.nested(counts)}
        return FieldCounts(ordered, self._is_complete).encode(summary)


def rewritten_trailer(
    pack: Packfile,
    dropped: NDArray[np.int64],
    rows: list[int],
    parts: Sequence[CopiedBlock | PackedBlocks],
    fields: FieldChange,
) -> Trailer:
    """Make the trailer of blocks that are copied and blocks that are new."""
    old = pack.trailer
    blocks: list[Block] = []
    counts: list[int] = []
    digests: list[bytes] = []
    offset = 0
    for part in parts:
        if isinstance(part, CopiedBlock):
            start, stop = old.block_range(part.number)
            blocks.append(Block(offset, old.blocks[part.number].chunks))
            counts.append(rows[part.number])
            digest = old.sparse.digest(part.number)
            digests.append(digest or _core.digest_block(pack.read_block(part.number)))
            offset += stop - start
        else:
            blocks += [Block(offset + block.offset, block.chunks) for block in part.trailer.blocks]
            summary = part.trailer.sparse.summary
            counts += summary.rows if summary is not None else ()
            digests += part.trailer.sparse.digests
            offset += part.trailer.offset
    new = [part.trailer.sparse for part in parts if isinstance(part, PackedBlocks)]
    summaries = [old.sparse.summary or Summary(tuple(rows), {}, complete=False)]
    summaries += [packed.summary for packed in new if packed.summary is not None]
    types, complete = join_types((summary_.types, summary_.complete) for summary_ in summaries)
    gone = fields.gone
    types = {path: mask for path, mask in types.items() if path not in gone}
    summary = Summary.bounded(counts, types, complete=complete and len(summaries) == len(new) + 1)
    sparse = SparseIndex(
        len(blocks),
        old.sparse.constants,
        build_indices(_ranges(old.sparse, new, parts)),
        summary,
        digests=tuple(digests) if any(digests) else (),
        level=old.sparse.level,
        clustered=old.sparse.clustered,
        columns=() if gone else old.sparse.columns,
    )
    if summary is not None:
        sparse = replace(
            sparse,
            stored_presence=fields.encode(summary, sum(counts)) if blocks else b"",
            stored_provenance=_provenance(old.sparse, dropped),
            stored_statistics=_statistics(pack, parts, offset),
        )
    packed = [part.trailer for part in parts if isinstance(part, PackedBlocks)]
    shift = max(trailer.block_shift for trailer in (old, *packed))
    return Trailer(1, offset, old.algorithm, shift, tuple(blocks), sparse)


def _ranges(
    old: SparseIndex, new: list[SparseIndex], parts: Sequence[CopiedBlock | PackedBlocks]
) -> Iterator[dict[Path, tuple[int, int]]]:
    """Yield for each block the times at each path for which all blocks have times."""
    everyone = [old, *new]
    paths = {path for sparse_ in everyone for path in sparse_.indices}
    common = [
        path
        for path in sorted(paths)
        if all(path in sparse_.indices or sparse_.is_without_times(path) for sparse_ in everyone)
    ]
    for part in parts:
        sparse = old if isinstance(part, CopiedBlock) else part.trailer.sparse
        numbers = [part.number] if isinstance(part, CopiedBlock) else range(sparse.blocks)
        indexed = [(path, sparse.indices[path]) for path in common if path in sparse.indices]
        for number in numbers:
            times = ((path, index.known_range(number)) for path, index in indexed)
            yield {path: range_ for path, range_ in times if range_ is not None}


def _statistics(
    pack: Packfile, parts: Sequence[CopiedBlock | PackedBlocks], size_bytes: int
) -> StoredStatistics | None:
    facts_of_all = all_facts(pack)
    facts: list[BlockFacts] = []
    for part in parts:
        facts += [facts_of_all[part.number]] if isinstance(part, CopiedBlock) else part.facts
    return choose_statistics(facts, size_bytes, sources=[pack.trailer.sparse])


def _provenance(old: SparseIndex, dropped: NDArray[np.int64]) -> bytes:
    """Return which inputs the rows that are left came from."""
    try:
        provenance = old.provenance()
    except CorruptError:
        return b""
    if provenance is None:
        return b""
    origins = []
    for origin in provenance.origins:
        before, stop = map(int, dropped.searchsorted([origin.first, origin.first + origin.rows]))
        if origin.rows > stop - before:
            left_rows = origin.rows - (stop - before)
            origins.append(replace(origin, first=origin.first - before, rows=left_rows))
    return Provenance(tuple(origins), provenance.complete).encode() if origins else b""
