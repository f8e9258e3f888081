"""Packfiles of a table: known from their descriptors, and opened when a block is read."""

from __future__ import annotations

from _thread import allocate_lock  # threading takes 2 ms, which short commands do without

from sdb.errors import CorruptError, NotFoundError
from sdb.lru import LruCache
from sdb.packfile.read.reader import Packfile
from sdb.packfile.trailer.read import AHEAD_BYTES, read_beginning, read_trailer
from sdb.records import replace
from sdb.store.base import PIECE_BYTES, read_pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import TypeAlias

    from sdb.packfile.prune.predicate import Predicate
    from sdb.packfile.prune.prune import Intervals
    from sdb.packfile.trailer.blockstats import BlockStatistics
    from sdb.packfile.trailer.sparseindex import SparseIndex, Summary
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.store.base import Reader
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.columns import DescriptorList
    from sdb.table.format.descriptor import Descriptor

    Facts: TypeAlias = tuple[SparseIndex, BlockStatistics | None]
    Key: TypeAlias = tuple[str, str]
    Listing: TypeAlias = "tuple[TableRoot, DescriptorList, OpenObjects]"

# Facts of packfiles of tables, kept for further queries of the same process.

_BYTES_OF_PATH = 256  # about


class StatsCache(LruCache["Key", "Facts"]):
    """The facts of the objects that were asked last, for queries of the same process.

    Objects of a table do not change. Sections are read when they are asked for, so that more may be
    known of an object later: :meth:`measure`.
    """

    def __init__(self, most_bytes: int) -> None:
        super().__init__(most_bytes=most_bytes, size_of=_size_bytes)


def _size_bytes(facts: Facts) -> int:
    """Return about the memory that takes most of what is known."""
    sparse, statistics = facts
    stored = sparse.stored_statistics
    types = 0 if sparse.summary is None else len(sparse.summary.types)
    held = 0 if stored is None else stored.held_bytes
    held += 0 if statistics is None else statistics.held_bytes
    return held + len(sparse.stored_presence) + _BYTES_OF_PATH * (types + 1)


MOST_OPEN = 128
"""How many objects of a query are open at once."""
MOST_PLAIN_BYTES = 1 << 20
"""Of packfiles up to this size the rows take no longer to read than what is known of them."""


def missing_packfile_error(name: str) -> CorruptError:
    """Return the error for a packfile that an index has, and that is not there."""
    return CorruptError(
        f"{name} is missing: the table leads to it",
        path=name,
        hint="a version that has expired is collected (sdb log); else sdb validate",
    )


def check_same_object(reader: Reader, name: str, size_bytes: int, etag: str) -> None:
    """Require the packfile that an index has; another one is closed.

    * ``etag``: ETag that it must have; local files have none.

    Raises `CorruptError` if it is another one.
    """
    if reader.size_bytes != size_bytes:
        sizes = f"{reader.size_bytes:,} bytes, the index says {size_bytes:,}"
        reader.close()
        raise CorruptError(f"{name} has changed since it was written: {sizes}", path=name)
    if reader.etag and reader.etag != etag:
        actual = reader.etag
        reader.close()
        raise CorruptError(f"{name}: ETag changed: {etag} -> {actual}", path=name)


class OpenObjects(LruCache[str, "Reader"]):
    """The objects that were read last, open: those that were not used for longest are let go.

    They close when no packfile uses them any more.
    """

    def __init__(self, most: int = MOST_OPEN) -> None:
        super().__init__(most_entries=most)

    def close(self) -> None:
        """Release all of them."""
        self.clear()


class _HeldDescriptor(int):
    """The descriptor of an open file, which stays open as long as this is there."""

    reader: Reader


