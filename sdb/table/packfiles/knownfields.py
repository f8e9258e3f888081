"""Trailers that prove which fields no row of a table has."""

from __future__ import annotations

from sdb.packfile.prune.unknownfields import has, is_cut
from sdb.packfile.read.reader import Packfile
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeGuard

    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.table.packfiles.lazy import TablePackfile

MOST_WHOLE = 8
"""Of more packfiles whole trailers are not read to tell of a name that no row has."""


def trailers_with_fields(
    packs: Sequence[Packfile], paths: Iterable[FieldPath]
) -> list[tuple[str, Trailer]]:
    """Return trailers that know which fields there are, as far as some paths need them.

    An index of a table does not have the types of packfiles with many fields: their own trailers
    do, and are read until all paths are found.
    """
    trailers = {pack.path: pack.trailer for pack in packs}
    cut = [pack for pack in packs if _is_cut(pack)]
    missing = list(paths)
    for pack in cut if len(cut) <= MOST_WHOLE else ():
        missing = [
            path for path in missing if not any(has(trailer, path) for trailer in trailers.values())
        ]
        if not missing:
            break
        trailers[pack.path] = pack.whole_trailer()
    return list(trailers.items())


def _is_cut(pack: Packfile) -> TypeGuard[TablePackfile]:
    """Return whether the types of its fields are in its own trailer, and not in the index."""
    if not is_cut(pack.trailer):
        return False
    from sdb.table.packfiles.lazy import TablePackfile  # queries on files alone need none of it

    return isinstance(pack, TablePackfile)


def are_cut(packs: Sequence[Packfile]) -> bool:
    """Check whether the types of fields of some packfiles are in their own trailers alone."""
    return any(map(_is_cut, packs))


def with_types(packs: Sequence[Packfile]) -> list[Packfile]:
    """Return packfiles with the types of their fields, as far as few trailers have to be read.

    Returns: The same; those of which an index does not have the types with those of their own
    trailers, unless there are too many.
    """
    unread = [pack for pack in packs if _is_cut(pack) and pack.known_summary is None]
    if len(unread) > MOST_WHOLE:
        return list(packs)
    if len(unread) > 1 and any(pack.is_remote for pack in unread):
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(len(unread)) as pool:
            list(pool.map(lambda pack: pack.whole_trailer(), unread))
    return [_with_types(pack) for pack in packs]


def _with_types(pack: Packfile) -> Packfile:
    if not _is_cut(pack):
        return pack
    if pack.known_summary is None:
        pack.whole_trailer()
    trailer = pack.trailer
    # Partitions are constants of the index alone.
    sparse = replace(trailer.sparse, summary=pack.known_summary)
    return Packfile(pack.path, pack.reader, replace(trailer, sparse=sparse))
