"""Rewriting packfiles of a table: new objects with the rows that are left, under new names."""

from __future__ import annotations

from contextlib import ExitStack, closing

from sdb.records import record
from sdb.table.packfiles.lazy import OpenObjects, whole_packfile
from sdb.table.packfiles.store import store_grown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.packfile.rewrite.rewrite import RowChanges
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.keys import TableKeys


@record
class Rewritten:
    """The result of rewriting a packfile of a table, of which no index tells yet.

    Attributes
    ----------
    descriptor : Descriptor or None
        The new packfile; None: no row is left.
    rows_before, rows_after : int
        Number of rows.
    blocks_kept, blocks_rewritten : int
        Numbers of its old blocks that stay as they are, and of the others.
    copied_bytes, packed_bytes : int
        Size of the blocks that were copied, and of those that were written again.
    """

    descriptor: Descriptor | None
    rows_before: int
    rows_after: int
    blocks_kept: int
    blocks_rewritten: int
    copied_bytes: int
    packed_bytes: int


def rewrite(
    root: TableRoot,
    keys: TableKeys,
    told: Descriptor,
    changes: RowChanges,
    mark: str,
    *,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Rewritten:
    """Rewrite a packfile of a table.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    keys : TableKeys
        Its names.
    told : Descriptor
        What the index says of the packfile.
    changes : RowChanges
        Rows that change.
    mark : str
        Whose packfile the new one is: it must be no other's, even if that is alike.
    threads : int, optional
        Threads that compress.
    progress : callable, optional
        Told the size of each block that is done.

    Returns
    -------
    Rewritten
        The new packfile.

    Raises
    ------
    CorruptError
        The packfile is missing or damaged, or not what the index tells of.
    """
    from sdb.packfile.rewrite.rewrite import rewritten

    objects = OpenObjects()
    with ExitStack() as stack, closing(objects):
        pack = whole_packfile(root, told, objects)
        found = rewritten(pack, changes, stack, threads=threads, progress=progress)
        new = None
        if found.trailer is not None:
            beginning = (pack.reader, found.kept_bytes)
            new = store_grown(root, keys, [told], found.trailer, beginning, found.write, mark=mark)
        return Rewritten(
            new,
            found.rows_before,
            found.rows_after,
            found.blocks_kept,
            len(pack.blocks) - found.blocks_kept,
            found.copied_bytes,
            found.packed_bytes,
        )
