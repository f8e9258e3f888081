"""The blocks and the index that stay when a packfile grows.

Full blocks stay as they are. A short block at the end is continued: its chunks stay, save the last
one, whose rows are packed again together with the new ones. What is not looked at must be covered
by what the old trailer says: see the section on appending in docs/format.md.
"""

from __future__ import annotations

from sdb import notes
from sdb.errors import CorruptError
from sdb.packfile.build.indexbuilder import Span
from sdb.packfile.trailer.fieldcounts import join
from sdb.packfile.trailer.provenance import follow
from sdb.packfile.trailer.sparseindex import Summary, join_types
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from sdb.packfile.build.newstats import BlockFacts
    from sdb.packfile.trailer.fieldcounts import FieldCounts
    from sdb.packfile.trailer.provenance import Provenance
    from sdb.packfile.trailer.sparseindex import Path
    from sdb.packfile.trailer.timeindex import TimeIndex
    from sdb.packfile.trailer.trailer import Block, Trailer

_TIMES_OF_A_RANGE = 2


@record
class RetainedPrefix:
    """The part of a packfile that stays."""

    trailer: Trailer  # what the packfile says of itself
    full_blocks: int  # how many blocks stay as they are
    facts: Callable[[], list[BlockFacts]]  # returns the facts of each block as it was
    chunks: int = 0  # how many chunks stay of the block after them
    size_bytes: int = 0  # how many bytes all of this takes
    rows_again: int = 0  # rows of that block that are packed again
    hashes: bytes = b""  # the hashes of the frames of the chunks that stay of that block

    @property
    def is_nothing(self) -> bool:
        """True if every row is new or packed again."""
        return self.size_bytes == 0

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks that stay as they are."""
        return self.trailer.blocks[: self.full_blocks]

    @property
    def digests(self) -> tuple[bytes, ...]:
        """The digests of the blocks that stay as they are."""
        return tuple(map(self.trailer.sparse.digest, range(self.full_blocks)))

    @property
    def paths(self) -> set[Path]:
        """Paths with a time index: they keep it, however few of the new rows have times there."""
        return set(self.trailer.sparse.indices)

    def admits(self, path: Path) -> bool:
        """Return whether a path may get a time index: each time there in what stays is known."""
        return self.is_nothing or path in self.paths or self.trailer.sparse.is_without_times(path)

    def indices(self, paths: Collection[Path]) -> dict[Path, TimeIndex]:
        """Return the time indexes of the full blocks."""
        indices = self.trailer.sparse.indices
        return {path: indices[path].trim(0, self.full_blocks) for path in paths if path in indices}

    def span(self) -> Span | None:
        """Return the chunks of the block that is continued as a part of the file that grows.

        Their range is that of the whole block: which times were in the last chunk is not known.
        Raises `CorruptError` if the block has more rows than the trailer says.
        """
        if not self.chunks:
            return None
        sparse = self.trailer.sparse
        ranges = {}
        for path in self.paths:
            times = sparse.indices[path].known_range(self.full_blocks)
            if times is not None:
                ranges[path] = (*times, _TIMES_OF_A_RANGE)
        rows = 0
        if sparse.summary is not None:
            rows = sparse.summary.rows[self.full_blocks] - self.rows_again
            if rows < 0:
                raise CorruptError(
                    f"block {self.full_blocks} has more rows than the trailer says",
                    hint="sdb validate tells what else is wrong",
                )
        block = self.trailer.blocks[self.full_blocks]
        return Span(block.offset, self.chunks, rows, ranges, hashes=self.hashes)

    def summary(
        self, rows: Sequence[int], types: Mapping[Path, int], *, complete: bool
    ) -> Summary | None:
        """Continue the summary.

        * ``rows``: Number of rows of each block after the full ones.
        * ``types``: Types of what is new, see :func:`sdb.packfile.build.indexbuilder.build_index`.

        Returns: None when the packfile has none, and something of it stays.
        """
        if self.is_nothing:
            return Summary.bounded(rows, types, complete=complete)
        old = self.trailer.sparse.summary
        if old is None:
            return None
        joined, all_known = join_types([(old.types, old.complete), (types, complete)])
        return Summary.bounded([*old.rows[: self.full_blocks], *rows], joined, complete=all_known)

    def presence(self, new: FieldCounts | None) -> FieldCounts | None:
        """Continue the presence of fields.

        * ``new``: That of the rows that are new; and of all, if nothing stays.

        Returns: None when the packfile has none, or a malformed one, and something of it stays.
        """
        if self.is_nothing or new is None:
            return new
        try:
            old = self.trailer.sparse.presence()
        except CorruptError as error:
            notes.tell(f"the presence of fields is left out: {error.message}")
            return None
        return None if old is None else join([old, new])

    def provenance(self, new: Provenance | None, rows: int) -> Provenance | None:
        """Continue the provenance of rows."""
        if new is None:
            return None
        try:
            old = self.trailer.sparse.provenance()
        except CorruptError as error:
            notes.tell(f"the inputs of old rows are left out: {error.message}")
            old = None
        added = sum(origin.rows for origin in new.origins)
        return follow([(old, rows - added), (new, added)])
