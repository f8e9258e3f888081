"""Membership filters: for each block the set of values at a path, in a few bits a value.

A filter answers "certainly not" or "perhaps": what is in a block it never denies, and of what is
not it denies all but about one in a hundred. See the section on statistics in docs/format.md.
"""

from __future__ import annotations

from itertools import accumulate

from sdb import ion
from sdb.errors import CorruptError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

SET_BYTES = 32
"""Sets of values take a multiple of this."""

_INTEGERS = range(-(1 << 63), 1 << 64)
_WHOLE = (1 << 64) - 1


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
    sets : tuple of bytes or None
        The set of each block, empty where there is no value; None: nothing is known of the block.
    """

    is_text: bool
    sets: tuple[bytes | None, ...]

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
        found = self.sets[block]
        number = self._hash(value)
        if found is None or number is None:
            return True
        from sdb import _core

        return _core.sets_with(found, [len(found) // SET_BYTES], number)[0]

    def blocks(self, value: object) -> tuple[bool, ...]:
        """Tell for each block whether it may have a value; see :meth:`may_hold`."""
        number = self._hash(value)
        if number is None:
            return (True,) * len(self.sets)
        from sdb import _core

        sizes = [len(found or b"") // SET_BYTES for found in self.sets]
        held = _core.sets_with(b"".join(found or b"" for found in self.sets), sizes, number)
        return tuple([one or found is None for one, found in zip(held, self.sets, strict=True)])

    def may_hold_anywhere(self, value: object) -> bool:
        """Tell whether any block may have a value; see :meth:`may_hold`."""
        return any(self.blocks(value))

    def _hash(self, value: object) -> int | None:
        return hash_of_text(value) if self.is_text else hash_of_integer(value)

    def encode(self) -> bytes:
        """Give the bytes that are stored."""
        sizes = [None if one is None else len(one) // SET_BYTES for one in self.sets]
        return ion.dumps([sizes, b"".join(one or b"" for one in self.sets)])

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
        if not isinstance(value, list) or [*map(type, value)] != [list, bytes]:
            raise CorruptError("a membership filter is not what it is made of")
        sizes, sets = value
        if len(sizes) != blocks or any(
            size is not None and (type(size) is not int or size < 0) for size in sizes
        ):
            raise CorruptError("a membership filter has other blocks than the file")
        ends = [*accumulate([SET_BYTES * (size or 0) for size in sizes], initial=0)]
        if ends[-1] != len(sets):
            raise CorruptError("the sets of a membership filter have other sizes")
        return cls(is_text, _cut(sets, ends, sizes))


def _cut(sets: bytes, ends: Sequence[int], sizes: Sequence[int | None]) -> tuple[bytes | None, ...]:
    return tuple(
        [None if size is None else sets[ends[at] : ends[at + 1]] for at, size in enumerate(sizes)]
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
