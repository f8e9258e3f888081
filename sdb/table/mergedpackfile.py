"""Merged packfiles: one that has the rows of several, in their order."""

from __future__ import annotations

from contextlib import ExitStack, closing

from sdb.errors import CorruptError
from sdb.progress import silent
from sdb.records import record
from sdb.table import names
from sdb.table.grownpackfile import store_grown
from sdb.table.tablepackfile import OpenObjects, whole_packfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.progress import Progress
    from sdb.table.descriptor import Descriptor
    from sdb.table.tableroot import TableRoot


@record
class MergedPackfile:
    """A packfile that was made of others.

    Attributes
    ----------
    descriptor : Descriptor
        Its descriptor.
    copied_bytes : int
        Size of blocks that were taken over without being read.
    moved_bytes : int
        Size of those that were read, and stayed as they are.
    packed_bytes : int
        Size of those whose rows were packed again.
    """

    descriptor: Descriptor
    copied_bytes: int = 0
    moved_bytes: int = 0
    packed_bytes: int = 0


def merged_packfile(
    root: TableRoot,
    keys: names.TableKeys,
    parts: Sequence[Descriptor],
    *,
    progress: Progress = silent,
) -> MergedPackfile:
    """Make one packfile of several, of which no index tells yet.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    keys : TableKeys
        Its names.
    parts : sequence of Descriptor
        The packfiles.
    progress : Progress
        Told how many bytes of the new one were written.

    Returns
    -------
    MergedPackfile
        The packfile. It has a name that nothing had before.

    Raises
    ------
    CorruptError
        A packfile is missing or damaged, or the new one has not the same rows.
    """
    from sdb.packfile.joining import joined

    objects = OpenObjects(len(parts))
    with ExitStack() as stack:
        stack.enter_context(closing(objects))
        packs = [whole_packfile(root, told, objects) for told in parts]
        found = joined(packs, stack)
        trailer = found.trailer
        expected = sum(one.rows or 0 for one in parts)
        if trailer.rows != expected:
            message = f"{trailer.rows:,} rows, and the index says {expected:,}"
            raise CorruptError(f"{parts[0].key} and others: {message}", path=parts[0].key)
        done = 0

        def watch(size: int) -> None:
            nonlocal done
            done += size
            progress(done, trailer.offset)

        descriptor = store_grown(
            root,
            keys,
            parts,
            trailer,
            (packs[0].reader, found.kept_bytes),
            lambda draft: found.write(draft, watch),
            mark=names.new_uid(),
        )
    return MergedPackfile(descriptor, found.copied_bytes, found.moved_bytes, found.packed_bytes)
