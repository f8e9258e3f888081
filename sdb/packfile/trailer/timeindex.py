"""The time index of one path: which blocks can hold a given instant.

It consists of two lists of (time, offset) pairs, where an offset counts blocks:

* `max`, both parts strictly ascending: (w, o) says that no block before block o holds a time
  greater than w. The last offset is the number of blocks that the index covers.
* `min`, both parts ascending: (w, o) says that no block from block o on holds a time smaller than
  w.

These two statements are all that a reader relies on; the rest keeps the lists short. See the
section on the time index in docs/format.md.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from itertools import accumulate, pairwise

from sdb.errors import CorruptError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

UNBOUNDED = sys.maxsize
"""What an index that knows nothing answers to `end`: more than any number of blocks."""

_INT64 = range(-(2**63), 2**63)

Pair = tuple[int, int]


class _Entries:
    """Times and offsets of one list, side by side."""

    __slots__ = ("offsets", "times")

    def __init__(self, times: Iterable[int] = (), offsets: Iterable[int] = ()) -> None:
        self.times = list(times)
        self.offsets = list(offsets)

    def add(self, time_us: int, offset: int) -> None:
        self.times.append(time_us)
        self.offsets.append(offset)

    def drop(self) -> int:
        """Remove the last entry and return its offset."""
        self.times.pop()
        return self.offsets.pop()

    def pairs(self) -> tuple[Pair, ...]:
        return tuple(zip(self.times, self.offsets, strict=True))


class TimeIndex:
    """The time index of one path, growing at its end.

    >>> index = TimeIndex()
    >>> index.push(0, 10)
    >>> index.push(11, 20)
    >>> index.blocks, index.start(11), index.end(10)
    (2, 1, 1)
    """

    __slots__ = ("_max", "_min")

    def __init__(self, max: Iterable[Pair] = (), min: Iterable[Pair] = ()) -> None:  # noqa: A002
        self._max = _Entries(*_columns(max))
        self._min = _Entries(*_columns(min))

    def __eq__(self, other: object) -> bool:
        """Return whether two indexes consist of the same lists."""
        return isinstance(other, TimeIndex) and (self.max, self.min) == (other.max, other.min)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show both lists."""
        return f"TimeIndex(max={self.max}, min={self.min})"

    @property
    def max(self) -> tuple[Pair, ...]:
        """The list of prefix maxima as (time in µs, offset) pairs."""
        return self._max.pairs()

    @property
    def min(self) -> tuple[Pair, ...]:
        """The list of suffix minima as (time in µs, offset) pairs."""
        return self._min.pairs()

    @property
    def left(self) -> int:
        """Number of `min` entries, which `describe-file` calls left."""
        return len(self._min.times)

    @property
    def right(self) -> int:
        """Number of `max` entries, which `describe-file` calls right."""
        return len(self._max.times)

    @property
    def is_empty(self) -> bool:
        """True if the index knows nothing: such a path counts as not indexed."""
        return not (self._max.times and self._min.times)

    @property
    def blocks(self) -> int:
        """Number of blocks that the index covers."""
        return self._max.offsets[-1] if self._max.offsets else 0

    @property
    def first_us(self) -> int:
        """Earliest time, in microseconds since 1970. The index must not be empty."""
        return self._min.times[0]

    @property
    def last_us(self) -> int:
        """Latest time, in microseconds since 1970. The index must not be empty."""
        return self._max.times[-1]

    def copy(self) -> TimeIndex:
        """Make an index with the same lists."""
        return TimeIndex(self.max, self.min)

    def push(self, lo_us: int, hi_us: int) -> None:
        """Add a block whose times span ``lo_us <= t <= hi_us``."""
        blocks = self.blocks
        self._push_min(lo_us, blocks)
        self._push_max(hi_us, blocks + 1)

    def push_empty(self, count: int = 1) -> None:
        """Add blocks without any time; on an empty index this has no effect."""
        if self._max.offsets:
            self._max.offsets[-1] += count

    def extend_last(self, lo_us: int, hi_us: int) -> None:
        """Widen the range of the block that was pushed last.

        Raises `ValueError` if nothing was pushed.
        """
        if not self._max.times:
            raise ValueError("there is no last block")
        self._max.times[-1] = max(self._max.times[-1], hi_us)
        while self._min.times and self._min.times[-1] > lo_us:
            self._min.drop()
        if not self._min.times:
            self._min.add(lo_us, 0)

    def append(self, following: TimeIndex) -> None:
        """Add the blocks of an index that covers those that follow."""
        blocks = self.blocks
        for time_us, offset in following.min:
            self._push_min(time_us, blocks + offset)
        for time_us, offset in following.max:
            self._push_max(time_us, blocks + offset)

    def delayed(self, count: int) -> TimeIndex:
        """Make the index that has blocks without any time before those of this one."""
        lower = [(time_us, offset + count if offset else 0) for time_us, offset in self.min]
        return TimeIndex([(time_us, offset + count) for time_us, offset in self.max], lower)

    def append_part(self, following: TimeIndex, start: int, stop: int) -> None:
        """Add the blocks ``start <= b < stop`` of an index that covers those that follow."""
        self.append(following.trim(start, stop))

    def trim(self, start: int, stop: int) -> TimeIndex:
        """Make the index of the blocks ``start <= b < stop``."""
        if not self._max.times or start == stop:
            return TimeIndex()
        lower = [(time_us, 0) for time_us, offset in self.min if offset <= start][-1:]
        lower += [(time_us, o - start) for time_us, o in self.min if start < o < stop]
        upper = [(time_us, o - start) for time_us, o in self.max if start < o < stop]
        upper += [(time_us, stop - start) for time_us, o in self.max if o >= stop][:1]
        return TimeIndex(upper, lower)

    def _push_min(self, time_us: int, offset: int) -> None:
        while self._min.times and self._min.times[-1] >= time_us:
            offset = self._min.drop()
        self._min.add(time_us, offset)

    def _push_max(self, time_us: int, offset: int) -> None:
        # This drops more than it must, but makes the same lists as other writers of the format.
        top = max(time_us, self._max.times[-1]) if self._max.times else time_us
        while self._max.times and self._max.times[-1] >= time_us:
            self._max.drop()
        self._max.add(top, offset)

    def start(self, time_us: int) -> int:
        """Return the first block that can hold a time ``>= time_us``."""
        at = bisect_left(self._max.times, time_us)
        return self._max.offsets[at - 1] if at else 0

    def end(self, time_us: int) -> int:
        """Return the block after the last one that can hold a time ``<= time_us``.

        An empty index answers `UNBOUNDED`.
        """
        if not self._max.offsets:
            return UNBOUNDED
        at = bisect_right(self._min.times, time_us)
        # An appending original may have placed entries beyond the end.
        return min([self.blocks, *self._min.offsets[at : at + 1]])

    def contains(self, time_us: int) -> bool:
        """Return whether any block can hold a time."""
        return self.start(time_us) < self.end(time_us)

    def known_range(self, block: int) -> Pair | None:
        """Return the bounds that the index knows for one block.

        Returns: All times of the block are between these two, both included; None: it has none.
        """
        before = bisect_right(self._min.offsets, block)
        after = bisect_right(self._max.offsets, block)
        if not before or after == len(self._max.offsets):
            return None
        lo, hi = self._min.times[before - 1], self._max.times[after]
        return (lo, hi) if lo <= hi else None

    def encode(self) -> tuple[list[int], list[int]]:
        """Return the lists `max` and `min` as integers, two per entry."""
        return _encode(self._max), _encode(self._min)

    @classmethod
    def decode(cls, max: Sequence[object], min: Sequence[object]) -> Self:  # noqa: A002
        """Read what :meth:`encode` returns. The order of the entries is not checked.

        Raises `CorruptError` for anything but integers, for an odd number of them, or for a sum
        beyond 64 bits.
        """
        index = cls()
        index._max = _decode(max)
        index._min = _decode(min)
        return index

    def check(self, blocks: int) -> bool:
        """Check the order of the entries.

        * ``blocks``: Number of blocks of the file.

        Returns: False when the lists are damaged in a way that only an old appending writer leaves
        behind: `min` offsets that repeat or descend, and then maybe too few blocks; or when there
        are more of them than blocks. The index must not be trusted then, but the file is as good as
        without it.
        Raises `CorruptError` for any other disorder.
        """
        if self.is_empty:
            return True
        if not (_ascending(self._max.times) and _ascending(self._min.times)):
            raise CorruptError("its times are not ascending")
        if not _ascending(self._max.offsets) or self._max.offsets[0] < 0:
            raise CorruptError("its max offsets are not ascending")
        if self._min.offsets[0] < 0:
            raise CorruptError("a min offset is negative")
        if not _ascending(self._min.offsets):
            return False
        if self.blocks != blocks:
            if self.blocks < blocks and self._min.offsets[-1] >= self.blocks:
                return False
            raise CorruptError(f"it covers {self.blocks} blocks of {blocks}")
        return self.left <= blocks + 1


