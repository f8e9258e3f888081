"""The functions of the dialect, by name."""

from __future__ import annotations

from sdb.query.duckdb_sql.functions import (
    conditional,
    geo,
    jsontexts,
    lists,
    numbers,
    strings,
    texts,
    times,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.duckdb_sql.functions.arguments import Function

FUNCTIONS: dict[str, Function] = {
    **numbers.FUNCTIONS,
    **strings.FUNCTIONS,
    **texts.FUNCTIONS,
    **times.FUNCTIONS,
    **lists.FUNCTIONS,
    **geo.FUNCTIONS,
    **jsontexts.FUNCTIONS,
    "COALESCE": conditional.coalesce,
    "NULLIF": conditional.nullif,
}
