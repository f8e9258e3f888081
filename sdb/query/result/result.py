"""The rows that a query returns."""

from __future__ import annotations

import json
from contextlib import contextmanager
from copy import copy
from itertools import islice

from sdb import formats, notes
from sdb.errors import SdbError
from sdb.query.result.lines import effective, lines
from sdb.query.result.outputs import (
    in_order_of_inputs,
    known_structs,
    structs,
    table_rows,
    write_cells,
    write_table,
)
from sdb.query.result.waiting import Waiter
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from types import TracebackType
    from typing import Any, BinaryIO, Self, TypeVar

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from sdb.packfile.inputs.inputs import Input
    from sdb.query.catalog.tablescan import TableScan
    from sdb.query.exec.execution import Execution
    from sdb.query.plan.scans import Column
    from sdb.query.result.frames import Frame
    from sdb.query.result.replay import Replay

    T = TypeVar("T")


@record
class Reading:
    """Packfiles, blocks and bytes that a query reads.

    Attributes
    ----------
    files, all_files : int
        Packfiles with blocks to read, and all of them.
    blocks, all_blocks : int
        Blocks to read, and all of them but those of packfiles in lists that were not read.
    stored_bytes, all_stored_bytes : int
        Size of these blocks as they are stored; few of their bytes are decompressed.
    scanned_bytes, all_scanned_bytes : int
        Size of these blocks when all of them is decompressed.
    """

    files: int
    all_files: int
    blocks: int
    all_blocks: int
    stored_bytes: int
    all_stored_bytes: int
    scanned_bytes: int
    all_scanned_bytes: int


def reading(tables: list[TableScan]) -> Reading:
    """Sum up what is read; a packfile counts as often as the query names it."""
    parts = [part for table in tables for part in table.done]
    steps = [step for table in tables for step in table.steps]
    unlisted = sum(step.all_packfiles - step.packfiles for step in steps)
    return Reading(
        sum(bool(part.intervals) for part in parts),
        len(parts) + unlisted,
        sum(part.block_count for part in parts),
        sum(part.pack.block_count for part in parts),
        sum(part.compressed_bytes for part in parts),
        sum(part.pack.stored_bytes for part in parts),
        sum(part.decompressed_bytes for part in parts),
        sum(part.pack.decompressed_bytes for part in parts),
    )


