"""Sharpness: how many blocks a search for one value would read, by path.

It is found out by trying: values of some rows are looked for as a query would do it, in all that is
known of the blocks.
"""

from __future__ import annotations

import math
from itertools import islice

from sdb import ion
from sdb.packfile.prune.predicate import Compare, Instant
from sdb.packfile.trailer.blockstats import ELEMENT, ZONES
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
"""Blocks of which the first rows are read."""

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
    """The sharpness of a path."""

    path: FieldPath  # the path; None in it stands for the elements of a list
    present: float  # share of the sampled rows that have a value there
    # Expected share of the blocks that are read for the rows with one value, if it is that of a row
    # taken at random
    read: float
    # The same after each packfile was clustered by this path alone, estimated; None where it cannot
    # be, as for what is in lists
    clustered: float | None
    repeats: bool  # whether sampled rows have the same value
    # Size of the statistics of the path
    zone_bytes: int
    filter_bytes: int

    @property
    def name(self) -> str:
        """The path as it is written."""
        return field_name(self.path)

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
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
    """The sharpness of the paths of packfiles."""

    # How many were asked
    packfiles: int
    blocks: int
    sampled_rows: int  # number of rows whose values were looked for
    # Size of the packfiles, and of their statistics
    size_bytes: int
    statistics_bytes: int
    paths: tuple[PathSharpness, ...]  # the paths, the sharpest first
    # Those by which to cluster would bring most: few, and none of packfiles that are clustered
    advised: tuple[PathSharpness, ...]
    # What packfiles with several blocks are clustered by, if it is the same for all
    clustered: tuple[Path, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "packfiles": self.packfiles,
            "blocks": self.blocks,
            "sampled_rows": self.sampled_rows,
            "size_bytes": self.size_bytes,
            "statistics_bytes": self.statistics_bytes,
            "paths": [report.as_dict() for report in self.paths],
            "clustered_by": [field_name(path) for path in self.clustered],
            "cluster_by": [report.name for report in self.advised],
        }


def sharpness(packs: Sequence[Packfile]) -> Sharpness:
    """Find out how sharp the paths of packfiles are.

    * ``packs``: The packfiles, open. The first rows of at most `MOST_BLOCKS` blocks are read.

    Raises `CorruptError` if a block is damaged.
    """
    blocks = sum(len(pack.blocks) for pack in packs)
    values, rows = _sampled(packs, blocks)
    sizes, statistics_bytes = _sizes(packs)
    probes = min(_MOST_PROBES, max(2, _MOST_TRIED // max(1, len(values) * blocks)))
    paths = [
        _of_path(packs, path, held, rows, probes, sizes.get(path, (0, 0)))
        for path, held in values.items()
    ]
    paths.sort(key=lambda report: (report.read, -report.present, len(report.path), report.name))
    times = {path for pack in packs for path in pack.trailer.sparse.indices}
    ways = {pack.trailer.sparse.clustered for pack in packs if len(pack.blocks) > 1}
    clustered = ways.pop() if len(ways) == 1 else ()
    advised = [
        report
        for report in paths
        if _is_worth(report) and report.path not in times and not clustered
    ]
    # Rows that share a value are asked for together; one row alone a filter finds as well.
    advised.sort(
        key=lambda report: (
            not report.repeats,
            _gain_in_steps(report),
            len(report.path),
            report.name,
        )
    )
    return Sharpness(
        len(packs),
        blocks,
        rows,
        sum(pack.size_bytes for pack in packs),
        statistics_bytes,
        tuple(paths),
        tuple(advised[:_MOST_ADVISED]),
        clustered,
    )


def _is_worth(path: PathSharpness) -> bool:
    """Return whether most rows have a value, and one of them would be found in far fewer blocks."""
    return (
        path.clustered is not None
        and path.present >= 1 / 2
        and path.read - path.clustered >= _LEAST_GAIN
        and path.read >= _LEAST_FACTOR * path.clustered
    )


def _gain_in_steps(path: PathSharpness) -> int:
    """Order by the gain, of which small differences are chance."""
    return -round(10 * (path.read - (path.clustered or 0)))


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
    """Yield the values in a row that a condition can compare with; of lists the first ones."""
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
    """Return the bytes of zones and of filters by path, and those of all statistics.

    Nearly all of them are asked afterwards, so that they are read at once.
    """
    sizes: dict[FieldPath, tuple[int, int]] = {}
    whole = 0
    for pack in packs:
        _, statistics = pack.known
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
        share = (
            (sum(_is_same(constant, value) for constant in held) - 1) / others * len(held) / rows
        )
        for pack in packs:
            left = pack.pruned(Compare(path, "=", value))
            now = sum(stop - start for start, stop in left)
            read += now
            clustered += min(now, max(1, math.ceil(share * len(pack.blocks))))
    tests = max(1, blocks * len(tried))
    is_plain = ELEMENT not in path
    different = {(type(constant), constant) for constant in held}
    return PathSharpness(
        path,
        len(held) / rows,
        read / tests,
        clustered / tests if is_plain else None,
        len(different) < len(held),
        *sizes,
    )


def _is_same(value: Constant, other: Constant) -> bool:
    return value == other and isinstance(value, bool) == isinstance(other, bool)
