"""Sharpness: how many blocks a search for one value would read, by path.

It is found out by trying: values of some rows are looked for as a query would do it, in all that is
known of the blocks.
"""

from __future__ import annotations

import math
from itertools import islice

from sdb import ion
from sdb.packfile.prune.predicate import Compare, Instant
from sdb.packfile.trailer.blockstats import ELEMENT, ZONES, tell_old_filters
from sdb.packfile.trailer.fieldcounts import field_name
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdb.packfile.prune.predicate import Constant
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.sparseindex import Path

MOST_BLOCKS = 16
"""Of so many blocks the first rows are read."""

_ROWS = 1024
_STEP = 16
_MOST_PATHS = 256
_MOST_PROBES = 16
_MOST_TRIED = 1 << 21
_LEAST_GAIN = 0.25
_LEAST_FACTOR = 4
_MOST_ADVISED = 3


@record
class PathSharpness:
    """The sharpness of a path.

    Attributes
    ----------
    path : path
        The path; None in it stands for the elements of a list.
    present : float
        Share of the sampled rows that have a value there.
    read : float
        Expected share of the blocks that are read for the rows with one value, if it is that of a
        row taken at random.
    clustered : float or None
        The same after each packfile was clustered by this path alone, estimated; None where it
        cannot be, as for what is in lists.
    repeats : bool
        Whether sampled rows have the same value.
    zone_bytes, filter_bytes : int
        Size of the statistics of the path.
    """

    path: FieldPath
    present: float
    read: float
    clustered: float | None
    repeats: bool
    zone_bytes: int
    filter_bytes: int

    @property
    def name(self) -> str:
        """The path as it is written."""
        return field_name(self.path)

    def as_dict(self) -> dict[str, object]:
        """Give it as plain values with stable names, for JSON."""
        return {
            "path": list(self.path),
            "name": self.name,
            "present": round(self.present, 4),
            "read": round(self.read, 4),
            "clustered": None if self.clustered is None else round(self.clustered, 4),
            "zone_bytes": self.zone_bytes,
            "filter_bytes": self.filter_bytes,
        }


