"""Rewriting packfiles of a table: new objects with the rows that are left, under new names."""

from __future__ import annotations

from contextlib import ExitStack, closing

from sdb.records import record
from sdb.table.packfiles.identities import with_edited
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
    """The result of rewriting a packfile of a table, which no index has yet."""

    descriptor: Descriptor | None  # the new packfile; None: no row is left
    # Number of rows
    rows_before: int
    rows_after: int
    # Numbers of its old blocks that stay as they are, and of the others
    blocks_kept: int
    blocks_rewritten: int
    # Size of the blocks that were copied, and of those that were written again
    copied_bytes: int
    packed_bytes: int
    # Whether it says which rows of the old packfile its rows were
    are_rows_traced: bool = False


def rewrite(
    root: TableRoot,
    keys: TableKeys,
    descriptor: Descriptor,
    changes: RowChanges,
    mark: str,
    *,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Rewritten:
    """Rewrite a packfile of a table.

    * ``mark``: Whose packfile the new one is: it must be no other's, even if that is alike.
    * ``progress``: Called with the size of each block that is done.

    Raises `CorruptError` if the packfile is missing or damaged, or not the one that the index has.
    """
    from sdb.packfile.rewrite.rewrite import rewritten

    objects = OpenObjects()
    with ExitStack() as stack, closing(objects):
        pack = whole_packfile(root, descriptor, objects)
        result = rewritten(pack, changes, stack, threads=threads, progress=progress)
        new = None
        if result.trailer is not None:
            result.trailer = with_edited(
                result.trailer, descriptor.key, pack.trailer, changes, mark
            )
            beginning = (pack.reader, result.kept_bytes)
            new = store_grown(
                root, keys, [descriptor], result.trailer, beginning, result.write, mark=mark
            )
        return Rewritten(
            new,
            result.rows_before,
            result.rows_after,
            result.blocks_kept,
            len(pack.blocks) - result.blocks_kept,
            result.copied_bytes,
            result.packed_bytes,
            result.trailer is None or bool(result.trailer.sparse.stored_identities),
        )
