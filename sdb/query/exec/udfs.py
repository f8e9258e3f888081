"""Functions that DuckDB lacks, registered with a connection for whole columns at a time."""

from __future__ import annotations

from functools import partial

from sdb import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import duckdb
    import pyarrow as pa

_TEXT, _BOOL, _DOUBLE, _INT = "VARCHAR", "BOOLEAN", "DOUBLE", "BIGINT"
SIGNATURES: dict[str, tuple[list[str], str]] = {
    "sdb_datashape": (["VARCHAR[]"], _TEXT),
    "sdb_expm1": ([_DOUBLE], _DOUBLE),
    "sdb_fuzzy": ([_TEXT, _TEXT, _INT, _BOOL, _BOOL], _BOOL),
    "sdb_geo_hash": ([_DOUBLE, _DOUBLE, _INT], _TEXT),
    "sdb_held": ([_INT], _BOOL),
    "sdb_ilike": ([_TEXT, _TEXT, _TEXT], _BOOL),
    "sdb_json_key": ([_TEXT, _TEXT], _TEXT),
    "sdb_json_n": ([_DOUBLE], _TEXT),
    "sdb_key_field": ([_TEXT, _TEXT], _TEXT),
    "sdb_key_item": ([_TEXT, _INT], _TEXT),
    "sdb_key_items": ([_TEXT], "VARCHAR[]"),
    "sdb_key_json": ([_TEXT], _TEXT),
    "sdb_key_members": ([_TEXT], "STRUCT(name VARCHAR, key VARCHAR)[]"),
    "sdb_key_merge": ([_TEXT, _TEXT, _TEXT], _TEXT),
    "sdb_key_n": ([_DOUBLE], _TEXT),
    "sdb_key_number": ([_TEXT], _DOUBLE),
    "sdb_key_numbers": ([_TEXT], "DOUBLE[]"),
    "sdb_key_size": ([_TEXT], _INT),
    "sdb_ln1p": ([_DOUBLE], _DOUBLE),
    "sdb_lower": ([_TEXT], _TEXT),
    "sdb_room": ([_INT, _INT], _BOOL),
    "sdb_shift": ([_INT, _INT, _TEXT], _INT),
    "sdb_subnet": ([_TEXT, _INT, _INT], _BOOL),
    "sdb_sum": (["DOUBLE[]"], _DOUBLE),
    "sdb_time": ([_TEXT], _INT),
    "sdb_under_schema": ([_TEXT, _TEXT], _TEXT),
    "sdb_upper": ([_TEXT], _TEXT),
}
"""Types of the arguments and of the result. A NULL argument makes the result NULL."""


def register(
    connection: duckdb.DuckDBPyConnection, names: Iterable[str], memory_bytes: int | None = None
) -> None:
    """Register functions with a connection.

    * ``names``: Those of :data:`SIGNATURES` that a statement uses.
    * ``memory_bytes``: What the statement may take.
    """
    from duckdb import func

    for name in sorted(names):
        arguments, result = SIGNATURES[name]
        connection.create_function(
            name,
            _taking(len(arguments), partial(_apply, name, memory_bytes)),
            arguments,  # type: ignore[arg-type]  # a list is invariant
            result,
            type=func.ARROW,
            null_handling=func.SPECIAL,
        )


def _apply(name: str, memory_bytes: int | None, *columns: pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    if name == "sdb_json_key":
        from sdb.query.exec import jsonkeys

        texts, orders = (column.to_pylist() for column in columns)
        return pa.array(list(map(jsonkeys.key, texts, orders)), pa.string())
    if name == "sdb_under_schema":
        from sdb.query.exec import schemakeys

        keys, requests = (column.to_pylist() for column in columns)
        return pa.array(list(map(schemakeys.under_schema, keys, requests)), pa.string())
    if name == "sdb_room":
        from sdb.query.duckdb_sql.functions.growth import room

        return room(*columns)
    if name == "sdb_fuzzy":
        from sdb.query.duckdb_sql.functions.growth import check_compared

        check_compared(*columns[:2])
    if name == "sdb_held":
        from sdb.query.duckdb_sql.functions.growth import held

        return held(columns[0], memory_bytes)
    return pa.array(_core.call_function(name, *(column.combine_chunks() for column in columns)))


def _taking(count: int, function: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
    """Return a function as many parameters as it takes columns, for DuckDB counts them."""
    by_count: dict[int, Callable[..., pa.Array]] = {
        1: lambda a: function(a),  # noqa: PLW0108
        2: lambda a, b: function(a, b),  # noqa: PLW0108
        3: lambda a, b, c: function(a, b, c),  # noqa: PLW0108
        5: lambda a, b, c, d, e: function(a, b, c, d, e),  # noqa: PLW0108
    }
    return by_count[count]