def _columns(pairs: Iterable[Pair]) -> tuple[Iterable[int], Iterable[int]]:
    listed = list(pairs)
    return (time_us for time_us, _ in listed), (offset for _, offset in listed)


def _ascending(values: list[int]) -> bool:
    return all(a < b for a, b in pairwise(values))


def encode_steps(values: Iterable[int]) -> list[int]:
    """Encode numbers as differences to the line through the two before.

    >>> encode_steps([0, 1000, 2010])
    [0, 1000, 10]
    """
    steps = []
    last = slope = 0
    for value in values:
        steps.append(value - last - slope)
        slope = value - last
        last = value
    return steps


def decode_steps(steps: Iterable[int]) -> list[int]:
    """Undo :func:`encode_steps`."""
    return list(accumulate(accumulate(steps)))


def malformed(thing: str, expected: str, value: object) -> CorruptError:
    """Return the error for a stored value that does not have the types it should have."""
    actual = type(value).__name__
    if isinstance(value, list):
        actual = (
            f"a list of {', '.join(type(member).__name__ for member in value[:10]) or 'nothing'}"
        )
    return CorruptError(f"malformed {thing}: expected {expected}, got {actual}")


def integers(values: object, what: str) -> list[int]:
    """Require a list of 64-bit integers. Raises `CorruptError` if it is something else."""
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise CorruptError(f"{what} is not a list of integers")
    return in_int64(values, what)


def in_int64(values: list[int], what: str) -> list[int]:
    """Require numbers that fit 64 bits with a sign. Raises `CorruptError` if one does not."""
    if values and (min(values) not in _INT64 or max(values) not in _INT64):
        raise CorruptError(f"{what} has a number beyond 64 bits")
    return values


def _encode(entries: _Entries) -> list[int]:
    both = zip(encode_steps(entries.times), encode_steps(entries.offsets), strict=True)
    return [step for pair in both for step in pair]


def _decode(values: Sequence[object]) -> _Entries:
    steps = integers(values, "a list of times")
    if len(steps) % 2:
        raise CorruptError("a list of times has an odd number of integers")
    times = in_int64(decode_steps(steps[0::2]), "a list of times")
    return _Entries(times, in_int64(decode_steps(steps[1::2]), "a list of times"))
