"""Packfiles of a list of a table, of which there may be a million: each is a number at first."""

from __future__ import annotations

from sdb.table.packfiles.lazy import TablePackfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from sdb.packfile.trailer.blockstats import BlockStatistics
    from sdb.packfile.trailer.sparseindex import SparseIndex, Summary
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.store.base import Reader
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.columns import DescriptorList
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.packfiles.lazy import OpenObjects

    Listing: TypeAlias = "tuple[TableRoot, DescriptorList, OpenObjects]"


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
