"""Rows of packfiles and tables for other libraries, which say what they want of them.

What is pushed down: only the columns that are wanted are decoded, and blocks are left out that
cannot hold a row for which the condition is TRUE, by time indexes, zone maps and filters. The
libraries decide row by row.
"""

from __future__ import annotations

from functools import cache

from sdb.packfile.prune.predicate import Anywhere
from sdb.packfile.prune.unknownfields import warn_unknown_fields
from sdb.packfile.read.arrow import Scan
from sdb.query.catalog.catalog import Catalog
from sdb.query.catalog.dataset import QueryRequest, TableName
from sdb.query.rows.pushedfilters import of_arrow, of_polars

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from typing import Any

    import polars as pl
    import pyarrow as pa

    from sdb.packfile.prune.predicate import Predicate
    from sdb.packfile.read.reader import Packfile
    from sdb.query.rows.columnrows import ColumnRows
    from sdb.table.catalog.handle import TableHandle


class RowSet:
    """Rows with one schema, of which libraries may ask again and again.

    * ``source``: A path, a pattern or URL of packfiles, or an open table.
    * ``fields``: Names of the top-level fields that become columns; all if not given.
    * ``since, until, time_field``: Times that rows must have.
    """

    def __init__(
        self,
        source: str | TableHandle,
        *,
        fields: Sequence[str] | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        time_field: str | Sequence[str] | None = None,
    ) -> None:
        if isinstance(source, str):
            self._catalog = Catalog(QueryRequest())
            name = TableName("file", (source,), (0, 0))
        else:
            self._catalog = Catalog(
                QueryRequest(root=source.root.location, tables={source.name: source})
            )
            name = TableName("path", (source.keys.database, source.keys.table), (0, 0))
        self.blocks_read = 0  # of the last reading
        self._times: dict[str, Any] = {"since": since, "until": until, "time_field": time_field}
        self._scans: dict[tuple[str, ...], Scan] = {}
        self._of_columns: ColumnRows | None = None
        if not isinstance(source, str) and source.schema is not None:
            from sdb.query.rows.columnrows import ColumnRows

            self._of_columns = ColumnRows(source, source.schema, fields, self._times)
            self.schema: pa.Schema = self._of_columns.schema
            return
        try:
            self._packs: list[Packfile] = [part.pack for part in self._catalog((name,), None).parts]
            opened = [(pack.path, pack.trailer) for pack in self._packs]
            warn_unknown_fields(opened, fields, time_field)
            self._all = Scan(self._jobs(Anywhere()), fields=fields)
            self.schema = self._all.schema
        except BaseException:
            self._catalog.close()
            raise

    def _jobs(self, test: Predicate) -> list[Any]:
        return [(pack, pack.select(predicate=test, **self._times)) for pack in self._packs]

    def batches(
        self, columns: Sequence[str] | None = None, test: Predicate | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Iterate over the rows that may be wanted.

        * ``columns``: Their names; all if not given.
        * ``test``: What rows must have; other rows may come too.

        Raises `CorruptError` for a block that cannot be decoded.
        """
        if self._of_columns is not None:
            return self._columns_of(self._of_columns, columns, test or Anywhere())
        jobs = self._jobs(test or Anywhere())
        self.blocks_read = sum(len(selection.blocks) for _, selection in jobs)
        return self._scan(columns).of(jobs).batches()

    def _columns_of(
        self, rows: ColumnRows, columns: Sequence[str] | None, test: Predicate
    ) -> Iterator[pa.RecordBatch]:
        for batch in rows.batches(columns, test):
            self.blocks_read = rows.blocks_read
            yield batch

    def _scan(self, columns: Sequence[str] | None) -> Scan:
        """Return a scan of some columns, with the types that they have in all rows."""
        names = tuple(self.schema.names if columns is None else columns)
        if names == tuple(self.schema.names):
            return self._all
        if names not in self._scans:
            self._scans[names] = Scan(self._jobs(Anywhere()), fields=names)
        return self._scans[names]

    def to_lazy(self) -> pl.LazyFrame:
        """Return the rows as a lazy frame of polars.

        Raises `NotFoundError` if Polars is not installed.
        """
        from sdb.packfile.read.dataframes import polars_module

        polars = polars_module()
        from polars.io.plugins import register_io_source

        def frames(
            columns: list[str] | None,
            predicate: pl.Expr | None,
            n_rows: int | None,
            batch_size: int | None,  # noqa: ARG001 - as polars calls it
        ) -> Iterator[pl.DataFrame]:
            test = None if predicate is None else of_polars(predicate, self.schema)
            left = n_rows
            for batch in self.batches(columns, test):
                frame: pl.DataFrame = polars.from_arrow(batch)
                frame = frame if predicate is None else frame.filter(predicate)
                frame = frame if left is None else frame.head(left)
                yield frame
                left = None if left is None else left - frame.height
                if left == 0:
                    return

        empty: Any = polars.from_arrow(self.schema.empty_table())
        return register_io_source(frames, schema=dict(empty.schema))

    def to_dataset(self) -> Any:  # noqa: ANN401 - a class of pyarrow
        """Return the rows as a dataset of Arrow, of which DuckDB reads what a query needs."""
        return _dataset_class()(self)

    def close(self) -> None:
        """Close the packfiles; what is reading them fails."""
        self._catalog.close()


@cache
def _dataset_class() -> type:
    """Return the class of datasets, made when pyarrow is there."""
    import pyarrow.dataset as ds

    class RowSetDataset(ds.Dataset):  # type: ignore[misc]  # pyarrow has no types
        """Rows as DuckDB and others read datasets of Arrow."""

        def __init__(self, rows: RowSet) -> None:
            self._rows = rows

        @property
        def schema(self) -> pa.Schema:
            """The columns."""
            return self._rows.schema

        def scanner(
            self,
            columns: list[str] | None = None,
            filter: Any = None,  # noqa: A002, ANN401 - as pyarrow calls it
            **options: Any,  # noqa: ANN401 - those of pyarrow
        ) -> Any:  # noqa: ANN401
            """Return what reads some columns of the rows for which a condition is TRUE."""
            rows, names = self._rows, self._rows.schema.names
            asked = str(filter)
            wanted = [
                name
                for name in names
                if columns is None or name in columns or (filter is not None and name in asked)
            ] or names[:1]
            batches = rows.batches(wanted, of_arrow(filter, rows.schema))
            schema = pa_schema(rows.schema, wanted)
            options.pop("batch_size", None)
            return ds.Scanner.from_batches(
                batches, schema=schema, columns=columns, filter=filter, **options
            )

    return RowSetDataset


def pa_schema(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    """Return the schema of some columns."""
    import pyarrow as pa

    return pa.schema([schema.field(name) for name in names])
