"""Lists of descriptors, of which only those that matter are read: a list has thousands."""

from __future__ import annotations

from sdb.errors import CorruptError
from sdb.packfile.prune import blocks
from sdb.packfile.sparseindex import SparseIndex, build_indices
from sdb.packfile.timeindex import TimeIndex
from sdb.table.descriptor import Descriptor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sdb.packfile.predicate import Predicate
    from sdb.packfile.sparseindex import Path

_PAIR = 2


class DescriptorList:
    """The descriptors of one list, each made when it is asked for.

    Parameters
    ----------
    values : sequence
        What is stored of each.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values
        self._made: dict[int, Descriptor] = {}
        self._indices: dict[Path, TimeIndex] | None = None

    def __len__(self) -> int:
        """Give their number."""
        return len(self._values)

    def __getitem__(self, number: int) -> Descriptor:
        """Give one, checked.

        Raises
        ------
        CorruptError
            It is malformed, or says what cannot be.
        """
        if number not in self._made:
            self._made[number] = Descriptor.from_struct(self._values[number]).checked()
        return self._made[number]

    def chosen(self, test: Predicate) -> list[int]:
        """Give the numbers of the packfiles that may have rows for which a condition is TRUE.

        Parameters
        ----------
        test : Predicate
            The condition. Its times decide here; what else there is to a packfile, its own trailer.

        Returns
        -------
        list of int
            The numbers, ascending.
        """
        if self._indices is None:
            self._indices = _indices(self._values)
        found = blocks(test, SparseIndex(len(self._values), indices=self._indices))
        return [number for start, stop in found for number in range(start, stop)]


def _indices(values: Sequence[Any]) -> dict[Path, TimeIndex]:
    """Make time indexes in which a packfile is what a block is in a packfile.

    A path has one if all packfiles have an index of it that can be trusted.
    """
    ranges = []
    shared: set[Path] | None = None
    for value in values:
        try:
            found = _ranges(value["trailer"]["sparse"])
        except (KeyError, TypeError, IndexError, CorruptError):
            found = {}  # whoever wants the packfile is told
        shared = set(found) if shared is None else shared & found.keys()
        if not shared:
            return {}
        ranges.append(found)
    kept = shared or set()
    return build_indices({path: found[path] for path in kept} for found in ranges)


def _ranges(sparse: dict[str, Any]) -> dict[Path, tuple[int, int]]:
    """Give the first and last time of each index of a packfile that can be trusted."""
    count = sparse["blocks"]
    found = {}
    for index in sparse["indices"]:
        path, stored = tuple(index["path"]), index["ranges"]
        upper, lower = stored["max"], stored["min"]
        if len(upper) == len(lower) == _PAIR and upper[1] == count and lower[1] == 0:
            first_us, last_us = lower[0], upper[0]
        else:
            whole = TimeIndex.decode(upper, lower)
            if whole.is_empty or not whole.check(count):
                continue
            first_us, last_us = whole.first_us, whole.last_us
        if type(first_us) is int and type(last_us) is int and first_us <= last_us:
            found[path] = (first_us, last_us)
    return found
