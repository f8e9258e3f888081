"""Differences between two versions: packfiles, and rows of those that differ."""

from __future__ import annotations

from collections import Counter

from sdb import ion
from sdb.packfile.export.unpack import write_lines
from sdb.packfile.read.reader import open_packfile
from sdb.progress import silent
from sdb.records import field, record, replace
from sdb.table.commit.change import packfiles_between
from sdb.table.history.log import packfile_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sdb.packfile.read.reader import Packfile
    from sdb.progress import Progress
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor

MOST_KNOWN = 2_000_000
"""Digests of so many rows are kept in memory; with more rows they are read several times."""

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
    """

    before: TableHandle
    after: TableHandle
    added: tuple[Descriptor, ...] = field(repr=False)
    removed: tuple[Descriptor, ...] = field(repr=False)
    same: int

    def as_dict(self) -> dict[str, object]:
        """Give it as plain values with stable names, for JSON."""
        return {
            "before": _name(self.before),
            "after": _name(self.after),
            "packfiles_added": len(self.added),
            "packfiles_removed": len(self.removed),
            "packfiles_same": self.same,
            "rows_added": rows_of(self.added),
            "rows_removed": rows_of(self.removed),
            "bytes_added": sum(one.size_bytes for one in self.added),
            "bytes_removed": sum(one.size_bytes for one in self.removed),
            "added": [packfile_dict(one) for one in self.added],
            "removed": [packfile_dict(one) for one in self.removed],
        }


def _name(handle: TableHandle) -> dict[str, object]:
    state = handle.state
    return {"table": handle.name, "version": None if state is None else state.version}


def rows_of(descriptors: Iterable[Descriptor]) -> int | None:
    """Give the number of rows of packfiles; None when one does not tell."""
    counts = [one.rows for one in descriptors]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def compare(before: TableHandle, after: TableHandle) -> TableDifference:
    """Compare two versions of a table, by their indexes.

    Parameters
    ----------
    before, after : TableHandle
        The versions; packfiles are the same if their keys are.

    Returns
    -------
    TableDifference
        Packfiles that came and went.

    Raises
    ------
    CorruptError
        A list of packfiles is missing or damaged.
    """
    added, removed = packfiles_between(before.index, after.index, after.root.fetch)
    refs, inline = after.index.indirect.refs, after.index.inline
    count = sum(ref.objects for ref in refs) + len(inline)
    return TableDifference(before, after, added, removed, count - len(added))


def different_rows(
    difference: TableDifference, *, progress: Progress = silent
) -> Iterator[tuple[str, bytes]]:
    """Go over the rows that only one of two versions has.

    Blocks that packfiles of both have are not read. A row that was only moved is none; one that is
    there several times counts as often.

    Parameters
    ----------
    difference : TableDifference
        The packfiles that differ; no others are read.
    progress : Progress
        Told how many bytes of packfiles were read.

    Yields
    ------
    tuple of str and bytes
        ``+`` for a row of the later version or ``-`` for one of the earlier, and the row as JSON.

    Raises
    ------
    CorruptError
        A packfile is missing or damaged.
    """
    old = _Side(difference.before, difference.removed)
    new = _Side(difference.after, difference.added)
    shared = old.digests() & new.digests()
    old.leave_out(shared)
    new.leave_out(shared)
    passes = max(1, -(-old.rows // MOST_KNOWN))
    total = (2 * old.size_bytes + new.size_bytes) * passes
    done = 0

    def read(side: _Side, part: int) -> Iterator[tuple[bytes, bytes]]:
        nonlocal done
        for size_bytes, rows in side.blocks():
            for key, line in rows:
                if passes == 1 or int.from_bytes(key[:8], "little") % passes == part:
                    yield key, line
            done += size_bytes
            progress(done, total)

    for part in range(passes):
        left = Counter(key for key, _ in read(old, part))
        for key, line in read(new, part):
            if left[key]:
                left[key] -= 1
            else:
                del left[key]
                yield "+", line
        for key, line in read(old, part) if left.total() else ():
            if left[key]:
                left[key] -= 1
                yield "-", line


class _Side:
    """The packfiles that one of two versions has and the other has not."""

    def __init__(self, handle: TableHandle, descriptors: tuple[Descriptor, ...]) -> None:
        self._handle = handle
        self._descriptors = descriptors
        self._left_out: Counter[bytes] = Counter()

    def digests(self) -> Counter[bytes]:
        """Count the digests of blocks."""
        found: Counter[bytes] = Counter()
        for descriptor in self._descriptors:
            with self._open(descriptor) as pack:
                found.update(filter(None, pack.trailer.sparse.digests))
        return found

    def leave_out(self, digests: Counter[bytes]) -> None:
        """Skip so many blocks of each digest."""
        self._left_out = digests

    @property
    def rows(self) -> int:
        """Number of rows, those of blocks that are left out too; about that where not known."""
        return sum(MOST_KNOWN if one.rows is None else one.rows for one in self._descriptors)

    @property
    def size_bytes(self) -> int:
        """Size of the packfiles."""
        return sum(one.size_bytes for one in self._descriptors)

    def blocks(self) -> Iterator[tuple[int, Iterator[tuple[bytes, bytes]]]]:
        """Go over the blocks: sizes, and rows with a digest of each."""
        skipped = Counter(self._left_out)
        for descriptor in self._descriptors:
            with self._open(descriptor) as pack:
                for number in range(len(pack.blocks)):
                    digest = pack.trailer.sparse.digest(number)
                    start, stop = pack.trailer.block_range(number)
                    if skipped[digest]:
                        skipped[digest] -= 1
                        yield stop - start, iter(())
                    else:
                        yield stop - start, _rows(pack, number)

    def _open(self, descriptor: Descriptor) -> Packfile:
        return open_packfile(self._handle.root.place(descriptor.key))


def _rows(pack: Packfile, block: int) -> Iterator[tuple[bytes, bytes]]:
    """Give the digests of rows, which know types, and the rows as JSON."""
    from hashlib import blake2b
    from io import BytesIO

    selection = replace(pack.select(), blocks=(block,))
    text = BytesIO()
    write_lines(pack, selection, text, None)
    text.seek(0)
    for row, line in zip(pack.selected_rows(selection), text, strict=True):
        yield (
            blake2b(ion.dumps(_ordered(row)), digest_size=_DIGEST_BYTES).digest(),
            line.rstrip(b"\n"),
        )


def _ordered(value: object) -> object:
    """Put the fields of structures in one order: that of a row depends on those beside it."""
    if isinstance(value, dict):
        return {name: _ordered(value[name]) for name in sorted(value)}
    return list(map(_ordered, value)) if isinstance(value, list) else value
