"""The reader of views: their rows are computed where they are loaded, and read by one task.

The query of a view is not Spark's, and may read tables whose index only the driver has a key for.
So its rows travel as a packfile, which is bounded.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql.datasource import DataSourceReader, InputPartition

from sdb.errors import UnsupportedError
from sdb.packfile.prune.predicate import Anywhere
from sdb.spark.read import scan
from sdb.spark.read.listing import listed, looked_at
from sdb.spark.read.partitions import chosen, grouped
from sdb.table.catalog.views import find_view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from sdb.packfile.read.reader import Packfile
    from sdb.spark.options.namedtable import NamedTable
    from sdb.spark.options.settings import ReadOptions

MOST_BYTES = 64 << 20
"""Size of the packfile that the rows of a view may have."""


def view_rows(named: NamedTable) -> bytes | None:
    """Compute the rows of a view, as a packfile; None: the name is not that of a view.

    Raises
    ------
    UnsupportedError
        They take more than `MOST_BYTES`.
    QueryError, NotFoundError
        The view cannot be read any more: a table of it is gone.
    """
    if find_view(named.root(), named.database, named.table) is None:
        return None
    from sdb.packfile.write.pack import pack
    from sdb.query.rows.tablerows import quoted
    from sdb.query.run.api import sql

    name = f"{quoted(named.database)}.{quoted(named.table)}" + (f"@{named.at}" if named.at else "")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.zion"
        with sql(f"SELECT * FROM {name}", root=named.location) as result:  # noqa: S608 - a quoted name
            pack([result._as_input()], path)  # noqa: SLF001 - as rows of tables
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise UnsupportedError(
                f"the rows of the view {named.name} take {size:,} bytes, and {MOST_BYTES:,} may go "
                "from the driver to a task",
                hint="make a table of it: sdb exec 'CREATE TABLE ... AS SELECT ...'",
            )
        return path.read_bytes()


@contextmanager
def opened_rows(rows: bytes) -> Iterator[list[Packfile]]:
    """Open the rows of a view as the packfiles that Spark reads."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.zion"
        path.write_bytes(rows)
        yield looked_at(listed((str(path),)))


@dataclass(frozen=True)
class ViewPartition(InputPartition):
    """All rows of a view, as a packfile."""

    rows: bytes


class ViewReader(DataSourceReader):
    """Reads the rows of a view."""

    def __init__(self, schema: StructType, options: ReadOptions, rows: bytes) -> None:
        scan.columns(schema, options)
        self._schema = schema
        self._options = options
        self._rows = rows

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition."""
        return [ViewPartition(self._rows)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows of a partition."""
        if not isinstance(partition, ViewPartition):
            return
        with opened_rows(partition.rows) as packs:
            blocks = chosen(packs, Anywhere(), self._options)
            for group in grouped(blocks, self._options.partition_bytes, 0):
                yield from scan.batches(group, self._schema, self._options)
