"""Statistics of fields, from one pass over all rows."""

from __future__ import annotations

from sdb import ion, notes, sizes
from sdb import progress as progress_
from sdb.packfile.read.ahead import block_readers
from sdb.packfile.read.fields import pattern_of
from sdb.packfile.trailer.fieldcounts import field_name, nested, type_names
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from sdb._core import FieldProfile
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.progress import Progress

_MOST_FREQUENT = 10
_MOST_NOTED = 4096
_DEEPEST = 64


@record
class SeenValue:
    """A value of a field.

    Attributes
    ----------
    type : str
        Its type.
    value : object
        The value as rows have it; of a long text or bytes only the beginning.
    is_cut : bool
        Whether it goes on.
    """

    type: str
    value: Any
    is_cut: bool = False


@record
class FieldStatistics:
    """Statistics of one field.

    Attributes
    ----------
    path : tuple of str or None
        The names from the outside to the inside; None stands for the elements of a list.
    types : tuple of str
        The types of its values.
    rows : int
        Number of rows that have a value there, null included.
    values : int
        Number of values, nulls included; more than rows where lists have several.
    nulls : int
        Number of nulls.
    distinct : int
        Number of different values, apart from null, lists and structs.
    is_distinct_exact : bool
        Whether that is exact; else it is off by 0.8 % (standard deviation).
    ranges : tuple of pairs of SeenValue
        For each type that has an order the least and the greatest value.
    frequent : tuple of (SeenValue, int)
        The most frequent values, and how often they occur.
    uncounted : int
        By how much these counts may be too small, none of them too large. Where it is not 0, only
        values are listed that are more frequent than all others.
    decompressed_bytes : int
        What the values take in rows, with all that is in them.
    compressed_bytes : int
        Their part of the packfiles. Fields are not compressed one by one: each has its share of
        what it is compressed with, by its decompressed bytes.
    """

    path: FieldPath
    types: tuple[str, ...]
    rows: int
    values: int
    nulls: int
    distinct: int
    is_distinct_exact: bool
    ranges: tuple[tuple[SeenValue, SeenValue], ...]
    frequent: tuple[tuple[SeenValue, int], ...]
    uncounted: int
    decompressed_bytes: int
    compressed_bytes: int

    @property
    def name(self) -> str:
        """The path as it is written, as in ``items[].price``."""
        return field_name(self.path)


@record
class Statistics:
    """Statistics of the fields of rows.

    Attributes
    ----------
    fields : tuple of FieldStatistics
        Each behind the one that it is in, and else in the order in which they occur.
    rows : int
        Number of rows.
    complete : bool
        Whether there are no other fields.
    compressed_bytes : int
        Size of the blocks that the rows are in.
    chunks : int
        Number of chunks that the rows are in.
    """

    fields: tuple[FieldStatistics, ...]
    rows: int
    complete: bool
    compressed_bytes: int
    chunks: int

    def matching(self, pattern: str) -> Statistics:
        """Keep the fields whose name matches a pattern, as :meth:`Inventory.matching` does."""
        regex = pattern_of(pattern)
        matches = tuple(field for field in self.fields if regex.fullmatch(field.name))
        return Statistics(matches, self.rows, self.complete, self.compressed_bytes, self.chunks)

    def largest(self, most: int) -> list[FieldStatistics]:
        """Return fields at the top of rows that take most of the packfiles, the largest first."""
        top = [field for field in self.fields if len(field.path) == 1]
        return sorted(top, key=lambda field: -field.compressed_bytes)[:most]

    def __repr__(self) -> str:
        """Show the totals."""
        size = sizes.human(self.compressed_bytes)
        return f"<Statistics: {self.rows:,} rows, {len(self.fields):,} fields, {size}>"


def scan(
    packs: Sequence[Packfile], *, threads: int | None = None, progress: Progress | None = None
) -> Statistics:
    """Find out what is in the fields of open packfiles.

    See :func:`sdb.packfile.inspect.fieldreport.field_stats`.
    """
    from sdb import _core

    profile = _core.FieldProfile()
    meter = _Meter(packs, progress or progress_.silent)
    readers = block_readers((pack, range(len(pack.blocks))) for pack in packs)
    sources = [
        _source(pack, meter.reading(read)) for pack, read in zip(packs, readers, strict=True)
    ]
    profile.scan(sources, threads=threads or 0)
    return _statistics(profile)


def _source(pack: Packfile, read: Callable[[int], Any]) -> Any:  # noqa: ANN401 - a tuple of _core
    trailer = pack.trailer
    chunks = [block.chunks for block in pack.blocks]
    return (read, chunks, trailer.algorithm, trailer.align_bytes, pack.blame)


def _statistics(profile: FieldProfile) -> Statistics:
    is_full, is_deeper = profile.left_out
    if is_full:
        notes.warn(
            f"more than {_MOST_NOTED:,} fields, or very long names: only the fields are shown that "
            "are counted in full"
        )
    if is_deeper:
        notes.warn(f"fields deeper than {_DEEPEST} levels are left out")
    by_path = {facts["path"]: _field(facts) for facts in profile.fields(_MOST_FREQUENT)}
    fields = tuple(by_path[path] for path in nested(by_path))
    complete = not (is_full or is_deeper)
    return Statistics(fields, profile.rows, complete, profile.compressed_bytes, profile.chunks)


def _field(facts: dict[str, Any]) -> FieldStatistics:
    distinct, is_exact = facts["distinct"]
    types = tuple(type_names(facts["types"]))
    ranges: dict[str, tuple[SeenValue, SeenValue]] = {}
    for first, last in facts["ranges"]:
        low, high = _value(types, *first), _value(types, *last)
        below, above = ranges.get(low.type, (low, high))
        # Only floats come twice: whole ones from 2^63 to 2^64 by themselves.
        ranges[low.type] = (
            (low if low.value < below.value else below),
            (high if high.value > above.value else above),
        )
    return FieldStatistics(
        facts["path"],
        types,
        facts["rows"],
        facts["values"],
        facts["nulls"],
        # An estimate may be beyond what is possible.
        min(distinct, facts["values"] - facts["nulls"]),
        is_exact,
        tuple(ranges.values()),
        tuple((_value(types, *value), count) for value, count in facts["frequent"]),
        facts["lost"],
        facts["decompressed_bytes"],
        round(facts["compressed_bytes"]),
    )


def _value(types: tuple[str, ...], kind: str, value: Any, is_cut: bool) -> SeenValue:  # noqa: ANN401, FBT001
    """Return a value; whole doubles from 2^63 to 2^64 come as integers, and may be none."""
    if kind == "int" and kind not in types:
        return SeenValue("float", float(value), is_cut)
    return SeenValue(kind, ion.instant_from_us(value) if kind == "timestamp" else value, is_cut)


class _Meter:
    """Shows how many of all bytes were read."""

    def __init__(self, packs: Sequence[Packfile], progress: Progress) -> None:
        self._progress = progress
        self._done = 0
        self._total = sum(
            stop - start
            for pack in packs
            for start, stop in map(pack.trailer.block_range, range(len(pack.blocks)))
        )

    def reading(self, read: Callable[[int], bytes]) -> Callable[[int], bytes]:
        """Return a function that reads blocks and reports progress."""

        def read_metered(number: int) -> bytes:
            block = read(number)
            self._done += len(block)
            self._progress(self._done, self._total)
            return block

        return read_metered
