"""The tables of a query: which packfiles they are, and which of their blocks have to be read."""

from __future__ import annotations

from itertools import chain

from sdb.errors import CorruptError, from_os
from sdb.packfile.reader import open_packfile
from sdb.query import plan
from sdb.query.blocks import Intervals, blocks, reasons, union
from sdb.query.constants import folded
from sdb.query.locations import candidates
from sdb.query.prune import Anywhere, reduce
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from sdb.packfile.reader import Packfile
    from sdb.query import ast
    from sdb.query.blocks import Reason
    from sdb.query.plan import Path, TableName
    from sdb.query.prune import Test

_OPENERS = 16
# TYPE_BIT by Ion type; bytes read as text.
_BITS = {
    0: plan.NULL,
    1: plan.BOOL,
    2: plan.NUMBER,
    3: plan.NUMBER,
    4: plan.NUMBER,
    6: plan.TIME,
    7: plan.STRING,
    8: plan.STRING,
    9: plan.STRING,
    10: plan.STRING,
    11: plan.LIST,
    13: plan.STRUCT,
}


@record
class Part:
    """Blocks of one packfile.

    Attributes
    ----------
    pack : Packfile
        The packfile, open as long as any of its blocks may be read.
    intervals : Intervals
        The blocks to read.
    """

    pack: Packfile
    intervals: Intervals

    @property
    def blocks(self) -> list[int]:
        """Numbers of the blocks to read."""
        return list(chain.from_iterable(range(start, stop) for start, stop in self.intervals))

    @property
    def compressed_bytes(self) -> int:
        """Size of the blocks to read, as they are stored."""
        place = self.pack.trailer.block_range
        return sum(place(stop - 1)[1] - place(start)[0] for start, stop in self.intervals)

    @property
    def decompressed_bytes(self) -> int:
        """Size of the blocks to read, decompressed."""
        trailer = self.pack.trailer
        return sum(trailer.blocks[number].chunks for number in self.blocks) << trailer.block_shift

    @property
    def rows(self) -> int | None:
        """Rows in the blocks to read, when the writer counted them."""
        summary = self.pack.trailer.sparse.summary
        if summary is None:
            return None
        return sum(sum(summary.rows[start:stop]) for start, stop in self.intervals)

    def source(self) -> tuple[Any, ...]:
        """Give what `_core.LaneScan` reads the blocks from."""
        numbers, pack = self.blocks, self.pack

        def blame(error: Exception, number: int) -> Exception:
            if isinstance(error, OSError):
                return from_os(error, "reading", pack.path)
            return pack.blame(error, numbers[number]) if isinstance(error, CorruptError) else error

        return (
            lambda number: pack.place_block(numbers[number]),
            [pack.blocks[number].chunks for number in numbers],
            pack.trailer.algorithm,
            pack.trailer.align_bytes,
            blame,
        )

    def types(self, path: Path) -> int | None:
        """Give the types that occur at a path, ``None`` when they are not known."""
        summary = self.pack.trailer.sparse.summary
        if not path:
            return plan.STRUCT
        if summary is None or not all(isinstance(step, str) for step in path):
            return None
        mask = summary.types.get(path, 0 if summary.complete else None)  # type: ignore[arg-type]
        if mask is None:
            return None
        types = plan.MISSING
        for kind in range(mask.bit_length()):
            if mask >> kind & 1:
                types |= _BITS.get(kind, plan.ANY)
        return types

    def bounds(self, path: Path, *, latest: bool, beside: int) -> list[int | None]:
        """Give for each block a time that no other at a path is in front of.

        See :meth:`sdb.query.plan.Dataset.bounds`.
        """
        numbers = self.blocks
        types = plan.ANY if beside == plan.ANY else self.types(path)
        index = self.pack.trailer.sparse.indices.get(path)  # type: ignore[arg-type]
        if index is None or types is None or types & ~(beside | plan.TIME | plan.MISSING):
            return [None] * len(numbers)
        ranges = map(index.known_range, numbers)
        return [None if known is None else known[latest] for known in ranges]


