"""Zones: what the values at a path in one block are between.

A zone has the types that occur, the number of values, and bounds of its numbers, texts and
times, each by itself: where a path has values of several types, a bound is of those of its type
only. See the section on statistics in docs/format.md.
"""

from __future__ import annotations

import math
from itertools import islice

from sdb import ion
from sdb.errors import CorruptError
from sdb.packfile.trailer.timeindex import malformed
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

TEXT_BYTES = 32
"""Most bytes of a bound of texts."""

NUMBERS = 1 << 2 | 1 << 3 | 1 << 4
TEXTS = 1 << 8
TIMES = 1 << 6
_MAX_CONTENT_BYTES = 16 << 20
_MASKS = range(1 << 16)
_COLUMNS = 10
_NAN = 4
_WITHOUT_NUMBERS = 8
_KINDS: dict[str, set[type]] = {"numbers": {int, float}, "texts": {bytes}, "times": {int}}


@record
class Zone:
    """The values at a path in one block.

    What it proves holds for every value at the path in every row of the block; for a path through
    a list, for every element. A row without a value there is MISSING, and is in no count.
    """

    # Bit k is set if a value of Ion type k occurs, and only then. Text is bit 8, also where it is
    # stored as a symbol. 0: there is no value in this block, every row is MISSING there.
    types: int
    values: int  # number of values, nulls included
    nulls: int = 0  # how many of them are null
    # Least and greatest number, exact, each an `int` or a `float`, infinities included; NaN is not
    # among them. None: no number occurs but perhaps NaN.
    numbers: tuple[int | float, int | float] | None = None
    # Bounds of the texts as UTF-8 bytes: the first is at most as great as any of them, the second
    # at least as great; None as the second: there is no bound. A bound that is shorter than
    # `TEXT_BYTES` is a text that occurs. None: no text occurs.
    texts: tuple[bytes, bytes | None] | None = None
    # First and last time, in microseconds since 1970. None: no time occurs.
    times: tuple[int, int] | None = None
    booleans: int = 0  # 1 if false occurs, 2 if true does, 3 for both
    has_nan: bool = False  # whether NaN occurs


def join_zones(zone: Zone | None, other: Zone | None) -> Zone | None:
    """Return the zone of two blocks that become one; None where one of them is not known."""
    if zone is None or other is None:
        return None
    texts = zone.texts or other.texts
    if zone.texts and other.texts:
        (least, greatest), (low, high) = zone.texts, other.texts
        top = None if greatest is None or high is None else max(greatest, high)
        texts = min(least, low), top
    return Zone(
        zone.types | other.types,
        zone.values + other.values,
        zone.nulls + other.nulls,
        _wider(zone.numbers, other.numbers),
        texts,
        _wider(zone.times, other.times),
        zone.booleans | other.booleans,
        zone.has_nan or other.has_nan,
    )


def _wider(range_: tuple[Any, Any] | None, other: tuple[Any, Any] | None) -> tuple[Any, Any] | None:
    if range_ is None or other is None:
        return range_ or other
    return min(range_[0], other[0]), max(range_[1], other[1])


def encode_zones(zones: Sequence[Zone | None]) -> bytes:
    """Return the bytes that are stored for the zones of a path, one for each block."""
    from sdb import _core

    held = [zone for zone in zones if zone is not None]
    columns: list[list[Any]] = [
        [None if zone is None else zone.types for zone in zones],
        [zone.values for zone in held],
        [zone.nulls for zone in held],
        [_flags(zone) for zone in held],
    ]
    for name in ("numbers", "texts", "times"):
        pairs = [pair for zone in held if (pair := getattr(zone, name)) is not None]
        columns += [[pair[side] for pair in pairs] for side in (0, 1)]
    return _core.zstd_compress(ion.dumps(columns))


def _flags(zone: Zone) -> int:
    is_without = zone.types & NUMBERS and zone.numbers is None
    return zone.booleans | (_NAN if zone.has_nan else 0) | (_WITHOUT_NUMBERS if is_without else 0)


