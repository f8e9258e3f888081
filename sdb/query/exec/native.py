"""Runs statements that a scan answers on its own."""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import chain

from sdb import _core
from sdb.query.analyze.types import ANY, BOOL, LIST, NULL, NUMBER, STRING, STRUCT
from sdb.query.exec.countedtimes import counted_times
from sdb.query.exec.execution import Execution
from sdb.query.plan.scans import DataShape, HashAggregate, Take, TopK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    from sdb.query.catalog.blockfronts import Front
    from sdb.query.catalog.dataset import ValuePath
    from sdb.query.plan.scans import Predicate

_MOST_BYTES = 256 << 20
"""Groups and rows that take more memory are left to the engine, if no other bound is given."""


class Grouped:
    """Groups, made when they are asked for.

    * ``counted``: Rows of groups that are not read, by the time that these have in common.
    * ``instead``: Has an engine do it all, when groups take more memory.
    """

    def __init__(
        self,
        scan: _core.LaneScan,
        groups: HashAggregate,
        most_bytes: int,
        counted: Mapping[int, int],
        instead: Callable[[], Any],
    ) -> None:
        self._scan = scan
        self._groups = groups
        self._most_bytes = most_bytes
        self._counted = counted
        self._instead = instead

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand out a stream of the groups."""
        groups = self._groups
        made = self._scan.aggregate(
            groups.keys,
            groups.calls,
            groups.outputs,
            sort=groups.sort,
            limit=groups.limit,
            offset=groups.offset,
            most_bytes=self._most_bytes,
            keeps=groups.keeps,
            counted=[*self._counted.items()],
        )
        stream = self._instead() if made is None else made
        return stream.__arrow_c_stream__(requested_schema)


class Shaped:
    """The shape of all rows, found out when it is asked for."""

    def __init__(self, scan: _core.LaneScan, letters: tuple[str, ...]) -> None:
        self._scan = scan
        self._letters = letters

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand out a stream of one row."""
        return self._scan.shape(self._letters).__arrow_c_stream__(requested_schema)


def run(
    operation: DataShape | Take | HashAggregate | TopK,
    engine: Callable[[], Execution],
    *,
    threads: int = 0,
    memory_bytes: int | None = None,
) -> Execution:
    """Run a statement on its scan.

    * ``engine``: Runs the statement with memory that can be on disk, when that of groups is not
      enough.
    * ``threads``: Number of threads; 0 for as many as there are cores.
    * ``memory_bytes``: Bound for the memory that groups, or the first rows, take.
    """
    most_bytes = _MOST_BYTES if memory_bytes is None else min(memory_bytes, _MOST_BYTES)
    if isinstance(operation, TopK):
        return _ordered(operation, engine, threads, most_bytes)
    # A shape is about whole rows.
    lanes = ((0, (), "v"),) if isinstance(operation, DataShape) else operation.lanes
    limit = operation.limit if isinstance(operation, Take) else None
    counted, dataset = (
        counted_times(operation)
        if isinstance(operation, HashAggregate)
        else ({}, operation.scan.dataset)
    )
    takes_each = operation.scan.predicate is None and not operation.scan.explode
    scan = _core.LaneScan(
        list(dataset.streamed(limit, takes_each=takes_each)),
        [(level, list(path), letter) for level, path, letter in lanes],
        explode=[(level, list(path), kind) for level, path, kind in operation.scan.explode],
        predicate=operation.scan.predicate,
        threads=threads,
        limit=limit,
        origins=operation.scan.origins(lanes),
    )
    result = Execution(operation.columns, scan, None, (scan,), scan.interrupt)
    if isinstance(operation, DataShape):
        result.reader = Shaped(scan, operation.letters)
    elif isinstance(operation, HashAggregate):
        result.reader = Grouped(scan, operation, most_bytes, counted, _instead(result, engine))
    return result


def _ordered(
    first: TopK,
    engine: Callable[[], Execution],
    threads: int,
    most_bytes: int,
) -> Execution:
    known = bounds(first)
    if not is_worth_it(first, known):
        return engine()
    result = Execution(first.columns, None, note=note(first, known))
    instead = _instead(result, engine)
    reader = Ordered(first, known, threads, most_bytes, instead)
    result.reader, result.scans, result.interrupt = reader, reader.scans, reader.interrupt
    return result


def _instead(result: Execution, engine: Callable[[], Execution]) -> Callable[[], Any]:
    """Close an engine with the result, should one be made."""

    def run() -> Any:  # noqa: ANN401 - a stream of Arrow data
        other = engine()
        result.on_close(other.close)
        result.scans += other.scans
        result.interrupt = other.interrupt
        return other.reader

    return run


# Runs statements that want the first rows in some order.

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
