"""Addresses: which blocks have one of a network.

A filter of prefixes has those of the IPv4 addresses that texts at a path are, in the form that
IS_SUBNET_OF takes: four numbers with points between them, which may have leading zeros. Prefixes
of 8, 16, 24 and 32 bits are kept, so that any network of a reasonable size is a few of them. See
the section on statistics in docs/format.md.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sdb.packfile.prune.predicate import AddressRange
    from sdb.packfile.trailer.blockstats import BlockStatistics
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.ribbonslices import SlicedFilter

    _Asked = tuple[SlicedFilter, Iterable[Sequence[object]]]

LENGTHS = (8, 16, 24, 32)
"""So many bits the prefixes of an address have."""

MOST_ASKED = 256
"""More prefixes ask no filters: of 256 absent ones two make a filter say "perhaps"."""

_BITS = 32


def asked(statistics: BlockStatistics, test: AddressRange) -> _Asked | None:
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

    Examples
    --------
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