class LazyReader:
    """A packfile of a table that is opened when it is read; see :class:`sdb.store.base.Reader`."""

    __slots__ = ("_descriptor", "_lock", "_objects", "_root")

    def __init__(self, root: TableRoot, descriptor: Descriptor, objects: OpenObjects) -> None:
        self._root = root
        self._descriptor = descriptor
        self._objects = objects
        self._lock = allocate_lock()  # one thread opens it, and those that read ahead wait

    @property
    def path(self) -> str:
        """Path or URL of the packfile."""
        return self._root.place(self._descriptor.key)

    @property
    def size_bytes(self) -> int:
        """Size, by the index."""
        return self._descriptor.size_bytes

    @property
    def etag(self) -> str:
        """ETag, by the index."""
        return self._descriptor.etag

    @property
    def version(self) -> str:
        """Name of the version: the ETag."""
        return self._descriptor.etag

    @property
    def descriptor(self) -> int | None:
        """Descriptor of the open file; None where there is no such thing."""
        if self._root.store.is_remote:
            return None
        reader = self._opened()
        held = _HeldDescriptor(reader.descriptor or 0)
        held.reader = reader
        return held

    def read(self, start: int, stop: int) -> bytes:
        """Read the bytes of a half-open range."""
        return self._opened(stop if start <= PIECE_BYTES else 1).read(start, stop)

    def pieces(self, start: int, stop: int) -> Generator[bytes]:
        """Read the bytes of a half-open range piece by piece."""
        return read_pieces(self, start, stop)

    def reopen(self) -> LazyReader:
        """Return the reader itself."""
        return self

    def close(self) -> None:
        """Do nothing: what is open belongs to all."""

    def opened(self) -> Reader:
        """Return the object itself, open: what a store copies from."""
        return self._opened()

    def whole_trailer(self) -> Trailer:
        """Read the trailer with all that it says, not only what the index has of it."""
        self._opened(0)
        # What is read of it later comes from the object that is open then.
        return read_trailer(self, self.path)

    def knowing(self, trailer: Trailer) -> Trailer:
        """Read what the beginning of the trailer knows of values, which the index does not.

        * ``trailer``: The part of the trailer that the index has, which says where it begins.
        """
        self._opened(AHEAD_BYTES, trailer.offset)
        beginning = read_beginning(self, trailer)
        return self.whole_trailer() if beginning is None else beginning

    def _opened(self, head_bytes: int = 1, start: int = 0) -> Reader:
        """Open the object, which must be the one that the index has.

        * ``head_bytes``: How many of its first bytes come with it, over a network; 0: its end does.
        * ``start``: Where these bytes begin, if that is not its beginning.
        """
        key = self._descriptor.key
        with self._lock:
            opened = self._objects.get(key)
            if opened is not None:
                return opened
            try:
                reader = self._root.open(key, head_bytes=head_bytes, start=start)
            except NotFoundError:
                raise missing_packfile_error(key) from None
            check_same_object(reader, key, self.size_bytes, self.etag)
            self._objects.put(key, reader)
            return reader


def whole_packfile(root: TableRoot, descriptor: Descriptor, objects: OpenObjects) -> Packfile:
    """Open a packfile of a table with all that its trailer says, not only what the index has of it.

    Raises `CorruptError` if it is missing or damaged, or not the one that the index has.
    """
    late = LazyReader(root, descriptor, objects)
    trailer = late.whole_trailer()
    reader = late.opened()
    return Packfile(reader.path, reader, trailer)


def whole_packfiles(
    root: TableRoot, parts: Sequence[Descriptor], objects: OpenObjects
) -> list[Packfile]:
    """Open packfiles of a table; see :func:`whole_packfile`."""
    from sdb.packfile.read.ahead import in_order

    opened = in_order(
        lambda part: whole_packfile(root, part, objects), parts, is_remote=root.store.is_remote
    )
    return list(opened)


