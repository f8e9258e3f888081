"""Lists of descriptors, of which only those that matter become objects: a table has a million."""

from __future__ import annotations

from functools import lru_cache

from sdb.errors import CorruptError, UnsupportedError
from sdb.packfile.prune import prune
from sdb.packfile.prune.predicate import Compare, Instant
from sdb.packfile.trailer.sparseindex import SparseIndex
from sdb.table.format import compression
from sdb.table.format.descriptor import Descriptor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sdb.packfile.prune.predicate import PathTest, Predicate
    from sdb.packfile.prune.prune import Intervals
    from sdb.table.format.manifests import IndirectRef

_OPEN = 4
"""So many lists are kept decompressed; a list has some MB."""

_LEAST, _MOST = -(2**63), 2**63 - 1


class DescriptorList:
    """The descriptors of one list: facts of all in columns, and each as an object when asked for.

    Parameters
    ----------
    data : bytes
        The object.
    ref : IndirectRef
        The reference to it.
    check : callable, optional
        Told the key of each packfile that is asked for, and raises if it may not be read.

    Attributes
    ----------
    sizes, rows, blocks, stored, decompressed : sequence of int
        Sizes of packfiles, their rows, number of blocks, bytes of these, and bytes of all chunks
        when they are decompressed. What has to be read from the descriptor itself is negative.
    others : frozenset of int
        Descriptors that are not as writers make them, of which the columns tell nothing.

    Raises
    ------
    CorruptError
        It is damaged, or is not the list that the reference tells of.
    """

    def __init__(
        self, data: bytes, ref: IndirectRef, check: Callable[[str], None] | None = None
    ) -> None:
        from sdb import _core

        self._check = check or _unchecked
        self._data = data
        self._ref = ref
        try:
            if len(data) != ref.size_bytes:
                raise CorruptError(f"{len(data):,} bytes, not {ref.size_bytes:,}")  # noqa: TRY301
            found = _core.DescriptorColumns(compression.decompress(data, compression.ALGORITHM))
            if len(found) != ref.objects:
                raise CorruptError(f"{len(found):,} descriptors, not {ref.objects:,}")  # noqa: TRY301
        except (CorruptError, UnsupportedError) as error:
            raise error.within(f"reading {ref.key}", path=ref.key) from None
        self._columns = found
        self.sizes, self.rows = _numbers(found.sizes), _numbers(found.rows)
        self.blocks, self.stored = _numbers(found.blocks), _numbers(found.stored)
        self.decompressed = _numbers(found.decompressed)
        self.others = frozenset(found.others())
        self._constants: list[SparseIndex] | None = None

    def __len__(self) -> int:
        """Give their number."""
        return len(self._columns)

    def __getitem__(self, number: int) -> Descriptor:
        """Give one, checked.

        Raises
        ------
        CorruptError, UnsupportedError
            It is malformed, or says what cannot be.
        """
        found = self._made(number, is_checked=True)
        self._check(found.key)
        return found

    def key(self, number: int) -> str:
        """Give the key of a packfile."""
        found: str = self._columns.key(number) or self._made(number).key
        self._check(found)
        return found

    def keys(self) -> list[str]:
        """Give the keys of all packfiles.

        Raises
        ------
        CorruptError
            A descriptor is malformed.
        """
        found = self._columns.keys()
        for number in self.others:
            found[number] = self._made(number).key
        return found

    def _made(self, number: int, *, is_checked: bool = False) -> Descriptor:
        try:
            found = Descriptor.from_struct(self._columns.value(_content(self._data), number))
            return found.checked() if is_checked else found
        except (CorruptError, UnsupportedError) as error:
            raise error.within(f"reading {self._ref.key}", path=self._ref.key) from None

    def chosen(self, test: Predicate) -> Intervals:
        """Give the numbers of the packfiles that may have rows for which a condition is TRUE.

        Parameters
        ----------
        test : Predicate
            The condition. Times and constants decide here; what else there is to a packfile, its
            own trailer.

        Returns
        -------
        Intervals
            The numbers.
        """
        return prune.possible(test, len(self), self._compared)

    def _compared(self, test: PathTest) -> Intervals:
        """Give the packfiles for which a test may be TRUE, just as their trailers would."""
        if not isinstance(test, Compare) or None in test.path:
            return ((0, len(self)),) if len(self) else ()
        within = self._within(test)
        if len(test.path) > 1:
            return within
        if self._constants is None:
            found = self._columns.constants()
            self._constants = [SparseIndex(1, constants=one) for one in found]
        without, fitting = [], []
        for number, one in enumerate(self._constants):
            if test.path[0] not in one.constants:
                without.append(number)
            elif prune.blocks(test, one):
                fitting.append(number)
        if len(without) == len(self._constants):
            return within
        others = prune.common(within, tuple(self._columns.having(without)))
        return prune.union([*others, *self._columns.having(fitting)])

    def _within(self, test: Compare) -> Intervals:
        if not isinstance(test.value, Instant) or test.op == "<>":
            return ((0, len(self)),) if len(self) else ()
        us = test.value.us
        first = {">": us + 1, ">=": us, "=": us}.get(test.op, _LEAST)
        last = {"<": us - 1, "<=": us, "=": us}.get(test.op, _MOST)
        first, last = (min(max(_LEAST, one), _MOST) for one in (first, last))
        return tuple(self._columns.within([str(name) for name in test.path], first, last))


def _unchecked(_: str) -> None:
    """Check nothing: who asks reads no packfile."""


def _numbers(column: bytes) -> Sequence[int]:
    return memoryview(column).cast("q")


@lru_cache(_OPEN)
def _content(data: bytes) -> bytes:
    return compression.decompress(data, compression.ALGORITHM)
