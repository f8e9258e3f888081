"""Filters as they are stored: in slices by hash, of which one question reads one or two.

A filter is up to a fiftieth of a packfile, and hardly any of it is about the value that somebody
looks for. The bits that a value looks at in a plane follow its hash; so the parts of all planes of
all blocks that are for the same hashes lie together. See the section on statistics in
docs/format.md.
"""

from __future__ import annotations

from itertools import chain, islice, pairwise
from operator import mul

from sdb import ion, notes
from sdb.errors import CorruptError
from sdb.packfile.trailer.ribbon import (
    MAX_PLANES,
    RibbonFilter,
    ValueSet,
    hash_of_integer,
    hash_of_text,
)
from sdb.packfile.trailer.timeindex import malformed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from typing import Self

    from sdb._core import RibbonSlices

CHECKSUM_BYTES = 8

_MOST_BITS = 16
_SET_BYTES = 64  # about, of what the head says of a set
_MOST_READS = 8
"""Where a question takes more reads, or most of a filter, all of it is read."""


class SlicedFilter:
    """A filter of which only the head is in memory; its slices are read on demand.

    It answers like the :class:`sdb.packfile.trailer.ribbon.RibbonFilter` that it was made of.
    What is damaged is not known: then each block may have the value.
    """

    def __init__(
        self,
        *,
        is_text: bool,
        counts: Sequence[int | None],
        rows: Sequence[int],
        planes: Sequence[int],
        slices: RibbonSlices,
        checksums: bytes,
        short: bytes,
        read: Callable[[int, int], bytes],
    ) -> None:
        self._is_text = is_text
        self._counts = counts
        self._rows = rows
        self._planes = planes
        self._slices = slices
        self._checksums = checksums
        self._short = short
        self._read = read
        self._whole: RibbonFilter | None = None
        self._known: dict[int, bytes] = {}

    @property
    def held_bytes(self) -> int:
        """About how many bytes of it are in memory."""
        head = len(self._checksums) + len(self._short) + _SET_BYTES * len(self._rows)
        slices = sum(map(len, tuple(self._known.values())))
        return head + slices + (0 if self._whole is None else self._whole.size_bytes)

    def blocks(self, value: object) -> tuple[bool, ...]:
        """Report for each block whether it may have a value."""
        return next(self.blocks_of_each([value]))

    def blocks_of_each(self, values: Iterable[object]) -> Iterator[tuple[bool, ...]]:
        """Report for each of some values which blocks may have it.

        * ``values``: The values: `str` for texts, `int` or `float` for integers.

        Yields: For each block, False: no value at the path is equal to it.
        """
        hashed = hash_of_text if self._is_text else hash_of_integer
        values = [*values]
        numbers = [*map(hashed, values)]
        try:
            read = self._read_near([number for number in numbers if number is not None])
        except CorruptError as error:
            notes.tell(f"statistics are ignored: {error.message}")
            yield from [(True,) * len(self._counts)] * len(values)
            return
        if read is None:
            yield from self.whole().blocks_of_each(values)
            return
        for number in numbers:
            if number is None:
                yield (True,) * len(self._counts)
                continue
            near = b"".join(read[at] for at in range(*self._slices.near(number)))
            held = iter(self._slices.may_hold(near, self._short, number))
            yield tuple([count is None or any([*islice(held, count)]) for count in self._counts])

    def whole(self) -> RibbonFilter:
        """Read all of it. Raises `CorruptError` if it is damaged."""
        if self._whole is None:
            slices = b"".join(self._checked(0, 1 << self._slices.bits))
            bits = self._slices.whole(slices, self._short)
            value_sets = map(ValueSet, self._rows, bits, self._planes)
            self._whole = RibbonFilter(
                self._is_text,
                tuple(
                    [
                        None if count is None else tuple(islice(value_sets, count))
                        for count in self._counts
                    ]
                ),
            )
        return self._whole

    def _read_near(self, numbers: Iterable[int]) -> dict[int, bytes] | None:
        """Read the slices that some hashes look at, by number; None: all of the filter is read."""
        near = {at for number in numbers for at in range(*self._slices.near(number))}
        runs = _runs(near)
        is_most = 2 * len(near) > 1 << self._slices.bits
        if self._whole is not None or is_most or len(runs) > _MOST_READS:
            self.whole()
            return None
        read = self._known
        if not read.keys() >= near:
            read = {}
            for start, stop in runs:
                read.update(zip(range(start, stop), self._checked(start, stop), strict=True))
            self._known = read  # the same is often asked again
        return read

    def _checked(self, start: int, stop: int) -> Iterator[bytes]:
        """Read some slices that follow each other. Raises `CorruptError` if one is damaged."""
        from sdb import _core

        starts = [self._slices.start(at) for at in range(start, stop + 1)]
        data = self._read(starts[0], starts[-1])
        for number, (begin, end) in enumerate(pairwise(starts), start):
            slice_ = data[begin - starts[0] : end - starts[0]]
            checksum = self._checksums[CHECKSUM_BYTES * number : CHECKSUM_BYTES * (number + 1)]
            if _core.hash_section(slice_).to_bytes(CHECKSUM_BYTES, "big") != checksum:
                raise CorruptError("a slice of a filter is damaged: its checksum is wrong")
            yield slice_

    @classmethod
    def decode(
        cls,
        head: bytes,
        blocks: int,
        *,
        is_text: bool,
        size_bytes: int,
        read: Callable[[int, int], bytes],
    ) -> Self:
        """Read the head of what is stored.

        * ``head``: The first that :func:`encode_filter` returned.
        * ``blocks``: Number of blocks of the file.

        Raises `CorruptError` if the head is malformed.
        """
        from sdb import _core

        value = ion.loads(head)
        kinds = [list, list, list, list, int, bytes, bytes]
        if not isinstance(value, list) or [*map(type, value)] != kinds:
            raise malformed("filter", "a list of 4 lists, a number and 2 blobs", value)
        counts, rows, sizes, planes, bits, checksums, short = value
        for number in (*rows, *sizes, *planes, *(count for count in counts if count is not None)):
            if type(number) is not int or number < 0:
                raise CorruptError(
                    f"invalid number in a filter: expected 0 or more, got {number!r}"
                )
        if not all(map(range(1, MAX_PLANES + 1).__contains__, planes)):
            raise CorruptError(
                f"invalid planes of a filter: expected 1 to {MAX_PLANES} for each set"
            )
        if len(counts) != blocks:
            message = f"expected {blocks:,} as in the file, got {len(counts):,}"
            raise CorruptError(f"invalid number of blocks in a filter: {message}")
        if not len(rows) == len(sizes) == len(planes) == sum(count or 0 for count in counts):
            raise CorruptError("invalid sets of a filter: its lists differ in length")
        if sum(map(mul, sizes, planes)) != size_bytes + len(short):
            raise CorruptError("invalid sizes of sets in a filter: they do not add up to its bytes")
        if bits not in range(_MOST_BITS + 1) or len(checksums) != CHECKSUM_BYTES << bits:
            raise CorruptError("invalid slices of a filter: expected a checksum for each")
        slices = _core.RibbonSlices(sizes, planes, bits)
        if slices.short_bytes != len(short):
            raise CorruptError(
                "invalid short sets of a filter: their sizes do not add up to their bytes"
            )
        return cls(
            is_text=is_text,
            counts=counts,
            rows=rows,
            planes=planes,
            slices=slices,
            checksums=checksums,
            short=short,
            read=read,
        )


