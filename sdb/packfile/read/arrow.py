"""Rows of packfiles as Arrow data: tables and streams.

Packfiles have no schema, so rows are read twice: once to find out what types occur at each path,
once to make the columns. Fields with enough types in the summary of the trailer need no first
look. Memory holds a block or two at a time, and what was made of them.

=============================================  ==================================================
values at a path (nulls aside)                 column
=============================================  ==================================================
bool; text; timestamps; bytes                  bool; utf8; timestamp(us, UTC); binary
integers                                       int64; uint64 when some are above 2^63-1, and
                                               decimal128(20, 0) when others are negative then
integers and other numbers                     float64
lists; structs                                 list; struct with all fields that occur
nothing                                        null
values of kinds that do not go together,       utf8 with the JSON text of each value; the field's
structs without any field, structs of more     metadata have ``sdb.encoding = json``
than 1000 fields, what is deeper than 48
levels, or beyond 16384 paths
=============================================  ==================================================

A field that a row lacks is null. Columns come in the order in which the fields first occurred in
the inputs, as far as the trailer tells it, or in that of `fields`, where a name that does not occur
gives a column of nulls.
"""

from __future__ import annotations

from copy import copy

from sdb.errors import CorruptError
from sdb.packfile.read.ahead import block_readers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias

    import pyarrow as pa

    from sdb._core import ArrowScan, ArrowStream, ArrowTypes
    from sdb.packfile.prune.selection import Selection
    from sdb.packfile.read.reader import Packfile

    Meter: TypeAlias = Callable[[int], None]
    Selected: TypeAlias = tuple[Packfile, Selection]


class _Source:
    """The selected blocks of a packfile, numbered from 0, for `_core`."""

    def __init__(
        self,
        pack: Packfile,
        selection: Selection,
        read: Callable[[int], bytes],
        meter: Meter | None = None,
    ) -> None:
        self._pack = pack
        self._selection = selection
        self._read = read
        self._meter = meter

    def read(self, number: int) -> bytes:
        block = self._read(self._selection.blocks[number])
        if self._meter is not None:
            self._meter(len(block))
        return block

    def skip(self) -> None:
        """Count the blocks as read."""
        if self._meter is not None:
            for number in self._selection.blocks:
                start, stop = self._pack.trailer.block_range(number)
                self._meter(stop - start)

    def blame(self, error: Exception, number: int) -> Exception:
        if not isinstance(error, CorruptError):
            return error
        return self._pack.blame(error, self._selection.blocks[number])

    def scan(
        self, fields: Sequence[str] | None, limit: int | None, threads: int | None
    ) -> ArrowScan:
        from sdb import _core

        trailer = self._pack.trailer
        return _core.ArrowScan(
            self.read,
            [trailer.blocks[number].chunks for number in self._selection.blocks],
            trailer.algorithm,
            trailer.align_bytes,
            threads=threads or 0,
            fields=None if fields is None else list(fields),
            time_filter=self._selection.time_filter,
            limit=limit,
            blame=self.blame,
            verify=self._pack.verify,
        )


