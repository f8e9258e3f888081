"""Lists of descriptors, of which only those that matter become objects: a table has a million."""

from __future__ import annotations

from functools import lru_cache

from sdb.errors import CorruptError, UnsupportedError
from sdb.packfile.prune import prune
from sdb.packfile.prune.predicate import Compare, Instant
from sdb.packfile.trailer.sparseindex import SparseIndex
from sdb.table.format import codec
from sdb.table.format.descriptor import Descriptor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sdb.packfile.prune.predicate import PathTest, Predicate
    from sdb.packfile.prune.prune import Intervals
    from sdb.table.format.manifests import IndirectRef

_OPEN = 4
"""How many lists are kept decompressed; a list has some MB."""

_LEAST, _MOST = -(2**63), 2**63 - 1


class DescriptorList:
    """The descriptors of one list: facts of all in columns, and each as an object when asked for.

    * ``check``: Called with the key of each packfile before it is read; may raise.
    * ``sizes, rows, blocks, stored, decompressed``: Sizes of packfiles, their rows, number of
      blocks, bytes of these, and bytes of all chunks when they are decompressed. What has to be
      read from the descriptor itself is negative.
    * ``others``: Descriptors that are not as writers make them, which the columns leave out.

    Raises `CorruptError` if it is damaged, or is not the list of the reference.
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
                raise CorruptError(f"expected {ref.size_bytes:,} bytes, got {len(data):,}")  # noqa: TRY301
            columns = _core.DescriptorColumns(codec.decompress(data, codec.ALGORITHM))
            if len(columns) != ref.objects:
                raise CorruptError(f"expected {ref.objects:,} descriptors, got {len(columns):,}")  # noqa: TRY301
        except (CorruptError, UnsupportedError) as error:
            raise error.within(f"reading {ref.key}", path=ref.key) from None
        self._columns = columns
        self.sizes, self.rows = _numbers(columns.sizes), _numbers(columns.rows)
        self.blocks, self.stored = _numbers(columns.blocks), _numbers(columns.stored)
        self.decompressed = _numbers(columns.decompressed)
        self.others = frozenset(columns.others())
        self._constants: list[SparseIndex] | None = None

    def __len__(self) -> int:
        """Return their number."""
        return len(self._columns)

    def __getitem__(self, number: int) -> Descriptor:
        """Return one, checked.

        Raises `CorruptError` or `UnsupportedError` if it is malformed, or says what cannot be.
        """
        descriptor = self._made(number, is_checked=True)
        self._check(descriptor.key)
        return descriptor

    def key(self, number: int) -> str:
        """Return the key of a packfile."""
        key: str = self._columns.key(number) or self._made(number).key
        self._check(key)
        return key

    def keys(self) -> list[str]:
        """Return the keys of all packfiles. Raises `CorruptError` if a descriptor is malformed."""
        all_keys = self._columns.keys()
        for number in self.others:
            all_keys[number] = self._made(number).key
        return all_keys

    def _made(self, number: int, *, is_checked: bool = False) -> Descriptor:
        try:
            descriptor = Descriptor.from_struct(self._columns.value(_content(self._data), number))
            return descriptor.checked() if is_checked else descriptor
        except (CorruptError, UnsupportedError) as error:
            raise error.within(f"reading {self._ref.key}", path=self._ref.key) from None

    def chosen(self, test: Predicate) -> Intervals:
        """Return the numbers of the packfiles that may have rows for which a condition is TRUE.

        * ``test``: The condition. Times and constants decide here; what else there is to a
          packfile, its own trailer.
        """
        return prune.possible(test, len(self), self._compared)

    def _compared(self, test: PathTest) -> Intervals:
        """Return the packfiles for which a test may be TRUE, just as their trailers would."""
        if not isinstance(test, Compare) or None in test.path:
            return ((0, len(self)),) if len(self) else ()
        within = self._within(test)
        if len(test.path) > 1:
            return within
        if self._constants is None:
            structs = self._columns.constants()
            self._constants = [SparseIndex(1, constants=struct) for struct in structs]
        without, fitting = [], []
        for number, sparse in enumerate(self._constants):
            if test.path[0] not in sparse.constants:
                without.append(number)
            elif prune.blocks(test, sparse):
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
        first, last = (min(max(_LEAST, bound), _MOST) for bound in (first, last))
        return tuple(self._columns.within([str(name) for name in test.path], first, last))


def _unchecked(_: str) -> None:
    """Check nothing, for callers that read no packfile."""


def _numbers(column: bytes) -> Sequence[int]:
    return memoryview(column).cast("q")


@lru_cache(_OPEN)
def _content(data: bytes) -> bytes:
    return codec.decompress(data, codec.ALGORITHM)