class Table:
    """Rows of packfiles, as a query reads them; a :class:`sdb.query.plan.Dataset`.

    Attributes
    ----------
    name : str
        How the query names it.
    test : Test
        What the condition of the query comes to.
    parts : tuple of Part
        The packfiles, in the order of their names, those without a block to read too.
    done : tuple of Part
        The same with the blocks that turned out to be enough.
    """

    __slots__ = ("_prune", "done", "name", "parts", "test")

    def __init__(
        self, name: str, test: Test, packs: Iterable[Packfile], *, prune: bool = True
    ) -> None:
        self.name = name
        self.test = test
        self.parts = tuple(Part(pack, blocks(test, pack.trailer.sparse)) for pack in packs)
        self.done = self.parts
        self._prune = prune

    @property
    def read(self) -> list[Part]:
        """The packfiles with blocks to read."""
        return [part for part in self.parts if part.intervals]

    @property
    def sources(self) -> Sequence[Any]:
        """First argument of `_core.LaneScan`."""
        return [part.source() for part in self.read]

    @property
    def is_remote(self) -> bool:
        """Whether blocks come whole, over a network, however little of them is needed."""
        return any(not hasattr(part.pack.reader, "fileno") for part in self.read)

    def types(self, path: Path) -> int | None:
        """Give the types that occur at a path, ``None`` when they are not known."""
        types = plan.MISSING if path else plan.STRUCT
        for part in self.read:
            more = part.types(path)
            if more is None:
                return None
            types |= more
        return types

    def row_count(self) -> int | None:
        """Give the number of rows in the blocks to read, ``None`` when it is not known."""
        counts = [part.rows for part in self.read]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def bounds(self, path: Path, *, latest: bool, beside: int) -> list[list[int | None]]:
        """Give for each block a time that no other under a path is in front of.

        See :meth:`sdb.query.plan.Dataset.bounds`. Time indexes say nothing of other values, so that
        the types of the file have to.
        """
        if not self._prune:
            return [[None] * len(part.blocks) for part in self.read]
        return [part.bounds(path, latest=latest, beside=beside) for part in self.read]

    def visited(self, blocks: Sequence[tuple[int, int]]) -> None:
        """Take note of the blocks that were read after all."""
        found: list[list[int]] = [[] for _ in self.read]
        for source, block in blocks:
            found[source].append(block)
        of_source = iter(found)
        done = []
        for part in self.parts:
            numbers = part.blocks
            seen = [numbers[at] for at in next(of_source)] if numbers else []
            done.append(Part(part.pack, union((number, number + 1) for number in seen)))
        self.done = tuple(done)

    def reasons(self, part: Part) -> list[Reason]:
        """Tell why the blocks of a packfile have to be read, and others not."""
        return reasons(self.test, part.pack.trailer.sparse)


class Catalog:
    """Opens the tables of a query, each packfile once; a :data:`sdb.query.plan.OpenDataset`.

    Parameters
    ----------
    root : str
        Folder or URL that relative paths start at; the current folder when empty.
    prune : bool
        Whether blocks are left out where the condition cannot be TRUE.
    now_us : int
        The instant of UTCNOW(), in microseconds since 1970.

    Attributes
    ----------
    tables : list of Table
        What was opened.
    """

    def __init__(self, root: str = "", *, prune: bool = True, now_us: int = 0) -> None:
        self._root = root
        self._prune = prune
        self._now_us = now_us
        self._open: dict[str, Packfile] = {}
        self.tables: list[Table] = []

    def __call__(self, tables: tuple[TableName, ...], condition: ast.Expr | None) -> Table:
        """Find the rows of tables.

        Parameters
        ----------
        tables : tuple of TableName
            Their names; the rows of one follow on those of the other.
        condition : Expr or None
            Only rows for which it is TRUE are wanted.

        Returns
        -------
        Table
            The rows, and possibly others for which the condition is not TRUE.

        Raises
        ------
        NotFoundError, AccessError, UsageError
            A packfile cannot be opened, or no file has such a name.
        CorruptError
            A file is no packfile, or a damaged one.
        """
        test = self._reduced(condition)
        packs = list(chain.from_iterable(map(self._find, tables)))
        name = " ++ ".join("/".join(name.parts) for name in tables)
        table = Table(name, test, packs, prune=self._prune)
        self.tables.append(table)
        return table

    def _reduced(self, condition: ast.Expr | None) -> Test:
        if condition is None or not self._prune:
            return Anywhere()
        return reduce(folded(condition, self, self._now_us))

    def _find(self, name: TableName) -> list[Packfile]:
        paths = candidates(name, self._root)
        new = [path for path in paths if path not in self._open]
        if len(new) > 1:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(min(_OPENERS, len(new))) as pool:
                opened = [(path, pool.submit(open_packfile, path)) for path in new]
                for path, future in opened:
                    if future.exception() is None:
                        self._open[path] = future.result()
                for _, future in opened:
                    future.result()
        elif new:
            self._open[new[0]] = open_packfile(new[0])
        return [self._open[path] for path in paths]

    def close(self) -> None:
        """Close all packfiles."""
        while self._open:
            self._open.popitem()[1].close()
