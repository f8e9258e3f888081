"""Tiers: which packfiles of a table are merged, so that they stay few and no row moves often.

A packfile has a class by its size: below 2 KiB, 16 KiB, 128 KiB, 1 MiB, 8 MiB, 64 MiB, 512 MiB.
When eight of one class stand side by side they are merged, with the smaller ones beside them, into
one of a class above; what has 512 MiB stays. So a partition has at most seven packfiles of each
class besides the large ones, and a byte is merged at most once in each class: five times, if it
came in a packfile of 16 KiB or more.
"""

from __future__ import annotations

from sdb.packfile.build.indexbuilder import typed
from sdb.table.format.keys import era_of
from sdb.table.format.limits import USUAL, Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from sdb.packfile.trailer.sparseindex import Path
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.packfiles.ageunits import AgeUnits

_FIRST_BYTES = 2 << 10
LAST = 6
"""The last class that is merged."""

LARGE_BYTES = 1 << 30
"""Bytes that are merged together however few packfiles have them."""


def size_class(size_bytes: int, limits: Limits = USUAL) -> int:
    """Return the class of a size.

    Returns: From 0 to `LAST`, and one more for those that stay.

    >>> [size_class(n << 10) for n in (1, 15, 16, 127, 128, 1024, 65536, 524288, 1 << 30)]
    [0, 1, 2, 2, 3, 4, 6, 7, 7]
    """
    number, bound = 0, _FIRST_BYTES
    while size_bytes >= bound and number < LAST + 1:
        number, bound = number + 1, bound * limits.tier_factor
    return number


def runs_to_merge(
    packfiles: Iterable[Descriptor], limits: Limits = USUAL, units: AgeUnits | None = None
) -> list[tuple[Descriptor, ...]]:
    """Choose the packfiles that are merged.

    * ``packfiles``: All packfiles of a table, in their order. Those that another program has
      written are left out: it goes on extending them.
    * ``units``: Units of time by which packfiles are kept apart; None: they are not.

    Returns: For each packfile that is made those that it is made of, in their order.
    """
    groups: dict[Hashable, list[Descriptor]] = {}
    for descriptor in packfiles:
        if is_ours(descriptor):
            unit = None if units is None else units.of_packfile(descriptor.trailer.sparse)
            groups.setdefault((_kin(descriptor), unit), []).append(descriptor)
    return [run for group in groups.values() for run in _runs(group, limits)]


def runs_to_cluster(
    packfiles: Sequence[Descriptor],
    by: tuple[Path, ...],
    limits: Limits = USUAL,
    units: AgeUnits | None = None,
) -> list[tuple[Descriptor, ...]]:
    """Choose the packfiles that are sorted.

    Returns: For each packfile that is made those that it is made of: what is merged anyway, in
    pieces of little more than 1 GiB, and each of the others by itself that has several blocks and
    is not sorted yet.
    """
    runs = [piece for run in runs_to_merge(packfiles, limits, units) for piece in _pieces(run)]
    merged = {descriptor.key for run in runs if len(run) > 1 for descriptor in run}
    alone = [
        (descriptor,)
        for descriptor in packfiles
        if descriptor.key not in merged
        and is_ours(descriptor)
        and len(descriptor.trailer.blocks) > 1
        if descriptor.trailer.sparse.clustered != by and _may_have(descriptor, by)
    ]
    return [run for run in runs if len(run) > 1] + alone


def _pieces(run: Sequence[Descriptor]) -> list[tuple[Descriptor, ...]]:
    """Cut what is merged where it has enough."""
    pieces: list[list[Descriptor]] = [[]]
    size = 0
    for descriptor in run:
        if size >= LARGE_BYTES:
            pieces.append([])
            size = 0
        pieces[-1].append(descriptor)
        size += descriptor.size_bytes
    return [tuple(piece) for piece in pieces]


def _may_have(packfile: Descriptor, paths: Iterable[Path]) -> bool:
    """Return whether rows may have a value at any of some paths, and not all the same one."""
    sparse = packfile.trailer.sparse
    summary = sparse.summary
    candidates = [path for path in paths if path[0] not in sparse.constants]
    return bool(candidates) and (
        summary is None or not summary.complete or any(path in summary.types for path in candidates)
    )


def is_ours(packfile: Descriptor) -> bool:
    """Return whether `sdb` has written a packfile, and the index knows its rows."""
    return packfile.rows is not None and not packfile.name.startswith("packed-")


def _kin(packfile: Descriptor) -> Hashable:
    """Return what packfiles have in common that can be one."""
    trailer = packfile.trailer
    constants = sorted(typed(trailer.sparse.constants).items())
    return trailer.algorithm, trailer.block_shift, repr(constants), era_of(packfile.key)


def _runs(group: Sequence[Descriptor], limits: Limits) -> list[tuple[Descriptor, ...]]:
    """Choose among packfiles that can be one: from the smallest class on, each at most once."""
    pending = [_Piece(descriptor.size_bytes, [descriptor]) for descriptor in group]
    for level in range(LAST + 1):
        merged: list[_Piece] = []
        stretch: list[_Piece] = []
        for piece in pending:
            if size_class(piece.size_bytes, limits) > level:
                merged += [*_joined(stretch, level, limits), piece]
                stretch = []
                continue
            stretch.append(piece)
            if level == LAST and sum(piece.size_bytes for piece in stretch) >= LARGE_BYTES:
                merged += _joined(stretch, level, limits)
                stretch = []
        pending = merged + _joined(stretch, level, limits)
    return [tuple(piece.parts) for piece in pending if len(piece.parts) > 1]


class _Piece:
    """A packfile, or what several become."""

    def __init__(self, size_bytes: int, parts: list[Descriptor]) -> None:
        self.size_bytes = size_bytes
        self.parts = parts


def _joined(stretch: list[_Piece], level: int, limits: Limits) -> list[_Piece]:
    """Join packfiles that stand side by side, and none of which is above a class."""
    size = sum(piece.size_bytes for piece in stretch)
    count = sum(size_class(piece.size_bytes, limits) == level for piece in stretch)
    leaves = size_class(size, limits) > level
    if size < LARGE_BYTES and not (count >= limits.tier_members and leaves):
        return stretch
    return [_Piece(size, [part for piece in stretch for part in piece.parts])]
