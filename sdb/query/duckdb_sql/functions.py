"""The functions of the dialect, by name."""

from __future__ import annotations

from sdb.query.duckdb_sql import (
    conditional,
    functions_geo,
    functions_list,
    functions_number,
    functions_string,
    functions_time,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.duckdb_sql.arguments import Function

FUNCTIONS: dict[str, Function] = {
    **functions_number.FUNCTIONS,
    **functions_string.FUNCTIONS,
    **functions_time.FUNCTIONS,
    **functions_list.FUNCTIONS,
    **functions_geo.FUNCTIONS,
    "COALESCE": conditional.coalesce,
    "NULLIF": conditional.nullif,
}
