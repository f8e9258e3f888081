"""Trailers of packfiles in which rows change: blocks that are copied, and blocks that are new."""

from __future__ import annotations

from sdb import _core
from sdb.errors import CorruptError
from sdb.packfile.build.choose import choose_statistics
from sdb.packfile.trailer import fieldcounts
from sdb.packfile.trailer.fieldcounts import FieldCount, Presence
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
    """A block that stays as it is.

    Attributes
    ----------
    number : int
        Its number in the old packfile.
    """

    number: int


@record
class PackedBlocks:
    """Blocks that were written again, and where their bytes wait.

    Attributes
    ----------
    trailer : Trailer
        What is known of them, as of a packfile of their own.
    file : binary file
        Their bytes.
    facts : list of BlockFacts
        The statistics of each.
    """

    trailer: Trailer
    file: BinaryIO
    facts: list[BlockFacts]


def report(pack: Packfile, block: bytes) -> _core.BlockReport:
    """Look through a block of a packfile: rows and fields are counted."""
    trailer = pack.trailer
    return _core.verify_block(block, trailer.algorithm, trailer.align_bytes, [], None, 1)


class FieldChange:
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

    def without(self, block: bytes) -> None:
        """Take away what a block of it has."""
        if self._known is None:
            return
        found, _ = report(self._pack, block).fields
        constants = self._pack.trailer.sparse.constants
        for path, _, rows in found:
            if path in self._counts and path[0] not in constants:
                count = self._counts[path]
                self._counts[path] = FieldCount(count.types, count.rows - rows)

    def with_new(self, part: PackedBlocks) -> None:
        """Add what new blocks have."""
        if self._known is None:
            return
        new = part.trailer.sparse.presence()
        if new is None:
            self._known = None
            return
        constants = self._pack.trailer.sparse.constants
        counts = {path: one for path, one in new.fields.items() if path[0] not in constants}
        joined = fieldcounts.join(
            [Presence(self._counts, self._is_complete), Presence(counts, new.complete)]
        )
        self._counts, self._is_complete = joined.fields, joined.complete

    @property
    def gone(self) -> set[tuple[str | None, ...]]:
        """Paths that no row has any more; their names may be what was to go."""
        if self._known is None:
            return set()
        constants = self._pack.trailer.sparse.constants
        return {
            path for path, one in self._counts.items() if not one.rows and path[0] not in constants
        }

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
        ordered = {path: counts[path] for path in fieldcounts.nested(counts)}
        return Presence(ordered, self._is_complete).encode(summary)


def rewritten_trailer(
    pack: Packfile,
    dropped: NDArray[np.int64],
    rows: list[int],
    parts: Sequence[CopiedBlock | PackedBlocks],
    fields: FieldChange,
) -> Trailer:
    """Make the trailer of blocks that are copied and blocks that are new.

    Parameters
    ----------
    pack : Packfile
        The packfile as it was.
    dropped : array of int64
        The rows that go, ascending.
    rows : list of int
        Number of rows of each of its blocks.
    parts : sequence of CopiedBlock or PackedBlocks
        The new blocks, in order.
    fields : FieldChange
        The presence of fields.

    Returns
    -------
    Trailer
        The trailer.
    """
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
            blocks += [Block(offset + one.offset, one.chunks) for one in part.trailer.blocks]
            summary = part.trailer.sparse.summary
            counts += summary.rows if summary is not None else ()
            digests += part.trailer.sparse.digests
            offset += part.trailer.offset
    new = [part.trailer.sparse for part in parts if isinstance(part, PackedBlocks)]
    known = [old.sparse.summary or Summary(tuple(rows), {}, complete=False)]
    known += [one.summary for one in new if one.summary is not None]
    types, complete = join_types((one.types, one.complete) for one in known)
    gone = fields.gone
    types = {path: one for path, one in types.items() if path not in gone}
    summary = Summary.bounded(counts, types, complete=complete and len(known) == len(new) + 1)
    sparse = SparseIndex(
        len(blocks),
        old.sparse.constants,
        build_indices(_ranges(old.sparse, new, parts)),
        summary,
        digests=tuple(digests) if any(digests) else (),
        level=old.sparse.level,
        clustered=old.sparse.clustered,
    )
    if summary is not None:
        sparse = replace(
            sparse,
            stored_presence=fields.encode(summary, sum(counts)) if blocks else b"",
            stored_provenance=_provenance(old.sparse, dropped),
            stored_statistics=_statistics(pack, parts, offset),
        )
    return Trailer(1, offset, old.algorithm, old.block_shift, tuple(blocks), sparse)


def _ranges(
    old: SparseIndex, new: list[SparseIndex], parts: Sequence[CopiedBlock | PackedBlocks]
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
        sparse = old if isinstance(part, CopiedBlock) else part.trailer.sparse
        numbers = [part.number] if isinstance(part, CopiedBlock) else range(sparse.blocks)
        indexed = [(path, sparse.indices[path]) for path in told if path in sparse.indices]
        for number in numbers:
            found = ((path, index.known_range(number)) for path, index in indexed)
            yield {path: known for path, known in found if known is not None}


def _statistics(
    pack: Packfile, parts: Sequence[CopiedBlock | PackedBlocks], size_bytes: int
) -> StoredStatistics | None:
    known = all_facts(pack)
    facts: list[BlockFacts] = []
    for part in parts:
        facts += [known[part.number]] if isinstance(part, CopiedBlock) else part.facts
    return choose_statistics(facts, size_bytes, sources=[pack.trailer.sparse])


def _provenance(old: SparseIndex, dropped: NDArray[np.int64]) -> bytes:
    """Give which inputs the rows that are left came from."""
    try:
        told = old.provenance()
    except CorruptError:
        return b""
    if told is None:
        return b""
    origins = []
    for one in told.origins:
        before, stop = map(int, dropped.searchsorted([one.first, one.first + one.rows]))
        if one.rows > stop - before:
            kept = one.rows - (stop - before)
            origins.append(replace(one, first=one.first - before, rows=kept))
    return Provenance(tuple(origins), told.complete).encode() if origins else b""
