"""The tables of a query: which packfiles they are, and which of their blocks have to be read."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate, chain

from sdb import _core, ion
from sdb.errors import CorruptError, from_os
from sdb.packfile.prune.predicate import Anywhere
from sdb.packfile.prune.prune import Intervals, common, union
from sdb.query.analyze.types import ANY, BOOL, LIST, MISSING, NULL, NUMBER, STRING, STRUCT, TIME
from sdb.query.catalog.blockfronts import front
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from sdb.packfile.prune.predicate import Predicate
    from sdb.packfile.prune.prune import Reason
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.query.catalog.blockfronts import Front
    from sdb.query.catalog.dataset import ValuePath
    from sdb.query.catalog.schemarows import SchemaRows
    from sdb.table.schema.columns import TableSchema

_OPENERS = 16
# TYPE_BIT by Ion type; bytes read as text.
_BITS = {
    0: NULL,
    1: BOOL,
    2: NUMBER,
    3: NUMBER,
    4: NUMBER,
    6: TIME,
    7: STRING,
    8: STRING,
    9: STRING,
    10: STRING,
    11: LIST,
    13: STRUCT,
}
_INTEGERS = 1 << 2 | 1 << 3
_WHOLE = (-(1 << 63), (1 << 64) - 1)
_MANY_FILES = 1000
"""Most packfiles of which trailers are read for the names in them, where all are read whole."""
_FEW_FILES = 64
"""Most packfiles of which statistics are read only to know what values a path has."""


def _identified(pack: Packfile, read: Callable[[int], Any]) -> Callable[[int], object]:
    """Return what gives blocks with their identities, where they have one."""
    from sdb.packfile.read import keptblocks

    def identified(number: int) -> object:
        identity = pack.identity(number)
        if not identity:
            return read(number)
        if not pack.is_remote:
            return read(number), identity
        block = keptblocks.kept(identity)
        if block is None:
            block = read(number)
            keptblocks.put(identity, block)
        return block, identity

    return identified


def _type(constant: object) -> int:
    """Return the type of what all rows have."""
    match constant:
        case bool():
            return BOOL
        case int() | float():
            return NUMBER
        case str():
            return STRING
        case _:
            return ANY if ion.instant_to_us(constant) is None else TIME


@record
class PackfileScan:
    """Blocks of one packfile."""

    pack: Packfile  # the packfile, open as long as any of its blocks may be read
    intervals: Intervals  # the blocks to read

    @property
    def blocks(self) -> list[int]:
        """Numbers of the blocks to read."""
        return list(chain.from_iterable(range(start, stop) for start, stop in self.intervals))

    @property
    def block_count(self) -> int:
        """Number of the blocks to read."""
        return sum(stop - start for start, stop in self.intervals)

    @property
    def _is_whole(self) -> bool:
        """True if all blocks are read: then nothing but their sums matters."""
        return self.block_count == self.pack.block_count

    @property
    def compressed_bytes(self) -> int:
        """Size of the blocks to read, as they are stored."""
        if self._is_whole:
            return self.pack.stored_bytes
        block_range = self.pack.trailer.block_range
        return sum(
            block_range(stop - 1)[1] - block_range(start)[0] for start, stop in self.intervals
        )

    @property
    def decompressed_bytes(self) -> int:
        """Size of the blocks to read, decompressed."""
        if self._is_whole:
            return self.pack.decompressed_bytes
        trailer = self.pack.trailer
        return sum(trailer.blocks[number].chunks for number in self.blocks) * trailer.filled_bytes

    @property
    def rows(self) -> int | None:
        """Rows in the blocks to read, when the writer counted them."""
        if self._is_whole:
            return self.pack.row_count
        summary = self.pack.trailer.sparse.summary
        if summary is None:
            return None
        return sum(sum(summary.rows[start:stop]) for start, stop in self.intervals)

    def source(self, read: Callable[[int], object] | None = None) -> tuple[Any, ...]:
        """Return what `_core.LaneScan` reads the blocks from.

        * ``read``: Reads them, by their numbers; the packfile does if not given.
        """
        numbers, pack = self.blocks, self.pack

        def blame(error: Exception, number: int) -> Exception:
            if isinstance(error, OSError):
                return from_os(error, "reading", pack.path)
            return pack.blame(error, numbers[number]) if isinstance(error, CorruptError) else error

        read_block = read or pack.place_block
        if _core.column_cache()[0]:
            read_block = _identified(pack, read_block)
        return (
            lambda number: read_block(numbers[number]),
            [pack.blocks[number].chunks for number in numbers],
            pack.trailer.algorithm,
            pack.trailer.align_bytes,
            blame,
        )

    def origin(self) -> tuple[str, list[int]]:
        """Return the name of the packfile, and the number of the first row of each block to read.

        Where the writer did not count its rows, those of the blocks in front are counted now.
        """
        numbers, summary = self.blocks, self.pack.trailer.sparse.summary
        stop = max(numbers, default=0)
        rows = list(summary.rows[:stop]) if summary is not None else self._counted(stop)
        firsts = list(accumulate(rows, initial=0))
        return self.pack.path, [firsts[number] for number in numbers]

    def _counted(self, stop: int) -> list[int]:
        """Count the rows of each of the first blocks."""
        blocks = [PackfileScan(self.pack, ((number, number + 1),)) for number in range(stop)]
        return [_core.LaneScan([block.source()], []).count() for block in blocks]

    def types(self, path: ValuePath) -> int | None:
        """Return the types that occur at a path, ``None`` when they are not known."""
        summary = self.pack.trailer.sparse.summary
        if not path:
            return STRUCT
        constants = self.pack.trailer.sparse.constants
        if len(path) == 1 and path[0] in constants:
            return _type(constants[path[0]])
        if summary is None or not all(isinstance(step, str) for step in path):
            return None
        mask = summary.types.get(path, 0 if summary.complete else None)  # type: ignore[arg-type]
        if mask is None:
            return None
        types = MISSING
        for kind in range(mask.bit_length()):
            if mask >> kind & 1:
                types |= _BITS.get(kind, ANY)
        return types

    def full_paths(self) -> frozenset[ValuePath]:
        """Return the paths at which each row of the packfile has a value, as metadata proves it."""
        sparse = self.pack.trailer.sparse
        constants: frozenset[ValuePath] = frozenset((name,) for name in sparse.constants)
        try:
            presence = sparse.presence()
        except CorruptError:
            presence = None
        if presence is None or sparse.summary is None:
            return constants
        rows = sum(sparse.summary.rows)
        full: set[ValuePath] = set()
        for path, field in presence.fields.items():
            names = tuple([step for step in path if step is not None])
            if field.rows == rows and len(names) == len(path):  # and not through a list
                full.add(names)
        return constants | full

    def integers(self, path: ValuePath, *, narrow: bool) -> tuple[int, int] | None:
        """Return bounds of the values at a path if all are integers.

        * ``narrow``: Whether statistics of blocks, which are read for it, tell closer ones.
        """
        summary = self.pack.trailer.sparse.summary
        names = tuple([step for step in path if isinstance(step, str)])
        if summary is None or not names or len(names) < len(path):
            return None
        if names[0] in self.pack.trailer.sparse.constants:
            return None
        mask = summary.types.get(names, 0 if summary.complete else None)
        if mask is None or mask & ~_INTEGERS:
            return None
        statistics = self.pack.known[1] if narrow else None
        zones = None if statistics is None else statistics.zone(names)
        if zones is None or not mask:
            return _WHOLE if mask else (0, 0)
        bounds = [None if zone is None else zone.numbers for zone in zones]
        known = [bound for pair in bounds if pair is not None for bound in pair]
        is_sure = None not in zones and all(type(bound) is int for bound in known)
        return (int(min(known)), int(max(known))) if is_sure and known else _WHOLE

    def bounds(self, path: ValuePath, *, latest: bool, beside: int) -> list[Front]:
        """Return for each block a value that no other at a path is in front of.

        See :meth:`sdb.query.catalog.dataset.Dataset.bounds`.
        """
        numbers = self.blocks
        types = ANY if beside == ANY else self.types(path)
        index = self.pack.trailer.sparse.indices.get(path)  # type: ignore[arg-type]
        if index is not None and types is not None and not types & ~(beside | TIME | MISSING):
            ranges = map(index.known_range, numbers)
            return [None if known is None else known[latest] for known in ranges]
        names = tuple([step for step in path if isinstance(step, str)])
        _, statistics = self.pack.known
        zones = None if statistics is None else statistics.zone(names)
        if zones is None or len(names) < len(path) or path[0] in self.pack.trailer.sparse.constants:
            return [None] * len(numbers)
        return [front(zones[number], descending=latest, beside=beside) for number in numbers]


@record
class IndexSteps:
    """Lists and packfiles that the index of a table leaves, by times."""

    # Lists of older packfiles that have to be read, and all of them
    lists: int
    all_lists: int
    # Packfiles of these lists whose times fit and all in the index itself; and all there are
    packfiles: int
    all_packfiles: int


@lru_cache(1024)
def _all(count: int) -> Intervals:
    """Return all of a number of blocks: one object for the million packfiles that have as many."""
    return ((0, count),) if count else ()


class TableScan:
    """Rows of packfiles, as a query reads them; a :class:`sdb.query.catalog.dataset.Dataset`.

    * ``test``: What the condition of the query comes to.
    * ``parts``: The packfiles, in the order of their names, those without a block to read too.
    * ``done``: The same with the blocks that turned out to be enough.
    * ``times``: What times rows must have, in the form of `_core.LaneScan`; None: any.
    * ``steps``: What the index of each table below a root has left; none for files.
    * ``under``: The schema of the rows; None: they have none.
    """

    __slots__ = (
        "_full_paths",
        "_prune",
        "done",
        "name",
        "parts",
        "steps",
        "test",
        "times",
        "under",
    )

    def __init__(
        self,
        name: str,
        test: Predicate,
        packs: Iterable[Packfile],
        *,
        prune: bool = True,
        times: tuple[Any, ...] | None = None,
        steps: tuple[IndexSteps, ...] = (),
        schema: TableSchema | None = None,
    ) -> None:
        self.name = name
        self.test = test
        self.parts = _pruned(test, list(packs))
        self.done = self.parts
        self.times = times
        self.steps = steps
        self._prune = prune
        self._full_paths: frozenset[ValuePath] | None = None
        self.under = None if schema is None else self._under(schema)

    def _under(self, schema: TableSchema) -> SchemaRows:
        """Return what a schema says of the rows."""
        from sdb.query.catalog.schemarows import SchemaRows

        rows = SchemaRows(schema, {_era(part.pack) for part in self.read} if schema.eras else {0})
        rows.find_fields = self._field_paths
        return rows

    def _field_paths(self) -> frozenset[FieldPath] | None:
        """Return the paths of all fields that rows have; None: metadata does not tell all."""
        parts = self.read
        most = _FEW_FILES if self.is_remote else _MANY_FILES
        if not self._prune or len(parts) > most:
            return None
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_OPENERS if self.is_remote else 1) as pool:
            listed = list(pool.map(_paths, parts))
        paths = [each for each in listed if each is not None]
        return frozenset().union(*paths) if len(paths) == len(listed) else None

    def by_columns(self) -> list[TableScan]:
        """Return the rows in parts: those of packfiles that have values of the same columns."""
        assert self.under is not None  # noqa: S101 - there are no columns without a schema
        groups: dict[frozenset[int], list[PackfileScan]] = {}
        for part in self.read:
            groups.setdefault(self.under.hidden(_era(part.pack)), []).append(part)
        scans = []
        for parts in groups.values():
            scan = TableScan(self.name, self.test, (), prune=self._prune, times=self.times)
            scan.parts = scan.done = tuple(parts)
            scan.under = self.under.of_eras({_era(part.pack) for part in parts})
            scans.append(scan)
        return scans

    def reduced(self, parts: Sequence[PackfileScan]) -> TableScan:
        """Record that some blocks are enough, for each packfile to read, and return these."""
        left = iter(parts)
        self.done = tuple([next(left) if part.intervals else part for part in self.parts])
        scan = TableScan(self.name, self.test, (), prune=self._prune, times=self.times)
        scan.parts = tuple(parts)
        return scan

    @property
    def is_pruned(self) -> bool:
        """Return whether metadata is trusted to leave out rows, or to stand for them."""
        return self._prune

    @property
    def read(self) -> list[PackfileScan]:
        """The packfiles with blocks to read."""
        return [part for part in self.parts if part.intervals]

    def _first(self, rows: int) -> list[PackfileScan]:
        """Return the first packfiles to read that have a number of rows together."""
        parts: list[PackfileScan] = []
        for part in self.read:
            if rows <= 0:
                break
            parts.append(part)
            rows -= part.rows or 0
        return parts

    @property
    def sources(self) -> Sequence[Any]:
        """First argument of `_core.LaneScan`, which reads each block when it is wanted."""
        return [part.source() for part in self.read]

    def streamed(self, limit: int | None, *, takes_each: bool = False) -> Sequence[Any]:
        """Return the same for a scan; it reads blocks ahead over a network.

        * ``limit``: How many rows the scan takes at most; None: all.
        * ``takes_each``: Whether each row is taken, so that the first packfiles may be enough.
        """
        parts = self._first(limit) if limit is not None and takes_each else self.read
        if not self.is_remote:
            return [part.source() for part in parts]
        from sdb.packfile.read.ahead import block_readers

        chosen = [(part.pack, part.blocks) for part in parts]
        readers = block_readers(chosen, may_stop=limit is not None)
        return [
            part.source(read if part.pack.is_remote else None)
            for part, read in zip(parts, readers, strict=True)
        ]

    @property
    def decompressed_bytes(self) -> int:
        """Return the size of the blocks to read, decompressed."""
        return sum(part.decompressed_bytes for part in self.read)

    @property
    def is_remote(self) -> bool:
        """Return whether blocks come whole, over a network, however little of them is needed."""
        return any(part.pack.is_remote for part in self.read)

    def types(self, path: ValuePath) -> int | None:
        """Return the types that occur at a path, ``None`` when they are not known."""
        return types_in(self.read, path)

    def is_full(self, path: ValuePath) -> bool:
        """Return whether each row has a value at a path, as metadata of few packfiles proves it."""
        if self._full_paths is None:
            parts = self.read if self._has_few else []
            paths = [part.full_paths() for part in parts]
            self._full_paths = frozenset.intersection(*paths) if paths else frozenset()
        return path in self._full_paths

    @property
    def _has_few(self) -> bool:
        return self._prune and len(self.read) <= _FEW_FILES and not self.is_remote

    def integers(self, path: ValuePath) -> tuple[int, int] | None:
        """Return bounds of the values at a path if all are integers, ``None`` if not known."""
        parts, narrow = self.read, self._has_few
        ranges = []
        for part in parts:
            bounds = part.integers(path, narrow=narrow)
            if bounds is None:
                return None
            ranges.append(bounds)
        if not ranges:
            return None
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def origins(self) -> list[tuple[str, list[int]]]:
        """Return for each source its name and the number of the first row of each block."""
        return [part.origin() for part in self.read]

    def row_count(self) -> int | None:
        """Return the number of rows in the blocks to read, ``None`` when it is not known."""
        counts = [part.rows for part in self.read]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def bounds(self, path: ValuePath, *, latest: bool, beside: int) -> list[list[Front]]:
        """Return for each block a value that no other under a path is in front of.

        See :meth:`sdb.query.catalog.dataset.Dataset.bounds`. Time indexes say nothing of other
        values, so that the types of the file have to, or zones.
        """
        if not self._prune:
            return [[None] * len(part.blocks) for part in self.read]
        return [part.bounds(path, latest=latest, beside=beside) for part in self.read]

    def visited(self, blocks: Sequence[tuple[int, int]]) -> None:
        """Record the blocks that were read after all."""
        visited: list[list[int]] = [[] for _ in self.read]
        for source, block in blocks:
            visited[source].append(block)
        of_source = iter(visited)
        done = []
        for part in self.parts:
            numbers = part.blocks
            seen = [numbers[at] for at in next(of_source)] if numbers else []
            done.append(PackfileScan(part.pack, union((number, number + 1) for number in seen)))
        self.done = tuple(done)

    def reasons(self, part: PackfileScan) -> list[Reason]:
        """Report why the blocks of a packfile have to be read, and others not."""
        return part.pack.reasons(self.test)


def _paths(part: PackfileScan) -> frozenset[FieldPath] | None:
    """Return the paths of all fields of a packfile; None: its trailer does not tell all."""
    try:
        presence = part.pack.whole_trailer().sparse.presence()
    except CorruptError:
        return None
    return frozenset(presence.fields) if presence is not None and presence.complete else None


def _era(pack: Packfile) -> int:
    """Return the era of the rows of a packfile."""
    from sdb.table.format.keys import era_of

    return era_of(getattr(pack, "key", ""))


def _pruned(test: Predicate, packs: Sequence[Packfile]) -> tuple[PackfileScan, ...]:
    """Leave out blocks; what is known of them is read over a network of several files at a time."""
    if isinstance(test, Anywhere):  # of a million packfiles no trailer is looked into
        return tuple([PackfileScan(pack, pack.only or _all(pack.block_count)) for pack in packs])
    if len(packs) > 1 and any(pack.is_remote for pack in packs):
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(_OPENERS, len(packs))) as pool:
            intervals = list(pool.map(lambda pack: pack.pruned(test), packs))
    else:
        intervals = [pack.pruned(test) for pack in packs]
    return tuple(
        [
            PackfileScan(pack, left if pack.only is None else common(left, pack.only))
            for pack, left in zip(packs, intervals, strict=True)
        ]
    )


def types_in(parts: Iterable[PackfileScan], path: ValuePath) -> int | None:
    """Return the types that rows of packfiles have at a path, ``None`` when one does not tell."""
    types = MISSING if path else STRUCT
    for part in parts:
        more = part.types(path)
        if more is None:
            return None
        types |= more
    return types