def encode_filter(values: RibbonFilter) -> tuple[bytes, bytes]:
    """Return the bytes that are stored of a filter."""
    from sdb import _core

    sets = [*chain.from_iterable(block or () for block in values.sets)]
    sizes, planes = (
        [value_set.plane_bytes for value_set in sets],
        [value_set.planes for value_set in sets],
    )
    slices = _core.RibbonSlices(sizes, planes)
    data, short = slices.split([value_set.bits for value_set in sets])
    starts = [slices.start(at) for at in range((1 << slices.bits) + 1)]
    checksums = [_core.hash_section(data[begin:end]) for begin, end in pairwise(starts)]
    head = [
        [None if block is None else len(block) for block in values.sets],
        [value_set.rows for value_set in sets],
        sizes,
        planes,
        slices.bits,
        b"".join(checksum.to_bytes(CHECKSUM_BYTES, "big") for checksum in checksums),
        short,
    ]
    return ion.dumps(head), data


def _runs(numbers: Collection[int]) -> list[tuple[int, int]]:
    """Join different numbers that follow each other to half-open ranges.

    >>> _runs({5, 3, 4, 9})
    [(3, 6), (9, 10)]
    """
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number:
            runs[-1] = runs[-1][0], number + 1
        else:
            runs.append((number, number + 1))
    return runs
