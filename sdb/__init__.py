"""sdb: packs event data into packfiles.

======================  =========================================================
`sdb.open`              open a packfile for reading: `sdb.Packfile`
`sdb.pack`              pack JSON, CSV, CloudTrail, Ion or Parquet into a packfile
`sdb.append`            append inputs to a packfile
`sdb.concat`            join packfiles
`sdb.unpack`            write rows as JSON, CSV, Ion, Arrow or Parquet
`sdb.grep`              iterate over rows in which a text matches
`sdb.sql`               query packfiles and tables: `sdb.Result`
`sdb.connect`           connect to the tables below a root: `sdb.Connection`
`sdb.execute`           run statements that change tables
`sdb.cached`            list the cached packfiles of queries on other inputs
`sdb.clear_cache`       remove them
`sdb.register`          register packfiles as a table of a DuckDB connection
`sdb.splits`            split packfiles into pieces for other processes: `sdb.Split`
`sdb.describe`          describe packfiles: sizes, blocks, time ranges
`sdb.fields`            list fields: types, and in how many rows they are
`sdb.field_stats`       summarise fields: distinct and frequent values, ranges, bytes
`sdb.validate`          check a packfile
`sdb.diagnose`          test what an S3 endpoint guarantees
`sdb.errors`            exceptions
`sdb.Table`             a table, or a version of one, of `Connection.table`
`sdb.Times`             how times of inputs are read
======================  =========================================================

docs/api.md has all of them, with parameters and examples.
Nothing is loaded before it is used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb import errors
    from sdb.client.connection import Connection, connect
    from sdb.client.registered import register
    from sdb.client.table import Table
    from sdb.packfile.export.grep import grep
    from sdb.packfile.inspect.describe import describe, fields
    from sdb.packfile.inspect.fieldreport import field_stats
    from sdb.packfile.inspect.validate import validate
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.read.resolve import open_one as open  # noqa: A004 - sdb.open
    from sdb.packfile.rewrite.concat import concat
    from sdb.packfile.write.append import append
    from sdb.packfile.write.pack import pack
    from sdb.query.catalog.ondemand import cached, clear_cache
    from sdb.query.result.result import Result
    from sdb.query.rows.splits import Split, Splits, splits
    from sdb.query.rows.unpacking import unpack
    from sdb.query.run.api import sql
    from sdb.statements.execute import execute
    from sdb.store.url import diagnose
    from sdb.times import Times

__all__ = [
    "Connection",
    "Packfile",
    "Result",
    "Split",
    "Splits",
    "Table",
    "Times",
    "append",
    "cached",
    "clear_cache",
    "concat",
    "connect",
    "describe",
    "diagnose",
    "errors",
    "execute",
    "field_stats",
    "fields",
    "grep",
    "open",
    "pack",
    "register",
    "splits",
    "sql",
    "unpack",
    "validate",
]

_PLACES = {
    "Connection": ("sdb.client.connection", "Connection"),
    "Packfile": ("sdb.packfile.read.reader", "Packfile"),
    "Result": ("sdb.query.result.result", "Result"),
    "Split": ("sdb.query.rows.splits", "Split"),
    "Splits": ("sdb.query.rows.splits", "Splits"),
    "Table": ("sdb.client.table", "Table"),
    "Times": ("sdb.times", "Times"),
    "append": ("sdb.packfile.write.append", "append"),
    "cached": ("sdb.query.catalog.ondemand", "cached"),
    "clear_cache": ("sdb.query.catalog.ondemand", "clear_cache"),
    "concat": ("sdb.packfile.rewrite.concat", "concat"),
    "connect": ("sdb.client.connection", "connect"),
    "diagnose": ("sdb.store.url", "diagnose"),
    "describe": ("sdb.packfile.inspect.describe", "describe"),
    "execute": ("sdb.statements.execute", "execute"),
    "field_stats": ("sdb.packfile.inspect.fieldreport", "field_stats"),
    "fields": ("sdb.packfile.inspect.describe", "fields"),
    "grep": ("sdb.packfile.export.grep", "grep"),
    "open": ("sdb.packfile.read.resolve", "open_one"),
    "pack": ("sdb.packfile.write.pack", "pack"),
    "register": ("sdb.client.registered", "register"),
    "splits": ("sdb.query.rows.splits", "splits"),
    "sql": ("sdb.query.run.api", "sql"),
    "unpack": ("sdb.query.rows.unpacking", "unpack"),
    "validate": ("sdb.packfile.inspect.validate", "validate"),
}


def __getattr__(name: str) -> object:
    """Load the part of `sdb` that a name belongs to."""
    if name == "__version__":
        from sdb import _core

        return _core.__version__
    if name == "errors":
        import sdb.errors

        return sdb.errors
    if name in _PLACES:
        from importlib import import_module

        module, attribute = _PLACES[name]
        return getattr(import_module(module), attribute)
    raise AttributeError(f"module 'sdb' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List what the package offers."""
    return sorted({*globals(), *__all__, "__version__"})
