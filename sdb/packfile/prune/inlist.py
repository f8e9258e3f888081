"""Rules by which block statistics leave out blocks that hold none of many values.

They prove what those of :mod:`sdb.packfile.prune.rules` prove of each of the values, and are asked
by joins, whose keys may be thousands.
"""

from __future__ import annotations

import math
from bisect import bisect_left

from sdb.packfile.prune import rules
from sdb.packfile.prune.predicate import Compare, Instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from sdb.packfile.prune.predicate import Constant, OneOf
    from sdb.packfile.prune.rules import BlockRule
    from sdb.packfile.trailer.blockstats import BlockStatistics
    from sdb.packfile.trailer.zonemap import Zone

    _Sorted = tuple[list[Any], list[Constant]]

MOST_FILTERED = 256
"""Lists of more values ask no filters: of 256 absent values two make a filter say "perhaps"."""


def rules_of_many(
    test: OneOf, statistics: BlockStatistics, types: int
) -> Iterator[tuple[str, BlockRule]]:
    """Yield what block statistics say of many values; see :func:`sdb.packfile.prune.rules.rules`.

    * ``types``: The Ion types that the file may have at the path, as a bit mask.
    """
    zones = statistics.zone(test.path)
    if zones is not None:
        keys = SortedValues(test.values)
        fits = [zone is None or keys.fit(zone) for zone in zones]
        yield "zone map", fits.__getitem__
    if len(test.values) > MOST_FILTERED:
        return
    tests = [Compare(test.path, "=", value) for value in test.values]
    filters = [rules.filter_of(equality, statistics, types) for equality in tests]
    # Of a value there is one group with one value.
    asked = [None if probe is None else next(iter(probe[1]))[0] for probe in filters]
    held: list[tuple[bool, ...] | None] = [None] * len(tests)
    for member in {id(probe[0]): probe[0] for probe in filters if probe}.values():
        numbers = [at for at, probe in enumerate(filters) if probe and probe[0] is member]
        answers = member.blocks_of_each(asked[at] for at in numbers)
        for at, answer in zip(numbers, answers, strict=True):
            held[at] = answer

    def may_hold(number: int) -> bool:
        zone = None if zones is None else zones[number]
        return any(
            (answer is None or answer[number]) and (zone is None or rules.zone_fits(equality, zone))
            for equality, answer in zip(tests, held, strict=True)
        )

    if any(answer is not None for answer in held):
        yield "filter", may_hold


class SortedValues:
    """Values in the order of their types: bisection finds those between two bounds."""

    def __init__(self, values: Iterable[Constant]) -> None:
        numbers: list[tuple[float, Constant]] = []
        texts: list[tuple[bytes, Constant]] = []
        times: list[tuple[int, Constant]] = []
        self._others: list[Constant] = []
        for value in values:
            match value:
                case str():
                    texts.append((value.encode("utf-8", "surrogatepass"), value))
                case Instant(us):
                    times.append((us, value))
                case int() | float() if not isinstance(value, bool) and not math.isnan(value):
                    numbers.append((value, value))
                case _:
                    self._others.append(value)
        self._known = [_sorted(pairs) for pairs in (numbers, texts, times)]

    def fit(self, zone: Zone) -> bool:
        """No value of the block equals any of the values.

        Of each type the least value is looked at that is not below the lower bound of the block.
        Those before it are below the bound; where it is above the upper one, those behind it are.
        """
        numbers = None if zone.has_nan else zone.numbers
        texts = None if zone.types & rules.OTHERS else zone.texts
        bounds = (numbers, texts, zone.times)
        near = [
            value
            for column, pair in zip(self._known, bounds, strict=True)
            for value in _not_below(column, pair)
        ]
        return any(
            rules.zone_fits(Compare((), "=", value), zone) for value in (*near, *self._others)
        )


def _sorted(pairs: Sequence[tuple[Any, Constant]]) -> _Sorted:
    """Return what values are ordered by, and the values."""
    ordered = sorted(pairs, key=lambda pair: pair[0])
    return [order for order, _ in ordered], [value for _, value in ordered]


def _not_below(values: _Sorted, bounds: tuple[Any, Any] | None) -> list[Constant]:
    """Return the first value that is not below a bound, if any is; without bounds the first one."""
    at = 0 if bounds is None else bisect_left(values[0], bounds[0])
    return values[1][at : at + 1]
