"""Trailers that prove which fields no row of a table has."""

from __future__ import annotations

from sdb.packfile.prune.unknownfields import has, is_cut
from sdb.packfile.read.reader import Packfile
from sdb.records import replace
from sdb.table.packfiles.lazy import TablePackfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.trailer import Trailer

MOST_WHOLE = 8
"""Of more packfiles whole trailers are not read to tell of a name that no row has."""


def telling_trailers(
    packs: Sequence[Packfile], paths: Iterable[FieldPath]
) -> list[tuple[str, Trailer]]:
    """Give trailers that know which fields there are, as far as some paths need them.

    An index of a table does not have the types of packfiles with many fields: their own trailers
    do, and are read until all paths are found.

    Parameters
    ----------
    packs : sequence of Packfile
        The packfiles, of tables or others.
    paths : iterable of path
        The paths that someone asks for.

    Returns
    -------
    list of (str, Trailer)
        Path and trailer of each packfile, for :func:`sdb.packfile.prune.unknownfields.tell`.
    """
    found = {pack.path: pack.trailer for pack in packs}
    cut = [one for one in packs if isinstance(one, TablePackfile) and is_cut(one.trailer)]
    missing = list(paths)
    for pack in cut if len(cut) <= MOST_WHOLE else ():
        missing = [path for path in missing if not any(has(one, path) for one in found.values())]
        if not missing:
            break
        found[pack.path] = pack.whole_trailer()
    return list(found.items())


def are_cut(packs: Sequence[Packfile]) -> bool:
    """Check whether the types of fields of some packfiles are in their own trailers alone."""
    return any(isinstance(one, TablePackfile) and is_cut(one.trailer) for one in packs)


def with_types(packs: Sequence[Packfile]) -> list[Packfile]:
    """Return packfiles with the types of their fields, as far as few trailers have to be read.

    Parameters
    ----------
    packs : sequence of Packfile
        The packfiles, of tables or others.

    Returns
    -------
    list of Packfile
        The same; those of which an index does not have the types with those of their own trailers,
        unless there are too many.
    """
    unread = [
        one
        for one in packs
        if isinstance(one, TablePackfile) and is_cut(one.trailer) and one.known_summary is None
    ]
    if len(unread) > MOST_WHOLE:
        return list(packs)
    if len(unread) > 1 and any(one.is_remote for one in unread):
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(len(unread)) as pool:
            list(pool.map(lambda one: one.whole_trailer(), unread))
    return [_with_types(one) for one in packs]


def _with_types(pack: Packfile) -> Packfile:
    if not isinstance(pack, TablePackfile) or not is_cut(pack.trailer):
        return pack
    if pack.known_summary is None:
        pack.whole_trailer()
    trailer = pack.trailer
    # Partitions are constants of the index alone.
    sparse = replace(trailer.sparse, summary=pack.known_summary)
    return Packfile(pack.path, pack.reader, replace(trailer, sparse=sparse))
