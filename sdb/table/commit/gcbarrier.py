"""The barrier in front of a commit: no packfile that it adds may be one that a collector deletes.

`gc` deletes objects that are older than its boundary and unreachable. Each version has the boundary
of the last `gc`, so that commits after it know it: they copy new packfiles that are older, and add
the copy instead. If the index that was read before writing has the same boundary, the new packfiles
cannot be candidates for deletion, and the check is skipped.
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


class GcBarrier:
    """Replaces new packfiles that a running `gc` may delete by copies."""

    def __init__(self, writer: ObjectWriter) -> None:
        self._writer = writer
        self._copies: dict[str, tuple[int, Descriptor]] = {}

    def fresh(self, change: TableChange, boundary_us: int) -> TableChange:
        """Return the change with packfiles that no running `gc` deletes.

        Raises `CollectedError` if a packfile is gone.
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
        # A copy is younger than the boundary: the collection that set it does not delete it.
        own = f"{self._writer.keys.folder}/"  # what is another table's, that one keeps
        added = [
            self._kept(packfile, boundary_us) if packfile.key.startswith(own) else packfile
            for packfile in change.added
        ]
        return replace(change, added=tuple(added), since_us=boundary_us)

    def _kept(self, packfile: Descriptor, boundary_us: int) -> Descriptor:
        root = self._writer.root
        for_boundary, copy = self._copies.get(packfile.key, (0, packfile))
        if for_boundary == boundary_us:
            return copy
        entry = root.store.head(root.place(copy.key))
        # A copy too many costs bytes, one too few a packfile: times within the margin count as
        # older.
        if entry is None or entry.modified_us <= boundary_us + MARGIN_US:
            copy = self._copied(packfile if entry is None else copy)
        self._copies[packfile.key] = boundary_us, copy
        return copy

    def _copied(self, packfile: Descriptor) -> Descriptor:
        """Copy a packfile to a unique name."""
        root = self._writer.root
        folder, _, name = packfile.key.rpartition("/")
        folder = f"{folder}/{keys.new_uid(self._writer.env.random_bytes)}"
        location = root.place(f"{folder}/{name}")
        root.store.make_folder(root.place(folder))
        try:
            reader = root.open(packfile.key)
            try:
                with root.store.create_from_prefix(reader, reader.size_bytes, location):
                    pass
            finally:
                reader.close()
            etag = root.store.version(location) if root.store.is_remote else packfile.etag
            if not root.has(packfile.key):  # the collector that deleted it has not seen the copy
                root.store.delete(location)
                etag = None
            if etag is None:
                raise NotFoundError(f"{location} is not there", path=location)  # noqa: TRY301
        except NotFoundError as error:
            message = f"{packfile.key} was collected before the table had it: it took too long"
            raise CollectedError(message, path=packfile.key, hint="run it again") from error
        return replace(packfile, key=f"{folder}/{name}", etag=etag)
