"""Rules by which block statistics leave out blocks: what each of them proves.

A rule looks at what is known of the values that a block has at a path. It answers False only if
that proves that the test is TRUE for no row of the block; whatever it does not know may be so. What
a block has beside values of the type that the test is about changes nothing: values of other types
never pass, but for ``<>``, which asks whether there are any.
"""

from __future__ import annotations

import math
import operator
from itertools import chain, islice

from sdb.packfile.prune import ngrams
from sdb.packfile.prune.predicate import (
    ANY_TYPE,
    BOOL_TYPE,
    LIST_TYPE,
    NULL_TYPE,
    NUMBER_TYPES,
    TIME_TYPE,
    AddressRange,
    Compare,
    Instant,
    TextPrefix,
    TextWords,
    TypeTest,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, TypeAlias

    from sdb.packfile.prune.predicate import PathTest
    from sdb.packfile.trailer.blockstats import BlockStatistics
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.ribbonslices import SlicedFilter
    from sdb.packfile.trailer.zonemap import Zone

    _Asked = tuple[SlicedFilter, Iterable[Sequence[object]]]

BlockRule: TypeAlias = "Callable[[int], bool]"
"""Tells whether a block, by its number, can hold a row that passes a test."""

_TEXTS = 0b11 << 7
_FALSE, _TRUE = 1, 2
# Of bytes, which read as text too, and of what rows do not have, zone maps have only the type.
OTHERS = ANY_TYPE & ~(
    NULL_TYPE | BOOL_TYPE | NUMBER_TYPES | TIME_TYPE | _TEXTS | LIST_TYPE | 1 << 13
)
_OPERATORS = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def rules(
    test: PathTest, statistics: BlockStatistics, types: int, rows: Sequence[int] = ()
) -> Iterator[tuple[str, BlockRule]]:
    """Yield what block statistics say of a test: the cheap answer first.

    * ``types``: The Ion types that the file may have at the path, as a bit mask.
    * ``rows``: How many rows each block has; none: not known.
    """
    is_deep = isinstance(test, TextWords) and test.is_deep
    zones = None if is_deep else statistics.zone(test.path)
    if zones is not None:
        fits = [
            zone is None or zone_fits(test, zone, rows[number] if rows else None)
            for number, zone in enumerate(zones)
        ]
        yield "zone map", fits.__getitem__
    if isinstance(test, TextWords):
        # Filters of words have no bytes, whose printed form is a text, too.
        if is_deep or not types & OTHERS:
            for member, asked in ngrams.filters(statistics, test):
                yield "filter", _holding_any(member, asked)
    elif (probe := filter_of(test, statistics, types)) is not None:
        yield "filter", _holding(*probe)


def _holding(member: SlicedFilter, groups: Iterable[Iterable[Any]]) -> BlockRule:
    """Report where one value of each group may be: no other block has one of each."""
    values = [[*group] for group in groups]
    answers = member.blocks_of_each(chain.from_iterable(values))
    held = [[*islice(answers, len(group))] for group in values]
    return lambda number: all(any(answer[number] for answer in group) for group in held)


def _holding_any(member: SlicedFilter, lists: Iterable[Iterable[Any]]) -> BlockRule:
    """Report where all values of any list may be: another block lacks some of each."""
    rules = [_holding(member, [[value] for value in values]) for values in lists]
    return lambda number: any(rule(number) for rule in rules)


def zone_fits(test: PathTest, zone: Zone, rows: int | None = None) -> bool:  # noqa: PLR0911 - a table
    """Return whether a block with a zone and a number of rows can hold a row that passes a test."""
    match test:
        case TypeTest(path, types, or_missing):
            may_lack = or_missing and (None in path or some_lack(zone, rows))
            return may_lack or type_fits(zone, types)
        case TextPrefix(_, prefixes) | AddressRange(_, prefixes):
            # All texts begin with the empty one.
            return any(prefix_fits(zone, prefix) for prefix in prefixes or ("",))
        case TextWords():
            return bool(zone.types & (_TEXTS | OTHERS))
        case Compare(_, "<>", value):
            return differs(zone, value)
        case Compare(_, op, None):
            return null_fits(zone, op)
        case Compare(_, op, bool() as value):
            return bool_fits(zone, op, value=value)
        case Compare(_, op, int() | float() as number):
            return number_fits(zone, op, number)
        case Compare(_, op, str() as text):
            return text_fits(zone, op, text)
        case Compare(_, op, Instant(us)):
            return time_fits(zone, op, us)
    return True


def type_fits(zone: Zone, types: int) -> bool:
    """No value of the block has one of the types."""
    return bool(zone.types & types)


def some_lack(zone: Zone, rows: int | None) -> bool:
    """Each row of the block has a value, NULL or another one: there are as many as rows.

    A row has one value at most at a path that does not go through lists.
    """
    return rows is None or zone.values < rows


def null_fits(zone: Zone, op: str) -> bool:
    """Only NULL equals NULL, and nothing is less: no value of the block is NULL."""
    return op in {"=", "<=", ">="} and bool(zone.types & NULL_TYPE)


def bool_fits(zone: Zone, op: str, *, value: bool) -> bool:
    """None of the booleans of the block compares so; FALSE is less than TRUE."""
    held = [truth for truth, bit in ((False, _FALSE), (True, _TRUE)) if zone.booleans & bit]
    return any(_OPERATORS[op](truth, value) for truth in held)


def number_fits(zone: Zone, op: str, number: float) -> bool:
    """No number of the block, and none between its bounds, compares so.

    Numbers compare by value, integers and doubles alike, which Python does exactly; -0.0 is 0.
    NaN is above or beside all others, depending on who asks: it proves nothing, and neither do
    bounds of a block that has it.
    """
    if not zone.types & NUMBER_TYPES:
        return False
    if zone.has_nan or math.isnan(number):
        return True
    return zone.numbers is None or _between(*zone.numbers, op, number)


def time_fits(zone: Zone, op: str, us: int) -> bool:
    """No time of the block, and none between its bounds, compares so."""
    if not zone.types & TIME_TYPE:
        return False
    return zone.times is None or _between(*zone.times, op, us)


def text_fits(zone: Zone, op: str, text: str) -> bool:
    """No text between the bounds of the block compares so, byte by byte of its UTF-8 form.

    The lower bound may be shorter than the least text and the upper one lie above the greatest, or
    be none; that changes no answer to the wrong side.
    """
    if not zone.types & (_TEXTS | OTHERS):
        return False
    if zone.types & OTHERS or zone.texts is None:
        return True
    return _between(*zone.texts, op, _utf8(text))


def prefix_fits(zone: Zone, prefix: str) -> bool:
    """No text between the bounds of the block begins with the prefix, byte by byte.

    Those that begin with it lie between it and the first text after all of them. So the upper bound
    must not be below the prefix, and the lower one not above all texts with it: it is not greater,
    or begins with it itself.
    """
    if not zone.types & (_TEXTS | OTHERS):
        return False
    if zone.types & OTHERS or zone.texts is None:
        return True
    least, greatest = zone.texts
    wanted = _utf8(prefix)
    return least[: len(wanted)] <= wanted and (greatest is None or wanted <= greatest)


def differs(zone: Zone, value: object) -> bool:
    """All values of the block equal the constant: there is one type, and no range.

    Values of other types are different from it, NULL too. Bounds of texts may be shorter than the
    texts, so that they never prove equality. NaN differs from all numbers.
    """
    match value:
        case None:
            kind, is_one = NULL_TYPE, True
        case bool():
            kind, is_one = BOOL_TYPE, zone.booleans == (_TRUE if value else _FALSE)
        case int() | float():
            kind, is_one = NUMBER_TYPES, zone.numbers == (value, value) and not zone.has_nan
        case Instant(us):
            kind, is_one = TIME_TYPE, zone.times == (us, us)
        case _:
            kind, is_one = _TEXTS, False
    return bool(zone.types & ~kind) or (bool(zone.types) and not is_one)


def _between(least: Any, greatest: Any, op: str, value: Any) -> bool:  # noqa: ANN401 - ordered
    """Return whether a value between two bounds can compare so with another one; None: no bound."""
    if op in {"<", "<="}:
        return bool(_OPERATORS[op](least, value))
    if op in {">", ">="}:
        return greatest is None or bool(_OPERATORS[op](greatest, value))
    return bool(least <= value) and (greatest is None or bool(value <= greatest))


def filter_of(
    test: PathTest, statistics: BlockStatistics, types: int
) -> tuple[SlicedFilter, Iterable[Sequence[Any]]] | None:
    """Return the filter for a test, and groups of values: a block has to hold one of each.

    Filters of texts have strings and symbols: bytes, whose printed form is a text too, they do not.
    """
    values: tuple[Any, ...]
    match test:
        case Compare(_, "=", str()) | AddressRange() if types & OTHERS:
            return None
        case AddressRange():
            return asked_prefixes(statistics, test)
        case Compare(path, "=", str() as text):
            held, values = statistics.texts(path), (str(text),)
            if held is None:
                return asked_of_text(statistics, path, text)
        case Compare(path, "=", int() | float() as number) if not isinstance(number, bool):
            held, values = statistics.integers(path), (number,)
        case _:
            return None
    return None if held is None else (held, [values])


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# Addresses: which blocks have one of a network.

LENGTHS = (8, 16, 24, 32)
"""Bits of the prefixes of an address."""

MOST_ASKED = 256
"""More prefixes ask no filters: of 256 absent ones two make a filter say "perhaps"."""

_BITS = 32


def asked_prefixes(statistics: BlockStatistics, test: AddressRange) -> _Asked | None:
    """Return the filter for a range of addresses, and what a block has to hold for it.

    Returns: The filter, and groups of values of which a block with such an address has one each.
    """
    values = statistics.prefixes(test.path)
    if values is not None:
        return values, covers(test.low, test.high)
    # A single address has few text forms; one that ends with a point is of several addresses.
    is_whole = all(text[-1] != "." for text in test.begins)
    values = statistics.texts(test.path) if test.begins and is_whole else None
    return None if values is None else (values, [test.begins])


def covers(low: int, high: int) -> Iterator[list[int]]:
    """Yield the prefixes that addresses between two have: of each length one of them.

    Lengths with too many prefixes are left out, and those that add nothing.

    >>> [[hex(prefix) for prefix in cover] for cover in covers(0x0A010000, 0x0A01FFFF)]
    [['0x10a'], ['0x10a01']]
    """
    for length in LENGTHS:
        rest = _BITS - length
        first, last = low >> rest, high >> rest
        if last - first < MOST_ASKED:
            yield [1 << length | prefix for prefix in range(first, last + 1)]
        if (first << rest, (last + 1 << rest) - 1) == (low, high):
            return


def asked_of_text(statistics: BlockStatistics, path: FieldPath, text: str) -> _Asked | None:
    """Return the filter for a text that is an address, and what a block has to hold."""
    from sdb import _core

    values = statistics.prefixes(path)
    prefixes = _core.address_prefixes(text.encode("utf-8", "surrogatepass"))
    return (values, [prefixes[-1:]]) if values is not None and prefixes else None
