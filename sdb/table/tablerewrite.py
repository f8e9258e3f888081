"""Rewriting packfiles of a table: new objects with the rows that are left, under new names."""

from __future__ import annotations

from contextlib import ExitStack, closing

from sdb.errors import ConflictError, CorruptError, ExistsError
from sdb.packfile.reader import Packfile
from sdb.packfile.trailer import read_trailer
from sdb.records import record
from sdb.table import contentid, etags
from sdb.table.descriptor import Descriptor, slim
from sdb.table.tablepackfile import LateReader, OpenObjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.rewriting import RewrittenPackfile, RowChanges
    from sdb.table.names import TableKeys
    from sdb.table.tableroot import TableRoot


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
    directory: str,
    *,
    threads: int | None = None,
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
    directory : str
        Where the new packfile goes below ``data/``.
    threads : int, optional
        Threads that compress.

    Returns
    -------
    Rewritten
        The new packfile.

    Raises
    ------
    CorruptError
        The packfile is missing or damaged, or not what the index tells of.
    """
    from sdb.packfile.rewriting import rewritten

    objects = OpenObjects()
    with ExitStack() as stack, closing(objects):
        reader = LateReader(root, told, objects).opened()
        pack = Packfile(reader.path, reader, read_trailer(reader, reader.path))
        found = rewritten(pack, changes, stack, threads=threads)
        new = None
        if found.trailer is not None:
            new = _stored(root, keys, directory, found, pack)
        return Rewritten(
            new,
            found.rows_before,
            found.rows_after,
            found.blocks_kept,
            len(pack.blocks) - found.blocks_kept,
            found.copied_bytes,
            found.packed_bytes,
        )


def _stored(
    root: TableRoot, keys: TableKeys, directory: str, found: RewrittenPackfile, pack: Packfile
) -> Descriptor | None:
    """Store the packfile under the name of its content, unless it is there already."""
    trailer = found.trailer
    if trailer is None:
        return None
    name = contentid.of_trailer(trailer)
    if name is None:
        raise CorruptError(f"{pack.path}: the digest of a block is not known", path=pack.path)
    key = keys.content(directory, name)
    place = root.place(key)
    root.store.make(place.rpartition("/")[0])
    try:
        with root.store.grow(pack.reader, found.kept_bytes, place) as draft:
            found.write(draft)
    except ExistsError:
        pass  # its name tells the content
    if root.store.is_remote:
        version = root.store.version(place)
    else:
        with closing(root.open(key)) as reader:
            version = etags.of_content(reader.pieces(0, reader.size_bytes))
    if version is None:
        raise ConflictError(f"{place}: someone has removed it", path=place, hint="run it again")
    return Descriptor(key, version, trailer.offset + len(trailer.encode()), slim(trailer))
