"""Packfiles of a table: known from their descriptors, and opened when a block is read."""

from __future__ import annotations

import threading

from sdb.errors import CorruptError, NotFoundError
from sdb.packfile.read.reader import Packfile
from sdb.packfile.trailer.partialread import AHEAD_BYTES
from sdb.packfile.trailer.read import read_beginning, read_trailer
from sdb.records import replace
from sdb.store.base import PIECE_BYTES, read_pieces
from sdb.table.packfiles.statscache import KnownFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator

    from sdb.packfile.prune.predicate import Predicate
    from sdb.packfile.prune.prune import Intervals
    from sdb.packfile.trailer.blockstats import BlockStatistics
    from sdb.packfile.trailer.sparseindex import SparseIndex, Summary
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.store.base import Reader
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.descriptor import Descriptor

MOST_OPEN = 128
"""So many objects of a query are open at once."""
MOST_PLAIN_BYTES = 1 << 20
"""Of packfiles up to this size the rows take no longer to read than what is known of them."""


def missing(name: str) -> CorruptError:
    """Make the error for a packfile that is not there, though an index tells of it."""
    return CorruptError(
        f"{name} is missing: the table leads to it",
        path=name,
        hint="a version that has expired is collected (sdb log); else sdb validate",
    )


def insist(reader: Reader, name: str, size_bytes: int, etag: str) -> None:
    """Insist on the packfile that an index tells of; another one is closed.

    Parameters
    ----------
    reader : Reader
        What was opened.
    name : str
        Its key, or its place, for messages.
    size_bytes : int
        Size that it must have.
    etag : str
        ETag that it must have; local files have none.

    Raises
    ------
    CorruptError
        It is another one.
    """
    if reader.size_bytes != size_bytes:
        sizes = f"{reader.size_bytes:,} bytes, the index says {size_bytes:,}"
        reader.close()
        raise CorruptError(f"{name} is not what was written: {sizes}", path=name)
    if reader.etag and reader.etag != etag:
        found = reader.etag
        reader.close()
        raise CorruptError(f"{name}: ETag changed: {etag} -> {found}", path=name)


class OpenObjects:
    """The objects that were read last, open: those that were not used for longest are let go.

    They close when nobody uses them any more.

    Parameters
    ----------
    most : int
        How many are kept.
    """

    def __init__(self, most: int = MOST_OPEN) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._open: dict[str, Reader] = {}

    def get(self, key: str) -> Reader | None:
        """Give an object that is open, and keep it open for longer."""
        with self._lock:
            found = self._open.pop(key, None)
            if found is not None:
                self._open[key] = found
            return found

    def put(self, key: str, reader: Reader) -> None:
        """Keep an object open, and let go those that are too many."""
        with self._lock:
            self._open[key] = reader
            while len(self._open) > self._most:
                del self._open[next(iter(self._open))]

    def __len__(self) -> int:
        """Give the number of objects that are kept open."""
        return len(self._open)

    def close(self) -> None:
        """Let all go."""
        with self._lock:
            self._open.clear()


class _HeldDescriptor(int):
    """The descriptor of an open file, which stays open as long as this is there."""

    reader: Reader


