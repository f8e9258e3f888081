"""Splits: rows of a table in pieces that other processes and machines read by themselves."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import contextmanager
from itertools import groupby

from sdb import bounds, notes, sizes
from sdb.errors import ConflictError, InputError, UnsupportedError
from sdb.packfile.read.reader import open_packfile
from sdb.query.analyze.params import bind
from sdb.query.catalog.dataset import QueryRequest
from sdb.query.rows.selected import OpenedSource, items_of, quoted_text
from sdb.query.rows.tablerows import quoted
from sdb.query.run.api import planned, run
from sdb.query.syntax import ast, visitor
from sdb.query.syntax.parser import parse
from sdb.records import field, record
from sdb.store.url import store_of
from sdb.table.catalog.leases import hold
from sdb.table.catalog.root import table_root
from sdb.table.packfiles.lazy import OpenObjects, TablePackfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, Self, overload

    import pandas as pd
    import pyarrow as pa

    from sdb.packfile.prune.prune import Intervals
    from sdb.packfile.read.reader import Packfile
    from sdb.query.catalog.tablescan import PackfileScan
    from sdb.query.result.result import Result
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.leases import Lease
    from sdb.table.format.descriptor import Descriptor

USUAL_BYTES = 128 << 20
_NAME = ("split",)


@record
class SplitPart:
    """Blocks of one packfile."""

    intervals: Intervals  # the blocks
    descriptor: Descriptor | None = None  # of a packfile of a table
    # Of any other packfile: its path or URL, and the version of the object
    path: str = ""
    version: str = ""


@record
class Split:
    """A piece of the rows of a table. Use :meth:`sdb.Table.splits` to get all of them.

    It can be pickled, and knows all that it takes to read it: the content ids of its packfiles, the
    ranges of their blocks, and the condition. Credentials are those of the process that reads.

    Attributes
    ----------
    root : str
        Folder or URL of the root; empty for packfiles that are no table's.
    table : str
        The version of the table that it is of, as ``web.gha@57``.
    parts : tuple of SplitPart
        The blocks.
    size_bytes : int
        Size of these blocks, decompressed.
    number : int
        Its place among all splits, counted from 0.

    Examples
    --------
    >>> (split,) = sdb.splits("events.zion")
    >>> next(split.rows(fields=["type"]))
    {'type': 'PushEvent'}
    """

    root: str
    table: str
    parts: tuple[SplitPart, ...]
    size_bytes: int
    number: int
    where: str | None = None
    params: dict[str, object] = field(default_factory=dict, repr=False)
    now_us: int = field(default=0, repr=False)
    schema: bytes = field(default=b"", repr=False)  # that of the version, as the version has it

    def rows(self, *, fields: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
        """Iterate over the rows as dicts.

        Parameters
        ----------
        fields : sequence of str, optional
            Names of the top-level fields; all if not given.

        Yields
        ------
        dict
            A row: timestamps are aware datetimes, NULL is ``None``, MISSING members are left out.
        """
        with self._read(fields) as result:
            yield from result

    def to_arrow(
        self, *, fields: Sequence[str] | None = None, schema: pa.Schema | None = None
    ) -> pa.Table:
        """Read the rows into an Arrow table.

        Parameters
        ----------
        fields : sequence of str, optional
            Names of the top-level fields; all if not given.
        schema : pyarrow.Schema, optional
            The columns that the table has, with their types: so all splits give the same. Without
            it the columns are those that the rows of this split have.

        Returns
        -------
        pyarrow.Table
            The rows.

        Raises
        ------
        InputError
            A column cannot be of the type that the schema says.
        CorruptError
            A packfile is missing or not what was written.
        """
        names = schema.names if schema is not None and fields is None else fields
        with self._read(names) as result:
            table = result.to_arrow()
        return table if schema is None else _of_schema(table, schema)

    def to_pandas(
        self, *, fields: Sequence[str] | None = None, schema: pa.Schema | None = None
    ) -> pd.DataFrame:
        """Read the rows into a data frame of pandas; arguments as in :meth:`to_arrow`."""
        from sdb.packfile.read.dataframes import as_pandas

        return as_pandas(self.to_arrow(fields=fields, schema=schema))

    def __dask_tokenize__(self) -> object:
        """Return what tells it from all other splits, for Dask."""
        parts = [
            (part.path, part.version, part.intervals)
            if part.descriptor is None
            else (part.descriptor.key, part.descriptor.etag, part.intervals)
            for part in self.parts
        ]
        return self.root, self.table, parts, self.where, repr(self.params), self.now_us

    @contextmanager
    def _read(self, fields: Sequence[str] | None, items: str = "*") -> Iterator[Result]:
        """Begin to read the rows, those for which the condition is TRUE.

        * ``items``: The select list, if no fields are named.
        """
        packs = list(self._opened())
        schema = None
        if self.schema:
            from sdb.table.schema.stored import unpacked_schema

            schema = unpacked_schema(self.schema)
        try:
            items = items if fields is None else items_of(fields, ())
            test = "" if self.where is None else f" WHERE (\n{self.where}\n)"
            statement = bind(parse(f"SELECT {items} FROM read_file('split'){test}"), self.params)  # noqa: S608
            # What no row of a split has another one may have: planning has warned of the others.
            with notes.unheard():
                result = run(
                    QueryRequest(
                        statement,
                        known={_NAME: OpenedSource(self.table, packs, schema)},
                        now_us=self.now_us,
                    )
                )
            with result:
                yield result
        finally:
            for pack in packs:
                pack.close()

    def _opened(self) -> Iterator[Packfile]:
        root, objects = table_root(self.root), OpenObjects()
        for part in self.parts:
            if part.descriptor is not None:
                pack: Packfile = TablePackfile(root, part.descriptor, objects)
            else:
                pack = open_packfile(part.path)
                if pack.reader.version != part.version:
                    pack.close()
                    what = f"{part.path} has changed since it was split"
                    raise ConflictError(what, path=part.path, hint="split it again")
            pack.only = part.intervals
            yield pack


class Splits(Sequence[Split]):
    """The splits of a table: a sequence, which keeps their packfiles from being collected.

    A lease of the version was written, and is renewed every ten minutes as long as this process has
    the splits. A collector respects it for its grace period (24 hours by default) after the last
    renewal, or until :meth:`release`. Packfiles that are no table's have no lease.

    Examples
    --------
    >>> splits = sdb.splits("events.zion", size="1MiB")
    >>> len(splits), splits[0].number
    (1, 0)
    >>> splits.release()
    """

    def __init__(self, splits: Iterable[Split], lease: Lease | None = None) -> None:
        self._splits = tuple(splits)
        self._lease = lease

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._splits)

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, index: int) -> Split: ...
        @overload
        def __getitem__(self, index: slice) -> Sequence[Split]: ...

    def __getitem__(self, index: int | slice) -> Split | Sequence[Split]:
        """Return one of them, or some."""
        return self._splits[index]

    def release(self) -> None:
        """Release what only these splits need to collectors: all of them are read."""
        if self._lease is not None:
            self._lease.release()

    def __enter__(self) -> Self:
        """Return the splits; the lease is released at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release the lease."""
        self.release()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the splits alone: the lease stays with the process that has it."""
        return Splits, (self._splits,)

    def __repr__(self) -> str:
        """Show how many there are, and how large."""
        total = sum(split.size_bytes for split in self._splits)
        return f"<{len(self._splits)} splits, {sizes.human(total)}>"


