"""Mirrors as other engines read them, and tables as `sdb` does, in one form to be compared."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import deltalake
import duckdb
import polars as pl

import sdb
from sdb.exchange.mirror import TableMirror
from sdb.lake.columntypes import chosen_columns
from sdb.table.catalog.root import table_root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\Z")
_WHOLE = 2**53


def canonical(value: Any) -> Any:
    """Return a value in one form: null and missing are the same, and so are 1 and 1.0."""
    if isinstance(value, dict):
        members = {name: canonical(member) for name, member in value.items()}
        return {name: member for name, member in members.items() if member is not None}
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str) and _INSTANT.match(value):
        return datetime.fromisoformat(value).isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
        return int(value)
    return value


def decoded(value: Any, kind: Any) -> Any:
    """Return a value with its JSON texts read."""
    if value is None:
        return None
    if kind == "json":
        return json.loads(value)
    if isinstance(kind, dict):
        return {name: decoded(value.get(name), inner) for name, inner in kind.items()}
    if isinstance(kind, list):
        return [decoded(item, kind[0]) for item in value]
    return value


def counted(rows: Iterable[Any]) -> Counter[str]:
    """Return rows in any order."""
    return Counter(json.dumps(canonical(row), sort_keys=True) for row in rows)


def table_rows(root: Path, name: str, version: int) -> Counter[str]:
    """Return the rows of a version, as `sdb query` has them."""
    return counted(sdb.connect(root).sql(f"SELECT * FROM {name}@{version}"))


def by_delta_rs(table: deltalake.DeltaTable) -> list[dict[str, Any]]:
    """Read a table with delta-rs and Arrow."""
    rows: list[dict[str, Any]] = table.to_pyarrow_table().to_pylist()
    return rows


def by_datafusion(table: deltalake.DeltaTable) -> list[dict[str, Any]]:
    """Read a table with delta-rs and its own engine."""
    import pyarrow as pa

    builder = deltalake.QueryBuilder().register("t", table)
    rows: list[dict[str, Any]] = pa.table(builder.execute("SELECT * FROM t").read_all()).to_pylist()
    return rows


def by_polars(table: deltalake.DeltaTable) -> list[dict[str, Any]]:
    """Read a table with Polars."""
    return pl.scan_delta(table).collect().to_dicts()


def by_duckdb(table: deltalake.DeltaTable) -> list[dict[str, Any]]:
    """Read the files of a table with DuckDB."""
    files = table.file_uris()
    if not files:
        return []
    try:
        return _by_duckdb(files)
    except duckdb.InternalException as error:
        # A bug of DuckDB 2.0.1: files of which some lack a struct in a struct.
        if "requires a flat vector" not in str(error):
            raise
        return [row for file in files for row in _by_duckdb([file])]


def _by_duckdb(files: list[str]) -> list[dict[str, Any]]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        relation = connection.sql(
            "SELECT * FROM read_parquet($files, union_by_name=true)", params={"files": files}
        )
        rows: list[dict[str, Any]] = relation.to_arrow_table().to_pylist()
    return rows


READERS: tuple[Callable[[deltalake.DeltaTable], list[dict[str, Any]]], ...] = (
    by_delta_rs,
    by_datafusion,
    by_polars,
    by_duckdb,
)


def versions(location: Path | str) -> dict[int, int]:
    """Return the commit that has each version of a mirror: each version is in one."""
    history = deltalake.DeltaTable(str(location)).history()
    history = [entry for entry in history if "sdb.version" in entry]
    numbers = [entry["sdb.version"] for entry in history]
    assert len(numbers) == len(set(numbers)), numbers
    return {entry["sdb.version"]: entry["version"] for entry in reversed(history)}


def mirror_rows(
    location: Path | str, commit: int, reader: Callable[[Any], list[dict[str, Any]]]
) -> Counter[str]:
    """Return the rows of a commit of a mirror, as an engine has them."""
    table = deltalake.DeltaTable(str(location), version=commit)
    columns = chosen_columns(json.loads(table.metadata().configuration["sdb.columns"]))
    names = {
        field.name: field.metadata.get("sdb.field", field.name) for field in table.schema().fields
    }
    return counted(
        decoded({names[name]: value for name, value in row.items()}, columns)
        for row in reader(table)
    )


def mirrored(root: Path, location: Path | str, name: str = "web.t", **options: Any) -> TableMirror:
    """Mirror a table."""
    database, table = name.split(".")
    mirror = TableMirror(table_root(root), database, table, str(location), **options)
    mirror.update()
    return mirror


def check(root: Path, location: Path | str, name: str = "web.t", engines: Any = READERS) -> None:
    """Require that each version of a mirror has the rows of the table, for all engines."""
    known = versions(location)
    newest = sdb.connect(root).table(name).version
    assert max(known) == newest
    for number, commit in known.items():
        expected = table_rows(root, name, number)
        for reader in engines:
            assert mirror_rows(location, commit, reader) == expected, (number, reader.__name__)