class LateReader:
    """A packfile of a table that is opened when it is read; see :class:`sdb.store.base.Reader`.

    Parameters
    ----------
    root : TableRoot
        The root that it is below.
    told : Descriptor
        What the index says of it.
    objects : OpenObjects
        Keeps it open.
    """

    __slots__ = ("_objects", "_root", "_told")

    def __init__(self, root: TableRoot, told: Descriptor, objects: OpenObjects) -> None:
        self._root = root
        self._told = told
        self._objects = objects

    @property
    def path(self) -> str:
        """Path or URL of the packfile."""
        return self._root.place(self._told.key)

    @property
    def size_bytes(self) -> int:
        """Size, as the index tells it."""
        return self._told.size_bytes

    @property
    def etag(self) -> str:
        """ETag, as the index tells it."""
        return self._told.etag

    @property
    def version(self) -> str:
        """Name of the version: the ETag."""
        return self._told.etag

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

    def reopen(self) -> LateReader:
        """Give the reader itself."""
        return self

    def close(self) -> None:
        """Do nothing: what is open belongs to all."""

    def opened(self) -> Reader:
        """Give the object itself, open: what a store copies from."""
        return self._opened()

    def whole_trailer(self) -> Trailer:
        """Read the trailer with all that it says, not only what the index has of it."""
        self._opened(0)
        # What is read of it later comes from the object that is open then.
        return read_trailer(self, self.path)

    def knowing(self, told: Trailer) -> Trailer:
        """Read what the beginning of the trailer knows of values, which the index does not.

        Parameters
        ----------
        told : Trailer
            What the index has of the trailer, which tells where it begins.
        """
        self._opened(AHEAD_BYTES, told.offset)
        found = read_beginning(self, told)
        return self.whole_trailer() if found is None else found

    def _opened(self, head_bytes: int = 1, start: int = 0) -> Reader:
        """Open the object, which must be the one that the index tells of.

        Parameters
        ----------
        head_bytes : int
            So many of its first bytes come with it, over a network; 0: its end does.
        start : int
            Where these bytes begin, if that is not its beginning.
        """
        key = self._told.key
        found = self._objects.get(key)
        if found is not None:
            return found
        try:
            reader = self._root.open(key, head_bytes=head_bytes, start=start)
        except NotFoundError:
            raise missing(key) from None
        insist(reader, key, self.size_bytes, self.etag)
        self._objects.put(key, reader)
        return reader


def whole_packfile(root: TableRoot, told: Descriptor, objects: OpenObjects) -> Packfile:
    """Open a packfile of a table with all that its trailer says, not only what the index has of it.

    Parameters
    ----------
    root : TableRoot
        The root that it is below.
    told : Descriptor
        What the index says of it.
    objects : OpenObjects
        Keeps it open.

    Returns
    -------
    Packfile
        The packfile.

    Raises
    ------
    CorruptError
        It is missing or damaged, or not what the index tells of.
    """
    late = LateReader(root, told, objects)
    trailer = late.whole_trailer()
    reader = late.opened()
    return Packfile(reader.path, reader, trailer)


class TablePackfile(Packfile):
    """A packfile of a table, see :class:`sdb.packfile.read.reader.Packfile`.

    Parameters
    ----------
    root : TableRoot
        The root that it is below.
    told : Descriptor
        What the index says of it, checked.
    objects : OpenObjects
        Keeps it open.
    """

    def __init__(self, root: TableRoot, told: Descriptor, objects: OpenObjects) -> None:
        self._late = LateReader(root, told, objects)
        super().__init__(root.place(told.key), self._late, told.trailer)
        self._is_remote = root.store.is_remote
        self._root = root
        self._objects = objects
        self._told = told
        self._whole: Trailer | None = None

    @property
    def told(self) -> Descriptor:
        """The descriptor that the index has of it."""
        return self._told

    @property
    def key(self) -> str:
        """Its key below the root."""
        return self._told.key

    def whole_trailer(self) -> Trailer:
        """Read the trailer itself, which may say more than the index does; once."""
        if self._whole is None:
            self._whole = LateReader(self._root, self._told, self._objects).whole_trailer()
        return self._whole

    @property
    def known_summary(self) -> Summary | None:
        """Types of fields, if they have been read already beside what is known of values."""
        if self._whole is not None:
            return self._whole.sparse.summary
        found = None if self._known is None else self._known[0].summary
        # Of small packfiles nothing was read beside the index.
        return None if found is self._trailer.sparse.summary else found

    @property
    def is_remote(self) -> bool:
        """True if blocks come over a network; the packfile is not opened for that."""
        return self._is_remote

    def pruned(self, test: Predicate) -> Intervals:
        """Give the blocks that can hold a row for which a condition is TRUE."""
        found = super().pruned(test)
        if self._known is not None and self._known[1] is not None:
            _KNOWN.measure((self._path, self._told.etag))
        return found

    def _read_known(self) -> tuple[SparseIndex, BlockStatistics | None]:
        if self._told.size_bytes <= MOST_PLAIN_BYTES:
            return self._trailer.sparse, None
        key = self._path, self._told.etag
        found = _KNOWN.get(key)
        if found is None:
            found = Packfile(self._path, self._late, self._late.knowing(self._trailer)).known
            _KNOWN.put(key, found)
        whole, statistics = found
        own = self._trailer.sparse
        # Partitions are constants of the index alone.
        known = replace(own, summary=whole.summary, stored_presence=whole.stored_presence)
        return known, statistics


_KNOWN = KnownFacts(64 << 20)
