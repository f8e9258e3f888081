"""The reader of views and queries, which are not Spark's.

Tasks run a query that can be divided. The rows of others are computed by the driver: they may be of
tables whose index only the driver has a key for. They travel as a packfile, which is bounded.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from sdb import notes
from sdb.errors import UnsupportedError, UsageError
from sdb.spark.options.settings import read_options
from sdb.spark.read import scan
from sdb.spark.read.divided import Divided, divided
from sdb.spark.read.listing import looked_at
from sdb.spark.read.partitions import chosen, grouped
from sdb.spark.read.schema import schema_of
from sdb.spark.session.hinted import hinted_each
from sdb.table.catalog.views import find_view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from sdb.packfile.read.reader import Packfile
    from sdb.query.result.result import Result
    from sdb.query.rows.splits import Split
    from sdb.spark.options.namedtable import NamedTable
    from sdb.spark.options.settings import ReadOptions

MOST_BYTES = 64 << 20
"""Size of the packfile that the rows of a view or query may have."""
_WRONG_WITH_QUERY = ("path", "paths", "at", "since", "until", "timeField")


@dataclass(frozen=True, slots=True)
class Computed:
    """Rows that the driver has computed."""

    columns: tuple[str, ...]  # their names, in the order of the query; none for whole rows
    data: bytes  # a packfile with the rows

    def schema(self, options: ReadOptions) -> StructType:
        """Return the columns that Spark sees, in the order of the query."""
        with _opened(ComputedRows(self.data)) as packs:
            schema = schema_of(packs, options)
        if options.fields is not None:
            return schema
        order = {name: at for at, name in enumerate(self.columns)}
        fields = sorted(schema.fields, key=lambda field: order.get(field.name, len(order)))
        return StructType(fields)


def view_rows(named: NamedTable) -> Computed | None:
    """Compute the rows of a view; None: the name is not that of a view.

    Raises `UnsupportedError` if they take more than `MOST_BYTES`; `QueryError` or `NotFoundError`
    if the view cannot be read any more, since a table of it is gone.
    """
    if find_view(named.root(), named.database, named.table) is None:
        return None
    from sdb.query.rows.tablerows import quoted

    name = f"{quoted(named.database)}.{quoted(named.table)}" + (f"@{named.at}" if named.at else "")
    text = f"SELECT * FROM {name}"  # noqa: S608 - a quoted name
    return _computed(text, named.location, f"the view {named.name}")


def query_rows(options: Mapping[str, str]) -> Computed | Divided | None:
    """Divide the query of the option ``query``, or compute its rows; None: there is no such option.

    Raises `UsageError` if there is a path as well, or an option that belongs into the query;
    `UnsupportedError` if they take more than `MOST_BYTES`; `SdbError` as :func:`sdb.sql` does.
    """
    if "query" not in options:
        return None
    for name in _WRONG_WITH_QUERY:
        if name in options:
            hint = "FROM read_file('...') or FROM db.table, with WHERE"
            raise UsageError(f"query goes without {name}: the query says it", hint=hint)
    text, root = options["query"], options.get("root", "")
    return divided(text, root, read_options(options)) or _computed(text, root, "the query")


def _computed(text: str, root: str, what: str) -> Computed:
    from sdb.query.run.api import sql

    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.zion"
        with sql(text, root=root) as result:
            columns = tuple(result.columns)
            _pack(result, path)
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise UnsupportedError(
                f"the rows of {what} take {size:,} bytes, and {MOST_BYTES:,} may go "
                "from the driver to a task",
                hint="make a table of it: sdb exec 'CREATE TABLE ... AS SELECT ...'",
            )
        return Computed(columns, path.read_bytes())


def _pack(
    result: Result, path: Path, *, level: int | None = None, threads: int | None = None
) -> None:
    """Write a packfile with the rows of a query, and warn of what may mislead about these."""
    from sdb.packfile.write.pack import pack
    from sdb.query.run.api import warnings_in

    with notes.unheard():
        pack([result._as_input()], path, level=level, threads=threads)  # noqa: SLF001 - as rows of tables
    for warning in warnings_in(result.notes):
        notes.warn(warning)


@contextmanager
def _opened(part: ComputedRows | QueryPart) -> Iterator[list[Packfile]]:
    """Open computed rows as the packfiles that Spark reads."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.zion"
        part.write(path)
        yield looked_at([str(path)])


@dataclass(frozen=True)
class ComputedRows(InputPartition):
    """All rows of a view or query, as a packfile."""

    rows: bytes

    def write(self, path: Path) -> None:
        """Write the packfile."""
        path.write_bytes(self.rows)


@dataclass(frozen=True)
class QueryPart(InputPartition):
    """A part of a query that is divided."""

    items: str
    split: Split

    def write(self, path: Path) -> None:
        """Run the query for this part, and write a packfile of its rows, which is read once."""
        with self.split._read(None, self.items) as result:  # noqa: SLF001 - as its other readers
            _pack(result, path, level=1, threads=1)


class ComputedReader(DataSourceReader):
    """Reads the rows of a view or query."""

    def __init__(self, schema: StructType, options: ReadOptions, rows: Computed | Divided) -> None:
        scan.columns(schema, options)
        self._schema = schema
        self._options = options
        self._rows = rows

    def partitions(self) -> Sequence[InputPartition]:
        """Return a partition for each part of the rows."""
        if isinstance(self._rows, Divided):
            return [QueryPart(self._rows.items, split) for split in self._rows.splits]
        return [ComputedRows(self._rows.data)]

    @hinted_each
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows of a partition."""
        if not isinstance(partition, ComputedRows | QueryPart):
            return
        with _opened(partition) as packs:
            blocks = chosen(packs, self._options)
            for group in grouped(blocks, self._options.partition_bytes, 0):
                yield from scan.batches(group, self._schema, self._options)
