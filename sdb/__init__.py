"""sdb: packs event data into packfiles.

======================  =========================================================
`sdb.open`              a packfile for reading, see :class:`sdb.packfile.read.reader.Packfile`
`sdb.pack`              text to a packfile
`sdb.append`            more text to a packfile
`sdb.concat`            several packfiles to one
`sdb.unpack`            a packfile to text, Ion, Arrow or Parquet
`sdb.grep`              rows of packfiles in which a text matches
`sdb.sql`               a query on packfiles, see :class:`sdb.query.result.result.Result`
`sdb.connect`           the tables below a root
`sdb.execute`           statements that change tables
`sdb.cached`            packfiles that queries on other inputs have left in the cache
`sdb.clear_cache`       removes them
`sdb.register`          a packfile as a table of a DuckDB connection of yours
`sdb.describe`          what packfiles say of themselves
`sdb.fields`            their fields: types, and in how many rows they are
`sdb.field_stats`       what is in them: distinct and frequent values, ranges, bytes
`sdb.validate`          whether a packfile is as it must be
`sdb.diagnose`          what an S3 endpoint really does
`sdb.errors`            what can go wrong
======================  =========================================================

Nothing is loaded before it is used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb import errors
    from sdb.packfile.export.grep import grep
    from sdb.packfile.inspect.describe import describe, fields
    from sdb.packfile.inspect.fieldreport import field_stats
    from sdb.packfile.inspect.validate import validate
    from sdb.packfile.read.resolve import open_one as open  # noqa: A004 - sdb.open
    from sdb.packfile.rewrite.concat import concat
    from sdb.packfile.write.append import append
    from sdb.packfile.write.pack import pack
    from sdb.query.api import sql
    from sdb.query.connected import connect
    from sdb.query.exec.ondemand import cached, clear_cache
    from sdb.query.registered import register
    from sdb.query.unpacking import unpack
    from sdb.query.writes.execute import execute
    from sdb.store.url import diagnose

__all__ = [
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
    "sql",
    "unpack",
    "validate",
]

_PLACES = {
    "append": ("sdb.packfile.write.append", "append"),
    "cached": ("sdb.query.exec.ondemand", "cached"),
    "clear_cache": ("sdb.query.exec.ondemand", "clear_cache"),
    "concat": ("sdb.packfile.rewrite.concat", "concat"),
    "connect": ("sdb.query.connected", "connect"),
    "diagnose": ("sdb.store.url", "diagnose"),
    "describe": ("sdb.packfile.inspect.describe", "describe"),
    "execute": ("sdb.query.writes.execute", "execute"),
    "field_stats": ("sdb.packfile.inspect.fieldreport", "field_stats"),
    "fields": ("sdb.packfile.inspect.describe", "fields"),
    "grep": ("sdb.packfile.export.grep", "grep"),
    "open": ("sdb.packfile.read.resolve", "open_one"),
    "pack": ("sdb.packfile.write.pack", "pack"),
    "register": ("sdb.query.registered", "register"),
    "sql": ("sdb.query.api", "sql"),
    "unpack": ("sdb.query.unpacking", "unpack"),
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
