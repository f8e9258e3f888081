"""Differences between two versions: packfiles, and rows of those that differ."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate

from sdb.packfile.export.unpack import write_lines
from sdb.packfile.read.reader import open_packfile
from sdb.packfile.rewrite.rewrite import rows_of_blocks
from sdb.progress import silent
from sdb.records import field, record, replace
from sdb.table.commit.change import packfiles_between
from sdb.table.format.state import RowCounts
from sdb.table.history.log import packfile_dict
from sdb.table.history.rowtrace import are_traced, counts_between
from sdb.table.schema.versions import schema_changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sdb.packfile.read.reader import Packfile
    from sdb.progress import Progress
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.schema.difference import ColumnChange

MOST_KNOWN = 2_000_000
"""Rows of which digests are kept in memory; of more rows they are read several times."""

_DIGEST_BYTES = 16


@record
class TableDifference:
    """Differences of a version from another one.

    Attributes
    ----------
    before, after : TableHandle
        The versions.
    added, removed : tuple of Descriptor
        Packfiles that only the later one has, and only the earlier one.
    same : int
        Number of packfiles that both have.
    row_counts : RowCounts or None
        Numbers of rows that were inserted, updated and deleted; None: not known.
    schema : tuple of ColumnChange
        Differences of the schemas.
    """

    before: TableHandle
    after: TableHandle
    added: tuple[Descriptor, ...] = field(repr=False)
    removed: tuple[Descriptor, ...] = field(repr=False)
    same: int
    row_counts: RowCounts | None = None
    schema: tuple[ColumnChange, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        """Show the versions, and numbers of packfiles and rows."""
        named = [_name(handle) for handle in (self.before, self.after)]
        before, after = [f"{each['table']}@{each['version']}" for each in named]
        packfiles = f"+{len(self.added)} -{len(self.removed)} ={self.same} packfiles"
        rows = "" if self.row_counts is None else f", {self.row_counts}"
        return f"<TableDifference of {before} and {after}: {packfiles}{rows}>"

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        schema = {"schema": [change.as_dict() for change in self.schema]} if self.schema else {}
        return {
            "before": _name(self.before),
            "after": _name(self.after),
            "packfiles_added": len(self.added),
            "packfiles_removed": len(self.removed),
            "packfiles_same": self.same,
            "rows_added": rows_of(self.added),
            "rows_removed": rows_of(self.removed),
            "rows": None if self.row_counts is None else self.row_counts.as_dict(),
            "bytes_added": sum(descriptor.size_bytes for descriptor in self.added),
            "bytes_removed": sum(descriptor.size_bytes for descriptor in self.removed),
            "added": [packfile_dict(descriptor) for descriptor in self.added],
            "removed": [packfile_dict(descriptor) for descriptor in self.removed],
            **schema,
        }


def _name(handle: TableHandle) -> dict[str, object]:
    state = handle.state
    return {"table": handle.name, "version": None if state is None else state.version}


def rows_of(descriptors: Iterable[Descriptor]) -> int | None:
    """Return the number of rows of packfiles; None when one does not say."""
    counts = [descriptor.rows for descriptor in descriptors]
    counted = [count for count in counts if count is not None]
    return sum(counted) if len(counted) == len(counts) else None


def compare(before: TableHandle, after: TableHandle) -> TableDifference:
    """Compare two versions of a table, by their indexes.

    * ``before, after``: The versions; packfiles are the same if their keys are.

    Raises `CorruptError` if a list of packfiles is missing or damaged.
    """
    added, removed = packfiles_between(before.index, after.index, after.root.fetch)
    refs, inline = after.index.indirect.refs, after.index.inline
    count = sum(ref.objects for ref in refs) + len(inline)
    counts = row_counts(before, after, added, removed)
    schema = schema_changes(before.index, after.index)
    return TableDifference(before, after, added, removed, count - len(added), counts, schema)


def row_counts(
    before: TableHandle,
    after: TableHandle,
    added: tuple[Descriptor, ...],
    removed: tuple[Descriptor, ...],
) -> RowCounts | None:
    """Count what became of rows, where packfiles say which rows of others their rows were."""
    if not (added and removed):
        came, went = rows_of(added), rows_of(removed)
        return None if came is None or went is None else RowCounts(came, 0, went)
    if not are_traced(before, after):
        return None
    return counts_between(after.root, removed, added)


def different_rows(
    difference: TableDifference, *, progress: Progress = silent
) -> Iterator[tuple[str, bytes]]:
    """Iterate over the rows that only one of two versions has.

    Blocks that packfiles of both have are not read. A row that was only moved is not a difference;
    one that is there several times counts as often.

    * ``difference``: The packfiles that differ; no others are read.

    Yields: ``+`` for a row of the later version or ``-`` for one of the earlier, and the row as
    JSON.
    Raises `CorruptError` if a packfile is missing or damaged.
    """
    for sign, line, _, _ in located_rows(difference, progress=progress):
        yield sign, line


def located_rows(
    difference: TableDifference, *, progress: Progress = silent
) -> Iterator[tuple[str, bytes, int, int]]:
    """Iterate over the rows that only one of two versions has, see :func:`different_rows`.

    Yields: ``+`` or ``-``, the row as JSON, the number of its packfile among those that came or
    went, and its own number there.
    """
    old = _Side(difference.before, difference.removed)
    new = _Side(difference.after, difference.added)
    shared = old.digests() & new.digests()
    old.leave_out(shared)
    new.leave_out(shared)
    passes = max(1, -(-old.rows // MOST_KNOWN))
    total = (2 * old.size_bytes + new.size_bytes) * passes
    done = 0

    def read(side: _Side, part: int) -> Iterator[tuple[bytes, tuple[bytes, int, int]]]:
        nonlocal done
        for size_bytes, pack, first, rows in side.blocks():
            for number, (key, line) in enumerate(rows, first):
                if passes == 1 or int.from_bytes(key[:8], "little") % passes == part:
                    yield key, (line, pack, number)
            done += size_bytes
            progress(done, total)

    for part in range(passes):
        left = Counter(key for key, _ in read(old, part))
        for key, row in read(new, part):
            if left[key]:
                left[key] -= 1
            else:
                del left[key]
                yield "+", *row
        for key, row in read(old, part) if left.total() else ():
            if left[key]:
                left[key] -= 1
                yield "-", *row


class _Side:
    """The packfiles that one of two versions has and the other has not."""

    def __init__(self, handle: TableHandle, descriptors: tuple[Descriptor, ...]) -> None:
        self._handle = handle
        self._descriptors = descriptors
        self._left_out: Counter[bytes] = Counter()

    def digests(self) -> Counter[bytes]:
        """Count the digests of blocks."""
        digests: Counter[bytes] = Counter()
        for descriptor in self._descriptors:
            with self._open(descriptor) as pack:
                digests.update(filter(None, pack.trailer.sparse.digests))
        return digests

    def leave_out(self, digests: Counter[bytes]) -> None:
        """Skip a number of blocks of each digest."""
        self._left_out = digests

    @property
    def rows(self) -> int:
        """Number of rows, those of blocks that are left out too; about that where not known."""
        return sum(
            MOST_KNOWN if descriptor.rows is None else descriptor.rows
            for descriptor in self._descriptors
        )

    @property
    def size_bytes(self) -> int:
        """Size of the packfiles."""
        return sum(descriptor.size_bytes for descriptor in self._descriptors)

    def blocks(self) -> Iterator[tuple[int, int, int, Iterator[tuple[bytes, bytes]]]]:
        """Iterate over the blocks.

        Yields: The size of a block, the number of its packfile, that of its first row there, and
        its rows with a digest of each.
        """
        skipped = Counter(self._left_out)
        for packfile, descriptor in enumerate(self._descriptors):
            with self._open(descriptor) as pack:
                firsts = [0, *accumulate(rows_of_blocks(pack))]
                for number in range(len(pack.blocks)):
                    digest = pack.trailer.sparse.digest(number)
                    start, stop = pack.trailer.block_range(number)
                    if skipped[digest]:
                        skipped[digest] -= 1
                        rows: Iterator[tuple[bytes, bytes]] = iter(())
                    else:
                        rows = _rows(pack, number)
                    yield stop - start, packfile, firsts[number], rows

    def _open(self, descriptor: Descriptor) -> Packfile:
        return open_packfile(self._handle.root.place(descriptor.key))


def _rows(pack: Packfile, block: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield the digests of rows, which know types, and the rows as JSON."""
    from hashlib import blake2b
    from io import BytesIO

    from sdb.table.history.rowvalues import canonical

    selection = replace(pack.select(), blocks=(block,))
    text = BytesIO()
    write_lines(pack, selection, text, None)
    text.seek(0)
    for row, line in zip(pack.selected_rows(selection), text, strict=True):
        yield (
            blake2b(canonical(row), digest_size=_DIGEST_BYTES).digest(),
            line.rstrip(b"\n"),
        )
