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
"""Filters answer wrongly for one value in some hundred: of more prefixes they leave out nothing."""

_BITS = 32


def asked(statistics: BlockStatistics, test: AddressRange) -> _Asked | None:
    """Give the filter that knows of a range of addresses, and what a block has to hold for it.

    Parameters
    ----------
    statistics : BlockStatistics
        What is known of the blocks.
    test : AddressRange
        The range.

    Returns
    -------
    tuple or None
        The filter, and groups of values of which a block with such an address has one each.
    """
    found = statistics.prefixes(test.path)
    if found is not None:
        return found, covers(test.low, test.high)
    # Of a single address there are few forms; of more than are told the last number is missing.
    is_whole = all(text[-1] != "." for text in test.begins)
    found = statistics.texts(test.path) if test.begins and is_whole else None
    return None if found is None else (found, [test.begins])


def covers(low: int, high: int) -> Iterator[list[int]]:
    """Give the prefixes that addresses between two have: of each length one of them.

    Lengths of which there are too many are left out, and those that tell no more.

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
    """Give the filter that knows of a text that is an address, and what a block has to hold."""
    from sdb import _core

    found = statistics.prefixes(path)
    known = _core.address_prefixes(text.encode("utf-8", "surrogatepass"))
    return (found, [known[-1:]]) if found is not None and known else None
