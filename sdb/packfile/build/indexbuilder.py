"""Makes the time index of a packfile, and its blocks out of the parts that the packer delivers.

The index must hold for every row of the file: the range of a block includes every timestamp that
is stored at the path in any of its rows. Whether a path is worth an index is decided once for the
file, never block by block. See the section on the time index in docs/format.md.
"""

from __future__ import annotations

from sdb import _core
from sdb.packfile.trailer.fieldcounts import FieldCounts
from sdb.packfile.trailer.sparseindex import (
    MAX_COMPONENTS,
    Path,
    SparseIndex,
    Summary,
    build_indices,
)
from sdb.packfile.trailer.trailer import Block
from sdb.records import field, record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sdb._core import Packer
    from sdb.packfile.build.retained import RetainedPrefix
    from sdb.packfile.trailer.provenance import Provenance

MAX_INDICES = 256

Range = tuple[int, int, int]
"""First time in µs, last time in µs, number of times."""


@record
class Span:
    """Chunks that follow each other; the first one has a full symbol table."""

    offset: int  # where the first frame starts in the file, in bytes
    chunks: int  # number of chunks
    rows: int  # number of rows
    # For each path that has timestamps their range and number
    ranges: dict[Path, Range] = field(default_factory=dict)
    complete: bool = True  # whether a path that is missing in `ranges` has no timestamps
    # The hashes of its frames, one after the other, of which its digest is made
    hashes: bytes = b""

    @property
    def digest(self) -> bytes:
        """The digest of a block of these chunks; empty when it is not known."""
        return _core.join_hashes(self.hashes) if self.hashes else b""

    @property
    def block(self) -> Block:
        """The entry of the block list."""
        return Block(self.offset, self.chunks)


def union(first: Range, second: Range) -> Range:
    """Return the range that includes two others."""
    return min(first[0], second[0]), max(first[1], second[1]), first[2] + second[2]


def join(spans: Sequence[Span]) -> Span:
    """Make one span out of several that follow each other."""
    if len(spans) == 1:
        return spans[0]
    ranges: dict[Path, Range] = {}
    for span in spans:
        for path, times in span.ranges.items():
            ranges[path] = union(ranges[path], times) if path in ranges else times
    partial = [span for span in spans if not span.complete]
    # Where one part may have overlooked timestamps, the range of the others is not the whole's.
    for path in [path for path in ranges if any(path not in span.ranges for span in partial)]:
        del ranges[path]
    return Span(
        spans[0].offset,
        sum(span.chunks for span in spans),
        sum(span.rows for span in spans),
        ranges,
        not partial,
        b"".join(span.hashes for span in spans),
    )


def gather(parts: Iterable[Span], chunks: int) -> list[Span]:
    """Join parts until each block has at least `chunks` chunks.

    * ``parts``: What the packer delivers, in the order of the file.
    """
    blocks: list[Span] = []
    waiting: list[Span] = []
    total = 0
    for part in parts:
        waiting.append(part)
        total += part.chunks
        if total >= chunks:
            blocks.append(join(waiting))
            waiting, total = [], 0
    if waiting:
        blocks.append(join(waiting))
    return blocks


def coalesce(blocks: Sequence[Span], min_chunks: int) -> list[Span]:
    """Merge small blocks with their neighbours.

    * ``min_chunks``: Blocks with fewer chunks are merged with those that follow; when all that
      follow have fewer together, they are merged too.

    >>> [block.chunks for block in coalesce([Span(0, n, 0) for n in (10, 3, 10, 3)], 5)]
    [10, 16]
    """
    if min_chunks <= 1 or len(blocks) <= 1:
        return list(blocks)
    out = []
    at = 0
    left = sum(block.chunks for block in blocks)
    while at < len(blocks):
        start, chunks = at, 0
        while at < len(blocks) and (chunks < min_chunks or left < min_chunks):
            chunks += blocks[at].chunks
            left -= blocks[at].chunks
            at += 1
        out.append(join(blocks[start:at]))
    return out


def choose_paths(
    blocks: Sequence[Span],
    *,
    time_fields: Collection[Path] = (),
    constants: Collection[str] = (),
    hidden: Collection[Path] = (),
    prefix: RetainedPrefix | None = None,
) -> list[Path]:
    """Choose the paths that get a time index.

    A path is worth one when in at least one block no fewer than a third of the rows have a
    timestamp there.

    * ``blocks``: The blocks as they were before :func:`coalesce`.
    * ``time_fields``: Paths that are indexed as soon as they have any timestamp.
    * ``constants``: Names of constants: they need no index.
    * ``prefix``: What stays of a file that grows. Its indexes go on.

    Returns: Sorted; at most 256, the fullest ones, beside those that were asked for.
    """
    old = prefix.paths if prefix else set()
    worthy: set[Path] = set()
    counts: dict[Path, int] = {}
    for block in blocks:
        for path, (_, _, count) in block.ranges.items():
            counts[path] = counts.get(path, 0) + count
            if count >= block.rows // 3:
                worthy.add(path)
    unsafe = {
        path
        for block in blocks
        if not block.complete
        for path in counts.keys() | old
        if path not in block.ranges
    }
    usable = {
        path
        for path in (counts.keys() | old) - unsafe - set(hidden)
        if path[0] not in constants and len(path) <= MAX_COMPONENTS
        if prefix is None or prefix.admits(path)
    }
    asked = usable.intersection(old.union(time_fields))
    best = sorted((usable & worthy) - asked, key=lambda path: (-counts[path], path))
    return sorted(asked | set(best[:MAX_INDICES]))


