"""Adoption: packfiles that the original has named become ours before a version refers to them.

The original deletes what it has named and does not need any more, even if `sdb` does. So a version
refers to copies below ``data/``, which it neither extends nor collects. The name of a copy tells
whose copy it is (:func:`sdb.table.format.keys.own_key`): both are the same wherever packfiles of
versions are compared, so that no rows are there twice when the original puts its index back.
"""

from __future__ import annotations

from functools import partial
from itertools import chain

from sdb.errors import ConflictError, ExistsError, NotFoundError, UncertainError
from sdb.records import record, replace
from sdb.table.commit.gcbarrier import MARGIN_US
from sdb.table.format.columns import DescriptorList
from sdb.table.format.keys import another_copy, is_packed, new_uid, own_key
from sdb.table.format.manifests import Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from sdb.table.commit.objects import ObjectWriter
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.index import TableIndex

_ATTEMPTS = 5


@record
class Adopted:
    """An index whose packfiles are ours."""

    index: TableIndex  # the index
    copies: tuple[str, ...] = ()  # keys of the copies that it refers to now
    is_whole: bool = True  # whether all packfiles are ours; one that is missing stays what it is


def adopt(
    index: TableIndex, writer: ObjectWriter, boundary_us: int, known: Collection[str] = ()
) -> Adopted:
    """Copy the packfiles of an index that the original has named, inside the store.

    * ``boundary_us``: What is older may be collected: a copy that is there already is not taken
      then.
    * ``known``: Keys of lists in which all packfiles are ours.

    Raises `ConflictError` if other programs write and delete the copies all the time.
    """
    fetch = writer.root.fetch
    lists = Writer(fetch, writer.indirect)
    listed: dict[str, Sequence[Descriptor]] = {}
    for ref in index.indirect.refs:
        if ref.key not in known and any(
            map(is_packed, DescriptorList(fetch(ref.key, ref.etag), ref).keys())
        ):
            listed[ref.key] = lists.read(ref)
    everything = chain(index.inline, *listed.values())
    wanted = {packfile.key: packfile for packfile in everything if is_packed(packfile.key)}
    copy = partial(_copy, writer, boundary_us)
    made = dict(zip(wanted, _copied(list(wanted.values()), copy, writer), strict=True))
    copies = {key: packfile for key, packfile in made.items() if packfile is not None}
    if not copies:
        return Adopted(index, (), not wanted)
    refs = []
    for ref in index.indirect.refs:
        if any(packfile.key in copies for packfile in listed.get(ref.key, ())):
            ours = tuple([copies.get(packfile.key, packfile) for packfile in listed[ref.key]])
            refs.append(replace(lists.write(ours), original_objects=ref.original_objects))
        else:
            refs.append(ref)
    adopted = replace(
        index,
        inline=tuple([copies.get(packfile.key, packfile) for packfile in index.inline]),
        indirect=replace(index.indirect, refs=tuple(refs)),
    )
    keys = tuple([packfile.key for packfile in copies.values()])
    return Adopted(adopted, keys, len(copies) == len(wanted))


def _copied(
    wanted: Sequence[Descriptor],
    copy: Callable[[Descriptor], Descriptor | None],
    writer: ObjectWriter,
) -> list[Descriptor | None]:
    """Copy packfiles; where each takes requests, several at a time."""
    copiers = writer.env.limits.copiers
    if len(wanted) <= 1 or copiers == 1 or not writer.root.store.is_remote:
        return list(map(copy, wanted))
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(copiers) as pool:
        return list(pool.map(copy, wanted))


def _copy(writer: ObjectWriter, boundary_us: int, packfile: Descriptor) -> Descriptor | None:
    """Copy a packfile, unless a copy is there; None: both are gone."""
    root = writer.root
    own = key = own_key(packfile.key)
    for _ in range(_ATTEMPTS):
        entry = root.store.head(root.place(key))
        # Only what is older than the boundary can be a candidate of a collection.
        if entry is not None and entry.modified_us > boundary_us + MARGIN_US:
            etag = entry.version if root.store.is_remote else packfile.etag
            return replace(packfile, key=key, etag=etag)
        if entry is not None:  # a collector may be about to delete it
            key = another_copy(key, new_uid(writer.env.random_bytes))
        try:
            # The original may have deleted its packfile by now: an older copy of ours has the same
            # bytes.
            if not any(
                _is_copied(writer, source, key) for source in (packfile.key, own) if source != key
            ):
                return None
        except (ExistsError, UncertainError):
            pass  # another writer has made it, or it is there after all
    message = f"copying {packfile.key}: the copy comes and goes"
    raise ConflictError(message, path=root.place(key), hint="run it again")


def _is_copied(writer: ObjectWriter, source: str, key: str) -> bool:
    """Have the store copy an object; False: it does not exist."""
    store, location = writer.root.store, writer.root.place(key)
    try:
        store.make_folder(location.rpartition("/")[0])
        reader = writer.root.open(source)
        try:
            with store.create_from_prefix(reader, reader.size_bytes, location):
                return True
        finally:
            reader.close()
    except NotFoundError:
        return False
