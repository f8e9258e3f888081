"""Membership filters: for each block the set of values at a path, in a few bits a value.

A filter answers "certainly not" or "perhaps": what is in a block it never denies, and what is not
it denies mostly. A set is made of planes, of which each denies half of what is not there: of eight
planes, nine bits a value, all but one in 256. See the section on statistics in docs/format.md.
"""

from __future__ import annotations

from itertools import chain, islice

from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self

    from sdb._core import ValueHashes

MAX_PLANES = 8
"""A set has at most so many planes."""

_INTEGERS = range(-(1 << 63), 1 << 64)
_WHOLE = (1 << 64) - 1
_AT_ONCE = 256


@record
class ValueSet:
    """The values of some rows of a block.

    Attributes
    ----------
    rows : int
        Number of rows: those that follow the rows of the set before.
    bits : bytes
        The planes, see docs/format.md; empty when there is no value.
    planes : int
        How many there are, 1 to `MAX_PLANES`.
    """

    rows: int
    bits: bytes
    planes: int

    @property
    def plane_bytes(self) -> int:
        """Size of a plane in bytes."""
        return len(self.bits) // self.planes

    def may_have(self, number: int) -> bool:
        """Tell whether there may be a value with this hash."""
        from sdb import _core

        return _core.blocks_with([[(self.bits, self.planes)]], [number]) == [b"\x01"]

    def with_planes(self, count: int) -> ValueSet:
        """Give the set with at most so many planes: with fewer it has more false answers."""
        if count >= self.planes:
            return self
        return ValueSet(self.rows, self.bits[: count * self.plane_bytes], count)


@record
class HashedSet:
    """The values of some rows of a block that was just packed, which a set can be made of.

    Attributes
    ----------
    rows : int
        Number of rows, as that of a :class:`ValueSet`.
    hashes : _core.ValueHashes
        The hashes of the values.
    """

    rows: int
    hashes: ValueHashes

    @property
    def planes(self) -> int:
        """Number of planes that the set can have."""
        return MAX_PLANES

    @property
    def plane_bytes(self) -> int:
        """Size of a plane in bytes."""
        return self.hashes.plane_bytes

    def may_have(self, number: int) -> bool:
        """Tell whether there is a value with this hash."""
        return self.hashes.has(number)

    def with_planes(self, count: int) -> ValueSet:
        """Make the set of so many planes."""
        return ValueSet(self.rows, self.hashes.set(count), count)


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
            made = HashedSet(len(block), _core.ValueHashes(hashes))
            sets.append((made.with_planes(MAX_PLANES),))
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

        hashed = hash_of_text if self.is_text else hash_of_integer
        sets = [
            None if found is None else [(one.bits, one.planes) for one in found]
            for found in self.sets
        ]
        each = map(hashed, values)
        while numbers := [*islice(each, _AT_ONCE)]:
            known = [number for number in numbers if number is not None]
            held = iter(_core.blocks_with(sets, known))
            for number in numbers:
                yield (True,) * len(sets) if number is None else tuple(map(bool, next(held)))

    @property
    def size_bytes(self) -> int:
        """Size of all sets in bytes."""
        return sum(len(one.bits) for one in chain.from_iterable(found or () for found in self.sets))

    def with_planes(self, count: int) -> Self:
        """Give a filter whose sets have at most so many planes."""
        sets = [
            None if found is None else tuple([one.with_planes(count) for one in found])
            for found in self.sets
        ]
        return replace(self, sets=tuple(sets))

    def may_hold_anywhere(self, value: object) -> bool:
        """Tell whether any block may have a value; see :meth:`may_hold`."""
        return any(self.blocks(value))


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
