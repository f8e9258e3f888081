"""Block statistics made the slow way, from rows as Python has them."""

from __future__ import annotations

import functools
import math
import operator
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import sdb
from sdb import ion
from sdb.packfile.trailer.blockstats import INTEGERS, TEXTS, encode_statistics
from sdb.packfile.trailer.ribbon import RibbonFilter
from sdb.packfile.trailer.zonemap import Zone
from sdb.records import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from sdb.packfile.trailer.fieldcounts import FieldPath

_BOUND_BYTES = 3


@dataclass
class Filter:
    """The values of each block, and some that it does not have."""

    sets: list[set[Any]]
    false: set[Any] = field(default_factory=set)

    def may_hold(self, block: int, value: Any) -> bool:
        """Return whether a block may have a value; of fractions nothing is known."""
        if isinstance(value, float) and not value.is_integer():
            return True
        return value in self.sets[block] or value in self.false

    def blocks(self, value: Any) -> tuple[bool, ...]:
        """Return for each block whether it may have a value."""
        return tuple([self.may_hold(block, value) for block in range(len(self.sets))])

    def blocks_of_each(self, values: Iterable[Any]) -> Iterator[tuple[bool, ...]]:
        """Return the same for each of some values."""
        return map(self.blocks, values)


class Oracle:
    """Statistics of blocks; see :class:`sdb.packfile.trailer.blockstats.BlockStatistics`."""

    def __init__(self, blocks: Sequence[Sequence[dict[str, Any]]]) -> None:
        self._blocks = [list(_values(rows)) for rows in blocks]
        self.paths = {path for values in self._blocks for path, _ in values}

    def _at(self, path: FieldPath) -> list[list[Any]]:
        return [[value for where, value in values if where == path] for values in self._blocks]

    def zone(self, path: FieldPath) -> tuple[Zone, ...]:
        """Return what each block has at a path."""
        return tuple(map(zone, self._at(path)))

    def texts(self, path: FieldPath) -> Filter | None:
        """Return the texts at a path; none where there are bytes, which read as other texts."""
        actual = self._at(path)
        if any(isinstance(value, bytes) for values in actual for value in values):
            return None
        return Filter([{value for value in values if isinstance(value, str)} for values in actual])

    def integers(self, path: FieldPath) -> Filter | None:
        """Return the whole numbers at a path."""
        return Filter([set(map(int, filter(_is_whole, values))) for values in self._at(path)])

    def words(self, _: FieldPath) -> Filter | None:
        """Return the words at a path: none."""
        return None

    def joints(self, _: FieldPath) -> Filter | None:
        """Return the joints at a path: none."""
        return None

    def prefixes(self, path: FieldPath) -> Filter | None:
        """Return the prefixes of the addresses at a path; none where there are bytes."""
        actual = self.texts(path)
        return actual and Filter(
            [{p for text in held for p in prefixes(text)} for held in actual.sets]
        )


def prefixes(text: str) -> list[int]:
    """Return the prefixes of the address that a text is."""
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,3}){3}", text):
        return []
    octets = [*map(int, text.split("."))]
    if max(octets) > 255:
        return []
    return [int.from_bytes(bytes([1, *octets[:count]])) for count in range(1, 5)]


def add_statistics(path: Path) -> None:
    """Return a packfile with statistics of all of its paths."""
    with sdb.open(path) as pack:
        trailer = pack.trailer
        numbers = range(len(trailer.blocks))
        oracle = Oracle([list(pack.rows(blocks=[number])) for number in numbers])
    zones = {where: oracle.zone(where) for where in oracle.paths}
    filters = {}
    for where in oracle.paths:
        for kind, item in ((TEXTS, oracle.texts(where)), (INTEGERS, oracle.integers(where))):
            if item is not None:
                blocks = [list(values) for values in item.sets]
                filters[where, kind] = RibbonFilter.of(blocks, is_text=kind == TEXTS)
    stored = encode_statistics(zones, filters)
    data = path.read_bytes()[: trailer.offset]
    changed = replace(trailer, sparse=replace(trailer.sparse, stored_statistics=stored))
    path.write_bytes(data + changed.encode())


def zone(values: list[Any]) -> Zone:
    """Say of values what a zone does."""
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    bounded = [number for number in numbers if not math.isnan(number)]
    times = [us for value in values if (us := ion.instant_to_us(value)) is not None]
    texts = sorted(value.encode() for value in values if isinstance(value, str))
    return Zone(
        functools.reduce(operator.or_, (1 << kind(value) for value in values), 0),
        len(values),
        values.count(None),
        (min(bounded), max(bounded)) if bounded else None,
        (texts[0][:_BOUND_BYTES], _above(texts[-1])) if texts else None,
        (min(times), max(times)) if times else None,
        any(value is False for value in values) | any(value is True for value in values) << 1,
        len(bounded) < len(numbers),
    )


def _above(text: bytes) -> bytes | None:
    """Return a short text that is not below one; None: all are."""
    if len(text) <= _BOUND_BYTES:
        return text
    if len(text) > 4 * _BOUND_BYTES:
        return None
    short = text[:_BOUND_BYTES].rstrip(b"\xff")
    return short[:-1] + bytes([short[-1] + 1]) if short else None


def kind(value: Any) -> int:
    """Return the Ion type of a value."""
    match value:
        case None:
            return 0
        case bool():
            return 1
        case int():
            return 2 if value >= 0 else 3
        case float():
            return 4
        case str():
            return 8
        case bytes():
            return 10
        case list():
            return 11
        case dict():
            return 13
        case _:
            return 6


def _is_whole(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value == int(value)


def _values(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[FieldPath, Any]]:
    for row in rows:
        yield from _inside((), row)


def _inside(path: FieldPath, value: Any) -> Iterator[tuple[FieldPath, Any]]:
    if path:
        yield path, value
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _inside((*path, name), inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _inside((*path, None), inner)
