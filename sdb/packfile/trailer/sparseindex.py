"""The sparse index of a packfile: the field `sparse` of its trailer.

It holds what can be known of a file without reading its rows: constants, time indexes, and what
only `sdb` writes. See the sections on the trailer and the time index in docs/format.md.
"""

from __future__ import annotations

from sdb.errors import CorruptError, UnsupportedError
from sdb.ion import IonSymbol
from sdb.packfile.trailer.extension import (
    MAX_COMPONENTS,
    MAX_SUMMARY_PATHS,
    Extension,
    Path,
    Summary,
    path_of,
    structs,
)
from sdb.packfile.trailer.timeindex import TimeIndex
from sdb.records import field, record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from sdb.packfile.trailer.blockstats import BlockStatistics
    from sdb.packfile.trailer.declared import Columns
    from sdb.packfile.trailer.fieldcounts import FieldCounts
    from sdb.packfile.trailer.identities import RowIdentities
    from sdb.packfile.trailer.provenance import Provenance
    from sdb.packfile.trailer.statsection import StoredStatistics

__all__ = [
    "MAX_COMPONENTS",
    "MAX_INDEXES",
    "MAX_SUMMARY_PATHS",
    "Path",
    "SparseIndex",
    "Summary",
    "build_indices",
    "join_types",
]

MAX_INDEXES = 1 << 16
_TIMESTAMP = 1 << 6


@record
class SparseIndex:
    """The sparse index: time indexes, constants and summary of a packfile."""

    blocks: int  # number of blocks covered
    # Fields that have the same value in every row.
    constants: dict[str, object] = field(default_factory=dict)
    # Time index of each indexed path, in the order of the file.
    indices: dict[Path, TimeIndex] = field(default_factory=dict)
    summary: Summary | None = None  # row counts and types, when the writer was `sdb`
    # Time indexes that an old writer damaged: they are shown, but not used.
    distrusted: dict[Path, TimeIndex] = field(default_factory=dict)
    # Digest of each block, empty where it is not known; no digests when none is known.
    digests: tuple[bytes, ...] = ()
    flaw: str = ""  # what is wrong with the extension, which is ignored then; empty when nothing is
    # In how many rows each field is, see :meth:`presence`.
    stored_presence: bytes = field(default=b"", repr=False)
    # Which inputs the rows came from, see :meth:`provenance`.
    stored_provenance: bytes = field(default=b"", repr=False)
    # Level of zstd that new rows are compressed with; None when it is the default, or not known.
    level: int | None = None
    # What is known of the values in each block, see :meth:`statistics`.
    stored_statistics: StoredStatistics | None = field(default=None, repr=False)
    # The paths whose values the rows are sorted by, see :mod:`sdb.packfile.rewrite.cluster`.
    clustered: tuple[Path, ...] = ()
    # Which rows of other packfiles its rows were, see :meth:`identities`.
    stored_identities: bytes = field(default=b"", repr=False)
    # The columns that its writer had, see :mod:`sdb.packfile.trailer.declared`; none when it had no
    # schema, or it is not known.
    columns: Columns = field(default=(), repr=False)

    def presence(self) -> FieldCounts | None:
        """Read in how many rows each field is.

        Returns: None when the file does not have it.
        Raises `CorruptError` if it is malformed.
        """
        if self.summary is None or not self.stored_presence:
            return None
        from sdb.packfile.trailer.fieldcounts import FieldCounts

        return FieldCounts.decode(self.stored_presence, self.summary)

    def provenance(self) -> Provenance | None:
        """Read which inputs the rows came from.

        Returns: None when the file does not have it.
        Raises `CorruptError` if it is malformed.
        """
        if self.summary is None or not self.stored_provenance:
            return None
        from sdb.packfile.trailer.provenance import Provenance

        return Provenance.decode(self.stored_provenance, sum(self.summary.rows))

    def identities(self) -> RowIdentities | None:
        """Read which rows of other packfiles its rows were.

        Returns: None when the file does not have it: its rows came in with it, or it is not known.
        Raises `CorruptError` if it is malformed.
        """
        if self.summary is None or not self.stored_identities:
            return None
        from sdb.packfile.trailer.identities import RowIdentities

        return RowIdentities.decode(self.stored_identities, sum(self.summary.rows))

    def statistics(self) -> BlockStatistics | None:
        """Read what is known of the values in each block.

        Returns: None when the file does not have it, or in a later version.
        Raises `CorruptError` if it is malformed.
        """
        if self.summary is None or self.stored_statistics is None:
            return None
        from sdb.packfile.trailer.blockstats import BlockStatistics

        return BlockStatistics.decode(self.stored_statistics, self.blocks)

    def is_without_times(self, path: Path) -> bool:
        """Return whether it is certain that no row has a timestamp at a path."""
        if not self.blocks:
            return True
        if self.summary is None or not (self.summary.complete or path in self.summary.types):
            return False
        return not self.summary.types.get(path, 0) & _TIMESTAMP

    def digest(self, block: int) -> bytes:
        """Return the digest of a block, empty when it is not known."""
        return self.digests[block] if self.digests else b""

    def encode(self) -> dict[str, object]:
        """Return the struct that is stored."""
        if len(self.indices) > MAX_INDEXES:
            raise UnsupportedError(
                f"{len(self.indices):,} time indexes in one packfile, the limit is {MAX_INDEXES:,}"
            )
        indices = []
        for path, index in self.indices.items():
            upper, lower = index.encode()
            indices.append(
                {
                    "path": [IonSymbol(name) for name in path],
                    "ranges": {"max": upper, "min": lower},
                }
            )
        value: dict[str, object] = {"blocks": self.blocks}
        if self.constants:
            value["consts"] = self.constants
        value["indices"] = indices
        own = Extension(
            self.summary,
            self.digests,
            presence=self.stored_presence,
            provenance=self.stored_provenance,
            level=self.level,
            statistics=self.stored_statistics,
            clustered=self.clustered,
            identities=self.stored_identities,
            columns=self.columns,
        )
        if stored := own.encode():
            value["sdb"] = stored
        return value

    @classmethod
    def decode(cls, value: object) -> Self:
        """Read the struct that is stored; what needs the rest of the trailer is not checked.

        Raises `CorruptError` for a field of a wrong type, an index without a path, or two for the
        same path.
        """
        if not isinstance(value, dict):
            raise CorruptError("the field sparse is not a struct")
        blocks = value.get("blocks", 0)
        if type(blocks) is not int:
            raise CorruptError("the number of blocks in sparse is not an integer")
        constants = value.get("consts", {})
        if not isinstance(constants, dict):
            raise CorruptError("the constants are not a struct")
        indices: dict[Path, TimeIndex] = {}
        listed = structs(value.get("indices", []), "the list of time indexes")
        if len(listed) > MAX_INDEXES:
            raise CorruptError(f"{len(listed):,} time indexes, the limit is {MAX_INDEXES:,}")
        for entry in listed:
            path = path_of(entry.get("path"))
            if path in indices:
                raise CorruptError(f"two time indexes for {'.'.join(path)}")
            ranges = entry.get("ranges", {})
            if not isinstance(ranges, dict):
                raise CorruptError("the ranges of a time index are not a struct")
            indices[path] = TimeIndex.decode(ranges.get("max", []), ranges.get("min", []))
        own = Extension.read(value.get("sdb"), blocks)
        return cls(
            blocks,
            constants,
            indices,
            own.summary,
            digests=own.digests,
            flaw=own.flaw,
            stored_presence=own.presence,
            stored_provenance=own.provenance,
            level=own.level,
            stored_statistics=own.statistics,
            clustered=own.clustered,
            stored_identities=own.identities,
            columns=own.columns,
        )

    def check(self, blocks: int) -> SparseIndex:
        """Check the index against the number of blocks of the file.

        * ``blocks``: Number of entries of the block list.

        Returns: Without indexes that know nothing; damaged ones are set aside in `distrusted`.
        Raises `CorruptError` for a wrong number of blocks, or a time index out of order.
        """
        if self.blocks != blocks:
            raise CorruptError(f"sparse has {self.blocks} blocks, the block list has {blocks}")
        if self.summary is not None and len(self.summary.rows) != blocks:
            raise CorruptError(f"{len(self.summary.rows)} row counts for {blocks} blocks")
        sound: dict[Path, TimeIndex] = {}
        distrusted: dict[Path, TimeIndex] = {}
        for path, index in self.indices.items():
            try:
                trusted = index.check(blocks)
            except CorruptError as error:
                raise error.within(f"the time index of {'.'.join(path)}") from None
            if not index.is_empty:
                (sound if trusted else distrusted)[path] = index
        return replace(self, indices=sound, distrusted=distrusted)