@record
class Sharpness:
    """The sharpness of the paths of packfiles.

    Attributes
    ----------
    packfiles, blocks : int
        How many were asked.
    sampled_rows : int
        Number of rows whose values were looked for.
    size_bytes, statistics_bytes : int
        Size of the packfiles, and of their statistics.
    paths : tuple of PathSharpness
        The paths, the sharpest first.
    advised : tuple of PathSharpness
        Those by which to cluster would bring most: few, and none of packfiles that are clustered.
    clustered : tuple of path
        What packfiles with several blocks are clustered by, if it is the same for all.
    """

    packfiles: int
    blocks: int
    sampled_rows: int
    size_bytes: int
    statistics_bytes: int
    paths: tuple[PathSharpness, ...]
    advised: tuple[PathSharpness, ...]
    clustered: tuple[Path, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Give it as plain values with stable names, for JSON."""
        return {
            "packfiles": self.packfiles,
            "blocks": self.blocks,
            "sampled_rows": self.sampled_rows,
            "size_bytes": self.size_bytes,
            "statistics_bytes": self.statistics_bytes,
            "paths": [one.as_dict() for one in self.paths],
            "clustered_by": [field_name(path) for path in self.clustered],
            "cluster_by": [one.name for one in self.advised],
        }


def sharpness(packs: Sequence[Packfile]) -> Sharpness:
    """Find out how sharp the paths of packfiles are.

    Parameters
    ----------
    packs : sequence of Packfile
        The packfiles, open. The first rows of at most `MOST_BLOCKS` blocks are read.

    Returns
    -------
    Sharpness
        What was found; of at most 256 paths.

    Raises
    ------
    CorruptError
        A block is damaged.
    """
    blocks = sum(len(pack.blocks) for pack in packs)
    values, rows = _sampled(packs, blocks)
    sizes, statistics_bytes = _sizes(packs)
    probes = min(_MOST_PROBES, max(2, _MOST_TRIED // max(1, len(values) * blocks)))
    found = [
        _of_path(packs, path, held, rows, probes, sizes.get(path, (0, 0)))
        for path, held in values.items()
    ]
    found.sort(key=lambda one: (one.read, -one.present, len(one.path), one.name))
    times = {path for pack in packs for path in pack.trailer.sparse.indices}
    ways = {pack.trailer.sparse.clustered for pack in packs if len(pack.blocks) > 1}
    clustered = ways.pop() if len(ways) == 1 else ()
    advised = [one for one in found if _is_worth(one) and one.path not in times and not clustered]
    # Rows that share a value are asked for together; one row alone a filter finds as well.
    advised.sort(key=lambda one: (not one.repeats, _gain_in_steps(one), len(one.path), one.name))
    return Sharpness(
        len(packs),
        blocks,
        rows,
        sum(pack.size_bytes for pack in packs),
        statistics_bytes,
        tuple(found),
        tuple(advised[:_MOST_ADVISED]),
        clustered,
    )


def _is_worth(one: PathSharpness) -> bool:
    """Tell whether most rows have a value, and one of them would be found in far fewer blocks."""
    return (
        one.clustered is not None
        and one.present >= 1 / 2
        and one.read - one.clustered >= _LEAST_GAIN
        and one.read >= _LEAST_FACTOR * one.clustered
    )


def _gain_in_steps(one: PathSharpness) -> int:
    """Order by the gain, of which small differences are chance."""
    return -round(10 * (one.read - (one.clustered or 0)))


def _sampled(packs: Sequence[Packfile], blocks: int) -> tuple[dict[FieldPath, list[Constant]], int]:
    """Take values of some rows: those of a path in the order of the rows; and count the rows."""
    places = [(pack, number) for pack in packs for number in range(len(pack.blocks))]
    count = min(blocks, MOST_BLOCKS)
    values: dict[FieldPath, list[Constant]] = {}
    rows = 0
    for pack, number in (places[at * blocks // count] for at in range(count)):
        for row in islice(_rows_of(pack, number), 0, _ROWS, _STEP):
            rows += 1
            for path, value in _scalars((), row):
                if path in values or len(values) < _MOST_PATHS:
                    values.setdefault(path, []).append(value)
    return values, rows


def _rows_of(pack: Packfile, number: int) -> Iterator[dict[str, object]]:
    from sdb.packfile.prune.selection import Selection

    return pack.selected_rows(Selection((number,)))


def _scalars(path: FieldPath, value: object) -> Iterator[tuple[FieldPath, Constant]]:
    """Give the values in a row that a condition can compare with; of lists the first ones."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _scalars((*path, name), inner)
    elif isinstance(value, list):
        for inner in value[:1]:
            yield from _scalars((*path, ELEMENT), inner)
    elif isinstance(value, str | int) or (isinstance(value, float) and not math.isnan(value)):
        yield path, value
    elif (us := ion.instant_to_us(value)) is not None:
        yield path, Instant(us)


def _sizes(packs: Sequence[Packfile]) -> tuple[dict[FieldPath, tuple[int, int]], int]:
    """Give the bytes of zones and of filters by path, and those of all statistics.

    Nearly all of them are asked afterwards, so that they are read at once.
    """
    sizes: dict[FieldPath, tuple[int, int]] = {}
    whole = 0
    for pack in packs:
        _, statistics = pack.known
        tell_old_filters(statistics)
        if statistics is None:
            continue
        statistics.load()
        whole += sum(statistics.sizes.values())
        for (path, kind), size in statistics.sizes.items():
            zones, filters = sizes.get(path, (0, 0))
            is_zone = kind == ZONES
            sizes[path] = zones + size * is_zone, filters + size * (not is_zone)
    return sizes, whole


def _of_path(
    packs: Sequence[Packfile],
    path: FieldPath,
    held: Sequence[Constant],
    rows: int,
    probes: int,
    sizes: tuple[int, int],
) -> PathSharpness:
    tried = held[:: max(1, len(held) // probes)][:probes]
    blocks = sum(len(pack.blocks) for pack in packs)
    read = clustered = 0
    for value in tried:
        # The row itself is not counted: a value that no other row of the sample has is rare.
        others = max(1, len(held) - 1)
        share = (sum(_is_same(one, value) for one in held) - 1) / others * len(held) / rows
        for pack in packs:
            left = pack.pruned(Compare(path, "=", value))
            now = sum(stop - start for start, stop in left)
            read += now
            clustered += min(now, max(1, math.ceil(share * len(pack.blocks))))
    tests = max(1, blocks * len(tried))
    is_plain = ELEMENT not in path
    different = {(type(one), one) for one in held}
    return PathSharpness(
        path,
        len(held) / rows,
        read / tests,
        clustered / tests if is_plain else None,
        len(different) < len(held),
        *sizes,
    )


def _is_same(one: Constant, other: Constant) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)
