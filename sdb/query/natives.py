"""Functions that DuckDB lacks, registered with a connection for whole columns at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sdb.query import standins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import duckdb

_TEXT, _BOOL, _DOUBLE, _INT = "VARCHAR", "BOOLEAN", "DOUBLE", "BIGINT"
SIGNATURES: dict[str, tuple[list[str], str]] = {
    "sdb_datashape": (["VARCHAR[]"], _TEXT),
    "sdb_expm1": ([_DOUBLE], _DOUBLE),
    "sdb_fuzzy": ([_TEXT, _TEXT, _INT, _BOOL, _BOOL], _BOOL),
    "sdb_geo_hash": ([_DOUBLE, _DOUBLE, _INT], _TEXT),
    "sdb_ilike": ([_TEXT, _TEXT, _TEXT], _BOOL),
    "sdb_json_n": ([_DOUBLE], _TEXT),
    "sdb_key_field": ([_TEXT, _TEXT], _TEXT),
    "sdb_key_item": ([_TEXT, _INT], _TEXT),
    "sdb_key_items": ([_TEXT], "VARCHAR[]"),
    "sdb_key_json": ([_TEXT], _TEXT),
    "sdb_key_members": ([_TEXT], "STRUCT(n VARCHAR, k VARCHAR)[]"),
    "sdb_key_n": ([_DOUBLE], _TEXT),
    "sdb_key_number": ([_TEXT], _DOUBLE),
    "sdb_key_numbers": ([_TEXT], "DOUBLE[]"),
    "sdb_key_size": ([_TEXT], _INT),
    "sdb_ln1p": ([_DOUBLE], _DOUBLE),
    "sdb_lower": ([_TEXT], _TEXT),
    "sdb_shift": ([_INT, _INT, _TEXT], _INT),
    "sdb_subnet": ([_TEXT, _INT, _INT], _BOOL),
    "sdb_sum": (["DOUBLE[]"], _DOUBLE),
    "sdb_upper": ([_TEXT], _TEXT),
}
"""Types of the arguments and of the result. A NULL argument makes the result NULL."""


def register(connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
    """Register functions with a connection.

    Parameters
    ----------
    connection : DuckDBPyConnection
        The connection.
    names : iterable of str
        Those of :data:`SIGNATURES` that a statement uses.
    """
    from duckdb import func

    functions: dict[str, Callable[..., Any]] = standins.FUNCTIONS
    for name in sorted(names):
        arguments, result = SIGNATURES[name]
        connection.create_function(
            name,
            _vectorised(functions[name], result, len(arguments)),
            arguments,  # type: ignore[arg-type]  # a list is invariant
            result,
            type=func.ARROW,
            null_handling=func.SPECIAL,
        )


def _vectorised(function: Callable[..., Any], result: str, count: int) -> Callable[..., Any]:
    """Apply a function to columns; DuckDB wants it to have as many parameters as columns."""

    def work(*columns: Any) -> Any:  # noqa: ANN401 - columns of Arrow
        import pyarrow as pa

        text = pa.utf8()
        types = {
            _TEXT: text,
            _BOOL: pa.bool_(),
            _DOUBLE: pa.float64(),
            _INT: pa.int64(),
            "VARCHAR[]": pa.list_(text),
            "DOUBLE[]": pa.list_(pa.float64()),
            "STRUCT(n VARCHAR, k VARCHAR)[]": pa.list_(pa.struct([("n", text), ("k", text)])),
        }
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        out = [None if any(item is None for item in row) else function(*row) for row in rows]
        return pa.array(out, type=types[result])

    by_count: dict[int, Callable[..., Any]] = {
        1: lambda a: work(a),  # noqa: PLW0108
        2: lambda a, b: work(a, b),  # noqa: PLW0108
        3: lambda a, b, c: work(a, b, c),  # noqa: PLW0108
        5: lambda a, b, c, d, e: work(a, b, c, d, e),  # noqa: PLW0108
    }
    return by_count[count]