def join_types(parts: Iterable[tuple[Mapping[Path, int], bool]]) -> tuple[dict[Path, int], bool]:
    """Join what is known of the types in parts of a file.

    * ``parts``: For each part the types by path, and whether a path that is missing does not occur.

    Returns: The same for the whole. Where a part may have left out a path, the path is left out.
    """
    pairs = list(parts)
    partial = [types for types, complete in pairs if not complete]
    joined: dict[Path, int] = {}
    for types, _ in pairs:
        for path, mask in types.items():
            if all(path in listed for listed in partial):
                joined[path] = joined.get(path, 0) | mask
    return joined, not partial


def build_indices(
    blocks: Iterable[Mapping[Path, tuple[int, int]]],
    begun: Mapping[Path, TimeIndex] | None = None,
    kept_blocks: int = 0,
) -> dict[Path, TimeIndex]:
    """Make the time indexes of a file.

    * ``blocks``: For each block, in order, the first and last time in µs of each path that has any.
    * ``begun``: Time indexes of the blocks before them. A path that is missing has no times there.

    Returns: The indexes, sorted by path, all of them covering all blocks.
    """
    indices = {path: index.copy() for path, index in (begun or {}).items()}
    count = kept_blocks
    for count, ranges in enumerate(blocks, kept_blocks + 1):
        for path, (lo_us, hi_us) in ranges.items():
            index = indices.setdefault(path, TimeIndex())
            index.push_empty(count - 1 - index.blocks)
            index.push(lo_us, hi_us)
            index.push_empty(count - index.blocks)
    for index in indices.values():
        index.push_empty(count - index.blocks)
    return {path: indices[path] for path in sorted(indices) if not indices[path].is_empty}
