"""Packing rows into a table: a packfile under a name that its content gives, and its descriptor."""

from __future__ import annotations

from sdb.errors import CorruptError, ExistsError
from sdb.packfile.write.pack import pack
from sdb.progress import silent
from sdb.records import record
from sdb.table.commit.objects import put_new
from sdb.table.format import contentid, etags
from sdb.table.format.descriptor import Descriptor, slim
from sdb.table.packfiles.store import stored_etag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, BinaryIO

    from sdb.packfile.inputs.arguments import Inputs
    from sdb.packfile.write.pack import PackResult
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.keys import TableKeys

_SMALL_BYTES = 8 << 20
_PIECE_BYTES = 1 << 20


@record
class PackedRows:
    """A packfile that was packed for a table, and that no index tells of yet.

    Attributes
    ----------
    result : PackResult
        What packing came to.
    descriptor : Descriptor or None
        Its descriptor; None: there were no rows, and there is no packfile.
    """

    result: PackResult
    descriptor: Descriptor | None


def pack_rows(
    root: TableRoot,
    keys: TableKeys,
    inputs: Inputs,
    directory: str = "",
    *,
    commit_id: str = "",
    progress: Callable[[int, int | None], None] = silent,
    constants: Mapping[str, object] | None = None,
    **options: Any,  # noqa: ANN401 - those of packing
) -> PackedRows:
    """Pack inputs into a new packfile of a table; the commit that adds it makes it durable.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    keys : TableKeys
        Its names.
    inputs : path, URL, binary file, iterable of these, or iterable of dict
        See :func:`sdb.pack`.
    directory : str
        Where the packfile goes below ``data/``.
    commit_id : str
        Whose packfile it is, if it must be no other's, even if they have the same rows.
    progress : Progress
        Told how many bytes were read.
    constants : mapping, optional
        Fields that every row gets first.
    options
        Others of :func:`sdb.pack`.

    Returns
    -------
    PackedRows
        The packfile.
    """
    from tempfile import SpooledTemporaryFile

    spool: Any
    with SpooledTemporaryFile(_SMALL_BYTES) as spool:
        result = pack(inputs, spool, constants=constants, progress=progress, **options)
        if not result.rows:
            return PackedRows(result, None)
        found = contentid.of_trailer(result.trailer)
        if found is None:
            raise CorruptError("a packfile that does not know the digests of its blocks")
        key = keys.content(directory, found, commit_id)
        spool.seek(0)
        etag = _store(root, key, spool, result.output_bytes)
    descriptor = Descriptor(key, etag, result.output_bytes, slim(result.trailer))
    return PackedRows(result, descriptor)


def _store(root: TableRoot, key: str, spool: BinaryIO, size_bytes: int) -> str:
    """Store what was packed, unless it is there already; gives the ETag."""
    if size_bytes <= _SMALL_BYTES:
        return put_new(root, key, spool.read(), ahead=True)
    place = root.place(key)
    root.store.make(place.rpartition("/")[0])
    try:
        with root.store.create(place) as file:
            while piece := spool.read(_PIECE_BYTES):
                file.write(piece)
    except ExistsError:
        pass  # its name tells the content
    if not root.store.is_remote:
        spool.seek(0)
        return etags.of_content(iter(lambda: spool.read(_PIECE_BYTES), b""))
    return stored_etag(root, key)
