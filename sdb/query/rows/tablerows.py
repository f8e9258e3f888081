"""Rows of tables in Python: the part of `sdb.Table` that reads."""

from __future__ import annotations

from sdb import bounds
from sdb.table.catalog.handle import open_table
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from typing import Any

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from sdb.packfile.inputs.inputs import Input
    from sdb.packfile.read.fields import FieldDescription
    from sdb.query.result.result import Result
    from sdb.table.catalog.handle import TableHandle


class TableRows(Protocol):
    """Rows of a table, or of a version of it."""

    @property
    def name(self) -> str:
        """The name, ``db.table``."""

    def _read(self, text: str, **choice: Any) -> Result:  # noqa: ANN401 - of `sdb.sql`
        """Begin to read the rows of a query on the table."""

    def _selected(
        self,
        columns: str,
        limit: int | None = None,
        **choice: Any,  # noqa: ANN401 - of `sdb.sql`
    ) -> Result:
        """Begin to read rows."""
        bounds.ROWS.check(limit)
        text = f"SELECT {columns} FROM {quoted_table(self.name)}"  # noqa: S608 - quoted
        return self._read(text if limit is None else f"{text} LIMIT {limit}", **choice)

    def rows(
        self,
        *,
        fields: Sequence[str] | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        time_field: str | Sequence[str] | None = None,
        limit: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Iterate over the rows as dicts; arguments as in :meth:`to_arrow`.

        Yields
        ------
        dict
            A row: timestamps are aware datetimes, NULL is ``None``, MISSING members are left out.
        """
        columns = "*" if fields is None else ", ".join(map(quoted, fields))
        times: dict[str, Any] = {"since": since, "until": until, "time_field": time_field}
        with self._selected(columns, limit, **times) as result:
            yield from result

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over all rows."""
        return self.rows()

    def __len__(self) -> int:
        """Return the number of rows, which metadata has."""
        with self._selected("COUNT(*) AS n") as result:
            return int(next(iter(result))["n"])

    def __bool__(self) -> bool:
        """Return True: a table without rows is a table."""
        return True

    def head(self, rows: int = 10) -> list[dict[str, Any]]:
        """Read the first rows, as dicts."""
        return list(self.rows(limit=rows))

    def to_arrow(
        self,
        *,
        fields: Sequence[str] | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        time_field: str | Sequence[str] | None = None,
        limit: int | None = None,
    ) -> pa.Table:
        """Read rows into an Arrow table.

        Parameters
        ----------
        fields : sequence of str, optional
            Names of the top-level fields; all if not given.
        since, until : str or datetime, optional
            Only rows with a time from `since` on and before `until`.
        time_field : str or sequence of str, optional
            Path of that time; without it the obvious one.
        limit : int, optional
            Maximum number of rows.

        Returns
        -------
        pyarrow.Table
            The rows. Columns of one type have it, those of several are JSON text.
        """
        columns = "*" if fields is None else ", ".join(map(quoted, fields))
        times: dict[str, Any] = {"since": since, "until": until, "time_field": time_field}
        with self._selected(columns, limit, **times) as result:
            return result.to_arrow()

    def to_polars(
        self,
        *,
        fields: Sequence[str] | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        time_field: str | Sequence[str] | None = None,
        limit: int | None = None,
    ) -> pl.DataFrame:
        """Read rows into a data frame of polars; arguments as in :meth:`to_arrow`.

        Raises
        ------
        NotFoundError
            Polars is not installed.
        """
        from sdb.packfile.read.dataframes import as_polars

        return as_polars(
            self.to_arrow(
                fields=fields, since=since, until=until, time_field=time_field, limit=limit
            )
        )

    def to_pandas(
        self,
        *,
        fields: Sequence[str] | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        time_field: str | Sequence[str] | None = None,
        limit: int | None = None,
    ) -> pd.DataFrame:
        """Read rows into a data frame of pandas; arguments as in :meth:`to_arrow`.

        Raises
        ------
        NotFoundError
            Pandas is not installed.
        """
        from sdb.packfile.read.dataframes import as_pandas

        return as_pandas(
            self.to_arrow(
                fields=fields, since=since, until=until, time_field=time_field, limit=limit
            )
        )

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand all rows to any library that speaks the Arrow C stream interface."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _as_input(self) -> Input:
        """Return the rows as an input of :func:`sdb.pack` and others."""
        return self._selected("*")._as_input()  # noqa: SLF001 - of the same kind

    def _repr_html_(self) -> str:
        with self._selected("*", 11) as result:
            return result._repr_html_()


class StoredRows(TableRows):
    """Rows of a table below a root, which its index leads to."""

    _handle: TableHandle
    _at: str

    @property
    def snapshot(self) -> TableHandle:
        """The version whose rows are read: that of :meth:`at`, or the newest."""
        if self._at:
            return self._handle
        keys = self._handle.keys
        return open_table(self._handle.root, keys.database, keys.table)

    @property
    def fields(self) -> tuple[FieldDescription, ...]:
        """The fields with types and numbers of rows, as far as the packfiles have them."""
        from sdb.query.catalog.catalog import Catalog
        from sdb.query.catalog.dataset import QueryRequest, TableName

        handle = self.snapshot
        catalog = Catalog(QueryRequest(root=handle.root.location, tables={handle.name: handle}))
        try:
            name = TableName("path", (handle.keys.database, handle.keys.table), (0, 0))
            return catalog.fields((name,)).fields
        finally:
            catalog.close()

    def _read(self, text: str, **choice: Any) -> Result:  # noqa: ANN401 - of `sdb.sql`
        from sdb.query.run.api import sql

        if self._at:
            choice["tables"] = {self._handle.name: self._handle}
        return sql(text, root=self._handle.root.location, **choice)

    def lazy(
        self,
        *,
        fields: Sequence[str] | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        time_field: str | Sequence[str] | None = None,
    ) -> pl.LazyFrame:
        """Return the rows as a lazy frame of polars, which reads what its query needs.

        Only the columns that are needed are decoded. Comparisons of columns with constants
        (``==`` of texts; ``==``, ``<``, ``<=``, ``>``, ``>=`` of integers and times), ``is_in``,
        AND and OR leave out the blocks that cannot hold such rows; all other conditions polars
        decides row by row. For the types of the columns the rows are looked at once, but for
        `fields` whose types metadata has. For DuckDB see :func:`sdb.register`.

        Parameters
        ----------
        fields, since, until, time_field
            As in :meth:`to_arrow`.

        Returns
        -------
        polars.LazyFrame
            The rows of the version that is the newest now, or that of :meth:`at`.

        Raises
        ------
        NotFoundError
            Polars is not installed.
        """
        from sdb.packfile.read.dataframes import polars_module
        from sdb.query.rows.rowset import RowSet

        polars_module()  # before anything is read
        rows = RowSet(self.snapshot, fields=fields, since=since, until=until, time_field=time_field)
        return rows.to_lazy()


def quoted(name: str) -> str:
    """Write a name as queries have it."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def quoted_table(name: str) -> str:
    """Write the name of a table, ``db.table``, as queries have it."""
    return ".".join(map(quoted, name.split(".", 1)))
