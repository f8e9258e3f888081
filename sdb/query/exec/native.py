"""Runs statements that a scan answers on its own."""

from __future__ import annotations

from sdb import _core
from sdb.query.exec.execution import Execution
from sdb.query.exec.topk import Ordered, bounds, is_worth_it, note
from sdb.query.plan.operations import DataShape, HashAggregate, Take, TopK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MOST_BYTES = 256 << 20
"""Groups and rows that take more memory are left to the engine, if no other bound is given."""


class Grouped:
    """Groups, made when they are asked for.

    * ``instead``: Has an engine do it all, when groups take more memory.
    """

    def __init__(
        self,
        scan: _core.LaneScan,
        groups: HashAggregate,
        most_bytes: int,
        instead: Callable[[], Any],
    ) -> None:
        self._scan = scan
        self._groups = groups
        self._most_bytes = most_bytes
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
    scan = _core.LaneScan(
        list(operation.scan.dataset.streamed(limit)),
        [(level, list(path), letter) for level, path, letter in lanes],
        explode=[(level, list(path), kind) for level, path, kind in operation.scan.explode],
        predicate=operation.scan.predicate,
        threads=threads,
        limit=limit,
    )
    result = Execution(operation.columns, scan, None, (scan,), scan.interrupt)
    if isinstance(operation, DataShape):
        result.reader = Shaped(scan, operation.letters)
    elif isinstance(operation, HashAggregate):
        result.reader = Grouped(scan, operation, most_bytes, _instead(result, engine))
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
