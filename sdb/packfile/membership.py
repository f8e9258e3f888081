"""Membership filters: for each block the set of values at a path, in a few bits a value.

A filter answers "certainly not" or "perhaps": what is in a block it never denies, and of what is
not it denies all but about one in a hundred. See the section on statistics in docs/format.md.
"""

from __future__ import annotations

from itertools import accumulate, chain

from sdb import ion
from sdb.errors import CorruptError
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self

SET_BYTES = 32
"""Sets of values take a multiple of this."""

_INTEGERS = range(-(1 << 63), 1 << 64)
_WHOLE = (1 << 64) - 1


@record
class ValueSet:
    """The values of some rows of a block.

    Attributes
    ----------
    rows : int
        Number of rows: those that follow the rows of the set before.
    bits : bytes
        The set, see docs/format.md; empty when there is no value.
    """

    rows: int
    bits: bytes


@record
class MembershipFilter:
    """The values at a path, for each block: texts or integers.

    A filter of *texts* has every string and symbol at the path. One of *integers* has every number
    there, stored as integer or as float, that is equal to an integer from -2^63 to 2^64-1: 2.0 is
    2, and minus zero is 0. Of other values, as of 1.5, NaN or a truth value, neither knows
    anything.

    Attributes
    ----------
    is_text : bool
        Whether it is of texts; else it is of integers.
    sets : tuple
        The sets of each block, which together are of all its rows; None: nothing is known of it.
    """

    is_text: bool
    sets: tuple[tuple[ValueSet, ...] | None, ...]

    @classmethod
    def of(cls, blocks: Iterable[Sequence[object] | None], *, is_text: bool) -> Self:
        """Make the filter of values.

        Parameters
        ----------
        blocks : iterable of sequence
            The values of each row of each block; None for a block of which nothing shall be known.
        is_text : bool
            Whether it is of texts.

        Returns
        -------
        MembershipFilter
            The filter, in which values that it cannot have are left out.
        """
        from sdb import _core

        hashed = hash_of_text if is_text else hash_of_integer
        sets: list[tuple[ValueSet, ...] | None] = []
        for block in blocks:
            if block is None:
                sets.append(None)
                continue
            hashes = [one for one in map(hashed, block) if one is not None]
            sets.append((ValueSet(len(block), _core.set_of(hashes)),))
        return cls(is_text, tuple(sets))

    def may_hold(self, block: int, value: object) -> bool:
        """Tell whether a block may have a value.

        Parameters
        ----------
        block : int
            The block, counted from 0.
        value : object
            The value: a `str` for texts, an `int` or `float` for integers.

        Returns
        -------
        bool
            False: no value at the path in this block is equal to it. True: there may be one, or
            nothing is known.
        """
        return MembershipFilter(self.is_text, self.sets[block : block + 1]).blocks(value)[0]

    def blocks(self, value: object) -> tuple[bool, ...]:
        """Tell for each block whether it may have a value; see :meth:`may_hold`."""
        return next(self.blocks_of_each([value]))

    def blocks_of_each(self, values: Iterable[object]) -> Iterator[tuple[bool, ...]]:
        """Tell for each of some values what :meth:`blocks` tells."""
        from sdb import _core

        all_bits = [one.bits for one in chain.from_iterable(one or () for one in self.sets)]
        sizes = [len(bits) // SET_BYTES for bits in all_bits]
        joined = b"".join(all_bits)
        for value in values:
            number = hash_of_text(value) if self.is_text else hash_of_integer(value)
            if number is None:
                yield (True,) * len(self.sets)
                continue
            held = iter(_core.sets_with(joined, sizes, number))
            yield tuple(
                [found is None or True in [next(held) for _ in found] for found in self.sets]
            )

    @property
    def size_bytes(self) -> int:
        """Size of all sets in bytes."""
        return sum(len(one.bits) for one in chain.from_iterable(found or () for found in self.sets))

    def halved(self) -> Self:
        """Give a filter of half the size, and more false answers."""
        from sdb import _core

        sets = [
            None if one is None else tuple([replace(s, bits=_core.halve_set(s.bits)) for s in one])
            for one in self.sets
        ]
        return replace(self, sets=tuple(sets))

    def may_hold_anywhere(self, value: object) -> bool:
        """Tell whether any block may have a value; see :meth:`may_hold`."""
        return any(self.blocks(value))

    def encode(self) -> bytes:
        """Give the bytes that are stored."""
        known = [*chain.from_iterable(one or () for one in self.sets)]
        value = [
            [None if one is None else len(one) for one in self.sets],
            [one.rows for one in known],
            [len(one.bits) // SET_BYTES for one in known],
            b"".join(one.bits for one in known),
        ]
        return ion.dumps(value)

    @classmethod
    def decode(cls, data: bytes, blocks: int, *, is_text: bool) -> Self:
        """Read the bytes that are stored.

        Parameters
        ----------
        data : bytes
            What :meth:`encode` gave.
        blocks : int
            Number of blocks of the file.
        is_text : bool
            Whether it is of texts.

        Returns
        -------
        MembershipFilter
            What they say.

        Raises
        ------
        CorruptError
            They are malformed.
        """
        value = ion.loads(data)
        if not isinstance(value, list) or [*map(type, value)] != [list, list, list, bytes]:
            raise CorruptError("a membership filter is not what it is made of")
        counts, rows, sizes, bits = value
        for number in (*rows, *sizes, *(count for count in counts if count is not None)):
            if type(number) is not int or number < 0:
                raise CorruptError("a membership filter has a number that is none")
        if len(counts) != blocks:
            raise CorruptError("a membership filter has other blocks than the file")
        if not len(rows) == len(sizes) == sum(count or 0 for count in counts):
            raise CorruptError("a membership filter has other sets than it tells")
        ends = [*accumulate([SET_BYTES * size for size in sizes], initial=0)]
        if ends[-1] != len(bits):
            raise CorruptError("the sets of a membership filter have other sizes")
        sets = [ValueSet(one, bits[ends[at] : ends[at + 1]]) for at, one in enumerate(rows)]
        starts = [*accumulate([count or 0 for count in counts], initial=0)]
        cut = enumerate(counts)
        return cls(
            is_text,
            tuple(
                [
                    None if count is None else tuple(sets[starts[at] : starts[at + 1]])
                    for at, count in cut
                ]
            ),
        )


def hash_of_text(value: object) -> int | None:
    """Give the hash that filters of texts have for a value; None: they do not know it."""
    if not isinstance(value, str):
        return None
    from sdb import _core

    return _core.hash_text(value.encode("utf-8", "surrogatepass"))


def hash_of_integer(value: object) -> int | None:
    """Give the hash that filters of integers have for a value; None: they do not know it.

    Examples
    --------
    >>> hash_of_integer(2.0) == hash_of_integer(2), hash_of_integer(1.5)
    (True, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float):
        if not value.is_integer():
            return None
        value = int(value)
    if value not in _INTEGERS:
        return None
    from sdb import _core

    return _core.hash_integer(value & _WHOLE)