class TablePackfile(Packfile):
    """A packfile of a table, see :class:`sdb.packfile.read.reader.Packfile`."""

    def __init__(self, root: TableRoot, descriptor: Descriptor, objects: OpenObjects) -> None:
        self._late = LazyReader(root, descriptor, objects)
        super().__init__(root.place(descriptor.key), self._late, descriptor.trailer)
        self._is_remote = root.store.is_remote
        self._root = root
        self._objects = objects
        self._descriptor = descriptor
        self._whole: Trailer | None = None

    @property
    def descriptor(self) -> Descriptor:
        """The descriptor that the index has of it."""
        return self._descriptor

    @property
    def key(self) -> str:
        """Its key below the root."""
        return self._descriptor.key

    def whole_trailer(self) -> Trailer:
        """Read the trailer itself, which may say more than the index does; once."""
        if self._whole is None:
            self._whole = LazyReader(self._root, self._descriptor, self._objects).whole_trailer()
        return self._whole

    @property
    def known_summary(self) -> Summary | None:
        """Types of fields, if they have been read already beside what is known of values."""
        if self._whole is not None:
            return self._whole.sparse.summary
        summary = None if self._known is None else self._known[0].summary
        # Of small packfiles nothing was read beside the index.
        return None if summary is self._trailer.sparse.summary else summary

    @property
    def is_remote(self) -> bool:
        """True if blocks come over a network; the packfile is not opened for that."""
        return self._is_remote

    def pruned(self, test: Predicate) -> Intervals:
        """Return the blocks that can hold a row for which a condition is TRUE."""
        pruned = super().pruned(test)
        if self._known is not None and self._known[1] is not None:
            _KNOWN.measure((self._path, self._descriptor.etag))
        return pruned

    def _read_known(self) -> tuple[SparseIndex, BlockStatistics | None]:
        if self._descriptor.size_bytes <= MOST_PLAIN_BYTES:
            return self._trailer.sparse, None
        key = self._path, self._descriptor.etag
        facts = _KNOWN.get(key)
        if facts is None:
            facts = Packfile(self._path, self._late, self._late.knowing(self._trailer)).known
            _KNOWN.put(key, facts)
        whole, statistics = facts
        own = self._trailer.sparse
        # Partitions are constants of the index alone.
        complete = replace(own, summary=whole.summary, stored_presence=whole.stored_presence)
        return complete, statistics


_KNOWN = StatsCache(64 << 20)


# Packfiles of a list of a table, of which there may be a million: each is a number at first.


class ListedPackfile(TablePackfile):
    """A packfile of a list of a table, which is little more than a number until it is looked into.

    * ``listing``: The root that it is below, the list, and what keeps it open.
    """

    _reader: Reader | None  # type: ignore[assignment]

    def __init__(self, listing: Listing, number: int) -> None:
        self._listing = listing
        self._number = number
        self._reader = None

    def _make(self) -> None:
        """Read the descriptor, unless that was done before."""
        if self._reader is None:
            root, listed, objects = self._listing
            super().__init__(root, listed[self._number], objects)

    @property
    def descriptor(self) -> Descriptor:
        """The descriptor that the list has of it, checked."""
        self._make()
        return super().descriptor

    @property
    def reader(self) -> Reader:
        """The object that the packfile is, opened when it is read."""
        self._make()
        return super().reader

    @property
    def trailer(self) -> Trailer:
        """The trailer, as far as the list has it."""
        self._make()
        return super().trailer

    @property
    def known(self) -> tuple[SparseIndex, BlockStatistics | None]:
        """All that is known of the values of the file and of each of its blocks, read once."""
        self._make()
        return super().known

    def whole_trailer(self) -> Trailer:
        """Read the trailer itself, which may say more than the list does."""
        self._make()
        return super().whole_trailer()

    @property
    def known_summary(self) -> Summary | None:
        """Types of fields, if they have been read already."""
        self._make()
        return super().known_summary

    @property
    def key(self) -> str:
        """Its key below the root."""
        return self._listing[1].key(self._number)

    @property
    def path(self) -> str:
        """Its path or URL."""
        return self._listing[0].place(self.key)

    @property
    def is_remote(self) -> bool:
        """True if blocks come over a network."""
        return self._listing[0].store.is_remote

    @property
    def verify(self) -> bool:
        """True: what is read is always compared with checksums and digests."""
        return True

    @property
    def size_bytes(self) -> int:
        """Size of the file in bytes."""
        size = self._listing[1].sizes[self._number]
        return super().size_bytes if size < 0 else size

    @property
    def block_count(self) -> int:
        """Number of blocks."""
        count = self._listing[1].blocks[self._number]
        return super().block_count if count < 0 else count

    @property
    def row_count(self) -> int | None:
        """Number of rows, when the writer counted them."""
        count = self._listing[1].rows[self._number]
        return super().row_count if count < 0 else count

    @property
    def stored_bytes(self) -> int:
        """Size of all blocks, as they are stored."""
        size = self._listing[1].stored[self._number]
        return super().stored_bytes if size < 0 else size

    @property
    def decompressed_bytes(self) -> int:
        """Size of all blocks, decompressed."""
        size = self._listing[1].decompressed[self._number]
        return super().decompressed_bytes if size < 0 else size
