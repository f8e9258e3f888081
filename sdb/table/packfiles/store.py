"""Packfiles of a table, packed or made of others: stored under the names of their content."""

from __future__ import annotations

from contextlib import closing

from sdb.errors import ConflictError, CorruptError, ExistsError
from sdb.table.commit.objects import put_new
from sdb.table.format import etags
from sdb.table.format.descriptor import Descriptor, slim
from sdb.table.format.keys import era_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import BinaryIO

    from sdb.packfile.trailer.trailer import Trailer
    from sdb.packfile.write.pack import PackResult
    from sdb.store.base import Draft, Reader
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.keys import TableKeys

SMALL_BYTES = 8 << 20
"""Largest packfile that is held in memory, and put at once."""
_PIECE_BYTES = 1 << 20


def store_packed(
    root: TableRoot,
    keys: TableKeys,
    packed: tuple[PackResult, BinaryIO],
    directory: str = "",
    commit_id: str = "",
    *,
    era: int = 0,
) -> Descriptor:
    """Store a packfile that was packed, unless it is there already.

    * ``packed``: What packing came to, and the temporary file.
    * ``directory``: Where the packfile goes below ``data/``.
    * ``commit_id``: Whose packfile it is, if it must be no other's.
    * ``era``: The era of its rows.
    """
    result, spool = packed
    name = etags.of_trailer(result.trailer)
    if name is None:
        raise CorruptError("a packfile has no digests of its blocks")
    key = keys.content(directory, name, commit_id, era=era)
    spool.seek(0)
    etag = _put(root, key, spool, result.output_bytes)
    return Descriptor(key, etag, result.output_bytes, slim(result.trailer))


def _put(root: TableRoot, key: str, spool: BinaryIO, size_bytes: int) -> str:
    """Store a packfile unless it is there already, and return its ETag."""
    if size_bytes <= SMALL_BYTES:
        return put_new(root, key, spool.read(), durable=False)
    location = root.place(key)
    root.store.make_folder(location.rpartition("/")[0])
    try:
        with root.store.create(location) as file:
            while piece := spool.read(_PIECE_BYTES):
                file.write(piece)
    except ExistsError:
        pass  # its name is derived from the content
    if not root.store.is_remote:
        spool.seek(0)
        return etags.of_content(iter(lambda: spool.read(_PIECE_BYTES), b""))
    return stored_etag(root, key)


def store_grown(
    root: TableRoot,
    keys: TableKeys,
    parts: Sequence[Descriptor],
    trailer: Trailer,
    beginning: tuple[Reader, int],
    write: Callable[[Draft], None],
    *,
    mark: str,
) -> Descriptor:
    """Store a packfile that is made of others, unless it is there already.

    * ``parts``: The packfiles that it is made of; it goes to their directory, if that is one.
    * ``beginning``: The object that it begins with, and how many bytes of that.
    * ``mark``: Whose packfile it is, as its key tells: it must be no other's, even if that is
      alike.

    Raises `CorruptError` if the digest of a block is not known and `ConflictError` if another
    program has removed it.
    """
    name = etags.of_trailer(trailer)
    if name is None:
        raise CorruptError(f"{parts[0].key}: the digest of a block is not known", path=parts[0].key)
    (era,) = {era_of(part.key) for part in parts}  # rows of several eras are never merged
    key = keys.content(_directory(keys, parts), name, mark, era=era)
    location = root.place(key)
    root.store.make_folder(location.rpartition("/")[0])
    reader, kept_bytes = beginning
    try:
        with root.store.create_from_prefix(reader, kept_bytes, location) as draft:
            write(draft)
    except ExistsError:
        pass  # its name is derived from the content
    size_bytes = trailer.offset + len(trailer.encode())
    return Descriptor(key, stored_etag(root, key), size_bytes, slim(trailer))


def stored_etag(root: TableRoot, key: str) -> str:
    """Return the ETag of an object that was just stored; a local one is read for it.

    Raises `ConflictError` if another program has removed it.
    """
    if not root.store.is_remote:
        with closing(root.open(key)) as reader:
            return etags.of_content(reader.pieces(0, reader.size_bytes))
    location = root.place(key)
    version = root.store.version(location)
    if version is None:
        raise ConflictError(
            f"{location}: another program has removed it", path=location, hint="run it again"
        )
    return version


def _directory(keys: TableKeys, parts: Sequence[Descriptor]) -> str:
    """Return the directory of the partition, as far as it is in the names of packfiles."""
    above = f"{keys.folder}/data/"
    folders = {part.key.rpartition("/")[0] + "/" for part in parts}
    shared = folders.pop() if len(folders) == 1 else ""
    return shared.removeprefix(above).rstrip("/") if shared.startswith(above) else ""
