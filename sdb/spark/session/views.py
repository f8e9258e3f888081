"""All tables below a root as views of a session."""

from __future__ import annotations

from sdb.errors import SdbError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sdb.store.base import Location
    from sdb.table.catalog.handle import TableHandle

_THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
_USUAL = 10 << 20


def register_tables(spark: SparkSession, root: Location) -> list[str]:
    """Make a view of each table and view below a root, named like it: ``web_gha`` is ``web.gha``.

    A data source in Python cannot tell Spark how large it is. So a table whose rows take less than
    ``spark.sql.autoBroadcastJoinThreshold``, decompressed, gets the hint that joins broadcast it.

    Returns: The names of the views.
    Raises `UsageError` if two tables would have the same name and `SdbError` if a table cannot be
    read.
    """
    from sdb.store.url import absolute
    from sdb.table.catalog.handle import find_table
    from sdb.table.catalog.root import table_root
    from sdb.table.catalog.views import view_names

    located = table_root(absolute(root))
    databases = {database: located.tables(database) for database in located.databases()}
    tables = [(database, table) for database in databases for table in databases[database]]
    handles = {names: find_table(located, *names) for names in tables}
    sources: dict[tuple[str, str], TableHandle | None] = {
        names: handle for names, handle in handles.items() if handle and not handle.is_dropped
    }
    sources |= dict.fromkeys(view_names(located))
    taken: dict[str, str] = {}
    for database, table in sources:
        name = f"{database}_{table}".replace(".", "_")
        if name.lower() in taken:
            raise UsageError(
                f"{taken[name.lower()]} and {database}.{table} would both be the view {name}",
                hint='createOrReplaceTempView of spark.read.format("zion")...load(...)',
            )
        taken[name.lower()] = f"{database}.{table}"
    most = _threshold(spark)
    made = []
    for names, handle in sources.items():
        frame = _loaded(spark, located.location, names)
        if handle is not None and (size := _size(handle)) is not None and size <= most:
            frame = frame.hint("broadcast")
        name = "_".join(names).replace(".", "_")
        frame.createOrReplaceTempView(f"`{name}`")
        made.append(name)
    return made


def _loaded(spark: SparkSession, root: str, names: tuple[str, str]) -> DataFrame:
    name = ".".join(names)
    try:
        return spark.read.format("zion").option("root", root).load(name)
    except Exception as error:
        raise SdbError(f"{name} below {root}: {error}") from error


def _size(handle: TableHandle) -> int | None:
    """Return how many bytes the rows take; None: the index has too many packfiles to be small."""
    if handle.index.indirect.refs:
        return None
    return sum(descriptor.trailer.decompressed_bytes for descriptor in handle.index.inline)


def _threshold(spark: SparkSession) -> int:
    text = spark.conf.get(_THRESHOLD, str(_USUAL)) or ""
    return int(text.lower().removesuffix("b")) if text.lower().strip("-b").isdigit() else _USUAL