def decode_zones(data: bytes, blocks: int) -> tuple[Zone | None, ...]:
    """Read the zones of a path.

    * ``data``: What :func:`encode_zones` returned.

    Raises `CorruptError` if they are malformed.
    """
    from sdb import _core

    columns = ion.loads(_core.zstd_decompress(data, _MAX_CONTENT_BYTES))
    if not isinstance(columns, list) or [*map(type, columns)] != _COLUMNS * [list]:
        raise malformed("zone map", f"a list of {_COLUMNS} lists", columns)
    if len(columns[0]) != blocks:
        message = f"expected {blocks:,} as in the file, got {len(columns[0]):,}"
        raise CorruptError(f"invalid number of blocks in a zone map: {message}")
    masks = [mask for mask in columns[0] if mask is not None]
    if not all(type(mask) is int and mask in _MASKS for mask in masks):
        raise CorruptError("invalid type mask in a zone map")
    counts = columns[1:4]
    for numbers in counts:
        if len(numbers) != len(masks) or any(type(n) is not int or n < 0 for n in numbers):
            raise CorruptError(
                "invalid count in a zone map: expected a number of 0 or more for each zone"
            )
    flags = counts[2]
    has_ranges = {
        "numbers": [
            bool(mask & NUMBERS) and not flag & _WITHOUT_NUMBERS
            for mask, flag in zip(masks, flags, strict=True)
        ],
        "texts": [bool(mask & TEXTS) for mask in masks],
        "times": [bool(mask & TIMES) for mask in masks],
    }
    pairs = {
        name: _pairs(columns[at : at + 2], has_ranges[name], name)
        for at, name in zip((4, 6, 8), has_ranges, strict=True)
    }
    zones = (
        Zone(
            mask,
            counts[0][at],
            counts[1][at],
            pairs["numbers"][at],
            pairs["texts"][at],
            pairs["times"][at],
            flags[at] & 3,
            bool(flags[at] & _NAN),
        )
        for at, mask in enumerate(masks)
    )
    return tuple([None if mask is None else next(zones) for mask in columns[0]])


def _pairs(
    columns: list[list[Any]], has_range: list[bool], name: str
) -> list[tuple[Any, Any] | None]:
    """Return the bounds of each zone that has any."""
    least, greatest = columns
    if not len(least) == len(greatest) == sum(has_range):
        raise CorruptError(f"invalid zone map: its bounds of {name} do not fit its types")
    ranges = zip(least, greatest, strict=True)
    pairs = [next(ranges) if is_told else None for is_told in has_range]
    if any(pair is not None and not _is_sound(pair, name) for pair in pairs):
        raise CorruptError(f"invalid bounds of {name} in a zone map")
    return pairs


def _is_sound(pair: tuple[Any, Any], name: str) -> bool:
    kinds = _KINDS[name]
    least, greatest = pair
    if type(least) not in kinds or (greatest is not None and type(greatest) not in kinds):
        return False
    return (greatest is None and name == "texts") or (greatest is not None and least <= greatest)


# Selectivity: how many blocks a search for one value reads, by their zone maps.

_PROBED_BLOCKS = 16


def share_read(zones: Sequence[Zone | None]) -> float:
    """Return the share of blocks that may have what is in the middle of a block, on average.

    The least value would not do: of ids, which are alike in all blocks, it is below the bounds of
    half of them.

    >>> from sdb.packfile.trailer.zonemap import Zone
    >>> share_read([Zone(4, 9, numbers=(0, 9)), Zone(4, 9, numbers=(9, 19))])
    0.5
    """
    held = [zone for zone in zones if zone is not None]
    probes = list(islice(held, 0, None, max(1, len(held) // _PROBED_BLOCKS)))
    if len(zones) == 1:
        return 1.0
    read = 0
    for probe in probes:
        pair = probe.numbers or probe.times or probe.texts
        if pair is None:
            read += sum(zone is None or zone.types & probe.types != 0 for zone in zones)
            continue
        value = _middle(*pair)
        for zone in zones:
            read += zone is None or _may_hold(zone, probe, value)
    return read / (len(probes) * len(zones)) if probes else 1.0


def _middle(least: Any, greatest: Any) -> Any:  # noqa: ANN401 - numbers, times or texts
    """Return what lies in the middle between two bounds."""
    if greatest is None or least == greatest:
        return least
    if isinstance(least, bytes):
        whole = [int.from_bytes(text.ljust(TEXT_BYTES, b"\0"), "big") for text in (least, greatest)]
        return (sum(whole) // 2).to_bytes(TEXT_BYTES, "big")
    middle = (least + greatest) / 2
    return middle if math.isfinite(middle) else least


def _may_hold(zone: Zone, probe: Zone, value: object) -> bool:
    for name in ("numbers", "times", "texts"):
        if getattr(probe, name) is not None:
            pair = getattr(zone, name)
            return pair is not None and pair[0] <= value and (pair[1] is None or value <= pair[1])
    return True