def build_sparse(
    blocks: Sequence[Span],
    paths: Collection[Path],
    *,
    constants: Mapping[str, object] | None = None,
    summary: Summary | None = None,
    prefix: RetainedPrefix | None = None,
) -> SparseIndex:
    """Make the sparse index of a file.

    * ``blocks``: The blocks of the block list, save those that stay as they are.
    * ``paths``: The paths to index, see :func:`choose_paths`.
    * ``constants``: Fields that have the same value in every row.
    """
    wanted = set(paths)
    ranges = (
        {path: times[:2] for path, times in block.ranges.items() if path in wanted}
        for block in blocks
    )
    before = prefix.full_blocks if prefix else 0
    indices = build_indices(ranges, prefix.indices(wanted) if prefix else None, before)
    return SparseIndex(before + len(blocks), dict(constants or {}), indices, summary)


def _kind(value: object) -> int:
    """Return the Ion type that a constant is stored as."""
    match value:
        case None:
            return 0
        case bool():
            return 1
        case float() if not value.is_integer():
            return 4
        case int() | float():
            return 3 if value < 0 else 2
        case str():
            return 8
        case _:
            return 6


def typed(constants: Mapping[str, object]) -> dict[str, tuple[int, object]]:
    """Return constants in a form in which 1, 1.5 and true are not the same."""
    return {name: (_kind(value), value) for name, value in constants.items()}


@record
class PackedParts:
    """Facts that a packer has about the rows that it packed."""

    spans: Iterable[Span]  # its parts, in the order of the file
    # For each path the Ion types that occur there, as a bit mask; constants need not be listed
    types: Mapping[Path, int]
    types_complete: bool
    hidden: Collection[Path] = ()
    presence: FieldCounts | None = None  # in how many of the rows each field is, but for constants

    @classmethod
    def of(cls, packer: Packer, offset: int = 0) -> PackedParts:
        """Take them from a packer whose first byte lies at an offset."""
        spans = [Span(*run) for run in packer.runs]
        moved = [replace(span, offset=span.offset + offset) for span in spans] if offset else spans
        fields, complete = packer.fields  # each look at them makes a list of all
        presence = FieldCounts.of(fields, complete=complete)
        types, types_complete = packer.types
        return cls(moved, types, types_complete, packer.hidden, presence)


def build_index(
    packed: PackedParts,
    *,
    align_bytes: int,
    block_bytes: int,
    time_fields: Collection[Path] = (),
    constants: Mapping[str, object] | None = None,
    prefix: RetainedPrefix | None = None,
    provenance: Provenance | None = None,
) -> tuple[tuple[Block, ...], SparseIndex]:
    """Make the block list and the sparse index out of the packer's parts.

    * ``time_fields``: Paths that are indexed as soon as they have any timestamp.
    * ``constants``: Fields that have the same value in every row: null, truth values, numbers, text
      or times.
    * ``prefix``: What stays of a file that grows: the parts follow it.
    * ``provenance``: Which inputs the rows that are new came from.
    """
    continued = prefix.span() if prefix else None
    all_parts = [continued, *packed.spans] if continued else packed.spans
    full = gather(all_parts, max(1, -(-block_bytes // align_bytes)))
    paths = choose_paths(
        full,
        time_fields=time_fields,
        constants=constants or (),
        hidden=packed.hidden,
        prefix=prefix,
    )
    blocks = coalesce(full, block_bytes // (2 * align_bytes))
    rows = [block.rows for block in blocks]
    seen = dict(packed.types)
    for name, value in (constants or {}).items() if blocks else ():
        seen[name,] = seen.get((name,), 0) | 1 << _kind(value)
    summarize = prefix.summary if prefix else Summary.bounded
    summary = summarize(rows, seen, complete=packed.types_complete)
    sparse = build_sparse(blocks, paths, constants=constants, summary=summary, prefix=prefix)
    digests = (*(prefix.digests if prefix else ()), *(block.digest for block in blocks))
    sparse = replace(sparse, digests=digests if any(digests) else ())
    if summary is not None:
        presence = packed.presence
        if prefix is not None:
            presence = prefix.presence(presence)
            provenance = prefix.provenance(provenance, sum(summary.rows))
        kinds = {name: _kind(value) for name, value in (constants or {}).items()}
        if presence is not None:
            presence = presence.with_constants(kinds, sum(summary.rows))
        sparse = replace(
            sparse,
            stored_presence=presence.encode(summary) if presence and blocks else b"",
            stored_provenance=provenance.encode() if provenance and provenance.origins else b"",
        )
    return (*(prefix.blocks if prefix else ()), *(block.block for block in blocks)), sparse
