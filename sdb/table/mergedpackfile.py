"""Merged packfiles: one that has the rows of several, in their order."""

from __future__ import annotations

from contextlib import ExitStack, closing

from sdb.errors import ConflictError, CorruptError
from sdb.packfile.reader import Packfile
from sdb.packfile.trailer import read_trailer
from sdb.progress import silent
from sdb.records import record
from sdb.table import contentid, etags, names
from sdb.table.descriptor import Descriptor, slim
from sdb.table.tablepackfile import LateReader, OpenObjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.progress import Progress
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
        packs = []
        for told in parts:
            reader = LateReader(root, told, objects).opened()
            packs.append(Packfile(reader.path, reader, read_trailer(reader, reader.path)))
        found = joined(packs, stack)
        trailer = found.trailer
        expected = sum(one.rows or 0 for one in parts)
        if trailer.rows != expected:
            message = f"{trailer.rows:,} rows, and the index says {expected:,}"
            raise CorruptError(f"{parts[0].key} and others: {message}", path=parts[0].key)
        name = contentid.of_trailer(trailer)
        if name is None:
            raise CorruptError(f"{parts[0].key}: the digest of a block is not known")
        key = keys.content(_directory(keys, parts), name, names.new_uid())
        place = root.place(key)
        root.store.make(place.rpartition("/")[0])
        done = 0

        def watch(size: int) -> None:
            nonlocal done
            done += size
            progress(done, trailer.offset)

        with root.store.grow(packs[0].reader, found.kept_bytes, place) as draft:
            found.write(draft, watch)
    etag = _etag(root, key)
    size = trailer.offset + len(trailer.encode())
    descriptor = Descriptor(key, etag, size, slim(trailer))
    return MergedPackfile(descriptor, found.copied_bytes, found.moved_bytes, found.packed_bytes)


def _directory(keys: names.TableKeys, parts: Sequence[Descriptor]) -> str:
    """Give the directory of the partition, as far as the names of packfiles tell it."""
    above = f"{keys.folder}/data/"
    folders = {one.key.rpartition("/")[0] + "/" for one in parts}
    shared = folders.pop() if len(folders) == 1 else ""
    return shared.removeprefix(above).rstrip("/") if shared.startswith(above) else ""


def _etag(root: TableRoot, key: str) -> str:
    if not root.store.is_remote:
        with closing(root.open(key)) as reader:
            return etags.of_content(reader.pieces(0, reader.size_bytes))
    version = root.store.version(root.place(key))
    if version is None:
        place = root.place(key)
        raise ConflictError(f"{place}: someone has removed it", path=place, hint="run it again")
    return version
