"""Runs statements that want the first rows in some order.

What rows are sorted by is read first, and only where a row comes from is kept. The rows that come
out are made afterwards, from the chunks that hold them; no other row ever is.

When they are sorted by a time that is indexed, or by a path that zones are known of, blocks are
read from that which may have the very first rows on, until no other can have one that is wanted: as
soon as enough rows are known that are in front of the bound of the next block. Zones give bounds of
values of all types (:mod:`sdb.query.catalog.blockfronts`). A time index is sound for a block if
none of its rows is in front of the bound that it gives, that is, if its values at the path are

* timestamps, of which the index knows all;
* of types that are behind timestamps in this direction: strings when times ascend, numbers and
  booleans when they descend, lists and structures in any case, NULL with NULLS LAST;
* MISSING: such rows do not come out, or behind all others: the engine finds them.

Which types there are is what the file says of itself. A condition that only timestamps satisfy will
do as well.

Of local files only bytes that are needed are read, so that it costs little to come back to a block
for its rows. Where blocks come whole over a network, the engine makes all rows while it has them,
unless an index helps; then the blocks that were read last are at hand for the second look.
"""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import chain

from sdb import _core
from sdb.query.analyze.types import ANY, BOOL, LIST, NULL, NUMBER, STRING, STRUCT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    from sdb.query.catalog.blockfronts import Front
    from sdb.query.catalog.dataset import ValuePath
    from sdb.query.plan.operations import TopK
    from sdb.query.plan.scans import Predicate


Bounds: TypeAlias = "list[list[Front]]"
"""For each source and each of its blocks a value that none of its rows is in front of."""


class Ordered:
    """The first rows, found when they are asked for.

    * ``bounds``: What :func:`bounds` gives.
    * ``threads``: Number of threads; 0 for as many as there are cores.
    * ``instead``: Has an engine do it all, when they take more memory.
    * ``scans``: What reads the keys, and what reads the rows.
    """

    def __init__(
        self,
        first: TopK,
        bounds: Bounds,
        threads: int,
        most_bytes: int,
        instead: Callable[[], Any],
    ) -> None:
        self._first = first
        self._bounds = bounds
        self._most_bytes = most_bytes
        self._instead = instead
        sources = _kept(first.scan.dataset.sources)
        keys, rows = (
            [(level, list(path), letter) for level, path, letter in lanes]
            for lanes in (first.keys, first.lanes)
        )
        self.scans = (
            _core.LaneScan(sources, keys, predicate=first.scan.predicate, threads=threads),
            _core.LaneScan(sources, rows, threads=threads),
        )

    def interrupt(self) -> None:
        """Make it stop soon."""
        for scan in self.scans:
            scan.interrupt()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand out a stream of the rows."""
        stream = self._found() or self._instead()
        return stream.__arrow_c_stream__(requested_schema)

    def _found(self) -> _core.ArrowTable | None:
        first = self._first
        keys, rows = self.scans
        most = first.limit + first.offset
        first_rows = keys.first(first.sort, most, self._bounds, most_bytes=self._most_bytes)
        if first_rows is None:
            return None
        numbers, blocks = first_rows
        if first.keeps and len(numbers) < most:
            return None
        table = rows.pick(numbers[first.offset :], most_bytes=self._most_bytes)
        if table is not None:
            first.scan.dataset.visited(blocks)
        return table


def _kept(sources: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Keep the blocks that were read last for a second look."""

    @lru_cache(maxsize=2)
    def read(source: int, block: int) -> object:
        return sources[source][0](block)

    return [(partial(read, number), *others) for number, (_, *others) in enumerate(sources)]


def bounds(first: TopK) -> Bounds:
    """Return for each block a value that its rows are not in front of."""
    _, descending, nulls_last = first.sort[0]
    path = first.keys[0][1]
    beside = LIST | STRUCT
    beside |= BOOL | NUMBER if descending else STRING
    beside |= NULL if nulls_last else 0
    if only_times(first.scan.predicate, path):
        beside = ANY
    return first.scan.dataset.bounds(path, latest=descending, beside=beside)


def only_times(predicate: Predicate | None, path: ValuePath) -> bool:
    """Return whether only rows with a timestamp at a path satisfy a predicate."""
    match predicate:
        case ("and", parts):
            return any(only_times(part, path) for part in parts)
        case ("cmp", where, "=" | "<" | "<=" | ">" | ">=", ("u", _)):
            return tuple(where) == path
        case _:
            return False


def is_worth_it(first: TopK, bounds: Bounds) -> bool:
    """Return whether an engine would have to read more."""
    return not first.scan.dataset.is_remote or None not in chain.from_iterable(bounds)


def note(first: TopK, bounds: Bounds) -> str:
    """Report which blocks are read, if that depends on their rows."""
    if all(bound is None for bound in chain.from_iterable(bounds)):
        return ""
    path = ".".join(map(str, first.keys[0][1]))
    is_time = all(isinstance(bound, int | None) for bound in chain.from_iterable(bounds))
    words = ("earliest", "latest") if is_time else ("least", "greatest")
    direction = words[first.sort[0][1]]
    return f"from the {direction} {path} on, as many as {first.limit + first.offset:,} rows need"
