"""Packfiles of a table, from its index and lists alone; none is opened for a plan."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from sdb import instants
from sdb.packfile.prune.predicate import Anywhere, between
from sdb.packfile.prune.selection import find_path
from sdb.query.catalog.period import period
from sdb.query.catalog.storedtable import TableSource
from sdb.spark.read.listing import looked_at
from sdb.table.packfiles.lazy import OpenObjects, TablePackfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.sparseindex import Path
    from sdb.spark.options.settings import ReadOptions
    from sdb.table.catalog.handle import TableHandle


def packs_of(
    handle: TableHandle, options: ReadOptions
) -> tuple[Iterable[Packfile], int, ReadOptions]:
    """Return the packfiles of a table that can hold a row which is wanted.

    * ``options``: The times that are wanted. Where their path is not named, it must be obvious and
      the same in all packfiles, so that all lists are read.

    Returns: The packfiles, none of them open, to be gone over once; how many there are in all; and
    the options, with the path of the times, and these counted from now on.
    Raises `UsageError` if times are wanted, and it is not clear where they are; `CorruptError` if a
    list is missing or damaged.
    """
    tree = handle.index.indirect
    files = sum(ref.objects for ref in tree.refs) + len(handle.index.inline)
    times = period(options.since, options.until, options.time_field)
    if times is None:
        # One list after the other: of a million packfiles only blocks are kept.
        objects = OpenObjects()
        descriptors = (descriptor.checked() for descriptor in handle.descriptors())
        return (
            (TablePackfile(handle.root, descriptor, objects) for descriptor in descriptors),
            files,
            options,
        )
    stored = TableSource(handle)
    if times.field is None:
        path = times.path(stored.packs())
    else:
        path = find_path(_indexed(handle), times.field)
    if path is None:
        return [], files, options
    test = between(path, times.start_us, times.stop_us)
    since, until = (
        None if us is None else instants.text(us) for us in (times.start_us, times.stop_us)
    )
    fixed = replace(options, since=since, until=until, time_field=path)
    return stored.packs(test), files, fixed


def described(handle: TableHandle) -> list[Packfile]:
    """Return all packfiles of a table with trailers that have the types of their fields.

    An index has the types as far as they fit. Of other packfiles the trailers are read.
    Raises `CorruptError` if a list or a packfile is missing or damaged.
    """
    packs = TableSource(handle).packs(Anywhere())
    cut = [pack.path for pack in packs if _is_cut(pack)]
    whole = {pack.path: pack for pack in looked_at(cut)}
    return [whole.get(pack.path, pack) for pack in packs]


def _is_cut(pack: Packfile) -> bool:
    summary = pack.trailer.sparse.summary
    return summary is None or not summary.complete


def _indexed(handle: TableHandle) -> set[Path]:
    """Return the paths that are known to have time indexes."""
    inline = (descriptor.trailer.sparse.indices for descriptor in handle.index.inline)
    return {*handle.index.indirect.indices, *chain.from_iterable(inline)}
