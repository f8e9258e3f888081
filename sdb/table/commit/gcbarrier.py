"""Freshness: packfiles that a commit adds must not be ones that a collector may be deleting.

A collector deletes what is older than its boundary and what nothing leads to. The boundary is a
part of every version, so that whoever commits after it knows it: what is older then is copied, and
the copy is added in its place. Whoever has written a packfile after it read an index with the same
boundary has nothing to look at.
"""

from __future__ import annotations

from sdb.errors import ConflictError, NotFoundError
from sdb.records import replace
from sdb.table.format import keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.commit.change import TableChange
    from sdb.table.commit.objects import ObjectWriter
    from sdb.table.format.descriptor import Descriptor

MARGIN_US = 2_000_000
"""Times of objects may be rounded, differently where they are listed."""


class CollectedError(ConflictError):
    """A packfile was collected before a version had it."""


class Freshness:
    """Makes sure that packfiles stay.

    Parameters
    ----------
    writer : ObjectWriter
        Writes copies.
    """

    def __init__(self, writer: ObjectWriter) -> None:
        self._writer = writer
        self._copies: dict[str, tuple[int, Descriptor]] = {}

    def fresh(self, change: TableChange, boundary_us: int) -> TableChange:
        """Give a change whose packfiles no collector deletes.

        Parameters
        ----------
        change : TableChange
            The change.
        boundary_us : int
            The boundary of the version that it follows.

        Returns
        -------
        TableChange
            The same, or one with copies.

        Raises
        ------
        CollectedError
            A packfile is gone.
        """
        if not boundary_us or change.since_us == boundary_us:
            return change
        if change.content is not None and change.added:
            # Of a version that was kept: an object that is still there may be about to go.
            head = self._writer.head
            message = f"{head}: a collection has begun since the version was read"
            raise CollectedError(message, path=head, hint="run it again")
        if change.content is not None:
            return change
        own = f"{self._writer.keys.folder}/"  # what is another table's, that one keeps
        added = [
            self._kept(one, boundary_us) if one.key.startswith(own) else one for one in change.added
        ]
        return replace(change, added=tuple(added), since_us=boundary_us)

    def _kept(self, found: Descriptor, boundary_us: int) -> Descriptor:
        root = self._writer.root
        for_boundary, copy = self._copies.get(found.key, (0, found))
        if for_boundary == boundary_us:
            return copy
        entry = root.store.look(root.place(copy.key))
        if entry is None or entry.modified_us <= boundary_us + MARGIN_US:
            copy = self._copied(found if entry is None else copy)
        self._copies[found.key] = boundary_us, copy
        return copy

    def _copied(self, found: Descriptor) -> Descriptor:
        """Copy a packfile to a name of its own."""
        root = self._writer.root
        folder, _, name = found.key.rpartition("/")
        folder = f"{folder}/{keys.new_uid(self._writer.around.random_bytes)}"
        place = root.place(f"{folder}/{name}")
        root.store.make(root.place(folder))
        try:
            reader = root.open(found.key)
            try:
                with root.store.grow(reader, reader.size_bytes, place):
                    pass
            finally:
                reader.close()
            etag = root.store.version(place) if root.store.is_remote else found.etag
            if not root.has(found.key):  # whoever deletes it has not seen the copy
                root.store.delete(place)
                etag = None
            if etag is None:
                raise NotFoundError(f"{place} is not there", path=place)  # noqa: TRY301
        except NotFoundError as error:
            message = f"{found.key} was collected before the table had it: it took too long"
            raise CollectedError(message, path=found.key, hint="run it again") from error
        return replace(found, key=f"{folder}/{name}", etag=etag)