class Scan:
    """Rows of packfiles that are wanted as Arrow data, with one schema over all of them.

    * ``fields``: Names of the top-level fields; the others are left out.
    * ``threads``: How many threads decode; without it one for each processor.
    * ``meter``: Called with numbers of bytes whose sum is, at the end, that of the selected blocks.

    Raises `CorruptError` for a block that cannot be decoded and `UnsupportedError` for rows with
    too many different fields to make columns of them.
    """

    def __init__(
        self,
        selected: Iterable[Selected],
        *,
        fields: Sequence[str] | None = None,
        limit: int | None = None,
        threads: int | None = None,
        meter: Meter | None = None,
    ) -> None:
        self._selected = list(selected)
        self._fields = fields
        self._limit = limit
        self._threads = threads
        self._meter = meter
        self._types = self._observe()

    def of(self, selected: Iterable[Selected]) -> Scan:
        """Return a scan of other blocks of the same packfiles, with the types of this one."""
        other = copy(self)
        other._selected = list(selected)  # noqa: SLF001 - its own class
        return other

    def fitted(self, fields: Sequence[pa.Field], *, lenient: bool = True) -> Scan:
        """Return a scan of the same rows in other columns.

        * ``fields``: The columns, in the types of the table above, or dates and decimals.
        * ``lenient``: Whether values that do not fit them are null, and not an error.
        """
        import pyarrow as pa

        from sdb import _core

        other = copy(self)
        other._types = _core.ArrowTypes.wanted(pa.schema(fields), lenient=lenient)  # noqa: SLF001
        other._fields = [field.name for field in fields]
        return other

    def _observe(self) -> ArrowTypes:
        from sdb import _core

        types = _core.ArrowTypes(None if self._fields is None else list(self._fields))
        for source, pack in self._sources(0):
            left = None if self._limit is None else self._limit - types.rows
            if left == 0:
                break
            fields = self._unsettled(types, pack)
            if fields == []:
                source.skip()
            else:
                types.merge(source.scan(fields, left, self._threads).types())
        if self._fields is None:
            self._arrange(types)
        return types

    def _sources(self, odd: int) -> Iterator[tuple[_Source, Packfile]]:
        """Yield what each of the two passes reads, with its packfile."""
        chosen = [(pack, selection.blocks) for pack, selection in self._selected]
        readers = block_readers(chosen, may_stop=self._limit is not None)
        for (pack, selection), read in zip(self._selected, readers, strict=True):
            yield _Source(pack, selection, read, self._half(odd)), pack

    def _arrange(self, types: ArrowTypes) -> None:
        """Put columns in the order of the inputs; rows have their fields in that of symbols."""
        from sdb.packfile.read.fieldorder import arranged

        names = types.names
        ordered = arranged(names, [pack.trailer for pack, _ in self._selected])
        if ordered != names:
            types.arrange(ordered)

    def _unsettled(self, types: ArrowTypes, pack: Packfile) -> Sequence[str] | None:
        """Return the fields whose types the trailer does not have."""
        summary = pack.trailer.sparse.summary
        if self._fields is None or summary is None:
            return self._fields
        types_of = {path[0]: mask for path, mask in summary.types.items() if len(path) == 1}
        return [
            name
            for name in self._fields
            if (name not in types_of and not summary.complete)
            or not types.settle(name, types_of.get(name, 0))
        ]

    def _half(self, odd: int) -> Meter | None:
        """Count half of the bytes in each of the two passes."""
        meter = self._meter
        return None if meter is None else lambda read_bytes: meter((read_bytes + odd) // 2)

    @property
    def schema(self) -> pa.Schema:
        """The schema of all batches."""
        import pyarrow as pa

        return pa.schema(self._types)

    def streams(self) -> Iterator[ArrowStream]:
        """Iterate over the rows of each packfile."""
        left = self._limit
        for source, _ in self._sources(1):
            stream = source.scan(self._fields, left, self._threads).stream(self._types)
            yield stream
            left = None if left is None else left - stream.rows
            if left == 0:
                return

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Iterate over the rows of all packfiles.

        Raises `CorruptError` for a block that cannot be decoded.
        """
        import pyarrow as pa

        for stream in self.streams():
            for batch in stream:
                yield pa.record_batch(batch)


class FittedScan:
    """Rows of a packfile in given columns, for which they are read once.

    * ``schema``: The columns, in the types of the table above; those of JSON text have
      ``sdb.encoding = json`` in their metadata.
    * ``threads``: How many threads decode; without it one for each processor.
    """

    def __init__(self, pack: Packfile, schema: pa.Schema, threads: int | None = None) -> None:
        self._pack = pack
        self._threads = threads
        self.schema = schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Iterate over the rows.

        Raises `CorruptError` for a block that cannot be decoded and `UnsupportedError` for a value
        that does not fit its column.
        """
        import pyarrow as pa

        from sdb import _core

        selection = self._pack.select()
        (read,) = block_readers([(self._pack, selection.blocks)])
        source = _Source(self._pack, selection, read)
        scan = source.scan(self.schema.names, None, self._threads)
        for batch in scan.stream(_core.ArrowTypes.wanted(self.schema)):
            yield pa.record_batch(batch)


def table(
    pack: Packfile,
    selection: Selection,
    *,
    fields: Sequence[str] | None = None,
    limit: int | None = None,
) -> pa.Table:
    """Read rows into a table.

    * ``selection``: Which blocks and times, see :meth:`sdb.packfile.read.reader.Packfile.select`.
    * ``fields``: Names of the top-level fields; the others are left out.

    Raises `CorruptError` for a block that cannot be decoded and `UnsupportedError` for rows with
    too many different fields to make columns of them.
    """
    import pyarrow as pa

    scan = Scan([(pack, selection)], fields=fields, limit=limit)
    return pa.Table.from_batches(list(scan.batches()), scan.schema)


def stream(
    pack: Packfile,
    selection: Selection,
    *,
    fields: Sequence[str] | None = None,
    limit: int | None = None,
) -> ArrowStream:
    """Hand rows to any consumer of Arrow streams: polars, duckdb, pyarrow, pandas and others.

    Blocks are read as the consumer asks for rows, so the packfile must stay open until then.

    * ``selection``: Which blocks and times, see :meth:`sdb.packfile.read.reader.Packfile.select`.
    * ``fields``: Names of the top-level fields; the others are left out.

    Returns: An object with the method ``__arrow_c_stream__``, which can be called once.
    Raises `CorruptError` for a block that cannot be decoded. The consumer of the stream sees an
    error of another class with the same text.
    """
    return next(Scan([(pack, selection)], fields=fields, limit=limit).streams())