def table_splits(
    handle: TableHandle,
    *,
    size: int | str = USUAL_BYTES,
    where: str | None = None,
    params: Mapping[str, object] | None = None,
) -> Splits:
    """Split a version of a table; see :meth:`sdb.Table.splits`."""
    lease = hold(handle)
    lease.renew()
    root = handle.root.location
    if handle.root.store.path_of(root) is not None:
        root = os.path.abspath(root)  # noqa: PTH100 - a string
    state = handle.state
    name = handle.name if state is None else f"{handle.name}@{state.version}"
    text = f"{quoted(handle.keys.database)}.{quoted(handle.keys.table)}"
    try:
        scans, now_us = _scans(text, where, params, root=root, tables={handle.name: handle})
        parts = [
            (SplitPart(scan.intervals, _descriptor(scan)), scan) for scan in scans if scan.intervals
        ]
        schema = handle.schema_data
        made = _made(parts, root, name, _size(size), where, params, now_us, schema)
    except BaseException:
        lease.release()
        raise
    return Splits(made, lease)


def splits(
    paths: str | os.PathLike[str],
    *,
    size: int | str = USUAL_BYTES,
    where: str | None = None,
    params: Mapping[str, object] | None = None,
) -> Splits:
    """Split packfiles into pieces for other processes; see :meth:`sdb.Table.splits`.

    Parameters
    ----------
    paths : path or URL
        A packfile, a folder of packfiles, or a pattern.
    size : int or str
        About this many bytes of rows, decompressed, are in a split.
    where : str, optional
        Only rows for which this condition is TRUE.
    params : mapping, optional
        Values of the parameters ``$name`` in it.

    Returns
    -------
    Splits
        The pieces. A packfile that is replaced later is an error of the split that reads it.

    Examples
    --------
    >>> pieces = sdb.splits("events.zion", where="type = 'PushEvent'")
    >>> sum(len(list(piece.rows(fields=["id"]))) for piece in pieces)
    596
    """
    path = os.fspath(paths)
    if "://" not in path:
        path = os.path.abspath(path)  # noqa: PTH100 - a string
    scans, now_us = _scans(f"read_file({quoted_text(path)})", where, params)
    parts = [
        (SplitPart(scan.intervals, None, scan.pack.path, _version(scan)), scan)
        for scan in scans
        if scan.intervals
    ]
    return Splits(_made(parts, "", path, _size(size), where, params, now_us))