class Result:
    """Rows of a query, computed when they are first read, and then kept.

    Rows beyond 64 MiB are kept in a temporary file. Close the result, or use it in a ``with``
    statement, to release the packfiles.

    Examples
    --------
    >>> with sdb.sql("SELECT type, COUNT(*) AS n FROM 'events.zion' GROUP BY type") as result:
    ...     result.columns, len(list(result)), result.to_arrow().num_rows
    (['type', 'n'], 13, 13)
    """

    def __init__(self, text: str, result: Execution, tables: list[TableScan]) -> None:
        self._text = text
        self._result = result
        self._tables = tables
        # Rows that are kept go to a file beyond this size; None: beyond the usual one
        self.kept_memory_bytes: int | None = None
        self.warns = False  # whether who has read rows is warned of what the notes say
        self._told: set[str] = set()
        self._replay: Replay | None = None
        self._frame: Frame | None = None
        # It knows nothing of this object, which goes when nobody has it any more.
        self._waiter = Waiter(lambda: result.interrupt())  # noqa: PLW0108 - it may be replaced

    @property
    def columns(self) -> list[str]:
        """Names of the members of each row; none for those of whole rows (``SELECT *``)."""
        return [column.name for column in self._shown if not column.is_row]

    @property
    def text(self) -> str:
        """The query."""
        return self._text

    @property
    def tables(self) -> list[TableScan]:
        """The tables that the query reads, and which of their blocks."""
        return self._tables

    @property
    def paths(self) -> list[str]:
        """Paths and URLs of the packfiles that the query names."""
        return [part.pack.path for table in self.tables for part in table.parts]

    @property
    def reading(self) -> Reading:
        """Packfiles, blocks and bytes that are read; of some queries known only at their end.

        A block counts once, however often the query looks at it.
        """
        return reading(self._tables)

    @property
    def blocks_read(self) -> int:
        """Number of blocks that have been read so far; twice what is read twice."""
        return sum(scan.stats[0] for scan in self._result.scans)

    @property
    def note(self) -> str:
        """Reason why some blocks that may hold rows are not read; empty when all are."""
        return self._result.note

    @property
    def readings(self) -> Sequence[str]:
        """Parts of the query that are taken for something else than is written."""
        return self._result.readings

    @property
    def notes(self) -> list[str]:
        """Lines that report what the rows may not show.

        Comparisons that no row satisfies, values that a cast loses, and that the dialect
        ``sneller`` leaves out rows without a key. Who reads the rows is warned of the same.
        """
        return list(dict.fromkeys(self._result.notes()))

    def _tell(self) -> None:
        """Warn of what the notes say, of each once."""
        for line in self.notes:
            if line not in self._told:
                self._told.add(line)
                notes.warn(line.partition(": ")[2])

    def _tell_as(self, change: Callable[[str], str]) -> None:
        """Change the lines of the notes before anybody reads them."""
        lines = self._result.notes
        self._result.notes = lambda: [change(line) for line in lines()]

    @property
    def dialect(self) -> str:
        """The dialect of the query: ``standard`` or ``sneller``, see :func:`sdb.sql`."""
        return self._result.dialect

    @property
    def _shown(self) -> list[Column]:
        return effective(self._result.columns)

    @property
    def of_whole_rows(self) -> bool:
        """Return whether rows have members that are not known beforehand, as with ``SELECT *``."""
        return any(column.is_row for column in self._shown)

    @property
    def is_plan(self) -> bool:
        """Return whether this is the plan of EXPLAIN: a row with the query and its plan, a text."""
        return self._result.is_plan

    @property
    def _names(self) -> list[str] | None:
        """The columns, when they are known before the rows."""
        return None if self.of_whole_rows else self.columns

    def _arranged(self, names: list[str]) -> list[str]:
        """Return the names of whole rows in the order that their inputs had."""
        return in_order_of_inputs(names, self.tables)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows as dicts.

        Yields
        ------
        dict
            A row: timestamps are aware datetimes, NULL is ``None``, MISSING members are left out.

        Raises
        ------
        CorruptError
            A block that cannot be decoded.
        SdbError
            The query needs more memory than it may have.
        """
        from sdb.query.result.replay import rows

        with self._explained():
            yield from rows(self._kept(), self._result.columns)

    def __len__(self) -> int:
        """Return the number of rows, which are read for it and kept."""
        with self._explained():
            return sum(batch.num_rows for batch in self._kept())

    def __bool__(self) -> bool:
        """Return True: a result without rows is a result."""
        return True

    def head(self, rows: int = 10) -> list[dict[str, Any]]:
        """Return the first rows, as dicts; not all others are computed for it."""
        first = list(islice(self, rows))
        if self.warns:
            self._tell()
        return first

    def lines(self) -> Iterator[bytes]:
        """Iterate over the rows as lines of JSON, many in each piece.

        Rows that were not read before are not kept, so this works only once then.

        Yields
        ------
        bytes
            Whole lines.
        """
        with self._explained():
            if (known := self._result.known) is not None:
                rows = _known_rows(known, self._shown)
                yield from (json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
                return
            yield from self._waited(lines)

    def _waited(self, make: Callable[[object, Sequence[Column]], Iterator[T]]) -> Iterator[T]:
        """Iterate over what is made of the rows, as it is made."""
        stream = self._replay or self._result.reader
        try:
            yield from self._waiter.each(lambda: make(stream, self._result.columns))
        finally:
            self._waiter.close()

    def _structs(self) -> Iterator[bytes]:
        """Iterate over the rows as a stream of Ion, as :meth:`lines` does."""
        with self._explained():
            if (known := self._result.known) is not None:
                yield from known_structs(_known_rows(known, self._shown))
                return
            yield from self._waited(structs)

    def _as_input(self) -> Input:
        """Return the rows as an input of :func:`sdb.pack` and others."""
        from sdb.packfile.inputs.inputs import Input

        def pieces() -> Generator[bytes]:
            self._kept()  # inputs may be read twice
            yield from self._structs()

        return Input("the result", "ion", source=pieces)

    def write(self, output: BinaryIO, fmt: str = "json", *, indent: bool = False) -> None:
        """Write the rows.

        Parameters
        ----------
        output : binary file
            Where the bytes go; it is not closed.
        fmt : {"json", "csv", "tsv", "markdown", "html", "ion", "ion-text", "arrow", "parquet"}
            The format. In CSV, TSV, Markdown and HTML, NULL and MISSING are empty, and lists and
            structures are JSON.
        indent : bool
            Whether each member has a separate line in ``ion-text``.

        Raises
        ------
        UsageError
            Another format, or Parquet without a column.
        CorruptError
            A block that cannot be decoded.
        """
        formats.check("query", fmt)
        if fmt == "json":
            output.writelines(self.lines())
        elif fmt == "ion":
            output.writelines(self._structs())
        elif fmt == "ion-text":
            from sdb.packfile.export import iontext

            iontext.write(iontext.values(self._structs()), output, indent=indent)
        elif fmt in {"arrow", "parquet"}:
            with self._explained():
                self._framed().write(output, fmt)
        elif (names := self._names) is None or self._result.known is not None:
            write_cells(self.lines(), names, output, fmt, self._arranged)
        else:
            with self._explained():
                rows = self._waited(lambda stream, columns: table_rows(stream, columns, fmt))
                write_table(rows, names, output, fmt)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Iterate over the lanes of the rows, which are not kept, as they are computed."""
        import pyarrow as pa

        with self._explained():
            yield from self._waited(lambda stream, _: pa.RecordBatchReader.from_stream(stream))

    def _wired(self) -> Iterator[bytes]:
        """Iterate over the bytes of the result for a client, see :mod:`sdb.query.result.wire`."""
        from sdb.query.exec.execution import lanes_of
        from sdb.query.result import wire

        known = self._result.known
        if known is not None and self._replay is None:
            self._result.reader = lanes_of(known, self._result.columns)
        with self._explained():
            yield from self._waited(
                lambda stream, _: wire.pieces(stream, self._result, lambda: self.notes)
            )

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table.

        Columns of one type have it; those of several are JSON text, and the field says so with
        ``sdb.encoding = json`` in its metadata. MISSING is null.

        Returns
        -------
        pyarrow.Table
            The rows.
        """
        with self._explained():
            return self._framed().table()

    def arrow_batches(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the columns of :meth:`to_arrow`, and the rows in batches as they are read."""

        def batches() -> Iterator[pa.RecordBatch]:
            with self._explained():
                yield from frame.batches()

        with self._explained(is_end=False):
            frame = self._framed()
        return frame.schema, batches()

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a polars data frame, also as `pl`; see :meth:`to_arrow`."""
        from sdb.packfile.read.dataframes import as_polars

        return as_polars(self.to_arrow())

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas data frame, also as `df`; see :meth:`to_arrow`."""
        from sdb.packfile.read.dataframes import as_pandas

        return as_pandas(self.to_arrow())

    df = to_pandas
    pl = to_polars

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples, as Python's interface of databases has it.

        Returns
        -------
        list of tuple
            The members of each row in the order of `columns`; of whole rows (``SELECT *``) in the
            order in which the inputs of a table have them. What is NULL or MISSING is ``None``.
        """
        rows = list(self)
        members = dict.fromkeys(name for row in rows for name in row)
        names = self._names or self._arranged(list(members))
        return [tuple(row.get(name) for name in names) for row in rows]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the rows to any library that speaks the Arrow C stream interface."""
        import pyarrow as pa

        with self._explained():
            frame = self._framed()
        reader = pa.RecordBatchReader.from_batches(frame.schema, frame.batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        import html

        from sdb.query.result.notebook import page

        with self._explained(is_end=False):
            replay = self._kept()
            drawn = page(
                self._names, lines(replay, self._result.columns), replay.count, self._arranged
            )
        return drawn + "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)

    def _kept(self) -> Replay:
        from sdb.query.exec.execution import lanes_of
        from sdb.query.result.replay import MEMORY_BYTES, Replay

        if self._replay is None:
            known = self._result.known
            stream = self._result.reader if known is None else lanes_of(known, self._result.columns)
            most_bytes = self.kept_memory_bytes or MEMORY_BYTES
            options = {"wait": self._waiter} if known is None else {}  # nothing is waited for
            self._replay = Replay(stream, most_bytes, **options)
        return self._replay

    def _framed(self) -> Frame:
        from sdb.query.result.frames import Frame

        if self._frame is None:
            self._frame = Frame(self._result.columns, self._kept(), self._arranged)
        return self._frame

    @contextmanager
    def _explained(self, *, is_end: bool = True) -> Generator[None]:
        """Raise what went wrong in the first place, not what consumers of Arrow made of it.

        * ``is_end``: Whether rows were read behind it, of which there may be something to tell.
        """
        try:
            yield
        except (SdbError, BrokenPipeError, KeyboardInterrupt, GeneratorExit):
            raise
        except Exception as error:
            raise self._cause(error) from error
        if is_end and self.warns:
            self._tell()

    def _cause(self, error: Exception) -> BaseException:
        for scan in self._result.scans:
            if scan.failure is not None:
                # A copy: the scan would keep what the traceback refers to, and itself, for ever.
                cause: BaseException = copy(scan.failure)
                return cause
        text = str(error).strip()
        if "INTERRUPT" in text.upper():
            return KeyboardInterrupt()
        from sdb.query.exec.exhausted import exhausted

        return exhausted(error) or error

    def interrupt(self) -> None:
        """Interrupt the query soon, from another thread."""
        self._result.interrupt()

    def close(self) -> None:
        """Release the engine, the packfiles and the rows; idempotent."""
        try:
            if self.warns and self._replay is not None:  # who has read some of the rows
                self._tell()
        finally:
            self._release()

    def _release(self) -> None:
        self.warns = False
        if self._frame is not None:
            self._frame.close()
        if self._replay is not None:
            self._replay.close()
        self._waiter.close()
        self._result.reader = None
        self._result.scans = ()
        self._result.close()

    def __enter__(self) -> Self:
        """Return the result itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        if kind is not None:
            self.warns = False
        self.close()

    def __repr__(self) -> str:
        """Show the columns."""
        names = self._names
        return f"<Result of {'whole rows' if names is None else ', '.join(names) or 'no columns'}>"


def _known_rows(
    values: tuple[tuple[Any, ...], ...], columns: list[Column]
) -> Iterator[dict[str, Any]]:
    """Make rows of integers and texts, without Arrow."""
    for row in values:
        members: dict[str, Any] = {}
        for column in columns:
            cells = [row[at] for at in column.lanes.values() if row[at] is not None]
            members |= {column.name: cells[0]} if cells else {}
        yield members
