"""Ribbon filters: for each block the set of values at a path, in a few bits a value.

A filter answers "no" or "perhaps", and never "no" for a value that the block has. Each plane denies
half of the values that are not there, so that a filter of n planes says "perhaps" for one absent
value in 2^n: one in 128 with the usual seven, one in 256 with eight (measured: 1 in 132 and in 256;
the promise in docs/format.md, "at most one in 200", leaves room). A plane takes 1.11 bits a value.
The construction is the homogeneous ribbon filter: P. C. Dillinger, L. Huebschle-Schneider,
P. Sanders, S. Walzer, "Fast Succinct Retrieval and Approximate Membership Using Ribbon", SEA 2022.
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
"""Most planes of a set."""

_INTEGERS = range(-(1 << 63), 1 << 64)
_WHOLE = (1 << 64) - 1
_AT_ONCE = 256


@record
class ValueSet:
    """The values of some rows of a block."""

    rows: int  # number of rows: those that follow the rows of the set before
    bits: bytes  # the planes, see docs/format.md; empty when there is no value
    planes: int  # how many there are, 1 to `MAX_PLANES`

    @property
    def plane_bytes(self) -> int:
        """Size of a plane in bytes."""
        return len(self.bits) // self.planes

    def may_have(self, number: int) -> bool:
        """Return whether there may be a value with this hash."""
        from sdb import _core

        return _core.blocks_with([[(self.bits, self.planes)]], [number]) == [b"\x01"]

    def with_planes(self, count: int) -> ValueSet:
        """Return the set with a maximum number of planes: with fewer it has more false answers."""
        if count >= self.planes:
            return self
        return ValueSet(self.rows, self.bits[: count * self.plane_bytes], count)


@record
class HashedSet:
    """The values of some rows of a block that was just packed, which a set can be made of."""

    rows: int  # number of rows, as that of a :class:`ValueSet`
    hashes: ValueHashes  # the hashes of the values

    @property
    def planes(self) -> int:
        """Number of planes that the set can have."""
        return MAX_PLANES

    @property
    def plane_bytes(self) -> int:
        """Size of a plane in bytes."""
        return self.hashes.plane_bytes

    def may_have(self, number: int) -> bool:
        """Return whether there is a value with this hash."""
        return self.hashes.has(number)

    def with_planes(self, count: int) -> ValueSet:
        """Make the set of a number of planes."""
        return ValueSet(self.rows, self.hashes.set(count), count)


@record
class RibbonFilter:
    """The values at a path, for each block: texts or integers.

    A filter of *texts* has every string and symbol at the path. One of *integers* has every number
    there, stored as integer or as float, that is equal to an integer from -2^63 to 2^64-1: 2.0 is
    2, and minus zero is 0. Of other values, as of 1.5, NaN or a truth value, neither knows
    anything.
    """

    is_text: bool  # whether it is of texts; else it is of integers
    # The sets of each block, which together are of all its rows; None: nothing is known of it.
    sets: tuple[tuple[ValueSet, ...] | None, ...]

    @classmethod
    def of(cls, blocks: Iterable[Sequence[object] | None], *, is_text: bool) -> Self:
        """Make the filter of values.

        * ``blocks``: The values of each row of each block; None for a block of which nothing shall
          be known.

        Returns: The filter, in which values that it cannot have are left out.
        """
        from sdb import _core

        hashed = hash_of_text if is_text else hash_of_integer
        sets: list[tuple[ValueSet, ...] | None] = []
        for block in blocks:
            if block is None:
                sets.append(None)
                continue
            hashes = [number for number in map(hashed, block) if number is not None]
            values = HashedSet(len(block), _core.ValueHashes(hashes))
            sets.append((values.with_planes(MAX_PLANES),))
        return cls(is_text, tuple(sets))

    def may_hold(self, block: int, value: object) -> bool:
        """Return whether a block may have a value.

        * ``block``: The block, counted from 0.
        * ``value``: The value: a `str` for texts, an `int` or `float` for integers.

        Returns: False: no value at the path in this block is equal to it. True: there may be one,
        or nothing is known.
        """
        return RibbonFilter(self.is_text, self.sets[block : block + 1]).blocks(value)[0]

    def blocks(self, value: object) -> tuple[bool, ...]:
        """Report for each block whether it may have a value; see :meth:`may_hold`."""
        return next(self.blocks_of_each([value]))

    def blocks_of_each(self, values: Iterable[object]) -> Iterator[tuple[bool, ...]]:
        """Return for each of some values what :meth:`blocks` returns."""
        from sdb import _core

        hashed = hash_of_text if self.is_text else hash_of_integer
        sets = [
            None if block is None else [(value_set.bits, value_set.planes) for value_set in block]
            for block in self.sets
        ]
        each = map(hashed, values)
        while numbers := [*islice(each, _AT_ONCE)]:
            hashes = [number for number in numbers if number is not None]
            held = iter(_core.blocks_with(sets, hashes))
            for number in numbers:
                yield (True,) * len(sets) if number is None else tuple(map(bool, next(held)))

    @property
    def size_bytes(self) -> int:
        """Size of all sets in bytes."""
        return sum(
            len(value_set.bits)
            for value_set in chain.from_iterable(block or () for block in self.sets)
        )

    def with_planes(self, count: int) -> Self:
        """Return a filter whose sets have a maximum number of planes."""
        sets = [
            None if block is None else tuple([value_set.with_planes(count) for value_set in block])
            for block in self.sets
        ]
        return replace(self, sets=tuple(sets))

    def may_hold_anywhere(self, value: object) -> bool:
        """Return whether any block may have a value; see :meth:`may_hold`."""
        return any(self.blocks(value))


def hash_of_text(value: object) -> int | None:
    """Return the hash that filters of texts have for a value; None: they do not know it."""
    if not isinstance(value, str):
        return None
    from sdb import _core

    return _core.hash_text(value.encode("utf-8", "surrogatepass"))


def hash_of_integer(value: object) -> int | None:
    """Return the hash that filters of integers have for a value; None: they do not know it.

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