def _version(scan: PackfileScan) -> str:
    return store_of(scan.pack.path).version(scan.pack.path) or ""


def _descriptor(scan: PackfileScan) -> Descriptor:
    descriptor: Descriptor = scan.pack.descriptor  # type: ignore[attr-defined]
    return descriptor


def _size(size: int | str) -> int:
    return bounds.SPLIT.read(size) if isinstance(size, str) else bounds.SPLIT.check(size)


def _scans(
    table: str,
    where: str | None,
    params: Mapping[str, object] | None,
    *,
    root: str = "",
    tables: Mapping[str, TableHandle] | None = None,
) -> tuple[list[PackfileScan], int]:
    """Plan the reading of a table; return packfiles with the blocks that are left, and the present.

    Raises
    ------
    QueryError
        The condition has no meaning.
    UnsupportedError
        It reads tables: what these are then, splits would not agree on.
    """
    test = "" if where is None else f" WHERE (\n{where}\n)"
    statement = bind(parse(f"SELECT * FROM {table}{test}"), params or {})  # noqa: S608
    condition = statement.select.where
    if condition is not None and any(
        isinstance(node, ast.Select) for node in visitor.nodes(condition)
    ):
        hint = "join the tables afterwards"
        raise UnsupportedError("the condition of splits has no sub-queries", hint=hint)
    now_us = time.time_ns() // 1000
    plan = planned(QueryRequest(statement, now_us=now_us, root=root, tables=tables or {}))
    for warning in plan.warnings:
        notes.warn(warning)
    return [scan for scanned in plan.tables for scan in scanned.parts], now_us


def _made(
    parts: list[tuple[SplitPart, PackfileScan]],
    root: str,
    table: str,
    size: int,
    where: str | None,
    params: Mapping[str, object] | None,
    now_us: int,
    schema: bytes = b"",
) -> list[Split]:
    """Put blocks together until they are as large as was asked for, in the order of the rows."""
    groups: list[list[tuple[SplitPart, int]]] = [[]]
    filled = 0
    for part, scan in parts:
        trailer = scan.pack.trailer
        for number in scan.blocks:
            block_bytes = trailer.blocks[number].chunks * trailer.filled_bytes
            if groups[-1] and filled + block_bytes > size:
                groups.append([])
                filled = 0
            groups[-1].append((part, number))
            filled += block_bytes
    made = []
    chunks = {id(part): scan for part, scan in parts}
    for number, group in enumerate(group for group in groups if group):
        members, total = [], 0
        for _, blocks in groupby(group, key=lambda block: id(block[0])):
            listed = list(blocks)
            part = listed[0][0]
            trailer = chunks[id(part)].pack.trailer
            numbers = [block for _, block in listed]
            total += sum(trailer.blocks[block].chunks for block in numbers) * trailer.filled_bytes
            members.append(SplitPart(_intervals(numbers), part.descriptor, part.path, part.version))
        values = dict(params or {})
        made.append(
            Split(root, table, tuple(members), total, number, where, values, now_us, schema)
        )
    return made


def _intervals(numbers: list[int]) -> Intervals:
    """Return ascending numbers as half-open ranges."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number:
            ranges[-1] = ranges[-1][0], number + 1
        else:
            ranges.append((number, number + 1))
    return tuple(ranges)


def _of_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with the columns of a schema; those that it has not are null."""
    import pyarrow as pa

    columns = []
    for wanted in schema:
        if wanted.name not in table.column_names:
            columns.append(pa.nulls(table.num_rows, wanted.type))
            continue
        column = table[wanted.name]
        try:
            columns.append(column.cast(wanted.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            what = f"{wanted.name} is {column.type} here, and cannot be {wanted.type}: {error}"
            raise InputError(what, hint="leave the schema out, or take another type") from None
    return pa.table(columns, schema=schema)
