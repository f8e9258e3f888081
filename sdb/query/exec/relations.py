"""Scans as relations of DuckDB: it orders joins by what is known of their rows.

Of a stream it knows nothing, and takes it for one row: joins of three tables went through products
of two of them. It gets the number of rows, and small sides of such joins as tables of its own, of
which it counts the different values.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import duckdb

    from sdb._core import LaneScan
    from sdb.query.plan.scans import ScanNode

MOST_ROWS = 1_000_000
MOST_BYTES = 64 << 20
"""What is larger, decompressed, is read as a stream."""

_FEWEST_JOINS = 2
_JOIN = " JOIN "


def register(
    connection: duckdb.DuckDBPyConnection, scan: ScanNode, lanes: LaneScan, sql: str
) -> None:
    """Make a scan a relation under its name.

    * ``lanes``: The rows, a `_core.LaneScan`.
    * ``sql``: The statement that reads it.
    """
    rows = None if scan.explode else scan.dataset.row_count()
    if rows is None or _JOIN not in sql:
        connection.register(scan.name, lanes)
    elif sql.count(_JOIN) < _FEWEST_JOINS or not _is_small(scan, rows):
        _register_counted(connection, scan.name, lanes, rows)
    else:
        stream = f"{scan.name}_stream"
        connection.register(stream, lanes)
        connection.execute(f"CREATE TEMP TABLE {scan.name} AS FROM {stream}")
        connection.unregister(stream)


def _is_small(scan: ScanNode, rows: int) -> bool:
    """Return whether rows may be kept in memory, whatever is read of them."""
    size: int | None = getattr(scan.dataset, "decompressed_bytes", None)
    return rows <= MOST_ROWS and size is not None and size <= MOST_BYTES


def _register_counted(
    connection: duckdb.DuckDBPyConnection, name: str, lanes: LaneScan, rows: int
) -> None:
    """Register a stream with the number of its rows, where this DuckDB has a place for it."""
    try:
        module: Any = importlib.import_module("duckdb._sources.arrow")
        stream = module.ArrowStreamSource(lanes)
        register: Any = connection._register_arrow_source  # noqa: SLF001 - there is no public one
    except (ImportError, AttributeError):
        connection.register(name, lanes)
        return
    stream.rows = lambda: rows
    register(name, stream)
