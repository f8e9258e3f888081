"""`sdb.register`: packfiles and tables as tables of a DuckDB connection."""

from __future__ import annotations

import os

from sdb.query.rows.rowset import RowSet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import duckdb

    from sdb.client.table import Table
    from sdb.store.base import Location


class Registered:
    """Rows that a connection of DuckDB knows by name; it keeps their packfiles open."""

    def __init__(self, rows: RowSet) -> None:
        self._rows = rows

    @property
    def blocks_read(self) -> int:
        """Number of blocks that the last query read."""
        return self._rows.blocks_read

    def __arrow_c_schema__(self) -> object:
        """Return the schema, without reading anything."""
        return self._rows.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Begin to read the rows."""
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_batches(self._rows.schema, self._rows.batches())
        return reader.__arrow_c_stream__(requested_schema)

    def close(self) -> None:
        """Close the packfiles; a query that is under way fails."""
        self._rows.close()


def register(
    con: duckdb.DuckDBPyConnection,
    name: str,
    source: Location | Table,
    *,
    fields: Sequence[str] | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    time_field: str | Sequence[str] | None = None,
) -> Registered:
    """Register packfiles or a table as a table of your own DuckDB connection.

    All rows have one schema, that of :meth:`sdb.Packfile.to_arrow`, for which they are read once:
    name the fields if there are many. Of a query DuckDB passes on the columns that it needs, and
    comparisons of columns with constants: other columns are not decoded, and blocks are left out
    that cannot hold such rows. Other conditions (LIKE, IN, functions) are decided by DuckDB row by
    row. :func:`sdb.sql` also pushes those down, and knows values of several types.

    A table is registered as it is now; later versions are not seen.

    Parameters
    ----------
    con : duckdb.DuckDBPyConnection
        The connection.
    name : str
        Name of the table in it.
    source : path, str or Table
        A packfile, a pattern as in ``logs/*.zion``, or a table of :func:`sdb.connect`.
    fields : sequence of str, optional
        Names of the top-level fields that become columns.
    since, until : str or datetime, optional
        Only rows with a time from `since` on and before `until`; blocks that the time index rules
        out are not read.
    time_field : str or sequence of str, optional
        Path of that time; without it the obvious one.

    Returns
    -------
    Registered
        Keeps the packfiles open until it is closed.

    Raises
    ------
    NotFoundError, AccessError, CorruptError
        A packfile cannot be opened or read.

    Examples
    --------
    >>> import duckdb
    >>> connection = duckdb.connect()
    >>> registered = sdb.register(connection, "events", "events.zion", fields=["type"])
    >>> connection.sql("SELECT count(*) FROM events WHERE type = 'PushEvent'").fetchall()
    [(596,)]
    >>> connection.close()
    >>> registered.close()
    """
    source_rows = os.fspath(source) if isinstance(source, str | os.PathLike) else source.snapshot
    rows = RowSet(source_rows, fields=fields, since=since, until=until, time_field=time_field)
    con.register(name, rows.to_dataset())
    return Registered(rows)
