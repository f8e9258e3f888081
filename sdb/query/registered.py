"""`sdb.register`: packfiles as tables of a DuckDB connection."""

from __future__ import annotations

from sdb.packfile.prune.unknownfields import tell_of
from sdb.packfile.read.arrow import Scan
from sdb.query.exec.catalog import Catalog
from sdb.query.plan.dataset import TableName

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb
    import pyarrow as pa


class Registered:
    """Rows of packfiles for consumers of Arrow that ask for them again and again."""

    def __init__(
        self, path: str, fields: Sequence[str] | None, since: str | None, until: str | None
    ) -> None:
        self._catalog = Catalog()
        try:
            table = self._catalog((TableName("file", (path,), (0, 0)),), None)
            opened = [(part.pack.path, part.pack.trailer) for part in table.parts]
            tell_of(opened, fields, None)
            jobs = [(part.pack, part.pack.select(since=since, until=until)) for part in table.parts]
            self._scan = Scan(jobs, fields=fields)
            self._schema: pa.Schema = self._scan.schema
        except BaseException:
            self._catalog.close()
            raise

    def __arrow_c_schema__(self) -> object:
        """Give the schema, without reading anything."""
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Begin to read the rows."""
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_batches(self._schema, self._scan.batches())
        return reader.__arrow_c_stream__(requested_schema)

    def close(self) -> None:
        """Close the packfiles; a query that is under way fails."""
        self._catalog.close()


def register(
    con: duckdb.DuckDBPyConnection,
    name: str,
    path: str,
    *,
    fields: Sequence[str] | None = None,
    since: str | None = None,
    until: str | None = None,
) -> Registered:
    """Make packfiles a table of a DuckDB connection of yours.

    All rows have one schema, that of :meth:`sdb.packfile.read.reader.Packfile.to_arrow`, for which
    they are looked through once. DuckDB cannot tell which columns and rows a query needs, so each
    query reads all that was chosen here: name the fields, and bound the time. `sdb.sql` chooses by
    itself.

    Parameters
    ----------
    con : duckdb.DuckDBPyConnection
        The connection.
    name : str
        Name of the table in it.
    path : str
        A packfile, or a pattern as in ``logs/*.zion``.
    fields : sequence of str, optional
        Names of the top-level fields that become columns.
    since, until : str, optional
        Only rows with a time from `since` on and before `until`; blocks that the time index rules
        out are not read.

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
    >>> con = duckdb.connect()
    >>> sdb.register(con, "events", "gha.zion", fields=["type"])    # doctest: +SKIP
    >>> con.sql("SELECT type, count(*) FROM events GROUP BY type")  # doctest: +SKIP
    """
    rows = Registered(path, fields, since, until)
    con.register(name, rows)
    return rows
